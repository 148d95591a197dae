"""./run bench analytic --against BUILD: the statements on this build of Hailstone and on another one, in turn.

Each build has a server of its own, and the same rows. Of each statement the least processor time counts that the server's
process took, and the least time that the client waited. Prints a table, and writes nothing.
"""

import math
import os
import statistics
import subprocess
import time

import analytic_computed
import analytic_limits
import analytic_tables
import analytic_tpcds
import article
import common
import report
import tpcds
from analytic_setup import AUTO
from analytic_statement import Group, difference
from common import Failure, say
from private_server import PrivateServer

NAME = "bench-analytic-against"  # of the other build's server
PARTS = ("clickbench", "ssb", "tpch", "article", "rates", "limits", "computed")  # unless others are named
SETUP = AUTO[2]
TURNS = 9          # in which both builds are asked
MOST = 1.1         # times the other build's processor time
STARTS, MORE_TURNS = 3, 10  # of both servers, and in each of these, for a statement that takes more, before it counts
TURN = 0.005       # seconds of the processor that a turn takes at least, by so many runs
MOST_RUNS = 100    # of a turn
IDLE = 0.5         # seconds in which a server does next to nothing, once it has nothing left to do
LONGEST_WORK = 60  # seconds after which it is asked all the same


class Build:
    """A build, in a server of its own."""

    def __init__(self, title, name, options, plugin=None):
        self.title = title
        self._options = options
        self.server = PrivateServer(name, *options, plugin=plugin)
        self.connection = self.server.connect()

    def restart(self):
        self.connection.close()
        self.server.stop()
        self.server.start(*self._options)
        self.connection = self.server.connect()

    def wait_until_idle(self):
        """What loads and starts have left to do would count as the statements'."""
        deadline = time.monotonic() + LONGEST_WORK
        while time.monotonic() < deadline:
            processor = self.server.cpu_seconds()
            time.sleep(IDLE)
            if self.server.cpu_seconds() - processor < IDLE / 100:
                return

    def __enter__(self):
        self.server.__enter__()
        return self

    def __exit__(self, *failure):
        self.connection.close()
        self.server.__exit__(*failure)

    def use(self, schema, limit):
        self.connection.execute(f"USE {SETUP.database(schema)}")
        self.connection.execute(f"SET SESSION max_statement_time = {limit}")
        for scope in ("GLOBAL", "SESSION"):  # rows to a client go by a connection of its own
            self.connection.execute(f"SET {scope} hailstone_select_pushdown = {SETUP.pushdown}")
            self.connection.execute(f"SET {scope} hailstone_query_threads = {SETUP.threads}")

    def run(self, statement, runs):
        """(seconds of the server's processor, seconds that the client waited, the answer), of a run of several."""
        ask = (article.ask(self.server, self.connection, analytic_tables.article_setup("HAILSTONE"), statement)
               if statement.to_client else lambda: self.connection.execute(statement.sql))
        processor = self.server.cpu_seconds()
        waited, answer = common.timed(lambda: [ask() for _ in range(runs)][-1])
        return (self.server.cpu_seconds() - processor) / runs, waited / runs, answer

    def checksums(self, schema):
        tables = [table for table, in self.connection.execute(f"SHOW TABLES FROM {SETUP.database(schema)}")]
        return self.connection.execute("CHECKSUM TABLE " + ", ".join(f"{SETUP.database(schema)}.{table}" for table in tables))


class Least:
    """The least times of a statement, of each build."""

    def __init__(self, statement, builds):
        self.statement = statement
        self.runs = 0  # of a turn; 0: one of the builds has not ended it
        self.processor = dict.fromkeys(builds, math.inf)
        self.waited = dict.fromkeys(builds, math.inf)

    def add(self, build, processor, waited):
        self.processor[build] = min(self.processor[build], processor)
        self.waited[build] = min(self.waited[build], waited)

    @staticmethod
    def ratio(times):
        """This build's to the other's; infinite or 0 where one of them has not ended, None where neither has."""
        mine, theirs = times.values()
        return None if mine == theirs == math.inf else mine / theirs

    def is_slower(self):
        return (self.ratio(self.processor) or 0) > MOST


