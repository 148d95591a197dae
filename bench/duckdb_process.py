"""DuckDB in a process and a Python environment of its own: the environment is made, the process asked."""

import os
import pickle
import subprocess
import sys

import common
from common import Failure, say

ENVIRONMENT = f"{common.PROJECT}/build/bench-python"
PROGRAM = f"{ENVIRONMENT}/bin/python"


def install():
    """DuckDB in a Python environment of its own under build/; None, or why it is missing."""
    try:
        if not os.path.exists(PROGRAM):
            common.run([sys.executable, "-m", "venv", ENVIRONMENT], "python3 -m venv")
        probe = [PROGRAM, "-c", "import duckdb"]
        if subprocess.run(probe, stderr=subprocess.DEVNULL, check=False).returncode != 0:
            say("installing DuckDB …")
            common.run([PROGRAM, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "duckdb"],
                       "pip install duckdb")
    except Failure as failure:
        return str(failure).splitlines()[-1]
    return None


class DuckDb:
    """Each method of duckdb_worker.Worker is one of this class. The process, and what it keeps in memory, end with it."""

    def __init__(self):
        self._process = subprocess.Popen([PROGRAM, "-B", f"{common.PROJECT}/bench/duckdb_worker.py"],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __getattr__(self, method):
        return lambda *arguments: self._ask(method, arguments)

    def _ask(self, method, arguments):
        pickle.dump((method, arguments), self._process.stdin)
        self._process.stdin.flush()
        try:
            answer, failure = pickle.load(self._process.stdout)
        except EOFError as error:
            raise Failure(f"DuckDB's process has ended with {self._process.wait()}") from error
        if failure:
            raise Failure(f"DuckDB: {failure}")
        return answer

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.wait()
