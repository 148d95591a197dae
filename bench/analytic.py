"""./run bench analytic: statements that read much and answer little, of Hailstone, DuckDB and the server's other engines.

ClickBench's queries, the star schema benchmark's, those of TPC-H's that are one block, and the article's, on data that are
made here; two of them beside clients that write; how their cost grows with the tables; what stays with the server; whether
AUTO takes the better way of statements that a LIMIT may end early; and what only the server computes. For each statement
Hailstone and DuckDB take turns, and their answers are compared: seconds of another run or machine do not compare, ratios do.
Writes analytic.md, analytic.csv and analytic.svg to bench/results/.
"""

import argparse
import contextlib
import math
import os
import shutil
import statistics

import analytic_against
import analytic_aims
import analytic_computed
import analytic_growth
import analytic_limits
import analytic_mixed
import analytic_rates
import analytic_report
import analytic_serial
import analytic_server
import analytic_tables
import analytic_tpcds
import article
import clickbench
import clickbench_data
import common
import compare
import peer_process
import report
import ssb
import ssb_data
import tpcds
import tpch
from analytic_setup import AUTO, CLICKHOUSE, DUCKDB, LONG, OFF, THREADS, Setup
from analytic_statement import Statement, difference, group_of, lookup
from common import Failure, say
from peer_process import PeerFailure
from private_server import PrivateServer

NAME = "bench-analytic"  # of the server
PARTS = ("clickbench", "ssb", "tpch", "article", "rates", "mixed", "growth", "server", "limits", "computed", "tpcds")
ROWS = 10_000_000
LIMIT = 20        # seconds of a statement that the server evaluates, and of one of the peers; TPC-DS has its own
AUTO_LIMIT = 120  # seconds, so that no statement keeps a run for ever
REPEATS = 5       # warm runs at most
SLOW_REPEATS = 1  # of what the server evaluates, and of the peers
PEERS = ("MyISAM", "InnoDB")
ARTICLE_ORDER = {"q6": (1, 0)}


def server_options(memory):
    # Behind a start InnoDB would read its pages again, beside the cold statements.
    return [f"--hailstone-memory-budget={memory}", "--default-time-zone=+00:00",
            "--innodb-buffer-pool-load-at-startup=0", "--innodb-buffer-pool-dump-at-shutdown=0"]


def duckdb_file(folder):
    """Of its database, in a folder of its own."""
    path = os.path.join(folder, "duckdb", "analytic.db")
    os.mkdir(os.path.dirname(path))
    return path


