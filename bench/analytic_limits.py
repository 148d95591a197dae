"""Statements that an index may end early: their LIMIT is reached long before all rows have been read, or only behind most
of them. What hailstone_select_pushdown=AUTO takes of each, beside ON, OFF and InnoDB."""

import math

from analytic_setup import Setup
from analytic_statement import Statement, difference
from common import say
from report import number, table

SCHEMA = "limits"
ORDERS, CUSTOMERS, LINES = 300_000, 10_000, 900_000
TURNS = 9          # of which the least counts
TURN = 0.005       # seconds that a turn takes at least, by so many runs
MOST_RUNS = 100    # of a turn
SLOW = 0.5         # seconds: a statement that takes longer has fewer turns
SLOW_TURNS = 3
ON, AUTO, OFF = (Setup("HAILSTONE", 1, pushdown) for pushdown in ("ON", "AUTO", "OFF"))
INNODB = Setup("InnoDB")
SETUPS = (AUTO, ON, OFF, INNODB)
NAMES = {AUTO: "AUTO", ON: "ON", OFF: "OFF", INNODB: "InnoDB"}

# `mark` tells nothing of the other columns, and 100,000 values of it are as frequent as each other.
_MARK = "CRC32(CONCAT(seq, '{}')) % 100000"
TABLES = (
    ("c", "id INT PRIMARY KEY, name VARCHAR(20) NOT NULL, region INT NOT NULL, mark INT NOT NULL, KEY (region)",
     f"SELECT seq, CONCAT('name ', seq), seq % 25, {_MARK.format('c')} FROM seq_1_to_{CUSTOMERS}"),
    ("o", "id INT PRIMARY KEY, cust INT NOT NULL, d DATE NOT NULL, due DATE NOT NULL, price DECIMAL(10,2) NOT NULL, "
          "kind VARCHAR(10) NOT NULL, mark INT NOT NULL, note VARCHAR(60) NOT NULL, KEY (cust), KEY (d), KEY (due, kind)",
     f"SELECT seq, 1 + CRC32(CONCAT(seq, 'cust')) % {CUSTOMERS}, '2015-01-01' + INTERVAL seq DIV 100 DAY, "
     "'2015-01-01' + INTERVAL CRC32(CONCAT(seq, 'due')) % 3000 DAY, CRC32(CONCAT(seq, 'price')) % 1000000 / 100, "
     f"CONCAT('kind ', CRC32(CONCAT(seq, 'kind')) % 20), {_MARK.format('o')}, CONCAT('note of the order ', seq) FROM seq_1_to_{ORDERS}"),
    ("l", "oid INT NOT NULL, num INT NOT NULL, part INT NOT NULL, qty INT NOT NULL, mark INT NOT NULL, "
          "PRIMARY KEY (oid, num), KEY (part)",
     f"SELECT 1 + seq DIV 3, 1 + seq % 3, CRC32(CONCAT(seq, 'part')) % 20000, 1 + CRC32(CONCAT(seq, 'qty')) % 50, "
     f"{_MARK.format('l')} FROM seq_0_to_{LINES - 1}"),
)

