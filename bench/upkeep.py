"""./run bench upkeep: what flushes, merges, OPTIMIZE and big transactions cost those who write beside them.

Each part has a server with little memory, and loads the same rows into HAILSTONE and InnoDB: seconds of another run or
machine do not compare, ratios do. Writes upkeep.md and upkeep.csv to bench/results/.
"""

import argparse
import os
import random
import shutil
import statistics
import threading
import time

import pymysql

import common
import report
import upkeep_crowd
import upkeep_points
import upkeep_turns
from common import say
from private_server import PrivateServer

PARTS = ("optimize", "batches", "update", "locks", "deadlocks", "points", "turns", "crowd")
ENGINES = ("HAILSTONE", "InnoDB")
BUDGETS = (64, 512)  # MiB
ROWS = 2_500_000
BATCH = 40_000  # rows
LOCK_ROWS = 1_000_000
LOCK_TURNS = 3
# What a transaction locks, and the statement; each locks all rows, and UPDATE changes the third that it says.
LOCKING = {
    "scan": ("a locking read of all rows", "SELECT COUNT(*) FROM (SELECT id FROM locked WHERE n >= 0 FOR UPDATE) AS d", "ROLLBACK"),
    "none": ("UPDATE without an index that finds no row", "UPDATE locked SET n = 1 WHERE SQRT(m) < 0", "COMMIT"),
    "third": ("UPDATE of every third row", "UPDATE locked SET n = n + 1 WHERE m % 3 = 0", "COMMIT"),
    "third-back": ("UPDATE of every third row, rolled back", "UPDATE locked SET n = n + 1 WHERE m % 3 = 0", "ROLLBACK"),
    "shuffled": ("UPDATE of every third row, in no order",
                 f"UPDATE seq_1_to_{LOCK_ROWS // 3} s STRAIGHT_JOIN locked l ON l.id = 1 + s.seq * 7919 % {LOCK_ROWS} SET l.n = l.n + 1", "COMMIT"),
    "shuffled-scan": ("a locking read of all rows, in no order",
                      f"SELECT COUNT(*) FROM (SELECT l.n FROM seq_1_to_{LOCK_ROWS} s STRAIGHT_JOIN locked l ON l.id = 1 + s.seq * 7919 % {LOCK_ROWS} "
                      "FOR UPDATE) AS d", "ROLLBACK"),
    "delete": ("DELETE of every tenth row, rolled back", "DELETE FROM locked WHERE m % 10 = 0", "ROLLBACK"),
}
LOCK_MEMORY = {"scan": 16, "shuffled-scan": 32}  # MiB at most
STORM_CLIENTS = 32
STORM_ROWS = 12
STORM_SECONDS = 5
STORM_TURNS = 3
# What a transaction of a storm does; each takes several rows, in an order of its own.
STORMS = {
    "four": ("four rows", lambda choice: [f"UPDATE storm SET n = n + 1 WHERE id = {row}" for row in choice.sample(range(STORM_ROWS), 4)]),
    "all": ("all rows, one by one", lambda choice: [
        f"UPDATE storm SET n = n + 1 WHERE id = {row}" for row in choice.sample(range(STORM_ROWS), STORM_ROWS)]),
    "scan": ("a row, then all by one statement", lambda choice: [
        f"UPDATE storm SET n = n + 1 WHERE id = {choice.randrange(STORM_ROWS)}", "UPDATE storm SET n = n + 1"]),
    "locks": ("a locking read of four rows, then all", lambda choice: [
        *(f"SELECT * FROM storm WHERE id = {row} FOR UPDATE" for row in choice.sample(range(STORM_ROWS), 4)),
        "UPDATE storm SET n = n + 1"]),
}

COLUMNS = ("id BIGINT NOT NULL PRIMARY KEY, device INT NOT NULL, at DATETIME NOT NULL, value DOUBLE NOT NULL, "
           "kind VARCHAR(20) NOT NULL, place VARCHAR(40) NOT NULL, note VARCHAR(100) NOT NULL, tag VARCHAR(40)")
ROW = ("{key}, seq % 5000, '2026-01-01' + INTERVAL seq SECOND, seq * 0.37, CONCAT('kind', seq % 17), "
       "CONCAT('place ', seq * 7919 % 100003), CONCAT('a note of row ', seq, REPEAT(' and more', seq % 6)), "
       "CONCAT('tag', seq * 31 % 1009)")


