"""Statements of whose rows only the server computes something, which the engine has it do row by row: what ON and AUTO of
hailstone_select_pushdown cost beside OFF, where the server reads and computes by itself."""

import math

from analytic_setup import Setup
from analytic_statement import Statement, difference
from common import say
from report import number, table

SCHEMA = "computed"
ROWS = 500_000
TURNS = 5  # of which the least counts
ON, AUTO, OFF = SETUPS = tuple(Setup("HAILSTONE", 1, pushdown) for pushdown in ("ON", "AUTO", "OFF"))

# `a` has 10 values, `b` a fourth of the rows' number.
TABLE = ("id INT PRIMARY KEY, a INT NOT NULL, b INT NOT NULL, v INT NOT NULL, d DATE, dt DATETIME, s VARCHAR(20), t VARCHAR(60), "
         "x DOUBLE, j VARCHAR(80)")
VALUES = (f"SELECT seq, seq % 10, seq * 7919 % {ROWS // 4}, seq * 31 % 5000, DATE '2015-01-01' + INTERVAL seq * 13 % 3000 DAY, "
          "TIMESTAMP '2015-01-01 00:00:00' + INTERVAL seq * 137 SECOND, CONCAT('s', seq * 17 % 1000), "
          "CONCAT('word', seq * 7 % 997, ' text ', seq, ' end'), seq * 1.25 / 7, "
          f"JSON_OBJECT('k', seq % 777, 'w', CONCAT('x', seq * 3)) FROM seq_1_to_{ROWS}")

_BLOCKS = (
    ("a text's maximum, few groups", "SELECT a, MAX(DATE_ADD('2020-01-01', INTERVAL v DAY)) FROM t GROUP BY a"),
    ("… many groups", "SELECT b, MAX(DATE_ADD('2020-01-01', INTERVAL v DAY)) FROM t GROUP BY b"),
    ("… of all rows", "SELECT MAX(DATE_ADD('2020-01-01', INTERVAL v DAY)) FROM t"),
    ("a formatted day's minimum", "SELECT a, MIN(DATE_FORMAT(d, '%Y-%m')) FROM t GROUP BY a"),
    ("joined texts, few groups", "SELECT a, MAX(CONCAT(s, '-', v)) FROM t GROUP BY a"),
    ("… many groups", "SELECT b, MAX(CONCAT(s, '-', v)) FROM t GROUP BY b"),
    ("a number made of text", "SELECT a, SUM(LOCATE('7', t)) FROM t GROUP BY a"),
    ("a pattern in WHERE", "SELECT a, COUNT(*) FROM t WHERE t REGEXP '7.*3' GROUP BY a"),
    ("a part of a text in WHERE", "SELECT COUNT(*), MAX(v) FROM t WHERE SUBSTRING_INDEX(t, ' ', 3) LIKE '%7'"),
    ("groups by a beginning", "SELECT LEFT(t, 6), COUNT(*), SUM(v) FROM t GROUP BY LEFT(t, 6)"),
    ("groups by weeks", "SELECT DATE_FORMAT(dt, '%x-%v'), SUM(v) FROM t GROUP BY DATE_FORMAT(dt, '%x-%v')"),
    ("a mean of powers", "SELECT a, AVG(POW(v, 1.5)) FROM t GROUP BY a"),
    ("a sum of roots, many groups", "SELECT b, SUM(ROUND(SQRT(x), 2)) FROM t GROUP BY b"),
    ("first rows by a changed text", "SELECT id, t FROM t ORDER BY UPPER(t), id LIMIT 10"),
    ("first rows by a digest", "SELECT id, s FROM t ORDER BY MD5(t) DESC, id LIMIT 10"),
    ("different beginnings", "SELECT DISTINCT LEFT(t, 3) FROM t"),
    ("a value of JSON", "SELECT a, MAX(JSON_VALUE(j, '$.k')) FROM t WHERE v % 2 = 0 GROUP BY a"),
    ("checksums behind a condition", "SELECT SUM(CRC32(t)), MAX(CRC32(s)) FROM t WHERE v % 3 = 0"),
    ("a day made of text, many groups",
     "SELECT b, MAX(STR_TO_DATE(CONCAT('2015-01-', 1 + v % 28), '%Y-%m-%d')) FROM t GROUP BY b"),
    ("days between, behind LIKE", "SELECT a, SUM(IF(s LIKE '%7%', DATEDIFF(dt, d), 0)) FROM t GROUP BY a"),
)
STATEMENTS = tuple(Statement(f"e{place}", title, sql, schema=SCHEMA) for place, (title, sql) in enumerate(_BLOCKS, 1))


def measure(bench):
    """Of each statement the least processor time of some turns, in which all setups are asked."""
    say(f"what only the server computes: {ROWS:,} rows …")
    make_table(bench.connection)
    for statement in STATEMENTS:
        least, answers = dict.fromkeys(SETUPS, math.inf), {}
        for _ in range(TURNS):
            for setup in SETUPS:
                seconds, answers[setup] = _processor_time(bench, statement, setup)
                least[setup] = min(least[setup], seconds)
        for setup in SETUPS:
            bench.figures.add(statement.name, statement.title, setup.title, least[setup])
            if how := difference(statement, answers[setup], answers[OFF]):
                bench.differences.append(f"{statement.name}, {setup.title} and {OFF.title}: {how}")
        say(f"{statement.name}: {statement.title}: " +
            ", ".join(f"{setup.pushdown} {1000 * least[setup]:.1f} ms" for setup in SETUPS))


def make_table(connection):
    """In a database of its own."""
    connection.execute("SET SESSION max_statement_time = 0")
    connection.execute(f"CREATE DATABASE {ON.database(SCHEMA)} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
    connection.execute(f"USE {ON.database(SCHEMA)}")
    connection.execute(f"CREATE TABLE t ({TABLE}) ENGINE=HAILSTONE")
    connection.execute(f"INSERT INTO t {VALUES}")
    connection.execute("ANALYZE TABLE t")


def _processor_time(bench, statement, setup):
    """(seconds of the server's process, the rows)."""
    connection = bench.connection
    connection.execute(f"SET SESSION hailstone_select_pushdown = {setup.pushdown}, hailstone_query_threads = {setup.threads}")
    begin = bench.server.cpu_seconds()
    rows = connection.execute(statement.sql)
    return bench.server.cpu_seconds() - begin, rows


def to_off(figures, statement, setup=AUTO):
    """The setup's time to OFF's."""
    return figures.get(statement.name, setup.title) / figures.get(statement.name, OFF.title)


def section(bench):
    """Of the page; empty when this was not measured."""
    figures = bench.figures
    if not figures.has(STATEMENTS[0].name):
        return ""
    rows = [[f"{statement.name}: {statement.title}",
             *(number(1000 * figures.get(statement.name, setup.title)) for setup in SETUPS),
             *(number(to_off(figures, statement, setup)) for setup in (ON, AUTO))] for statement in STATEMENTS]
    return (f"## What only the server computes\n{ROWS:,} rows, of which the engine has the server compute something row by row. "
            f"Milliseconds of the server's processor time, one thread, the least of {TURNS} turns.\n\n" +
            table(["ms", *(setup.pushdown for setup in SETUPS), "ON to OFF", "AUTO to OFF"], rows))