class Against(analytic_tables.Loader):
    def __init__(self, folder, duckdb, builds, memory, limit):
        super().__init__(folder, duckdb, [duckdb], ("HAILSTONE",), report.Figures())
        self.builds = builds
        self.memory = memory
        self.limit = limit
        self.least = []
        self.differences = []  # sentences

    def places(self):
        return [(build.server, build.connection) for build in self.builds]

    def measure(self, group):
        """The statements of a group whose tables are there."""
        mine, theirs = (build.checksums(group.schema) for build in self.builds)
        if mine != theirs:
            raise Failure(f"the rows of {group.schema} are not the same in both builds: {mine} and {theirs}")
        self._prepare(group.schema)
        measured = [Least(statement, self.builds) for statement in group.statements]
        self.least += measured
        for least in measured:
            if self._first_runs(least):
                self._take_turns(least, TURNS)
            say("  ".join(_row(least)))
        # How one process happens to lie in memory may be a tenth of a short statement: it has others to show itself.
        for _ in range(STARTS):
            slower = [least for least in measured if least.is_slower() and least.runs]
            if slower:
                say(f"{len(slower)} above {MOST}: once more, in new processes …")
                for build in self.builds:
                    build.restart()
                self._prepare(group.schema)
            for least in slower:
                self._take_turns(least, MORE_TURNS)
                say("  ".join(_row(least)))

    def _prepare(self, schema):
        for build in self.builds:
            build.use(schema, self.limit)
            build.wait_until_idle()

    def _first_runs(self, least):
        """Whether both builds end the statement; finds out how many runs a turn has."""
        statement, answers = least.statement, []
        for build in self.builds:
            try:
                processor, waited, answer = build.run(statement, 1)
            except Failure as failure:
                if not common.has_reached_limit(failure):
                    raise
                continue
            least.add(build, processor, waited)
            answers.append([article.digest(statement, answer)] if statement.to_client else answer)
        if len(answers) < len(self.builds):
            return False
        if how := difference(statement, *answers):
            self.differences.append(f"{statement.name}: {how}")
        least.runs = 1
        self._take_turns(least, 1)  # warm
        least.runs = max(1, min(MOST_RUNS, math.ceil(TURN / max(least.processor.values()))))
        return True

    def _take_turns(self, least, turns):
        for turn in range(turns):
            # Each build is first as often as the other.
            for build in self.builds[::1 if turn % 2 else -1]:
                processor, waited, _ = build.run(least.statement, least.runs)
                least.add(build, processor, waited)


def _row(least):
    times = [least.processor, least.waited]
    return [f"{least.statement.name}: {least.statement.title}",
            *(text for each in times for text in (*map(_milliseconds, each.values()), report.number(Least.ratio(each))))]


def _milliseconds(seconds):
    return "no end" if seconds == math.inf else report.number(1000 * seconds)


def builds(folder, name, options):
    """This build, in a server of that name, and the one in the folder; each is to be entered before the next one is made."""
    mine = Build(f"this build ({_commit(common.PROJECT)})", name, options)
    yield mine
    plugin = os.path.join(os.path.abspath(folder), "plugin")
    version = mine.server.facts["version"].partition("-")[0]
    if not os.path.exists(os.path.join(plugin, f"hailstone-{version}.so")):
        there = ", ".join(sorted(file for file in os.listdir(plugin) if file.startswith("hailstone-")))
        raise Failure(f"{folder} is not built for MariaDB {version}, the server of this checkout: its plugin has {there or 'no server'}")
    yield Build(f"{folder} ({_commit(folder)})", NAME, options, plugin)


def _commit(folder):
    done = subprocess.run(["git", "-C", folder, "describe", "--always", "--dirty", "--exclude=*"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown commit"


def further_groups(parts, loader, scale):
    """Groups of the parts that have no table of the page, or one of another form."""
    for part, make in ((analytic_limits, lambda connection: analytic_limits.make_tables(connection, SETUP)),
                       (analytic_computed, analytic_computed.make_table)):
        if part.SCHEMA in parts:
            say(f"{part.SCHEMA}: making the tables …")
            for _, connection in loader.places():
                make(connection)
            yield Group(part.SCHEMA, "", part.SCHEMA, part.STATEMENTS)
    if tpcds.SCHEMA in parts:
        yield Group(tpcds.SCHEMA, "", tpcds.SCHEMA, [query.statement for query in analytic_tpcds.load(loader, scale)])


def report_text(against):
    """What was measured, as a table, and what of it counts."""
    mine, theirs = (build.title for build in against.builds)
    header = ["ms", "processor", "other's", "ratio", "waited", "other's", "ratio"]
    text = (f"{mine} beside {theirs}. Milliseconds of the server's processor time, and those that the client waited; 2 threads, the "
            f"least of {TURNS} turns, and where the ratio was above {MOST} of up to {STARTS * MORE_TURNS} more in new processes. A statement may take {against.limit} s.\n\n" +
            report.table(header, map(_row, against.least)))
    for what, ratios in (("processor time", [Least.ratio(least.processor) for least in against.least]),
                         ("time waited", [Least.ratio(least.waited) for least in against.least])):
        ended = [ratio for ratio in ratios if ratio is not None and 0 < ratio < math.inf]
        mean = report.number(statistics.geometric_mean(ended)) if ended else "none"
        text += f"\nGeometric mean of the ratios of {what}: {mean}, of {len(ended)} of {len(ratios)} statements, which both builds ended."
    slower = [f"{least.statement.name} ({report.number(Least.ratio(least.processor))})" for least in against.least if least.is_slower()]
    return text + f"\nAbove {MOST} of the other's processor time: {', '.join(slower) or 'none'}."