class Analytic(analytic_tables.Loader):
    """The server, the libraries and what was measured of them."""

    def __init__(self, folder, duckdb, clickhouse, peers, innodb, limit):
        """`clickhouse`: None where it cannot be had. `peers`: the server's other engines, for every statement. `innodb`:
        it is among what is measured."""
        libraries = [library for library in (duckdb, clickhouse) if library]
        super().__init__(folder, duckdb, libraries, ("HAILSTONE", *(PEERS if peers else ())), report.Figures())
        self.clickhouse = clickhouse
        self.limit = limit
        self.outcomes = {}     # statement -> what the engine says of it
        self.differences = []  # sentences
        self.refusals = {}     # statement -> why ClickHouse did not answer it
        self.left_paths = {}   # way of asking -> names of statements that the engine does not answer then
        self.groups = []
        self.tpcds = None      # what was measured of it
        self.memory = compare.innodb_pool()
        self._options = server_options(self.memory)
        if innodb:
            self._options += [f"--innodb-buffer-pool-size={self.memory}", "--innodb-log-file-size=1G"]
        self.server = PrivateServer(NAME, *self._options)
        self.connection = self.server.connect()
        self._database = duckdb_file(folder)
        self.figures.versions["DuckDB"] = duckdb.open(self._database, self.memory)
        if clickhouse:
            self.figures.versions["ClickHouse"] = clickhouse.open(os.path.join(folder, "clickhouse"), self.memory)
        self.figures.versions["MariaDB"] = self.server.facts["version"]

    def places(self):
        return [(self.server, self.connection)]

    # --- statements

    def measure(self, group):
        """Each statement of every setup, warm; answers are compared with DuckDB's."""
        self.groups.append(group)
        for statement in group.statements:
            say(f"{statement.name}: {statement.title} …")
            quick = (AUTO, DUCKDB, CLICKHOUSE) if self.clickhouse else (AUTO, DUCKDB)
            setups = [by_threads[threads] for threads in THREADS for by_threads in quick]
            answers = self.measure_in_turn(statement, setups, REPEATS)
            self._note_outcome(statement)
            answers.update(self.measure_in_turn(statement, [OFF, *map(Setup, self.engines[1:])], SLOW_REPEATS))
            if analytic_aims.is_near_off(self.figures, statement):
                self.measure_in_turn(analytic_aims.beside_off(statement), [*AUTO.values(), OFF], analytic_aims.OFF_REPEATS)
            right = answers.pop(DUCKDB[1])
            self.compare(statement, answers, right)
            say(f"{statement.name}: {self._times_of(statement, AUTO)} s, DuckDB {self._times_of(statement, DUCKDB)} s with 1 and 2 threads")
            if not statement.to_client:
                self._take_other_paths(statement, right)

    def _times_of(self, statement, by_threads):
        return " and ".join(f"{self.figures.get(statement.name, by_threads[threads].title):.3f}" for threads in THREADS)

    def measure_in_turn(self, statement, setups, repeats=REPEATS):
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
        """(seconds, what came back); (infinite, None) when it took too long or was refused."""
        # Rows to a client become text that goes nowhere, which is what the server's client does with them.
        if setup.engine == "DuckDB":
            return self.duckdb.time(statement.schema, statement.duckdb_sql, setup.threads, statement.to_client)
        if setup.engine == "ClickHouse":
            return self._ask_clickhouse(statement, setup)
        self.use(statement, setup)
        if statement.to_client:
            return self._time(article.ask(self.server, self.connection, analytic_tables.article_setup(setup.engine), statement))
        return self._time(lambda: self.connection.execute(statement.sql))

    @staticmethod
    def _time(run):
        """(seconds, what it returns); (infinite, None) when the server's limit ended it."""
        try:
            return common.timed(run)
        except Failure as failure:
            if not common.has_reached_limit(failure):
                raise
            return math.inf, None

    def _ask_clickhouse(self, statement, setup):
        # It may need more memory than it has; the others' figures are worth having then.
        try:
            return self.clickhouse.time(statement.schema, statement.clickhouse_sql, setup.threads, statement.to_client,
                                        self.limit_of(setup))
        except PeerFailure as failure:
            if "TIMEOUT_EXCEEDED" not in str(failure):
                self.refusals[statement.name] = str(failure)
            return math.inf, None

    def _answer(self, statement, setup, raw):
        """Rows to compare; None where there are none."""
        if not statement.to_client or raw is None:
            return raw
        if setup.engine == "DuckDB":
            raw = "\n".join("\t".join(row) for row in self.duckdb.rows(statement.schema, statement.sql)).encode()
        return [article.digest(statement, raw)]

    def limit_of(self, setup, statement=None):
        """Seconds that a statement may take; None: as long as it takes."""
        if setup.engine == "DuckDB":  # whose answers are those that all others are compared with
            return None
        if setup not in AUTO.values():
            return self.limit
        return statement.seconds if statement and statement.seconds else AUTO_LIMIT

    def use(self, statement, setup):
        """Makes the settings those of the setup, also for connections to come."""
        self.connection.execute(f"USE {setup.database(statement.schema)}")
        self.connection.execute(f"SET SESSION max_statement_time = {self.limit_of(setup, statement)}")
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
        # What the engine does not answer takes as long as with OFF.
        self.connection.execute(f"SET SESSION max_statement_time = {self.limit}")
        literal = "'" + statement.sql.replace("\\", "\\\\").replace("'", "''") + "'"
        self.connection.execute(f"PREPARE prepared FROM {literal}")
        self.connection.execute(f"CREATE OR REPLACE VIEW viewed AS {statement.sql}")
        self.connection.execute(f"CREATE OR REPLACE PROCEDURE called() {statement.sql}")
        for path, sql in (("prepared", "EXECUTE prepared"), ("prepared, again", "EXECUTE prepared"),
                          ("a view", "SELECT * FROM viewed"), ("a procedure", "CALL called()")):
            before = self._counts()
            answer = self._time(lambda sql=sql: self.connection.execute(sql))[1]
            if answer is not None and (how := difference(statement, answer, right)):
                self.differences.append(f"{statement.name} as {path} and DuckDB: {how}")
            if self._counts()["pushed"] == before["pushed"]:
                self.left_paths.setdefault(path, []).append(statement.name)

    def _counts(self):
        prefix = "Hailstone_selects_"
        rows = self.connection.execute(f"SHOW GLOBAL STATUS LIKE '{prefix.replace('_', chr(92) + '_')}%'")
        return {name[len(prefix):]: int(count) for name, count in rows}

    def compare(self, statement, answers, right):
        """Notes how the answers of setups, by setup, differ from the right one."""
        for setup, answer in answers.items():
            if answer is not None and (how := self._how_wrong(statement, setup, answer, right)):
                self.differences.append(f"{statement.name}, {setup.title} and DuckDB: {how}")
                say(f"the answers differ: {self.differences[-1]}")

    def _how_wrong(self, statement, setup, answer, right):
        how = difference(statement, answer, right)
        if not how and setup in AUTO.values() and (asked := lookup(statement, answer)):
            query, expected = asked
            found = self.duckdb.rows(statement.schema, query)[0][0]
            how = "" if found == expected else f"of {expected} rows that may be any of several, {expected - found} are none of them"
        return how

    # --- cold

    def measure_cold(self):
        """Each statement once behind a start of the server, and of DuckDB, with none of their files in memory."""
        for group in self.groups:
            say(f"{group.title}: cold …")
            for statement in group.statements:
                self._restart()
                for setup in (AUTO[2], DUCKDB[2]):
                    if setup.engine == "DuckDB":
                        self.duckdb.open(self._database, self.memory)
                    seconds, _ = self._run(statement, setup)
                    self.figures.add(f"{statement.name}-cold", f"{statement.title}, cold", setup.title, seconds)

    def _restart(self):
        self.connection.close()
        self.server.stop()
        common.evict(os.path.join(self.server.facts["data"], "#hailstone"))
        self.server.start(*self._options)
        self.connection = self.server.connect()
        self.connection.execute("SELECT 1")

    def close(self):
        self.connection.close()


