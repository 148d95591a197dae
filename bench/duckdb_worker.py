"""DuckDB for duckdb_process.py: reads requests, (name of a method, arguments), and writes (answer, failure), all pickled."""

import os
import pickle
import sys

import common
import draws
import duckdb

FORMAT = "(format csv, delimiter '\t', header false, quote '', escape '', nullstr '\\N')"


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
        draws.prepare(self._connection.execute)
        return duckdb.__version__

    def write(self, query, path):
        """Rows of a query into a file, as LOAD DATA reads it."""
        self._connection.execute(f"COPY ({query}) TO '{path}' {FORMAT}")

    def load(self, table, columns, path):
        """Seconds."""
        self._connection.execute(f"CREATE TABLE {table} ({', '.join(f'{name} {kind}' for name, kind in columns)})")
        seconds, _ = common.timed(lambda: self._connection.execute(f"COPY {table} FROM '{path}' {FORMAT}"))
        return seconds

    def size(self):
        self._connection.execute("CHECKPOINT")
        return os.stat(self._path).st_blocks * 512

    def rows(self, query):
        return self._connection.execute(query).fetchall()

    def time(self, query, threads):
        """(seconds, rows) of a query."""
        self._connection.execute(f"SET threads = {threads}")
        return common.timed(lambda: self.rows(query))


def main():
    replies, worker = sys.stdout.buffer, Worker()
    sys.stdout = sys.stderr
    while True:
        try:
            name, arguments = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            reply = getattr(worker, name)(*arguments), None
        except (duckdb.Error, common.Failure) as failure:
            reply = None, str(failure)
        pickle.dump(reply, replies)
        replies.flush()


common.main(main)
