"""./run bench analytic: statements that read much and answer little, of Hailstone, DuckDB and the server's other engines.

ClickBench's queries, TPC-H's 1 and 6, and the article's, on data that are made here; and two of them beside clients that
write. For each statement Hailstone and DuckDB take turns, and their answers are compared: seconds of another run or
machine do not compare, ratios do. Writes analytic.md, analytic.csv and analytic.svg to bench/results/.
"""

import argparse
import contextlib
import math
import os
import shutil
import statistics

import analytic_mixed
import analytic_report
import article
import clickbench
import clickbench_data
import common
import compare
import peer_process
import report
import tpch
from analytic_setup import AUTO, CLICKHOUSE, DUCKDB, OFF, THREADS, Setup
from analytic_statement import Statement, difference, lookup
from common import Failure, say
from private_server import PrivateServer

NAME = "bench-analytic"  # of the server
PARTS = ("clickbench", "tpch", "article", "mixed")
ROWS = 10_000_000
LIMIT = 20        # seconds of a statement that the server evaluates, and of one of the peers
AUTO_LIMIT = 120  # seconds, so that no statement keeps a run for ever
LONG = 3          # seconds: a statement that takes longer runs once, and no setup repeats one for longer
REPEATS = 5       # warm runs at most
SLOW_REPEATS = 1  # of what the server evaluates, and of the peers
PEERS = ("MyISAM", "InnoDB")
# In the article's tables they are two setups; the joins stay with the server.
ARTICLE_QUERIES = tuple(query for query in article.QUERIES if query != article.JOIN)
ARTICLE_ORDER = {"q6": (1, 0)}


