"""./run bench replication: how fast a replica catches up, and how many durable commits a second a server with a binary log makes.

HAILSTONE and InnoDB take turns in the same servers: seconds of another run or machine do not compare, ratios do. Writes
replication.md and replication.csv to bench/results/.
"""

import argparse
import math
import os
import re
import resource
import statistics
import threading
import time

import common
import replication_log
import report
from checked_connection import CheckedConnection, Lost, Problem, Refused
from common import Failure, say
from primary_and_replica import admit_replicas, catch_up, follow, free_port, network_options
from private_server import PrivateServer

PARTS = ("catch-up", "commits")
ENGINES = ("HAILSTONE", "InnoDB")
TRANSACTIONS = 20_000
SECONDS = 1
RUNS = 3
PAIRS = 8  # of measurements of commits in each run: a disk's speed changes from one second to the next
APPLIERS = (0, 4, 8)
CLIENTS = (1, 4, 16, 64)
CONFLICTS = (1205, 1213)  # lock wait timeout, deadlock
MEMORY = 256  # MiB
OPTIONS = (f"--hailstone-memory-budget={MEMORY}M", f"--innodb-buffer-pool-size={MEMORY}M", "--innodb-log-file-size=512M",
           "--hailstone-flush-log-at-trx-commit=1", "--innodb-flush-log-at-trx-commit=1", "--binlog-format=ROW")


def in_turn(turn):
    """The engines, each first in every other turn."""
    return ENGINES if turn % 2 == 0 else ENGINES[::-1]


def add_median(figures, key, title, engine, values):
    figures.add(key, title, engine, statistics.median(values))
    figures.add(f"{key}-lowest", f"{title}: lowest", engine, min(values))
    figures.add(f"{key}-highest", f"{title}: highest", engine, max(values))


def add_paired_ratio(figures, key, title, mine, theirs):
    """The geometric mean of the ratios of measurements that follow each other, and its standard error."""
    ratios = [my / their for my, their in zip(mine, theirs)]
    figures.add(f"{key}-ratio", f"{title}: ratio", ENGINES[0], statistics.geometric_mean(ratios))
    figures.add(f"{key}-ratio-error", f"{title}: standard error of the ratio", ENGINES[0],
                statistics.stdev(ratios) / math.sqrt(len(ratios)))


def clients_of(count):
    return "1 client" if count == 1 else f"{count} clients"


def status(connection, *names):
    rows = dict(connection.execute(f"SHOW GLOBAL STATUS WHERE variable_name IN ({','.join(map(repr, names))})"))
    return [int(rows[name]) for name in names]


# --- catch-up


class Writer(threading.Thread):
    """A client of the primary. A transaction that meets another one's lock for too long is repeated."""

    def __init__(self, server, schema, transactions):
        super().__init__()
        self._server = server
        self._schema = schema
        self._transactions = transactions
        self.failure = None

    def run(self):
        try:
            connection = CheckedConnection(self._server, self._schema)
            for statements in self._transactions:
                while not self._commit(connection, statements):
                    pass
            connection.close()
        except (Lost, Problem) as failure:
            self.failure = str(failure) or "the server has gone"

    @staticmethod
    def _commit(connection, statements):
        try:
            if len(statements) > 1:
                connection.execute("BEGIN")
            for statement in statements:
                connection.execute(statement, may_fail=CONFLICTS)
            if len(statements) > 1:
                connection.execute("COMMIT")
        except Refused:
            connection.execute("ROLLBACK")
            return False
        return True


