"""Connections of the tests that end servers: what fails because the server has gone is told from what is wrong."""

import pymysql

LOST = {2002, 2003, 2006, 2013, 1053, 1927}  # errors of a connection whose server goes or has gone


class Lost(Exception):
    """The server has gone."""


class Problem(Exception):
    """Something is not as it must be."""


class Refused(Exception):
    """The statement failed with an error that the caller knows of."""

    def __init__(self, code):
        super().__init__(f"error {code}")
        self.code = code


class CheckedConnection:
    def __init__(self, server, schema=None):
        try:
            self._connection = pymysql.connect(unix_socket=server.socket, user="root", autocommit=True, database=schema,
                                               charset="utf8mb4")
        except pymysql.MySQLError as failure:
            if failure.args[0] in LOST:
                raise Lost(str(failure)) from failure
            raise Problem(f"no connection: {failure}") from failure
        self.last_id = None
        self.description = ()  # of the last statement's columns

    def execute(self, sql, error=None, may_fail=()):
        """The rows of one statement. Raises Lost or Problem; Refused for the errors that it may fail with."""
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(sql)
                self.last_id = cursor.lastrowid
                self.description = cursor.description
                rows = cursor.fetchall()
        except (pymysql.err.InterfaceError, ConnectionError) as failure:
            raise Lost(str(failure)) from failure
        except pymysql.MySQLError as failure:
            if failure.args[0] in LOST:
                raise Lost(str(failure)) from failure
            if failure.args[0] == error:
                return ()
            if failure.args[0] in may_fail:
                raise Refused(failure.args[0]) from failure
            raise Problem(f"'{sql[:300]}' failed: {failure}") from failure
        if error is not None:
            raise Problem(f"'{sql[:300]}' should have failed with error {error}")
        for row in rows:
            if len(row) == 4 and row[2] in ("Error", "error"):  # of OPTIMIZE, CHECK
                raise Problem(f"'{sql}' says: {row[3]}")
        return rows

    def close(self):
        self._connection.close()