class Analytic:
    """The server, the libraries and what was measured of them."""

    def __init__(self, folder, duckdb, clickhouse, peers, limit):
        """`clickhouse`: None where it cannot be had."""
        self.folder = folder
        self.duckdb, self.clickhouse = duckdb, clickhouse
        self.engines = ("HAILSTONE", *(PEERS if peers else ()))
        self.limit = limit
        self.figures = report.Figures()
        self.outcomes = {}     # statement -> what the engine says of it
        self.differences = []  # sentences
        self.left_paths = []   # statements that the engine does not answer when they are asked in other ways
        self.groups = {}       # title -> statements
        self.memory = compare.innodb_pool()
        # Behind a start InnoDB would read its pages again, beside the cold statements.
        self._options = [f"--hailstone-memory-budget={self.memory}", "--default-time-zone=+00:00",
                         "--innodb-buffer-pool-load-at-startup=0", "--innodb-buffer-pool-dump-at-shutdown=0"]
        if peers:
            self._options += [f"--innodb-buffer-pool-size={self.memory}", "--innodb-log-file-size=1G"]
        self.server = PrivateServer(NAME, *self._options)
        self.connection = self.server.connect()
        self._database = os.path.join(folder, "duckdb", "analytic.db")
        os.mkdir(os.path.dirname(self._database))
        self.figures.versions["DuckDB"] = duckdb.open(self._database, self.memory)
        if clickhouse:
            self.figures.versions["ClickHouse"] = clickhouse.open(os.path.join(folder, "clickhouse"), self.memory)
        self.figures.versions["MariaDB"] = self.server.facts["version"]

    # --- tables

    def make_table(self, table, columns, query):
        """Makes the rows, and loads them into each engine."""
        path = os.path.join(self.folder, f"{table}.tsv")
        seconds, _ = common.timed(lambda: self.duckdb.write(query, path))
        size = os.path.getsize(path)
        say(f"{table}: {size / 1e6:,.0f} MB made in {seconds:.1f} s; loading …")
        os.chmod(path, 0o644)  # the server runs as another user where root started it
        before = self.duckdb.size()
        seconds = self.duckdb.load(table, columns, path)
        self._loaded(table, "DuckDB", seconds, self.duckdb.size() - before)
        if self.clickhouse:
            before = self.clickhouse.size()
            seconds = self.clickhouse.load(table, columns, path)
            self._loaded(table, "ClickHouse", seconds, self.clickhouse.size() - before)
        self.figures.add(f"rows-{table}", f"rows of {table}", "all", self.duckdb.rows(f"SELECT COUNT(*) FROM {table}")[0][0])
        self.figures.add(f"text-{table}", f"{table} as text, bytes", "all", size)
        for engine in self.engines:
            setup = Setup(engine)
            self.connection.execute(f"CREATE DATABASE IF NOT EXISTS {setup.database} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
            self.connection.execute(f"USE {setup.database}")
            option = " COLUMNAR=1" if engine == "HAILSTONE" else ""
            definition = ", ".join(f"{name} {kind} NOT NULL{option}" for name, kind in columns)
            self.connection.execute(f"CREATE TABLE {table} ({definition}) ENGINE={engine}")
            folders = ("hailstone",) if engine == "HAILSTONE" else (setup.database,)
            before = self.server.bytes_on_disk(*folders)
            seconds, _ = common.timed(lambda: self.connection.execute(
                f"LOAD DATA INFILE '{path}' INTO TABLE {table} CHARACTER SET utf8mb4 FIELDS ESCAPED BY ''"))
            self.connection.no_warnings(f"LOAD DATA into {table}")
            self.connection.execute("FLUSH TABLES")
            self._loaded(table, engine, seconds, self.server.bytes_on_disk(*folders) - before)
        os.remove(path)

    def _loaded(self, table, engine, seconds, size):
        self.figures.add(f"load-{table}", f"load of {table}, s", engine, seconds)
        self.figures.add(f"size-{table}", f"{table} on disk, bytes", engine, size)

    def make_article_tables(self, rows):
        folder = os.path.join(self.folder, "article")
        say(f"the article's tables, Big with {rows:,} rows …")
        article.generate(folder, rows)
        for engine in self.engines:
            setup = self._article_setup(engine)
            article.create_tables(self.connection, setup)
            for table in ("Small", "Big"):
                article.load(self.connection, folder, table)
        self.figures.add("rows-Big", "rows of Big", "all", rows)
        for table in ("Small", "Big"):
            for library in filter(None, (self.duckdb, self.clickhouse)):
                library.load(table, article.COLUMNS, os.path.join(folder, f"{table.lower()}.tsv"))
        shutil.rmtree(folder)

    @staticmethod
    def _article_setup(engine):
        if engine == "HAILSTONE":
            return article.ALL_COLUMNAR
        return article.MYISAM if engine == "MyISAM" else article.Setup("innodb", "InnoDB", "InnoDB")

    # --- statements

    def measure(self, group, statements):
        """Each statement of every setup, warm; answers are compared with DuckDB's."""
        self.groups[group] = statements
        for statement in statements:
            say(f"{statement.name}: {statement.title} …")
            quick = (AUTO, DUCKDB, CLICKHOUSE) if self.clickhouse else (AUTO, DUCKDB)
            setups = [by_threads[threads] for threads in THREADS for by_threads in quick]
            answers = self._measure_in_turn(statement, setups, REPEATS)
            self._note_outcome(statement)
            setups = [*OFF.values(), *map(Setup, self.engines[1:])]
            answers.update(self._measure_in_turn(statement, setups, SLOW_REPEATS))
            right = answers.pop(DUCKDB[1])
            for setup, answer in answers.items():
                if answer is not None:
                    self._compare(statement, setup, answer, right)
            if not statement.to_client:
                self._take_other_paths(statement, right)

    def _measure_in_turn(self, statement, setups, repeats):
        """Runs a statement of the setups in turn, so that what else the machine does meets all of them; their answers."""
        cold, warm, answers = {}, {setup: [] for setup in setups}, {}
        for setup in setups:
            cold[setup], raw = self._run(statement, setup)
            answers[setup] = self._answer(statement, setup, raw)
        for _ in range(repeats):
            for setup in setups:
                if cold[setup] < LONG and sum(warm[setup]) < LONG:
                    warm[setup].append(self._run(statement, setup)[0])
        for setup in setups:
            self.figures.add(statement.name, statement.title, setup.title, statistics.median(warm[setup] or [cold[setup]]))
        return answers

    def _run(self, statement, setup):
        """(seconds, what came back); (infinite, None) when it took too long."""
        # Rows to a client become text that goes nowhere, which is what the server's client does with them.
        if setup.engine == "DuckDB":
            return self.duckdb.time(statement.duckdb_sql, setup.threads, statement.to_client)
        if setup.engine == "ClickHouse":
            return self.clickhouse.time(statement.clickhouse_sql, setup.threads, statement.to_client)
        self.use(statement, setup)
        try:
            if statement.to_client:
                return common.timed(article.ask(self.server, self.connection, self._article_setup(setup.engine), statement))
            return common.timed(lambda: self.connection.execute(statement.sql))
        except Failure as failure:
            if "max_statement_time" not in str(failure):
                raise
            return math.inf, None

    def _answer(self, statement, setup, raw):
        """Rows to compare; None where there are none."""
        if not statement.to_client or raw is None:
            return raw
        if setup.engine == "DuckDB":
            raw = "\n".join("\t".join(row) for row in self.duckdb.rows(statement.sql)).encode()
        return [article.digest(statement, raw)]

    def limit_of(self, setup):
        """Seconds that a statement may take."""
        return AUTO_LIMIT if setup in AUTO.values() else self.limit

    def use(self, statement, setup):
        """Makes the settings those of the setup, also for connections to come."""
        of_article = statement in self.groups.get(ARTICLE, ())
        self.connection.execute(f"USE {self._article_setup(setup.engine).database if of_article else setup.database}")
        self.connection.execute(f"SET SESSION max_statement_time = {self.limit_of(setup)}")
        for scope in ("GLOBAL", "SESSION"):
            self.connection.execute(f"SET {scope} hailstone_select_pushdown = {setup.pushdown}")
            self.connection.execute(f"SET {scope} hailstone_query_threads = {setup.threads}")

    def _note_outcome(self, statement):
        """What became of the statement's blocks, by the counters and by the engine's own notes."""
        before = self._counts()
        self._run(statement, AUTO[2])
        after = self._counts()
        counted = [name for name, count in after.items() if count != before[name]]
        self.connection.execute(f"EXPLAIN EXTENDED {statement.sql}")
        notes = [text for _, _, text in self.connection.execute("SHOW WARNINGS") if text.startswith("HAILSTONE")]
        self.outcomes[statement.name] = analytic_report.Outcome(counted, notes)
        self.figures.add(f"{statement.name}-pushed", "answered in the engine", AUTO[2].title, int("pushed" in counted))

    def _take_other_paths(self, statement, right):
        """The same statement prepared, as a view and in a procedure."""
        self.use(statement, AUTO[2])
        literal = "'" + statement.sql.replace("\\", "\\\\").replace("'", "''") + "'"
        self.connection.execute(f"PREPARE prepared FROM {literal}")
        self.connection.execute(f"CREATE OR REPLACE VIEW viewed AS {statement.sql}")
        self.connection.execute(f"CREATE OR REPLACE PROCEDURE called() {statement.sql}")
        for path, sql in (("prepared", "EXECUTE prepared"), ("prepared, again", "EXECUTE prepared"),
                          ("a view", "SELECT * FROM viewed"), ("a procedure", "CALL called()")):
            before = self._counts()
            answer = self.connection.execute(sql)
            if how := difference(statement, answer, right):
                self.differences.append(f"{statement.name} as {path} and DuckDB: {how}")
            if self._counts()["pushed"] == before["pushed"]:
                self.left_paths.append(f"{statement.name} as {path}")

    def _counts(self):
        prefix = "Hailstone_selects_"
        rows = self.connection.execute(f"SHOW GLOBAL STATUS LIKE '{prefix.replace('_', chr(92) + '_')}%'")
        return {name[len(prefix):]: int(count) for name, count in rows}

    def _compare(self, statement, setup, answer, right):
        how = difference(statement, answer, right)
        if not how and setup in AUTO.values() and (asked := lookup(statement, answer)):
            query, expected = asked
            found = self.duckdb.rows(query)[0][0]
            how = "" if found == expected else f"of {expected} rows that may be any of several, {expected - found} are none of them"
        if how:
            self.differences.append(f"{statement.name}, {setup.title} and DuckDB: {how}")
            say(f"the answers differ: {self.differences[-1]}")

    # --- cold

    def measure_cold(self):
        """Each statement once behind a start of the server, and of DuckDB, with none of their files in memory."""
        for group, statements in self.groups.items():
            say(f"{group}: cold …")
            for statement in statements:
                self._restart()
                for setup in (AUTO[2], DUCKDB[2]):
                    if setup.engine == "DuckDB":
                        self.duckdb.open(self._database, self.memory)
                    seconds, _ = self._run(statement, setup)
                    self.figures.add(f"{statement.name}-cold", f"{statement.title}, cold", setup.title, seconds)

    def _restart(self):
        self.connection.close()
        self.server.stop()
        common.evict(os.path.join(self.server.facts["data"], "hailstone"))
        self.server.start(*self._options)
        self.connection = self.server.connect()
        self.connection.execute("SELECT 1")

    def close(self):
        self.connection.close()


ARTICLE = "The article's queries"


def article_statements():
    return tuple(Statement(query.name, query.title, query.sql, order=ARTICLE_ORDER.get(query.name, ()),
                           to_client=query.to_client) for query in ARTICLE_QUERIES)


def run_parts(parts, bench, rows, scale, seconds):
    if "clickbench" in parts or "mixed" in parts:
        say(f"hits: making {rows:,} rows …")
        bench.make_table("hits", clickbench.COLUMNS, clickbench_data.generator(rows))
        hits = clickbench.statements(clickbench.find_values(rows, bench.duckdb.rows))
        if "clickbench" in parts:
            bench.measure("ClickBench", hits)
    if "tpch" in parts:
        say(f"lineitem: making about {tpch.rows_of(scale):,.0f} rows …")
        bench.make_table("lineitem", tpch.COLUMNS, tpch.generator(scale))
        bench.measure("TPC-H", tpch.STATEMENTS)
    if "article" in parts:
        bench.groups[ARTICLE] = article_statements()
        bench.make_article_tables(rows)
        bench.measure(ARTICLE, bench.groups[ARTICLE])
    bench.measure_cold()
    if "mixed" in parts:
        analytic_mixed.measure(bench, AUTO[2], hits, seconds)


def main():
    # scripts/bench has looked at the arguments.
    parser = argparse.ArgumentParser()
    parser.add_argument("part", nargs="*")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--limit", type=int, default=LIMIT)
    parser.add_argument("--seconds", type=int, default=analytic_mixed.SECONDS)
    parser.add_argument("--output", default=os.path.join(common.PROJECT, "bench/results"))
    arguments = parser.parse_args()
    parts = arguments.part or PARTS
    if reason := peer_process.install_duckdb():
        raise Failure(f"DuckDB is missing, which makes the data: {reason}")
    if reason := peer_process.install_clickhouse():
        say(f"ClickHouse is left out: {reason}")
    with peer_process.duckdb() as duckdb, contextlib.ExitStack() as others:
        clickhouse = None if reason else others.enter_context(peer_process.clickhouse())
        say("starting a private server …")
        home = PrivateServer.existing(NAME).facts["home"]
        folder = os.path.join(home, "bench-analytic-data")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        os.chmod(folder, 0o755)
        try:
            size = 1_500 + 700 * arguments.peers
            common.need_disk(folder, size * arguments.rows + 500 * tpch.rows_of(arguments.scale) + 2_000_000_000)
            bench = Analytic(folder, duckdb, clickhouse, arguments.peers, arguments.limit)
            with bench.server:
                run_parts(parts, bench, arguments.rows, arguments.scale, arguments.seconds)
                bench.close()
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    analytic_report.write(arguments.output, bench, arguments.seconds)
    say(f"written: {arguments.output}/analytic.md, analytic.csv, analytic.svg")
    if bench.differences:
        raise Failure("answers differ: " + "; ".join(bench.differences))


if __name__ == "__main__":
    common.main(main)
