"""TPC-DS: its tables, rows and 99 queries are those of DuckDB's extension tpcds; tpcds_sql.py has the queries in MariaDB's words.

The parameters of the queries are the extension's. Where one of quarters has no rows, they are those of the first year of the sales in
which it has some.
"""

import dataclasses
import os
import re

import tpcds_answers
import tpcds_sql
from analytic_statement import Statement
from analytic_tables import Table
from peer_process import PeerFailure

SCHEMA = "tpcds"
ROWS = 19_600_000  # about, at scale 1
YEARS = range(1998, 2003)  # of the sales
_QUARTER = re.compile(r"'\d{4}Q(\d)'")


@dataclasses.dataclass(frozen=True, eq=False)
class Query:
    statement: Statement
    answer: list  # DuckDB's rows

    def difference(self, rows, ask):
        """How rows differ from DuckDB's answer; empty when they do not. `ask` gives DuckDB's rows of a query."""
        asked = self.statement
        return tpcds_answers.difference(rows, self.answer, asked.order, asked.limit, lambda: ask(tpcds_sql.without_limit(asked.duckdb_sql)))


def tables(reference):
    return [Table(name, tuple((column, kind) for column, kind, _ in columns), (f"PRIMARY KEY ({', '.join(keys)})",),
                  nullable=tuple(column for column, _, nullable in columns if nullable))
            for name, columns, keys in reference.tables()]


def sources(reference, folder):
    """Each table with DuckDB's SQL for its rows, which lie in the folder until the next one is asked for."""
    for table in tables(reference):
        path = os.path.join(folder, f"{table.name}.parquet")
        reference.write(table.name, path)
        yield table, f"SELECT * FROM '{path}'"
        os.remove(path)


def queries(reference, loosened=False):
    """All, with their answers. `loosened`: where an answer has no value, as of few rows, some conditions are left out."""
    dates = {column for table in tables(reference) for column, kind in table.columns if kind == "DATE"}
    for number, sql in sorted(reference.queries().items()):
        asked = _loosened(reference, sql) if loosened else _in_other_quarters(reference, sql)
        names, rows = reference.answer(asked)
        yield Query(Statement(f"d{number}", f"query {number}", tpcds_sql.translate(asked, dates), duckdb=asked,
                              order=tpcds_sql.order_of(asked, names), limit=tpcds_sql.limit_of(asked), schema=SCHEMA), rows)


def _in_other_quarters(reference, sql):
    """The query, or, where it has no rows, the first one of another year that has some."""
    if not _QUARTER.search(sql):
        return sql
    others = [_QUARTER.sub(lambda quarter, year=year: f"'{year}Q{quarter[1]}'", sql) for year in YEARS]
    return next((asked for asked in (sql, *others) if reference.answer(asked)[1]), sql)


def _loosened(reference, sql):
    """The query without those of its conditions on constants that keep it from having a value; itself, where it has one."""
    def has_value(numbers):
        """None: there is an error, as of a subquery that now has several rows."""
        try:
            return any(value for row in reference.answer(tpcds_sql.without_conditions(sql, numbers))[1] for value in row)
        except PeerFailure:
            return None

    left_out, found = set(), has_value(set())
    for number in range(tpcds_sql.conditions_of(sql)):
        if not found and (has := has_value(left_out | {number})) is not None:
            left_out.add(number)
            found = has
    if not found:
        return sql
    for number in sorted(left_out):
        if has_value(left_out - {number}):
            left_out.remove(number)
    return tpcds_sql.without_conditions(sql, left_out)