class CatchUp:
    """A primary whose binary log has the transactions of one engine and then those of the other, and a replica that applies
    the part of one engine, again and again from the same rows."""

    def __init__(self, primary, replica, port):
        self._server, self._replica_server = primary, replica
        self._primary, self._replica = primary.connect(), replica.connect()
        self._parts = {}  # engine: its first and last position in the primary's log
        self._contents = {}
        for connection in (self._primary, self._replica):
            admit_replicas(connection)
        self._replica.execute("SET SESSION sql_log_bin=0")
        follow(self._replica, port)

    def write(self, engine, transactions):
        say(f"{engine}: {replication_log.CLIENTS} clients write {transactions:,} transactions …")
        schema = self._schema(engine)
        self._primary.execute("SET SESSION sql_log_bin=0")
        replication_log.make_tables(self._primary, schema, engine)
        self._primary.execute("SET SESSION sql_log_bin=1")
        # A position is empty before the log's first transaction.
        self._primary.execute(f"CREATE OR REPLACE TABLE {schema}.begun (id INT PRIMARY KEY) ENGINE={engine}")
        first = self._position()
        writers = [Writer(self._server, schema, replication_log.transactions(client, transactions // replication_log.CLIENTS))
                   for client in range(replication_log.CLIENTS)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        failures = [writer.failure for writer in writers if writer.failure]
        if failures:
            raise Failure(f"a client of the primary failed: {failures[0]}")
        self._parts[engine] = first, self._position()
        self._contents[engine] = replication_log.contents(self._primary, schema)

    def same_rows(self):
        if self._contents[ENGINES[0]] != self._contents[ENGINES[1]]:
            raise Failure(f"the engines' tables differ after the same transactions: {self._contents}")

    def transactions(self, engine):
        first, last = (int(position.split("-")[2]) for position in self._parts[engine])
        return last - first

    def measure(self, engine, appliers):
        """Transactions a second from START SLAVE until the replica has all, transactions that it had to repeat, commits in a group
        of its own binary log, processors that it kept busy."""
        first, last = self._parts[engine]
        schema, replica = self._schema(engine), self._replica
        replica.execute("STOP SLAVE")
        replication_log.make_tables(replica, schema, engine)
        replica.execute("RESET MASTER")
        replica.execute(f"ALTER TABLE mysql.gtid_slave_pos ENGINE={engine}")
        replica.execute(f"SET GLOBAL gtid_slave_pos='{first}'")
        replica.execute(f"SET GLOBAL slave_parallel_threads={appliers}")
        names = ("Slave_retried_transactions", "Binlog_commits", "Binlog_group_commits")
        before = status(replica, *names)
        processor = self._replica_server.cpu_seconds()
        seconds, _ = common.timed(lambda: self._apply(last))
        processor = self._replica_server.cpu_seconds() - processor
        retries, commits, groups = (after - then for after, then in zip(status(replica, *names), before))
        if (there := replication_log.contents(replica, schema)) != self._contents[engine]:
            raise Failure(f"the replica has {there} in the tables of {engine}, the primary {self._contents[engine]}")
        return self.transactions(engine) / seconds, retries, commits / groups, processor / seconds

    def _apply(self, last):
        # The log goes on with the other engine's part.
        self._replica.execute(f"START SLAVE UNTIL master_gtid_pos='{last}'")
        catch_up(self._replica, last, longest=3600)

    def _position(self):
        return self._primary.execute("SELECT @@global.gtid_binlog_pos")[0][0]

    @staticmethod
    def _schema(engine):
        return f"replication_{engine.lower()}"


def bench_catch_up(transactions, runs_of_each, figures):
    ports = free_port(), free_port()
    # Not synced, the binary logs let the engines' own syncs show.
    with (PrivateServer("bench-primary", *OPTIONS, *network_options(ports[0], 1), "--sync-binlog=0") as primary,
          PrivateServer("bench-replica", *OPTIONS, *network_options(ports[1], 2), "--sync-binlog=0", "--log-slave-updates=1",
                        "--skip-slave-start", "--slave-parallel-mode=optimistic") as replica):
        figures.versions["MariaDB"] = replica.facts["version"]
        loop = CatchUp(primary, replica, ports[0])
        for engine in ENGINES:
            loop.write(engine, transactions)
            figures.add("catch-up-transactions", "transactions in the log", engine, loop.transactions(engine))
        loop.same_rows()
        measured = {(appliers, engine): [] for appliers in APPLIERS for engine in ENGINES}
        for turn in range(runs_of_each):
            for appliers in APPLIERS:
                for engine in in_turn(turn):
                    one = loop.measure(engine, appliers)
                    say(f"{engine}, {appliers} threads, run {turn + 1}: {one[0]:,.0f} transactions a second, {one[1]} repeated")
                    measured[appliers, engine].append(one)
        for (appliers, engine), runs in measured.items():
            key, title = f"catch-up-{appliers}", f"catch-up with {appliers} threads"
            rates, retries, groups, processors = zip(*runs)
            add_median(figures, key, f"{title}, transactions/s", engine, rates)
            add_median(figures, f"{key}-repeated", f"{title}, transactions repeated", engine, retries)
            add_median(figures, f"{key}-group", f"{title}, commits in a group", engine, groups)
            add_median(figures, f"{key}-cpu", f"{title}, processors busy in the replica", engine, processors)


# --- commits


class Commits:
    """One server, whose clients are threads of mariadb-slap: clients in Python would be the slowest part."""

    def __init__(self, server):
        self._server = server
        self._connection = server.connect()
        self._connection.execute("CREATE DATABASE commits")

    def measure(self, engine, clients, seconds):
        """Commits a second, commits in a group of the binary log, processors that the server and the clients kept busy."""
        self._connection.execute(f"CREATE OR REPLACE TABLE commits.t (id BIGINT UNSIGNED PRIMARY KEY, v INT NOT NULL, "
                                 f"note VARCHAR(60) NOT NULL) ENGINE={engine}")
        queries = 20 * clients
        queries = self._for_a_second(clients, queries, self._run(clients, queries))
        names = ("Binlog_commits", "Binlog_group_commits")
        before = status(self._connection, *names)
        server, own, start = self._server.cpu_seconds(), _children_cpu_seconds(), time.perf_counter()
        made = took = 0
        while took < seconds:
            last = self._run(clients, queries)
            made, took = made + queries, took + last
            queries = self._for_a_second(clients, queries, last)
        wall = time.perf_counter() - start
        server, own = self._server.cpu_seconds() - server, _children_cpu_seconds() - own
        commits, groups = (after - then for after, then in zip(status(self._connection, *names), before))
        rows = self._connection.execute("SELECT COUNT(*) FROM commits.t")[0][0]
        if commits < made or rows < made:
            raise Failure(f"{engine}: the clients were to make {made} commits; the binary log has {commits}, "
                          f"the table {rows} rows")
        return made / took, commits / groups, server / wall, own / wall

    @staticmethod
    def _for_a_second(clients, queries, took):
        """As many INSERTs, of each client the same number, as would have taken about a second."""
        return max(1, round(queries / max(took, 0.001) / clients)) * clients  # mariadb-slap tells milliseconds

    def _run(self, clients, queries):
        """Seconds that they took."""
        output = common.run([
            f"{self._server.facts['mariadb_root']}/usr/bin/mariadb-slap", "--no-defaults", f"--socket={self._server.socket}",
            "--user=root", "--create-schema=commits", "--no-drop", f"--concurrency={clients}", f"--number-of-queries={queries}",
            "--query=INSERT INTO t VALUES (UUID_SHORT(), 17, 'a note of some length')"], "mariadb-slap")
        return float(re.search(r"Average number of seconds to run all queries: ([\d.]+)", output).group(1))


def _children_cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def bench_commits(seconds, runs_of_each, figures):
    measured = {(clients, engine): [] for clients in CLIENTS for engine in ENGINES}
    for run in range(runs_of_each):
        # What a server's files happen to lie beside shows in all that it measures.
        with PrivateServer("bench-commits", *OPTIONS, "--log-bin=binlog", "--sync-binlog=1", "--max-connections=200") as server:
            figures.versions["MariaDB"] = server.facts["version"]
            commits = Commits(server)
            for turn in range(PAIRS):
                for clients in CLIENTS:
                    for engine in in_turn(turn):
                        one = commits.measure(engine, clients, seconds)
                        say(f"run {run + 1}, {engine}, {clients_of(clients)}, measurement {turn + 1}: {one[0]:,.0f} commits a second")
                        measured[clients, engine].append(one)
    for (clients, engine), several in measured.items():
        key, title = f"commits-{clients}", clients_of(clients)
        rates, groups, servers, own = zip(*several)
        add_median(figures, key, f"{title}, commits/s", engine, rates)
        add_median(figures, f"{key}-group", f"{title}, commits in a group", engine, groups)
        add_median(figures, f"{key}-server-cpu", f"{title}, processors busy in the server", engine, servers)
        add_median(figures, f"{key}-client-cpu", f"{title}, processors busy in the clients", engine, own)
    for clients in CLIENTS:
        add_paired_ratio(figures, f"commits-{clients}", f"{clients_of(clients)}, commits/s",
                         *([one[0] for one in measured[clients, engine]] for engine in ENGINES))


# --- the report


def ratio(figures, key):
    mine, theirs = (figures.get(key, engine) for engine in ENGINES)
    return mine / theirs


def spread(figures, key, engine):
    """The median, and the lowest and highest of the runs."""
    median, low, high = (report.number(figures.get(f"{key}{which}", engine)) for which in ("", "-lowest", "-highest"))
    return f"{median} ({low} – {high})"


CATCH_UP = """## How fast a replica catches up
{clients} clients have written {transactions:,} transactions into tables of one engine on the primary: 40 % INSERT of a row, 20 % \
UPDATE of a row by its key that changes an indexed column, 10 % DELETE by key, 20 % transactions of three statements on five rows, \
10 % transactions that insert a row and raise one of {hot} hot rows. Both engines have the same transactions, of the same random \
numbers, and end with the same rows. The time is that from START SLAVE until MASTER_GTID_WAIT finds the last transaction, with the \
transfer of the log; then all rows must equal the primary's.

The replica begins each run with the same rows and an empty binary log of its own. It logs what it applies (`log_slave_updates`), \
as a replica does that may become a primary. `sync_binlog` is 0, so that the engines' own syncs show: \
`…_flush_log_at_trx_commit` is 1 for both. `slave_parallel_mode` is `optimistic`; `binlog_format` is `ROW`, as MIXED would log \
InnoDB's changes as statements. `mysql.gtid_slave_pos` is a table of the engine that is measured: else each transaction would be \
one of two engines, which costs more syncs.

Repeated are transactions that ran too early beside others, and were rolled back and applied again. Commits in a group share a \
write of the binary log. Processors are those that the replica kept busy.
"""
COMMITS = """## Durable commits
Each client inserts one row a transaction into a table with a primary key and no other index. `sync_binlog` is 1 and \
`…_flush_log_at_trx_commit` is 1 for both engines: a commit that returns is on disk in the binary log and in the engine.

The clients are threads of `mariadb-slap` on the same machine, which has {processors} processors. Of those that server and clients \
kept busy, the clients took {share:.0f} % at most: they do not set the rate.

The two engines take turns every {seconds} s, {pairs} times in each of {runs} servers. The ratio is the geometric mean of the ratios of measurements that \
follow each other, with its standard error: what the disk gives changes by a tenth from one second to the next, for both alike.
"""


def catch_up_text(figures):
    shown = {"repeated": "repeated", "group": "commits in a group", "cpu": "processors"}
    rows = []
    for appliers in APPLIERS:
        key = f"catch-up-{appliers}"
        rows.append([str(appliers), *(spread(figures, key, engine) for engine in ENGINES), f"{ratio(figures, key):.2f}",
                     *(report.number(figures.get(f"{key}-{what}", engine)) for what in shown for engine in ENGINES)])
    columns = ["slave_parallel_threads", *(f"{engine}, transactions/s" for engine in ENGINES), "ratio",
               *(f"{engine}, {title}" for title in shown.values() for engine in ENGINES)]
    yield CATCH_UP.format(clients=replication_log.CLIENTS, hot=replication_log.HOT_ROWS,
                          transactions=figures.get("catch-up-transactions", ENGINES[0]))
    yield report.table(columns, rows)


def commits_text(figures, seconds, runs):
    shown = {"group": "commits in a group", "server-cpu": "processors, server", "client-cpu": "processors, clients"}
    rows, shares = [], []
    for clients in CLIENTS:
        key = f"commits-{clients}"
        paired, error = (figures.get(f"{key}-{what}", ENGINES[0]) for what in ("ratio", "ratio-error"))
        rows.append([str(clients), *(spread(figures, key, engine) for engine in ENGINES), f"{paired:.2f} ± {error:.2f}",
                     *(report.number(figures.get(f"{key}-{what}", engine)) for what in shown for engine in ENGINES)])
        for engine in ENGINES:
            server, own = (figures.get(f"{key}-{side}-cpu", engine) for side in ("server", "client"))
            shares.append(100 * own / (server + own))
    columns = ["clients", *(f"{engine}, commits/s" for engine in ENGINES), "ratio",
               *(f"{engine}, {title}" for title in shown.values() for engine in ENGINES)]
    yield COMMITS.format(processors=os.cpu_count(), share=max(shares), seconds=seconds, pairs=PAIRS, runs=runs)
    yield report.table(columns, rows)


def aims(figures):
    """(aim, measured, reached) for what the project sets out to reach."""
    for appliers in APPLIERS:
        if figures.has(key := f"catch-up-{appliers}"):
            value = ratio(figures, key)
            yield f"catch-up with {appliers} threads: at least 0.9 of InnoDB's rate", f"{value:.2f}", value >= 0.9
    for clients in CLIENTS:
        if figures.has(key := f"commits-{clients}"):
            value = figures.get(f"{key}-ratio", ENGINES[0])
            yield f"durable commits of {clients_of(clients)}: at least InnoDB's rate", f"{value:.2f}", value >= 1


def write(folder, figures, seconds, runs):
    os.makedirs(folder, exist_ok=True)
    figures.write_csv(os.path.join(folder, "replication.csv"))
    text = [report.heading("Replication and durable commits", figures) +
            f"Each engine has {MEMORY} MiB. Rates are medians ({runs} runs of catching up), with the lowest and the highest; the "
            "engines take turns. Machines are shared and noisy: compare ratios within this report.\n"]
    if figures.has("catch-up-transactions"):
        text.extend(catch_up_text(figures))
    if figures.has(f"commits-{CLIENTS[0]}"):
        text.extend(commits_text(figures, seconds, runs))
    text.append("## Aims\n")
    text.append(report.aims_table(aims(figures)))
    with open(os.path.join(folder, "replication.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(text))


def main():
    # scripts/bench has looked at the arguments.
    parser = argparse.ArgumentParser()
    parser.add_argument("part", nargs="*")
    parser.add_argument("--transactions", type=int, default=TRANSACTIONS)
    parser.add_argument("--seconds", type=int, default=SECONDS)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--output", default=os.path.join(common.PROJECT, "bench/results"))
    arguments = parser.parse_args()
    parts = arguments.part or PARTS
    figures = report.Figures()
    common.need_disk(common.PROJECT, 20_000 * arguments.transactions + 5_000_000_000)
    if "catch-up" in parts:
        bench_catch_up(arguments.transactions, arguments.runs, figures)
    if "commits" in parts:
        bench_commits(arguments.seconds, arguments.runs, figures)
    write(arguments.output, figures, arguments.seconds, arguments.runs)
    say(f"written: {arguments.output}/replication.md, replication.csv")


if __name__ == "__main__":
    common.main(main)
