"""TPC-DS: its tables, rows and 99 queries are those of DuckDB's extension tpcds; tpcds_sql.py has the queries in MariaDB's words.

The parameters of the queries are the extension's. Where one has no rows, its quarters are those of the first year of the sales in which
it has some.
"""

import dataclasses
import os
import re

import tpcds_answers
import tpcds_sql
from analytic_statement import Statement
from analytic_tables import Table

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


def queries(reference):
    """All, with their answers."""
    dates = {column for table in tables(reference) for column, kind in table.columns if kind == "DATE"}
    for number, sql in sorted(reference.queries().items()):
        asked, names, rows = _with_rows(reference, sql)
        yield Query(Statement(f"d{number}", f"query {number}", tpcds_sql.translate(asked, dates), duckdb=asked,
                              order=tpcds_sql.order_of(asked, names), limit=tpcds_sql.limit_of(asked), schema=SCHEMA), rows)


def _with_rows(reference, sql):
    """(the query, the names of its columns, its rows)"""
    names, rows = reference.answer(sql)
    if not rows and _QUARTER.search(sql):
        for year in YEARS:
            other = _QUARTER.sub(lambda quarter, year=year: f"'{year}Q{quarter[1]}'", sql)
            if (answer := reference.answer(other))[1]:
                return other, *answer
    return sql, names, rows
