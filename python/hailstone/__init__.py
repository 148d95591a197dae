"""Hailstone: a transactional column store in your process.

    import hailstone

    with hailstone.open("data") as db:
        db.load("shop/article", table_of_pyarrow_or_pandas, create=True, primary_key=["id"])
        with db.begin() as tx:                                   # commits at the end, rolls back on an exception
            tx.insert("shop/article", {"id": 7, "maker": "Ada", "price": 9.5})
        scan = db.scan("shop/article", columns=["id", "price"], where=[("maker", "=", "Ada")])
        scan.to_pandas()
        scan.sum("price")

Any number of threads may use a Database, each with transactions of its own; a Transaction and what is made from it belong to
one thread at a time. Whatever is closed or forgotten in whatever order gives an Error later, never a crash.
"""

from .database import Column, Database, Index, Scan, TableInfo, Transaction, open
from .errors import (AlreadyExists, Busy, Corrupt, Deadlock, DuplicateKey, Error, Interrupted, Invalid, LockTimeout,
                     NotFound, OutOfRange, Status, TableFull)
from .predicate import Predicate, column
from .library import version

__version__ = version()
__all__ = ["AlreadyExists", "Busy", "Column", "Corrupt", "Database", "Deadlock", "DuplicateKey", "Error", "Index",
           "Interrupted", "Invalid", "LockTimeout", "NotFound", "OutOfRange", "Predicate", "Scan", "Status", "TableFull",
           "TableInfo", "Transaction", "column", "open"]
