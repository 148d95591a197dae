"""DuckDB for peer_process.py."""

import os

import common
import draws
import duckdb
from peer_worker import TEXT, serve


class Worker:
    def __init__(self):
        self._path = self._memory = self._connection = None

    def open(self, path, memory):
        """A database in a file, with so many bytes of memory; with the same arguments again, opened anew from the disk."""
        if self._connection:
            self._connection.close()
            common.evict(os.path.dirname(path))
        self._path = path
        self._connection = duckdb.connect(path)
        self._connection.execute(f"SET memory_limit = '{memory}B'")
        # As MariaDB orders NULLs.
        self._connection.execute("SET default_null_order = 'nulls_first_on_asc_last_on_desc'")
        draws.prepare(self._connection.execute)
        return duckdb.__version__

    def write(self, query, path):
        """Rows of a query into a file, as LOAD DATA reads it."""
        self._connection.execute(f"COPY ({query}) TO '{path}' {TEXT}")

    def load(self, schema, table, columns, path, _order=""):
        """Seconds. The rows stay in the file's order."""
        self._connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        self._use(schema)
        self._connection.execute(f"CREATE TABLE {table} ({', '.join(f'{name} {kind}' for name, kind in columns)})")
        seconds, _ = common.timed(lambda: self._connection.execute(f"COPY {table} FROM '{path}' {TEXT}"))
        return seconds

    def size(self):
        self._connection.execute("CHECKPOINT")
        return os.stat(self._path).st_blocks * 512

    def rows(self, schema, query):
        self._use(schema)
        return self._connection.execute(query).fetchall()

    def time(self, schema, query, threads, to_client):
        """(seconds, rows) of a query. `to_client`: no rows, but they are made text, which goes nowhere."""
        self._use(schema)
        self._connection.execute(f"SET threads = {threads}")
        asked = f"COPY ({query}) TO '/dev/null' (format csv)" if to_client else query
        return common.timed(lambda: self._connection.execute(asked).fetchall())

    def measured(self, schema, query, threads):
        """(seconds, seconds of the processor, rows)"""
        self._use(schema)
        self._connection.execute(f"SET threads = {threads}")
        return common.measured(lambda: self._connection.execute(query).fetchall())

    def _use(self, schema):
        # draws.py's functions are in main.
        self._connection.execute(f"SET search_path = '{schema},main'")


common.main(lambda: serve(Worker(), duckdb.Error))
