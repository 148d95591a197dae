"""DuckDB, ClickHouse and polars in processes and Python environments of their own: an environment is made, a process asked."""

import os
import pickle
import subprocess
import sys

import common
from common import Failure, say

ENVIRONMENT = f"{common.PROJECT}/build/bench-python"
TPCDS_ENVIRONMENT = f"{common.PROJECT}/build/tpcds-python"  # as the extension is bound to one version of DuckDB
PROGRAM = f"{ENVIRONMENT}/bin/python"
TPCDS_PROGRAM = f"{TPCDS_ENVIRONMENT}/bin/python"
TPCHGEN = f"{ENVIRONMENT}/bin/tpchgen-cli"


def install(title, package, *probe, environment=ENVIRONMENT):
    """A package in a Python environment of its own under build/; None, or why it is missing. `probe`: a command that
    succeeds once it is there; without it the package is imported."""
    program = f"{environment}/bin/python"
    try:
        if not os.path.exists(program):
            common.run([sys.executable, "-m", "venv", environment], "python3 -m venv")
        if not _succeeds(probe or (program, "-c", f"import {package}")):
            say(f"installing {title} …")
            common.run([program, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package],
                       f"pip install {package}")
    except Failure as failure:
        return str(failure).splitlines()[-1]
    return None


def _succeeds(command):
    try:
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0
    except FileNotFoundError:
        return False


def install_duckdb():
    return install("DuckDB", "duckdb")


def install_clickhouse():
    """chDB is ClickHouse as a library."""
    return install("ClickHouse", "chdb")


def install_polars():
    return install("polars", "polars")


def install_tpchgen():
    """A program; of this version, as others take other arguments."""
    return install("tpchgen-cli", "tpchgen-cli==4.0.0", TPCHGEN, "--version")


def install_tpcds():
    """DuckDB and its extension tpcds, of the last version that the package index has both of."""
    return install("DuckDB's extension tpcds", "duckdb-extension-tpcds==1.5.5", TPCDS_PROGRAM, "-c", "import duckdb, duckdb_extension_tpcds",
                   environment=TPCDS_ENVIRONMENT)


class PeerFailure(Failure):
    """The peer has refused what it was asked, and can be asked again."""


class Peer:
    """Each method of the worker's object is one of this class. The process, and what it keeps in memory, end with it."""

    def __init__(self, title, worker, program=PROGRAM):
        self.title = title
        self._process = subprocess.Popen([program, "-B", f"{common.PROJECT}/bench/{worker}"],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __getattr__(self, method):
        return lambda *arguments: self._ask(method, arguments)

    def _ask(self, method, arguments):
        pickle.dump((method, arguments), self._process.stdin)
        self._process.stdin.flush()
        try:
            answer, failure = pickle.load(self._process.stdout)
        except EOFError as error:
            raise Failure(f"{self.title}'s process has ended with {self._process.wait()}") from error
        if failure:
            raise PeerFailure(f"{self.title}: {failure}")
        return answer

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.wait()


def duckdb():
    return Peer("DuckDB", "duckdb_worker.py")


def clickhouse():
    return Peer("ClickHouse", "clickhouse_worker.py")


def polars():
    return Peer("polars", "polars_worker.py")


def tpcds():
    return Peer("DuckDB's TPC-DS", "tpcds_worker.py", TPCDS_PROGRAM)