def article_group():
    return group_of("The article's queries", "The statements are in [report.md](report.md).", analytic_tables.ARTICLE, [
        Statement(query.name, query.title, query.sql, order=ARTICLE_ORDER.get(query.name, ()), to_client=query.to_client)
        for query in article.QUERIES])


def groups(parts, loader, rows, scale):
    """Of each part whose statements have a table of the page: its group, once the tables are made."""
    if "clickbench" in parts or "mixed" in parts:
        say(f"hits: making {rows:,} rows …")
        loader.load(clickbench.SCHEMA, [(clickbench.TABLE, clickbench_data.generator(rows))])
        if "clickbench" in parts:
            yield hits(loader, rows)
    for benchmark in (ssb, tpch):
        if benchmark.SCHEMA in parts:
            say(f"{benchmark.GROUP.title}, scale {scale:g}: making the tables …")
            loader.load(benchmark.SCHEMA, benchmark.sources(scale, loader.folder))
            yield benchmark.GROUP
    if "article" in parts:
        loader.load_article(rows)
        yield article_group()
    if "rates" in parts:
        loader.load(analytic_rates.SCHEMA, analytic_rates.sources(rows))
        yield analytic_rates.group(rows)


def hits(loader, rows):
    return clickbench.group(clickbench.find_values(rows, lambda query: loader.duckdb.rows(clickbench.SCHEMA, query)))


def run_parts(parts, bench, arguments):
    rows, scale = arguments.rows, arguments.scale
    for group in groups(parts, bench, rows, scale):
        bench.measure(group)
    if "rates" in parts:
        analytic_rates.measure(bench, rows)
    bench.measure_cold()
    if "mixed" in parts:
        analytic_mixed.measure(bench, AUTO[2], hits(bench, rows).statements, arguments.seconds)
    if "growth" in parts:
        analytic_growth.measure(bench, scale)
    if "server" in parts:
        analytic_server.measure(bench)
    if "limits" in parts:
        analytic_limits.measure(bench)
    if "computed" in parts:
        analytic_computed.measure(bench)
    if "tpcds" in parts:
        bench.tpcds = analytic_tpcds.measure(bench, arguments.scale, arguments.limit or analytic_tpcds.LIMIT)


def disk_needed(parts, rows, scale, several):
    """Bytes: of each row in all engines, and of the greatest table as text. `several`: other engines of the server, or another server, too."""
    size = 2_000_000_000
    if {"clickbench", "mixed", "article", "rates"} & {*parts}:
        size += (1_500 + 700 * several) * rows
    if {"ssb", "growth"} & {*parts}:
        size += (400 + 500 * several) * ssb_data.lines_of(scale)
    if {"tpch", "growth"} & {*parts}:
        size += (700 + 700 * several) * tpch.LINES * scale
    if "tpcds" in parts:
        size += (200 + 100 * several) * tpcds.ROWS * scale
    return size


