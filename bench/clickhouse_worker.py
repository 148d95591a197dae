"""ClickHouse for peer_process.py, as the library chDB."""

import decimal
import json
import os
import re

import chdb
import common
from chdb import session
from peer_worker import serve

_DECIMAL = re.compile(r"Decimal\(\d+, (\d+)\)")


class Worker:
    def __init__(self):
        self._path = self._session = None

    def open(self, path, memory):
        """A database in a folder, with so many bytes of memory."""
        os.makedirs(path)
        self._path = path
        self._session = session.Session(path)
        self._session.query("SET session_timezone = 'UTC'")
        self._session.query(f"SET max_memory_usage = {memory}")
        return self._session.query("SELECT version()", "TSVRaw").bytes().decode().strip()

    def load(self, schema, table, columns, path, order=""):
        """Seconds. `order`: columns by which the table is sorted; empty: by none."""
        self._session.query(f"CREATE DATABASE IF NOT EXISTS {schema}")
        self._session.query(f"USE {schema}")
        definition = ", ".join(f"{name} {kind}" for name, kind in columns)
        self._session.query(f"CREATE TABLE {table} ({definition}) ENGINE = MergeTree ORDER BY ({order or 'tuple()'})")
        structure = definition.replace("'", "\\'")
        self._session.query("SET max_execution_time = 0")  # time() has limited what came before
        return common.timed(lambda: self._session.query(
            f"INSERT INTO {table} SELECT * FROM file('{path}', 'TSVRaw', '{structure}')"))[0]

    def size(self):
        # Beside tables a session keeps logs of its own.
        answer = self._session.query(
            "SELECT toString(sum(bytes_on_disk)) FROM system.parts WHERE database <> 'system' AND active", "TSVRaw")
        return int(answer.bytes())

    def time(self, schema, query, threads, to_client, limit):
        """(seconds, rows) of a query, which fails after `limit` seconds. `to_client`: no rows, but they are made text."""
        self._session.query(f"USE {schema}")
        self._session.query(f"SET max_threads = {threads}")
        self._session.query(f"SET max_execution_time = {limit}")
        form = "CSV" if to_client else "JSONCompact"
        seconds, answer = common.timed(lambda: self._session.query(query, form).bytes())
        return seconds, None if to_client else _rows(json.loads(answer, parse_float=str))


def _rows(answer):
    kinds = [column["type"] for column in answer["meta"]]
    return [tuple(_value(kind, value) for kind, value in zip(kinds, row)) for row in answer["data"]]


def _value(kind, value):
    """Dates and times stay text."""
    if value is None:
        return None
    if found := _DECIMAL.search(kind):
        return decimal.Decimal(value).quantize(decimal.Decimal(1).scaleb(-int(found[1])))
    if "Int" in kind:
        return int(value)
    return float(value) if "Float" in kind else value


# A session's queries fail with an error of their own, which chDB exports as no name but its base.
common.main(lambda: serve(Worker(), chdb.ChdbError, RuntimeError))
