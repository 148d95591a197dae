"""The article's tables and queries: how they are made, loaded and asked.

The article compared a column store for MySQL with MyISAM on two tables, Small and Big; bench/article/ writes data of that
shape. Its seconds (one desktop computer of 2014) are in QUERIES, for the ratio that it reached.
"""

import dataclasses
import json
import os
import subprocess
import zlib

import common

FULL_ROWS = 10_000_000
SMALL, BIG, ABSENT = "08650", "36440", "ABCDEF"


@dataclasses.dataclass(frozen=True)
class Setup:
    """An engine with a table layout; its tables live in a database of their own."""
    database: str
    title: str
    engine: str
    columnar: str = ""  # columns that are columnar: "", "Hersteller" or "all"

    def column_option(self, column):
        if not self.columnar:
            return ""
        return f" COLUMNAR={int(self.columnar in ('all', column))}"


MYISAM = Setup("myisam", "MyISAM", "MyISAM")
AS_IN_ARTICLE = Setup("as_in_article", "Hailstone, Hersteller columnar", "HAILSTONE", "Hersteller")
ALL_COLUMNAR = Setup("all_columnar", "Hailstone, all columnar", "HAILSTONE", "all")

COLUMNS = (("Id", "char(8)"), ("PZN", "char(7)"), ("EVP", "char(8)"), ("HAP", "char(8)"),
           ("ArtikelBez", "varchar(40)"), ("ArtikelText", "varchar(26)"), ("Hersteller", "char(5)"))


@dataclasses.dataclass(frozen=True)
class Query:
    name: str
    title: str
    sql: str
    article: tuple = None  # seconds (MyISAM, the article's engine)
    expected: str = None   # name of the count in the generator's JSON
    to_client: bool = False  # the rows themselves are the answer, and the time includes sending them
    myisam_sql: str = None   # where MyISAM is asked in other words


QUERIES = (
    Query("q1", "filter Small", f"select count(*) from Small where Hersteller='{SMALL}'", None, f"small_{SMALL}"),
    Query("q2", "filter Big", f"select count(*) from Big where Hersteller='{BIG}'", (13.25, 1.53), f"big_{BIG}"),
    Query("q3", "filter Big, no match", f"select count(*) from Big where Hersteller='{ABSENT}'", (12.23, 0.68),
          f"big_{ABSENT}"),
    Query("q4", "filter Big, all match", f"select count(*) from Big where Hersteller<>'{ABSENT}'", (16.39, 25.26),
          "big_rows"),
    Query("q5", "join, no index", "select count(*) from Small A join Big B on A.PZN=B.PZN "
          f"where A.Hersteller='{SMALL}' and B.Hersteller='{BIG}'", (195.8, 186.1), "joined"),
    Query("q6", "group by Hersteller", "select Hersteller, count(*), max(EVP) from Big group by Hersteller "
          "order by 2 desc, 1 limit 10"),
    Query("q7", "rows of a filter, to the client", f"select * from Big where Hersteller='{BIG}'",
          expected=f"big_{BIG}", to_client=True),
)

JOIN = next(query for query in QUERIES if query.name == "q5")
_JOIN_SQL = ("select count(*) from Small A {} Big B {} on A.PZN=B.PZN "
             f"where A.Hersteller='{SMALL}' and B.Hersteller='{BIG}'")

# The article gave MyISAM and its engine an index on PZN, then one on Hersteller too; here only MyISAM gets them, both at
# once. To see what the first alone does it must not use the other, nor try the order of tables that is far worse.
INDEXED_QUERIES = (
    Query("q5p", "join, MyISAM with index on PZN", _JOIN_SQL.format("join", ""), (19.67, 8.89), "joined",
          myisam_sql=_JOIN_SQL.format("ignore index (Hersteller) straight_join", "ignore index (Hersteller)")),
    Query("q5b", "join, MyISAM with both indexes", _JOIN_SQL.format("join", ""), None, "joined"),
)


def generate(folder, rows, *options):
    """Writes small.tsv and big.tsv for the server to read; returns the exact counts. `options` are more of article_data's."""
    os.makedirs(folder, exist_ok=True)
    counts = os.path.join(folder, "counts.json")
    common.run([f"{common.PROJECT}/build/release/article_data", "--rows", str(rows), "--output", folder, "--expect", counts,
                *options], "article_data")
    # The server runs as another user where root started it.
    os.chmod(folder, 0o755)
    for name in ("small.tsv", "big.tsv"):
        os.chmod(os.path.join(folder, name), 0o644)
    with open(counts, encoding="ascii") as file:
        return json.load(file)


def create_tables(connection, setup):
    connection.execute(f"create database {setup.database} character set latin1")
    connection.execute(f"use {setup.database}")
    for table in ("Small", "Big"):
        columns = ", ".join(f"{name} {kind}{setup.column_option(name)}" for name, kind in COLUMNS)
        connection.execute(f"create table {table} ({columns}) engine={setup.engine}")


def load(connection, folder, table):
    """Seconds for LOAD DATA of one table into the current database."""
    path = os.path.join(folder, f"{table.lower()}.tsv")
    seconds, _ = common.timed(lambda: connection.execute(
        f"load data infile '{path}' into table {table} character set latin1 fields escaped by ''"))
    connection.no_warnings(f"LOAD DATA into {table}")
    return seconds


def data_folders(setup):
    """Folders of the data directory that hold a setup's rows."""
    if setup.engine == "HAILSTONE":
        return ("#hailstone",)
    if setup.engine == "InnoDB":
        return (setup.database, "ibdata1")
    return (setup.database,)


def ask(server, connection, setup, query):
    """A function that runs the query in the setup's database and returns its answer."""
    if not query.to_client:
        sql = query.myisam_sql if setup == MYISAM and query.myisam_sql else query.sql

        def run_query():
            connection.execute(f"use {setup.database}")
            return connection.execute(sql)

        return run_query

    # A compiled client, so that the time is the server's and not that of Python making objects.
    command = [*server.client_program(), "--batch", "--quick", "--skip-column-names", setup.database, "-e", query.sql]

    def run_client():
        result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if result.returncode != 0:
            raise common.Failure(f"'{query.sql}' failed: {result.stderr.decode(errors='replace').strip()}")
        return result.stdout

    return run_client


def digest(query, answer):
    """(rows that the query counted or returned, a value that two equal answers share)."""
    if not query.to_client:
        rows = answer[0][0] if len(answer) == 1 and len(answer[0]) == 1 else len(answer)
        return rows, answer
    lines = answer.splitlines()
    # Order is not promised, so sum up the lines.
    return len(lines), (len(lines), sum(zlib.crc32(line) for line in lines))


def check(query, title, rows, value, others, counts):
    """Fails when an answer is not the one that the generator promises, or not that of the other setups."""
    if query.expected and rows != counts[query.expected]:
        raise common.Failure(f"{title} answers '{query.title}' with {rows}; right is {counts[query.expected]}")
    for other, other_value in others.items():
        if other_value != value:
            raise common.Failure(f"{title} and {other} answer '{query.title}' differently: {value} and {other_value}")