def server(budget):
    return PrivateServer("bench-upkeep", f"--hailstone-memory-budget={budget}M", f"--innodb-buffer-pool-size={budget}M",
                         "--innodb-log-file-size=512M", "--innodb-flush-log-at-trx-commit=2", "--local-infile=1",
                         "--hailstone-flush-log-at-trx-commit=2", "--secure-file-priv=")


def connect(private):
    connection = pymysql.connect(unix_socket=private.socket, user="root", autocommit=True, local_infile=True)
    execute(connection, "CREATE DATABASE IF NOT EXISTS upkeep")
    execute(connection, "USE upkeep")
    return connection


def execute(connection, sql):
    with connection.cursor() as cursor:
        return cursor.execute(sql)


def write_rows(connection, folder, first, last, key="seq"):
    path = os.path.join(folder, "rows")
    if os.path.exists(path):
        os.remove(path)
    execute(connection, f"SELECT {ROW.format(key=key)} FROM seq_{first}_to_{last} INTO OUTFILE '{path}'")
    return path


class Writer(threading.Thread):
    """Inserts single rows, one after the other, until it is stopped."""

    def __init__(self, private, table):
        super().__init__()
        self._connection = connect(private)
        self._table = table
        self._done = threading.Event()
        self.seconds = []
        self.failures = []

    def run(self):
        choice = random.Random(1)
        while not self._done.is_set():
            key = 10**12 + choice.randrange(10**12)
            start = time.perf_counter()
            try:
                execute(self._connection, f"INSERT INTO {self._table} VALUES ({key}, 1, NOW(), 1.5, 'k', 'p', 'n', 't')")
            except pymysql.MySQLError as error:
                self.failures.append(str(error))
            self.seconds.append(time.perf_counter() - start)

    def finish(self):
        self._done.set()
        self.join()
        self._connection.close()


def bench_optimize(budget, rows, folder, figures):
    with server(budget) as private:
        connection = connect(private)
        path = write_rows(connection, folder, 1, rows)
        for engine in ENGINES:
            say(f"{engine}, {budget} MiB: loading {rows:,} rows, OPTIMIZE beside INSERTs …")
            for table in ("t", "u"):
                execute(connection, f"CREATE OR REPLACE TABLE {table} ({COLUMNS}) ENGINE={engine}")
            load, _ = common.timed(lambda: execute(connection, f"LOAD DATA LOCAL INFILE '{path}' INTO TABLE t"))
            writers = [Writer(private, table) for table in ("t", "u")]
            for writer in writers:
                writer.start()
            optimize, _ = common.timed(lambda: execute(connection, "OPTIMIZE TABLE t"))
            for writer in writers:
                writer.finish()
            key = f"optimize-{budget}"
            figures.add(f"{key}-load", "load, s", engine, load)
            figures.add(f"{key}-optimize", "OPTIMIZE, s", engine, optimize)
            figures.add(f"{key}-inserts", "INSERTs beside it", engine, sum(len(writer.seconds) for writer in writers))
            figures.add(f"{key}-longest", "longest of them, s", engine, max(max(writer.seconds) for writer in writers))
            figures.add(f"{key}-failures", "of them failed", engine, sum(len(writer.failures) for writer in writers))
            execute(connection, "DROP TABLE t, u")
        figures.versions["MariaDB"] = private.facts["version"]
        connection.close()


def until_merges_rest(connection):
    """Seconds until no table waits for a merge, and none has ended for a second."""
    start, last, merges = time.perf_counter(), time.perf_counter(), None
    while time.perf_counter() - last < 1:
        with connection.cursor() as cursor:
            cursor.execute("SHOW GLOBAL STATUS LIKE 'Hailstone\\_merge%'")
            now = dict(cursor.fetchall())
        if now != merges or now["Hailstone_merge_backlog"] != "0":
            last, merges = time.perf_counter(), now
        time.sleep(0.05)
    return last - start


