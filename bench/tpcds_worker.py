"""DuckDB with its extension tpcds, for peer_process.py: TPC-DS's tables, queries and answers."""

import glob
import os

import common
import duckdb
import duckdb_extension_tpcds
from peer_worker import TEXT, serve


class Worker:
    def __init__(self):
        self._connection = None

    def open(self, path, scale, threads, memory):
        """Makes the rows, in a database in a file. The answers' orders have NULLs where MariaDB has them."""
        self._connection = _connect(path)
        self._connection.execute(f"SET threads = {threads}")
        self._connection.execute(f"SET memory_limit = '{memory}B'")
        self._connection.execute("SET default_null_order = 'nulls_first_on_asc_last_on_desc'")
        self._connection.execute(f"CALL dsdgen(sf = {scale})")
        return duckdb.__version__

    def tables(self):
        """(name, [(column, type, whether it may be NULL)], columns of the primary key) of each. A text is as long as the longest
        one there is."""
        with _connect(":memory:") as empty:
            empty.execute("CALL dsdgen(sf = 0, keys = true)")
            keys = dict(empty.execute("SELECT table_name, constraint_column_names FROM duckdb_constraints() "
                                      "WHERE constraint_type = 'PRIMARY KEY'").fetchall())
            columns = empty.execute("SELECT table_name, column_name, data_type, is_nullable FROM duckdb_columns() "
                                    "ORDER BY table_name, column_index").fetchall()
        return [(table, [(column, self._with_length(table, column, kind), nullable) for of, column, kind, nullable in columns if of == table], key)
                for table, key in keys.items()]

    def _with_length(self, table, column, kind):
        if kind != "VARCHAR":
            return kind
        return f"VARCHAR({self._connection.execute(f'SELECT MAX(length({column})) FROM {table}').fetchone()[0] or 1})"

    def queries(self):
        """By number."""
        return dict(self._connection.execute("SELECT query_nr, query FROM tpcds_queries()").fetchall())

    def write(self, table, path):
        """A Parquet file."""
        self._connection.execute(f"COPY {table} TO '{path}' (format parquet)")

    def write_text(self, table, path):
        """A file as LOAD DATA reads it."""
        self._connection.execute(f"COPY {table} TO '{path}' {TEXT}")

    def answer(self, query):
        """(names of the columns, rows)"""
        done = self._connection.execute(query)
        return [column[0] for column in done.description], done.fetchall()


def _connect(path):
    connection = duckdb.connect(path)
    extension, = glob.glob(os.path.join(os.path.dirname(duckdb_extension_tpcds.__file__), "extensions", "*", "tpcds.duckdb_extension"))
    connection.execute(f"LOAD '{extension}'")
    return connection


common.main(lambda: serve(Worker(), duckdb.Error))
