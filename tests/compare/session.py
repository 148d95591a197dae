"""One connection whose statements another one may end."""

import time

import pymysql
from engines import are_near
from program import Failure

INTERRUPTED = 1317  # by KILL QUERY
GAVE_UP = {1020, 1205, 1213}  # another transaction was first; a wait for a lock took too long, or was one of a circle
GONE = {2006, 2013}


class Session:
    def __init__(self, server, *settings):
        # Without conversions: what the server sends, to the byte.
        self._connection = pymysql.connect(unix_socket=server.socket, user="root", autocommit=True, charset="utf8mb4", database="in_hailstone", conv={})
        self.id = self._connection.thread_id()
        for setting in settings:
            self.must(setting)

    def run(self, sql):
        """The rows of a statement, or its error's number."""
        with self._connection.cursor() as cursor:
            try:
                cursor.execute(sql)
                return [tuple(map(str, row)) for row in cursor.fetchall()], None
            except pymysql.MySQLError as failure:
                if failure.args[0] in GONE:
                    raise Failure(f"the server went away during: {sql}") from failure
                return None, failure.args[0]

    def must(self, sql):
        rows, error = self.run(sql)
        if error is not None:
            raise Failure(f"error {error} of: {sql}")
        return rows

    def number(self, sql):
        return int(self.must(sql)[0][-1])

    def status(self, name):
        return self.number(f"SHOW GLOBAL STATUS LIKE 'hailstone_{name}'")

    def timed(self, sql):
        """What run() returns, and when it did."""
        answer = self.run(sql)
        return *answer, time.monotonic()

    def close(self):
        self._connection.close()


def same(select, rows, others):
    """Whether both are answers of the SELECT."""
    if not select.ordered:
        rows, others = sorted(rows), sorted(others)
    return rows == others or (select.near and are_near(rows, others))
