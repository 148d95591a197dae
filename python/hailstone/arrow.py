"""pyarrow, imported by what first needs it: transactions and rows by key do without it, and not every system has it."""

import importlib
from typing import Any


class _Arrow:
    def __getattr__(self, name: str) -> Any:
        try:
            found = getattr(importlib.import_module("pyarrow"), name)
        except ImportError as error:
            raise ImportError("loads of tables and scans need pyarrow, which is not installed; 'pip install pyarrow' brings it") from error
        setattr(self, name, found)
        return found


pyarrow = _Arrow()