# (what it is, the statement with a place for the greatest mark that passes, many pass, few pass, columns of ORDER BY)
_FORMS = (
    ("an order along an index", "SELECT id, d, price FROM o WHERE mark < {} ORDER BY d DESC LIMIT 10", 90_000, 50, (1,)),
    ("… with all columns", "SELECT * FROM o WHERE mark < {} ORDER BY due LIMIT 20", 60_000, 200, (3,)),
    ("… the primary key", "SELECT id, price FROM o WHERE mark < {} ORDER BY id LIMIT 10", 50_000, 20, (0,)),
    ("… backwards, behind an offset", "SELECT id, note FROM o WHERE mark < {} ORDER BY id DESC LIMIT 10 OFFSET 50", 95_000, 100, (0,)),
    ("… of two columns", "SELECT id, due, kind FROM o WHERE mark < {} ORDER BY due, kind LIMIT 10", 90_000, 100, (1, 2)),
    ("… from a value on", "SELECT id, d FROM o WHERE d > '2019-01-01' AND mark < {} ORDER BY d LIMIT 20", 80_000, 100, (1,)),
    ("… up to a value", "SELECT id, due FROM o WHERE due < '2016-06-01' AND mark < {} ORDER BY due DESC LIMIT 5", 70_000, 30, (1,)),
    ("… with a condition on text", "SELECT id, d, kind FROM o WHERE kind <> 'kind 3' AND mark < {} ORDER BY d LIMIT 10", 90_000, 50, (1,)),
    ("an order along no index", "SELECT id, price FROM o WHERE mark < {} ORDER BY price DESC LIMIT 10", 90_000, 100, (1,)),
    ("a join, ordered", "SELECT o.id, o.d, c.name FROM o JOIN c ON c.id = o.cust WHERE o.mark < {} ORDER BY o.d DESC LIMIT 10", 90_000, 50, (1,)),
    ("… from a value on", "SELECT o.id, o.d, c.name FROM o JOIN c ON c.id = o.cust WHERE o.d > '2020-01-01' AND o.mark < {} "
     "ORDER BY o.d LIMIT 20", 80_000, 100, (1,)),
    ("… with a condition on the other table", "SELECT o.id, o.due, c.name FROM o JOIN c ON c.id = o.cust WHERE c.mark < {} "
     "ORDER BY o.due LIMIT 10", 90_000, 50, (1,)),
    ("an outer join, ordered", "SELECT o.id, c.name FROM o LEFT JOIN c ON c.id = o.cust WHERE o.mark < {} ORDER BY o.id LIMIT 10",
     80_000, 50, (0,)),
    ("lines and orders, by the key", "SELECT l.oid, l.num, o.d FROM l JOIN o ON o.id = l.oid WHERE l.mark < {} ORDER BY l.oid LIMIT 10",
     90_000, 30, (0,)),
    ("orders and lines, by the date", "SELECT o.d, o.id, l.qty FROM o JOIN l ON l.oid = o.id WHERE l.mark < {} ORDER BY o.d LIMIT 10",
     80_000, 30, (0,)),
    ("three tables, ordered", "SELECT o.id, o.due, c.name, l.qty FROM o JOIN c ON c.id = o.cust JOIN l ON l.oid = o.id "
     "WHERE o.mark < {} ORDER BY o.due LIMIT 10", 90_000, 50, (1,)),
    ("a join in no order", "SELECT o.id, c.name FROM o JOIN c ON c.id = o.cust WHERE o.mark < {} LIMIT 10", 90_000, 3, ()),
    ("lines and orders in no order", "SELECT l.oid, l.num, o.d FROM l JOIN o ON o.id = l.oid WHERE l.mark < {} LIMIT 10", 80_000, 1, ()),
    ("three tables in no order", "SELECT o.id, c.name, l.qty FROM o JOIN c ON c.id = o.cust JOIN l ON l.oid = o.id "
     "WHERE o.mark < {} LIMIT 20", 90_000, 3, ()),
    ("rows in no order", "SELECT id, note FROM o WHERE mark < {} LIMIT 10", 90_000, 3, ()),
    ("groups of a join along a key", "SELECT c.id, COUNT(*), SUM(o.price) FROM c JOIN o ON o.cust = c.id WHERE c.mark < {} "
     "GROUP BY c.id ORDER BY c.id LIMIT 10", 90_000, 200, (0,)),
    ("groups along a key", "SELECT cust, COUNT(*), SUM(price) FROM o WHERE mark < {} GROUP BY cust LIMIT 10", 90_000, 30, (0,)),
    ("groups along a date", "SELECT d, COUNT(*), MAX(price) FROM o WHERE mark < {} GROUP BY d ORDER BY d DESC LIMIT 5", 80_000, 20, (0,)),
    ("groups along no index", "SELECT kind, COUNT(*), SUM(price) FROM o WHERE mark < {} GROUP BY kind LIMIT 3", 90_000, 100, (0,)),
    ("different values of an index", "SELECT DISTINCT cust FROM o WHERE mark < {} LIMIT 5", 90_000, 3, ()),
    ("different values of none", "SELECT DISTINCT price FROM o WHERE mark < {} LIMIT 10", 90_000, 3, ()),
    ("different values of a join", "SELECT DISTINCT c.region FROM c JOIN o ON o.cust = c.id WHERE o.mark < {} LIMIT 3", 90_000, 1, ()),
    ("rows of a subquery, ordered", "SELECT id, price FROM o WHERE cust IN (SELECT id FROM c WHERE mark < {}) ORDER BY id DESC LIMIT 3",
     90_000, 30, (0,)),
    ("a derived table's first rows", "SELECT x.id, x.d, c.name FROM (SELECT id, d, cust FROM o WHERE mark < {} ORDER BY d LIMIT 10) x "
     "JOIN c ON c.id = x.cust ORDER BY x.d", 90_000, 50, (1,)),
    ("first rows of two blocks", "(SELECT id, d FROM o WHERE mark < {0} ORDER BY d LIMIT 10) UNION ALL "
     "(SELECT id, due FROM o WHERE mark < {0} ORDER BY due DESC LIMIT 10)", 90_000, 50, ()),
)


