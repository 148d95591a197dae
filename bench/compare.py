"""./run bench: the article's queries, loads, sizes, point lookups and memory against the server's engines and DuckDB.

Everything is measured in one run, on the same data; seconds of another run or machine do not compare, ratios do.
Writes report.md, figures.csv and queries.svg to bench/results/.
"""

import argparse
import os
import shutil

import article
import common
import peer_process
import report
from article import ALL_COLUMNAR, AS_IN_ARTICLE, MYISAM, Setup
from common import say
from private_server import PrivateServer

PARTS = ("queries", "lookups", "budget")
MEMORY_BUDGET = 512 * 1024 * 1024
SETUPS = (MYISAM, Setup("aria", "Aria", "Aria"), Setup("innodb", "InnoDB", "InnoDB"), AS_IN_ARTICLE, ALL_COLUMNAR)
LOOKUP_ROWS = 1_000_000
LOOKUPS = 200_000
REPEATS = 5


def innodb_pool():
    """Bytes: enough for all of InnoDB's rows where the machine has them, so that no peer reads from disk."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(4 << 30, memory // 4)


def server(name):
    # The peers get caches that hold their tables.
    return PrivateServer(name, f"--innodb-buffer-pool-size={innodb_pool()}", "--innodb-log-file-size=1G",
                                f"--hailstone-memory-budget={MEMORY_BUDGET}")


def bench_queries(private, folder, counts, figures):
    """Loads, sizes and queries of every engine in one server, one after another so that none disturbs the next."""
    answers = {query: {} for query in article.QUERIES}
    for setup in SETUPS:
        connection = private.connect()
        before = private.bytes_on_disk(*article.data_folders(setup))
        article.create_tables(connection, setup)
        say(f"{setup.title}: loading …")
        article.load(connection, folder, "Small")
        figures.add("load", "LOAD DATA of Big, seconds", setup.title, article.load(connection, folder, "Big"))
        connection.execute("flush tables")
        figures.add("size", "both tables on disk, bytes", setup.title,
                    private.bytes_on_disk(*article.data_folders(setup)) - before)
        for query in article.QUERIES:
            say(f"{setup.title}: {query.title} …")
            seconds, answer = common.warm_time(article.ask(private, connection, setup, query), REPEATS)
            rows, value = article.digest(query, answer)
            article.check(query, setup.title, rows, value, answers[query], counts)
            answers[query][setup.title] = value
            figures.add(query.name, query.title, setup.title, seconds)
        connection.close()


def bench_duckdb(folder, counts, figures):
    """In a process of its own, as it keeps what memory it had."""
    output = common.run([peer_process.PROGRAM, "-B", f"{common.PROJECT}/bench/duckdb_peer.py", folder, str(REPEATS)], "DuckDB")
    for line in output.splitlines():
        key, rows, value = line.split("\t")
        if key == "version":
            figures.versions["DuckDB"] = value
            continue
        if key in ("load", "size"):
            title = "LOAD DATA of Big, seconds" if key == "load" else "both tables on disk, bytes"
            figures.add(key, title, "DuckDB", float(value))
            continue
        query = next(query for query in article.QUERIES if query.name == key)
        if query.expected and int(rows) != counts[query.expected]:
            raise common.Failure(f"DuckDB answers '{query.title}' with {rows}; right is {counts[query.expected]}")
        figures.add(key, query.title, "DuckDB", float(value))


def bench_lookups(private, folder, figures, rows):
    rows = min(LOOKUP_ROWS, rows)
    connection = private.connect()
    connection.execute("create database if not exists lookups character set latin1")
    connection.execute("use lookups")
    head = os.path.join(folder, "head.tsv")
    with open(os.path.join(folder, "big.tsv"), "rb") as source, open(head, "wb") as target:
        for _, line in zip(range(rows), source):
            target.write(line)
    os.chmod(head, 0o644)
    program = common.compile_client(private, "point_lookup.c")
    for setup in (SETUPS[2], AS_IN_ARTICLE, ALL_COLUMNAR):
        table = f"lookup_{setup.database}"
        columns = ", ".join(f"{name} {kind}{setup.column_option(name)}" for name, kind in article.COLUMNS)
        connection.execute(f"create table {table} ({columns}, primary key (Id)) engine={setup.engine}")
        connection.execute(f"load data infile '{head}' into table {table} character set latin1 fields escaped by ''")
        connection.no_warnings(f"LOAD DATA into {table}")
        say(f"{setup.title}: {LOOKUPS:,} point lookups in {rows:,} rows …")
        rate = float(common.run([program, private.socket, "lookups", table, str(rows), str(LOOKUPS)], "point_lookup"))
        figures.add("lookups", "point lookups by primary key, per second", setup.title, rate)
    connection.execute("drop database lookups")
    connection.close()


def bench_budget(folder, counts, figures):
    """Load and all queries in a fresh server; what it took at most, less what it takes idle, against the budget."""
    with server("bench") as private:
        connection = private.connect()
        connection.execute("select 1")
        idle = private.memory("VmRSS")
        answers = {}
        for setup in (ALL_COLUMNAR, AS_IN_ARTICLE):
            say(f"{setup.title}: memory while loading and asking …")
            article.create_tables(connection, setup)
            for table in ("Small", "Big"):
                article.load(connection, folder, table)
            figures.add("memory", "memory above idle, bytes", f"{setup.title}, loading",
                        private.memory("VmHWM") - idle)
            for query in article.QUERIES:
                answer = article.ask(private, connection, setup, query)()
                rows, value = article.digest(query, answer)
                article.check(query, setup.title, rows, value, answers.get(query, {}), counts)
                answers.setdefault(query, {})[setup.title] = value
            figures.add("memory", "memory above idle, bytes", f"{setup.title}, whole run",
                        private.memory("VmHWM") - idle)
        figures.add("memory", "memory above idle, bytes", "hailstone_memory_budget", MEMORY_BUDGET)
        connection.close()


def main():
    # scripts/bench has looked at the arguments.
    parser = argparse.ArgumentParser()
    parser.add_argument("part", nargs="*")
    parser.add_argument("--rows", type=int, default=article.FULL_ROWS)
    parser.add_argument("--output", default=os.path.join(common.PROJECT, "bench/results"))
    arguments = parser.parse_args()
    parts = arguments.part or PARTS

    figures = report.Figures()
    missing = {}
    say("starting a private server …")
    with server("bench") as private:
        facts = private.facts
        folder = os.path.join(facts["home"], "bench-data")
        try:
            common.need_disk(facts["home"], 700 * arguments.rows + 2_000_000_000)
            say(f"generating Small and Big ({arguments.rows:,} rows) …")
            counts = article.generate(folder, arguments.rows)
            if "queries" in parts:
                bench_queries(private, folder, counts, figures)
            if "lookups" in parts:
                bench_lookups(private, folder, figures, arguments.rows)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    try:
        if "queries" in parts:
            reason = peer_process.install_duckdb()
            if reason:
                missing["DuckDB"] = reason
                say(f"DuckDB is missing: {reason}")
            else:
                say("DuckDB: loading and all queries …")
                bench_duckdb(folder, counts, figures)
        if "budget" in parts:
            bench_budget(folder, counts, figures)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    figures.versions["MariaDB"] = facts["version"]
    report.write(arguments.output, figures, missing, counts, innodb_pool())
    say(f"written: {arguments.output}/report.md, figures.csv, queries.svg")


if __name__ == "__main__":
    common.main(main)