def bench_batches(budget, rows, folder, figures):
    """Loads of 40,000 rows each, in the order of their keys and in none; beside the latter, INSERTs of single rows."""
    # InnoDB took 21 minutes for 5,000,000 rows of the latter.
    orders = (("in order", "seq", 2 * rows), ("at random", "seq * 2654435761 % 1000000007", rows))
    with server(budget) as private:
        connection = connect(private)
        for order, key, rows_of_order in orders:
            for engine in ENGINES:
                say(f"{engine}, {budget} MiB: {rows_of_order:,} rows in batches of {BATCH:,}, keys {order} …")
                execute(connection, f"CREATE OR REPLACE TABLE t ({COLUMNS}) ENGINE={engine}")
                seconds, failures = [], 0
                writer = None if order == "in order" else Writer(private, "t")
                if writer:
                    writer.start()
                for first in range(1, rows_of_order + 1, BATCH):
                    path = write_rows(connection, folder, first, first + BATCH - 1, key)
                    start = time.perf_counter()
                    try:
                        execute(connection, f"LOAD DATA LOCAL INFILE '{path}' INTO TABLE t")
                    except pymysql.MySQLError as error:
                        failures += 1
                        say(str(error))
                    seconds.append(time.perf_counter() - start)
                tenth = max(1, len(seconds) // 10)
                name = f"batches-{order.split()[-1]}"
                figures.add(f"{name}-all", f"batches, keys {order}: s", engine, sum(seconds))
                figures.add(f"{name}-longest", "longest batch, s", engine, max(seconds))
                figures.add(f"{name}-ratio", "rate of the last tenth / of the first", engine,
                            sum(seconds[:tenth]) / sum(seconds[-tenth:]))
                figures.add(f"{name}-failures", "batches failed", engine, failures)
                if writer:
                    if engine == "HAILSTONE":
                        figures.add(f"{name}-rest", "until merges rest, s more", engine, until_merges_rest(connection))
                    writer.finish()
                    figures.add(f"{name}-inserts", "INSERTs beside them", engine, len(writer.seconds))
                    figures.add(f"{name}-longest-insert", "longest of them, s", engine, max(writer.seconds))
                    figures.add(f"{name}-failed-inserts", "of them failed", engine, len(writer.failures))
                execute(connection, "DROP TABLE t")
        connection.close()


def bench_update(budget, rows, folder, figures):
    """One UPDATE of all rows, and how much memory the process has taken in the end."""
    for engine in ENGINES:
        with server(budget) as private:
            connection = connect(private)
            path = write_rows(connection, folder, 1, rows)
            say(f"{engine}, {budget} MiB: one UPDATE of {rows:,} rows …")
            start = private.memory("VmRSS")
            execute(connection, f"CREATE OR REPLACE TABLE t ({COLUMNS}) ENGINE={engine}")
            execute(connection, f"LOAD DATA LOCAL INFILE '{path}' INTO TABLE t")
            before = private.memory("VmRSS")
            try:
                seconds, _ = common.timed(lambda: execute(connection, "UPDATE t SET value = value + 1"))
            except pymysql.MySQLError as error:
                say(str(error))
                seconds = None
            name = f"update-{budget}"
            figures.add(f"{name}-seconds", "UPDATE, s", engine, seconds)
            figures.add(f"{name}-start", "memory of the server at its start, MiB", engine, start / 2**20)
            figures.add(f"{name}-before", "memory after the load, MiB", engine, before / 2**20)
            figures.add(f"{name}-highest", "highest memory, MiB", engine, private.memory("VmHWM") / 2**20)
            connection.close()


class Pinger(threading.Thread):
    """Inserts single rows into a table of its own, each a transaction, and notes the longest wait."""

    def __init__(self, private):
        super().__init__()
        self._connection = connect(private)
        self._done = threading.Event()
        self.longest = 0.0

    def run(self):
        number = 0
        while not self._done.is_set():
            number += 1
            start = time.perf_counter()
            execute(self._connection, f"INSERT INTO pinged VALUES ({number})")
            self.longest = max(self.longest, time.perf_counter() - start)
        self._connection.close()

    def finish(self):
        self._done.set()
        self.join()


def _lock_memory(connection):
    with connection.cursor() as cursor:
        cursor.execute("SHOW GLOBAL STATUS LIKE 'Hailstone\\_memory\\_used'")
        return int(cursor.fetchone()[1])


def bench_locks(budget, figures):
    """What a statement that locks all rows costs, and what its end costs others; the engines take turns."""
    with server(budget) as private:
        connection = connect(private)
        for engine in ENGINES:
            execute(connection, f"CREATE TABLE locked_{engine} (id INT PRIMARY KEY, n INT NOT NULL, m INT NOT NULL) ENGINE={engine}")
            execute(connection, f"INSERT INTO locked_{engine} SELECT seq, seq % 1000, seq FROM seq_1_to_{LOCK_ROWS}")
        for key, (title, statement, end) in LOCKING.items():
            taken = {engine: [] for engine in ENGINES}
            for _ in range(LOCK_TURNS):
                for engine in ENGINES:
                    say(f"{engine}: {title} …")
                    execute(connection, f"CREATE OR REPLACE TABLE pinged (id INT PRIMARY KEY) ENGINE={engine}")
                    before = _lock_memory(connection)
                    cpu, start = private.cpu_seconds(), time.perf_counter()
                    execute(connection, "START TRANSACTION")
                    execute(connection, statement.replace("locked", f"locked_{engine}"))
                    cpu, seconds = private.cpu_seconds() - cpu, time.perf_counter() - start
                    memory = _lock_memory(connection) - before
                    pinger = Pinger(private)
                    pinger.start()
                    time.sleep(0.2)
                    ended, _ = common.timed(lambda end=end: execute(connection, end))
                    time.sleep(0.2)
                    pinger.finish()
                    taken[engine].append([cpu, seconds, ended, pinger.longest, memory / 2**20])
            for engine in ENGINES:
                cpu, seconds, ended, longest, memory = zip(*taken[engine])
                figures.add(f"locks-{key}-cpu", "the statement, processor s", engine, min(cpu))
                figures.add(f"locks-{key}-seconds", "the statement, s", engine, min(seconds))
                figures.add(f"locks-{key}-end", f"{end}, s", engine, statistics.median(ended))
                figures.add(f"locks-{key}-ping", "longest single-row INSERT beside that, s", engine, max(longest))
                if engine == "HAILSTONE":
                    figures.add(f"locks-{key}-memory", "memory more than before, MiB", engine, max(memory))
        connection.close()


class StormClient(threading.Thread):
    """Runs transactions of a storm, one after the other, until its time is over."""

    def __init__(self, private, number, statements):
        super().__init__()
        self._connection = connect(private)
        self._connection.autocommit(False)
        self._choice = random.Random(number)
        self._statements = statements
        self.committed = self.deadlocks = 0
        self.longest = 0.0

    def run(self):
        end = time.perf_counter() + STORM_SECONDS
        while time.perf_counter() < end:
            try:
                for statement in self._statements(self._choice):
                    start = time.perf_counter()
                    try:
                        execute(self._connection, statement)
                    finally:
                        self.longest = max(self.longest, time.perf_counter() - start)
                self._connection.commit()
                self.committed += 1
            except pymysql.err.OperationalError as error:
                if error.args[0] != 1213:
                    raise
                self.deadlocks += 1
                self._connection.rollback()
        self._connection.close()


def bench_deadlocks(budget, figures):
    """Many clients change few rows, each in an order of its own; the engines take turns."""
    with server(budget) as private:
        connection = connect(private)
        for key, (_, statements) in STORMS.items():
            rates = {engine: [] for engine in ENGINES}
            for _ in range(STORM_TURNS):
                for engine in ENGINES:
                    say(f"{engine}: {STORM_CLIENTS} clients on {STORM_ROWS} rows, {STORMS[key][0]} …")
                    execute(connection, f"CREATE OR REPLACE TABLE storm (id INT PRIMARY KEY, n INT NOT NULL) ENGINE={engine}")
                    execute(connection, f"INSERT INTO storm SELECT seq, 0 FROM seq_0_to_{STORM_ROWS - 1}")
                    clients = [StormClient(private, number, statements) for number in range(STORM_CLIENTS)]
                    for client in clients:
                        client.start()
                    for client in clients:
                        client.join()
                    rates[engine].append([sum(client.committed for client in clients) / STORM_SECONDS,
                                          sum(client.deadlocks for client in clients) / STORM_SECONDS,
                                          max(client.longest for client in clients)])
            for engine in ENGINES:
                committed, deadlocks, longest = zip(*rates[engine])
                figures.add(f"storm-{key}-committed", "transactions committed a second", engine, statistics.median(committed))
                figures.add(f"storm-{key}-deadlocks", "deadlocks a second", engine, statistics.median(deadlocks))
                figures.add(f"storm-{key}-longest", "longest statement, s", engine, max(longest))
        execute(connection, "DROP TABLE storm")
        connection.close()


def _number(value):
    return "failed" if value is None else f"{value:,.0f}" if value >= 100 or value == 0 else f"{value:.3g}"


def _rows(figures, keys):
    """A line for each figure, a column for each engine."""
    for key in keys:
        title = next(row[1] for row in figures.rows if row[0] == key)
        measured = figures.setups(key)
        yield [title] + [_number(figures.get(key, engine)) if engine in measured else "–" for engine in ENGINES]


def write(folder, figures):
    os.makedirs(folder, exist_ok=True)
    figures.write_csv(os.path.join(folder, "upkeep.csv"))
    text = [report.heading("Upkeep beside writers", figures) +
            "Commits are written, not synced. Machines are shared and noisy: compare ratios within this report.\n"]
    aims = []
    for budget in BUDGETS:
        name = f"optimize-{budget}"
        if not figures.has(f"{name}-load"):
            continue
        text.append(f"## OPTIMIZE TABLE with {budget} MiB\nA load of eight columns, four of them text; then OPTIMIZE, while "
                    "two clients insert single rows: into the same table, and into another one.\n")
        text.append(report.table(["", *ENGINES], _rows(figures, [f"{name}-{part}" for part in (
            "load", "optimize", "inserts", "longest", "failures")])))
        get = lambda part, name=name: figures.get(f"{name}-{part}", "HAILSTONE")  # noqa: E731
        ratio = get("optimize") / get("load")
        aims.append((f"{budget} MiB: OPTIMIZE at most 2.5 times the load", f"{ratio:.2f} times", ratio <= 2.5))
        aims.append((f"{budget} MiB: no INSERT beside it longer than 0.5 s", f"{get('longest'):.2f} s", get("longest") <= 0.5))
        aims.append((f"{budget} MiB: no INSERT beside it fails", _number(get("failures")), get("failures") == 0))
    for order, title in (("order", "in the order of their keys"), ("random", "with random keys")):
        name = f"batches-{order}"
        if not figures.has(f"{name}-all"):
            continue
        beside = " A client inserts single rows beside them." if order == "random" else ""
        text.append(f"## Batches {title}\nLOAD DATA LOCAL of {BATCH:,} rows each, {BUDGETS[0]} MiB.{beside}\n")
        text.append(report.table(["", *ENGINES], _rows(figures, [f"{name}-{part}" for part in (
            "all", "longest", "ratio", "failures", "rest", "inserts", "longest-insert", "failed-inserts")
            if figures.has(f"{name}-{part}")])))
        failures = figures.get(f"{name}-failures", "HAILSTONE")
        aims.append((f"batches {title}: none fails", _number(failures), failures == 0))
        if order == "order":
            ratio = figures.get(f"{name}-ratio", "HAILSTONE")
            aims.append((f"batches {title}: the last tenth at the rate of the first", f"{ratio:.2f} of it", ratio >= 0.9))
        else:
            rest = figures.get(f"{name}-rest", "HAILSTONE") / figures.get(f"{name}-all", "HAILSTONE")
            longest = figures.get(f"{name}-longest-insert", "HAILSTONE")
            failed = figures.get(f"{name}-failed-inserts", "HAILSTONE")
            aims.append((f"batches {title}: merges rest within 2.5 times the loads", f"{rest:.2f} times", rest <= 2.5))
            aims.append((f"batches {title}: no INSERT beside them longer than 0.5 s", f"{longest:.2f} s", longest <= 0.5))
            aims.append((f"batches {title}: no INSERT beside them fails", _number(failed), failed == 0))
    for budget in BUDGETS:
        name = f"update-{budget}"
        if not figures.has(f"{name}-seconds"):
            continue
        text.append(f"## One UPDATE of all rows with {budget} MiB\nAfter a load of these rows.\n")
        text.append(report.table(["", *ENGINES], _rows(figures, [f"{name}-{part}" for part in (
            "seconds", "start", "before", "highest")])))
        grown = figures.get(f"{name}-highest", "HAILSTONE") - figures.get(f"{name}-start", "HAILSTONE")
        aims.append((f"{budget} MiB: the server grows by no more than that and a quarter", f"{grown:.0f} MiB",
                     grown <= 1.25 * budget))
        aims.append((f"{budget} MiB: one UPDATE of all rows ends well",
                     f"{_number(figures.get(f'{name}-seconds', 'HAILSTONE'))} s",
                     figures.get(f"{name}-seconds", "HAILSTONE") is not None))
    for key, (title, _, end) in LOCKING.items():
        name = f"locks-{key}"
        if not figures.has(f"{name}-cpu"):
            continue
        text.append(f"## Row locks: {title}\nOf a table of {LOCK_ROWS:,} rows, with a budget of {BUDGETS[1]} MiB; then {end}, "
                    "beside a client that inserts single rows into another table. The least of "
                    f"{LOCK_TURNS} turns of the statement, the median of its end, the longest INSERT of all.\n")
        text.append(report.table(["", *ENGINES], _rows(figures, [f"{name}-{part}" for part in (
            "cpu", "seconds", "end", "ping", "memory")])))
        get = lambda part, engine="HAILSTONE", name=name: figures.get(f"{name}-{part}", engine)  # noqa: E731
        aims.append((f"{title}: at most twice InnoDB's processor time", f"{get('cpu') / get('cpu', 'InnoDB'):.2f} times",
                     get("cpu") <= 2 * get("cpu", "InnoDB")))
        aims.append((f"{title}: {end} at most twice InnoDB's and 10 ms", f"{1000 * get('end'):.1f} ms, InnoDB {1000 * get('end', 'InnoDB'):.1f}",
                     get("end") <= 2 * get("end", "InnoDB") + 0.01))
        aims.append((f"{title}: no INSERT beside its end longer than 0.2 s, or InnoDB's", f"{get('ping'):.3f} s",
                     get("ping") <= max(0.2, get("ping", "InnoDB"))))
        if key in LOCK_MEMORY:
            aims.append((f"{title}: the locks below {LOCK_MEMORY[key]} MiB", f"{get('memory'):.1f} MiB", get("memory") < LOCK_MEMORY[key]))
    for key, (title, _) in STORMS.items():
        if not figures.has(f"storm-{key}-committed"):
            continue
        text.append(f"## Deadlocks: {title}\n{STORM_CLIENTS} clients on {STORM_ROWS} rows, each in an order of its own; "
                    f"medians of {STORM_TURNS} turns of {STORM_SECONDS} s, and the longest statement of all.\n")
        text.append(report.table(["", *ENGINES], _rows(figures, [f"storm-{key}-{part}" for part in (
            "committed", "deadlocks", "longest")])))
        ratio = figures.get(f"storm-{key}-committed", "HAILSTONE") / figures.get(f"storm-{key}-committed", "InnoDB")
        aims.append((f"deadlocks, {title}: at least InnoDB's rate", f"{ratio:.2f} of it", ratio >= 1))
    if figures.has("points-mixed"):
        text += upkeep_points.text(figures, lambda keys: _rows(figures, keys))
        aims += upkeep_points.aims(figures)
    if figures.has("turns-point"):
        text += upkeep_turns.text(figures)
        aims += upkeep_turns.aims(figures)
    if figures.has("crowd-used"):
        text += upkeep_crowd.text(figures, lambda keys: _rows(figures, keys))
        aims += upkeep_crowd.aims(figures)
    text.append("## Aims\n")
    text.append(report.aims_table(aims))
    with open(os.path.join(folder, "upkeep.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(text))


def main():
    # scripts/bench has looked at the arguments.
    parser = argparse.ArgumentParser()
    parser.add_argument("part", nargs="*")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--output", default=os.path.join(common.PROJECT, "bench/results"))
    arguments = parser.parse_args()
    parts = arguments.part or PARTS
    figures = report.Figures()
    folder = os.path.join(common.PROJECT, "build/upkeep-bench")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    os.chmod(folder, 0o777)  # the server's own user writes the rows that are loaded
    try:
        common.need_disk(folder, 2_000 * arguments.rows + 2_000_000_000)
        for budget in BUDGETS:
            if "optimize" in parts:
                bench_optimize(budget, arguments.rows, folder, figures)
        if "batches" in parts:
            bench_batches(BUDGETS[0], arguments.rows, folder, figures)
        for budget in BUDGETS:
            if "update" in parts:
                bench_update(budget, arguments.rows, folder, figures)
        if "locks" in parts:
            bench_locks(BUDGETS[1], figures)
        if "deadlocks" in parts:
            bench_deadlocks(BUDGETS[1], figures)
        if "points" in parts:
            upkeep_points.bench(figures)
        if "turns" in parts:
            upkeep_turns.bench(figures)
        if "crowd" in parts:
            upkeep_crowd.bench(figures)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    write(arguments.output, figures)
    say(f"written: {arguments.output}/upkeep.md, upkeep.csv")


if __name__ == "__main__":
    common.main(main)