def write_page(parts, folder, duckdb, arguments):
    if reason := peer_process.install_clickhouse():
        say(f"ClickHouse is left out: {reason}")
    with contextlib.nullcontext() if reason else peer_process.clickhouse() as clickhouse:
        say("starting a private server …")
        innodb = arguments.peers or bool({"server", "limits"} & {*parts})
        bench = Analytic(folder, duckdb, clickhouse, arguments.peers, innodb, arguments.limit or LIMIT)
        with bench.server:
            run_parts(parts, bench, arguments)
            bench.close()
    analytic_report.write(arguments.output, bench, arguments.seconds)
    say(f"written: {arguments.output}/analytic.md, analytic.csv, analytic.svg")
    if bench.differences:
        raise Failure("answers differ: " + "; ".join(bench.differences))


def compare_builds(parts, folder, duckdb, arguments):
    """--against."""
    say("starting a private server of each build …")
    memory = compare.innodb_pool()
    duckdb.open(duckdb_file(folder), memory)
    with contextlib.ExitStack() as servers:
        builds = [servers.enter_context(build) for build in analytic_against.builds(arguments.against, NAME, server_options(memory))]
        against = analytic_against.Against(folder, duckdb, builds, memory, arguments.limit or LIMIT)
        for group in groups(parts, against, arguments.rows, arguments.scale):
            against.measure(group)
        for group in analytic_against.further_groups(parts, against, arguments.scale):
            against.measure(group)
    print(analytic_against.report_text(against))
    if against.differences:
        raise Failure("the builds' answers differ: " + "; ".join(against.differences))


def measure_serial(parts, folder, duckdb, arguments):
    """--serial."""
    say("starting a private server …")
    memory = compare.innodb_pool()
    duckdb.open(duckdb_file(folder), memory)
    with analytic_against.Build(f"Hailstone {report.hailstone_version()}", analytic_serial.NAME, server_options(memory)) as build:
        serial = analytic_serial.Serial(folder, duckdb, build, arguments.limit or LIMIT)
        for group in groups(parts, serial, arguments.rows, arguments.scale):
            serial.measure(group)
        for group in analytic_against.further_groups(parts, serial, arguments.scale):
            serial.measure(group)
        page = analytic_serial.page(serial, arguments.rows, arguments.scale)
    with open(os.path.join(arguments.output, "serial.md"), "w", encoding="utf-8") as file:
        file.write(page)
    print(page)


def main():
    # scripts/bench has looked at the arguments.
    parser = argparse.ArgumentParser()
    parser.add_argument("part", nargs="*")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--seconds", type=int, default=analytic_mixed.SECONDS)
    parser.add_argument("--output", default=os.path.join(common.PROJECT, "bench/results"))
    parser.add_argument("--against")
    parser.add_argument("--serial", action="store_true")
    arguments = parser.parse_args()
    run, every_part = ((compare_builds, analytic_against.PARTS) if arguments.against else
                       (measure_serial, analytic_serial.PARTS) if arguments.serial else (write_page, PARTS))
    parts = arguments.part or every_part
    for part, least in (("tpch", tpch.LEAST_SCALE), ("growth", 10 * tpch.LEAST_SCALE)):
        if part in parts and arguments.scale < least:
            raise Failure(f"{part} needs a scale of at least {least:g}, as TPC-H's keys are not unique in smaller tables")
    if reason := peer_process.install_duckdb():
        raise Failure(f"DuckDB is missing, which makes the data: {reason}")
    if {"tpch", "growth", "server"} & {*parts} and (reason := peer_process.install_tpchgen()):
        raise Failure(f"tpchgen-cli is missing, which makes TPC-H's data: {reason}")
    if "tpcds" in parts and (reason := peer_process.install_tpcds()):
        raise Failure(f"DuckDB's extension tpcds is missing, which makes TPC-DS's data: {reason}")
    home = PrivateServer.existing(NAME).facts["home"]
    folder = os.path.join(home, "bench-analytic-data")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    os.chmod(folder, 0o755)
    try:
        common.need_disk(folder, disk_needed(parts, arguments.rows, arguments.scale, arguments.peers or bool(arguments.against)))
        with peer_process.duckdb() as duckdb:
            run(parts, folder, duckdb, arguments)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    common.main(main)