def _statements():
    for place, (title, sql, many, few, order) in enumerate(_FORMS, 1):
        for share, mark in (("many", many), ("few", few)):
            text = sql.format(mark)
            limit = sum(int(each.split(" ")[0].rstrip(")")) for each in text.split("LIMIT ")[1:])
            yield Statement(f"l{place}-{share}", title, text, order=order, limit=limit, schema=SCHEMA)


STATEMENTS = tuple(_statements())


def measure(bench):
    """Of each statement the least processor time of some turns, in which all setups are asked."""
    say(f"limits: {ORDERS:,} orders, {LINES:,} lines …")
    for setup in (AUTO, INNODB):
        make_tables(bench.connection, setup)
    for statement in STATEMENTS:
        least, answers, runs, turns = dict.fromkeys(SETUPS, math.inf), {}, {}, TURNS
        for setup in SETUPS:
            seconds, answers[setup] = _processor_time(bench, statement, setup, 1)
            runs[setup] = max(1, min(MOST_RUNS, math.ceil(TURN / max(seconds, 1e-6))))
            turns = SLOW_TURNS if seconds > SLOW else turns
        for _ in range(turns):
            for setup in SETUPS:
                least[setup] = min(least[setup], _processor_time(bench, statement, setup, runs[setup])[0])
        for setup in SETUPS:
            bench.figures.add(statement.name, statement.title, setup.title, least[setup])
            if how := difference(statement, answers[setup], answers[INNODB]):
                bench.differences.append(f"{statement.name}, {setup.title} and InnoDB: {how}")
        say(f"{statement.name}: {statement.title}: AUTO {to_best(bench.figures, statement):.2f} of the better one; ms: " +
            ", ".join(f"{NAMES[setup]} {1000 * least[setup]:.3f}" for setup in SETUPS))


def make_tables(connection, setup):
    """In a database of their own."""
    connection.execute("SET SESSION max_statement_time = 0")
    connection.execute(f"CREATE DATABASE {setup.database(SCHEMA)} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
    connection.execute(f"USE {setup.database(SCHEMA)}")
    for name, columns, rows in TABLES:
        connection.execute(f"CREATE TABLE {name} ({columns}) ENGINE={setup.engine}")
        connection.execute(f"INSERT INTO {name} {rows}")
        connection.execute(f"ANALYZE TABLE {name}")


def _processor_time(bench, statement, setup, runs):
    """(seconds of the server's processes for a run, the rows)."""
    connection = bench.connection
    connection.execute(f"USE {setup.database(SCHEMA)}")
    connection.execute(f"SET SESSION hailstone_select_pushdown = {setup.pushdown}, hailstone_query_threads = {setup.threads}")
    connection.execute(statement.sql)  # so that what another setup did before it is of no matter
    begin = bench.server.cpu_seconds()
    for _ in range(runs):
        rows = connection.execute(statement.sql)
    return (bench.server.cpu_seconds() - begin) / runs, rows


def to_best(figures, statement):
    """AUTO's time to the lesser one of ON's and OFF's."""
    mine, *others = (figures.get(statement.name, setup.title) for setup in (AUTO, ON, OFF))
    return mine / min(others)


def section(bench):
    """Of the page; empty when this was not measured."""
    figures = bench.figures
    if not figures.has(STATEMENTS[0].name):
        return ""
    rows = []
    for statement in STATEMENTS:
        times = [figures.get(statement.name, setup.title) for setup in SETUPS]
        rows.append([f"{statement.name}: {statement.title}", *(number(1000 * seconds) for seconds in times),
                     number(to_best(figures, statement)), number(times[0] / times[-1])])
    return (f"## Statements that an index may end early\n{ORDERS:,} orders of {CUSTOMERS:,} customers, and {LINES:,} lines of them, "
            f"made here; the statements are in `bench/analytic_limits.py`. Of each form many rows pass the condition, or few. The "
            f"server's processor time in ms, one thread, the least of {TURNS} turns. Rows that the statement determines are InnoDB's.\n\n" +
            table(["ms", *NAMES.values(), "AUTO's to the lesser of ON's and OFF's", "to InnoDB's"], rows))
