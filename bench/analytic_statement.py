"""The statements that the analytic benchmark asks of Hailstone and of its peers, and what of an answer is determined."""

import dataclasses
import datetime
import decimal


@dataclasses.dataclass(frozen=True)
class Statement:
    name: str
    title: str
    sql: str                 # MariaDB's
    duckdb: str = ""         # where DuckDB is asked in other words
    clickhouse: str = ""     # and ClickHouse
    order: tuple = ()        # columns of the answer, from 0, that ORDER BY names
    limit: int = 0           # rows at most; 0: all
    offset: bool = False     # the rows begin behind some that are left out
    to_client: bool = False  # the rows themselves are the answer, and the time includes sending them
    seconds: int = 0         # that the server may take with AUTO; 0: as many as any statement
    schema: str = ""         # where its tables are: a database for each of the server's engines, one of each library

    @property
    def duckdb_sql(self):
        return self.duckdb or self.sql

    @property
    def clickhouse_sql(self):
        return self.clickhouse or self.sql


@dataclasses.dataclass(frozen=True)
class Group:
    """Statements that the page has in one table."""
    title: str
    source: str  # a sentence: where the statements and the rows come from
    schema: str
    statements: tuple


def group_of(title, source, schema, statements):
    return Group(title, source, schema, tuple(dataclasses.replace(statement, schema=schema) for statement in statements))


def difference(statement, mine, theirs):
    """How two answers differ in what the statement determines; empty when they do not.

    Rows that share the last place with rows behind the LIMIT, or the first place with rows before the OFFSET, may be any
    of those: of them only the values that ORDER BY names are compared here. lookup() is for the rest of them.
    """
    if len(mine) != len(theirs):
        return f"{len(mine)} rows and {len(theirs)}"
    for number, (my, their) in enumerate(zip(_keys(statement, mine), _keys(statement, theirs))):
        if not _rows_agree(my, their):
            return f"row {number + 1} is ordered by {my} and {their}"
    for my, their in zip(_determined(statement, mine), _determined(statement, theirs)):
        if not _rows_agree(my, their):
            return f"{my} and {their}"
    return ""


def lookup(statement, rows):
    """DuckDB's SQL that counts which of the rows that may be any of several are among the statement's without LIMIT, and
    how many there are to be; None when all rows are determined. Values with digits behind the point are left out."""
    free = [tuple(_plain(value) for value in row) for row, key in zip(rows, _keys(statement, rows))
            if key in _free_keys(statement, rows)]
    if not free:
        return None
    exact = [column for column, value in enumerate(free[0]) if isinstance(value, (str, int))]
    whole = statement.duckdb_sql[:statement.duckdb_sql.rindex(" LIMIT ")]
    values = ", ".join("(" + ", ".join(_literal(row[column]) for column in exact) + ")" for row in free)
    same = " AND ".join(f"CAST(whole.c{column} AS VARCHAR) = asked.c{column}" for column in exact)
    columns = ", ".join(f"c{column}" for column in range(len(free[0])))
    return (f"SELECT COUNT(*) FROM (VALUES {values}) AS asked({', '.join(f'c{column}' for column in exact)}) "
            f"WHERE EXISTS (SELECT 1 FROM ({whole}) AS whole({columns}) WHERE {same})", len(free))


def _literal(value):
    return "'" + str(value).replace("'", "''") + "'"


def _keys(statement, rows):
    return [tuple(_plain(row[column]) for column in statement.order) for row in rows]


def _free_keys(statement, rows):
    """What ORDER BY names of the rows that others could stand for."""
    keys = _keys(statement, rows)
    free = []
    if rows and statement.limit == len(rows):
        free.append(keys[-1])
    if rows and statement.offset:
        free.append(keys[0])
    return free


def _determined(statement, rows):
    """The rows that no other could stand for, sorted."""
    free = _free_keys(statement, rows)
    kept = [tuple(_plain(value) for value in row) for row, key in zip(rows, _keys(statement, rows)) if key not in free]
    return sorted(kept, key=_sorting)


def _sorting(row):
    # Exact values first: means, whose digits differ, must not decide.
    return ([str(value) for value in row if isinstance(value, (str, int))],
            [float(value) for value in row if isinstance(value, (float, decimal.Decimal))])


def _plain(value):
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, (datetime.date, datetime.datetime)):
        return str(value)
    if isinstance(value, decimal.Decimal) and value.as_tuple().exponent >= 0:
        return int(value)
    return value


def _rows_agree(my, their):
    return len(my) == len(their) and all(_agree(one, other) for one, other in zip(my, their))


def _agree(one, other):
    numbers = (int, float, decimal.Decimal)
    if not isinstance(one, numbers) or not isinstance(other, numbers):
        return one == other
    if _digits(one) == _digits(other) != 99:
        return one == other
    # A mean is shown with some digits by the one, and with those of a double by the other.
    unit = 10.0 ** -min(_digits(one), _digits(other))
    return abs(float(one) - float(other)) <= unit + 1e-9 * max(abs(float(one)), abs(float(other)))


def _digits(number):
    """Behind the point; 99 of a floating-point number, whose digits are not bound to it."""
    if isinstance(number, float):
        return 99
    return -number.as_tuple().exponent if isinstance(number, decimal.Decimal) else 0
