"""./run bench upkeep crowd: many clients with joins, groups, sorts, loads and row changes at once, with little memory: what of the
memory budget is used at any moment, how long each kind of statement takes, and what the resident memory beside it is made of."""

import random
import re
import statistics
import threading
import time

import pymysql

import report
from common import say
from private_server import PrivateServer

BUDGET = 64  # MiB
CLIENTS = 64
ROWS = 400_000
COUNT = 4  # statements of each client, of each one's kind
LOAD = 60_000  # rows of a load
SECONDS_BETWEEN_LOOKS = 0.02
# Of each kind: what it is, and a statement; `{client}`, `{turn}`: numbers of the client and of its statement.
KINDS = {
    "join": ("joins of two tables by a text", "SELECT COUNT(*), SUM(a.v), SUM(b.v) FROM crowd_a a JOIN crowd_b b ON a.k = b.k"),
    "group": ("groups of as many texts as rows", "SELECT k, COUNT(*), SUM(v) FROM crowd_a GROUP BY k ORDER BY SUM(v) DESC LIMIT 10"),
    "distinct": ("distinct texts by a number", "SELECT v % 10, COUNT(DISTINCT k) FROM crowd_a GROUP BY v % 10"),
    "sort": ("sorts of all rows", "SELECT id, k FROM crowd_b ORDER BY k, v DESC LIMIT 300000, 3"),
    "load": ("loads", f"INSERT INTO crowd_load SELECT {LOAD} * ({{client}} * 100 + {{turn}}) + seq, CONCAT('a text of key ', seq), seq "
                      f"FROM seq_1_to_{LOAD}"),
    "update": ("changes of rows", "UPDATE crowd_change SET v = v + 1, k = CONCAT('changed ', v) WHERE id BETWEEN {client} * 2000 AND "
                                  "{client} * 2000 + 1999"),
}
LARGEST_SHARE = 1.1  # of the budget
LONGEST = 3  # times the median
PAGE = 4096
# What a mapping of the process is, by its name; others have none.
MAPPINGS = {"program": "programs and libraries", "heap": "the allocator's heaps", "stack": "threads' stacks", "other": "pages of their own: rows, "
            "blocks, tables of groups and joins; the server's buffers"}


def server():
    return PrivateServer("bench-upkeep", f"--hailstone-memory-budget={BUDGET}M", "--skip-log-bin", "--hailstone-flush-log-at-trx-commit=2",
                         "--innodb-buffer-pool-size=16M", f"--max-connections={CLIENTS + 20}")


def connect(private):
    connection = pymysql.connect(unix_socket=private.socket, user="root", autocommit=True)
    _execute(connection, "CREATE DATABASE IF NOT EXISTS upkeep")
    _execute(connection, "USE upkeep")
    _execute(connection, "SET hailstone_select_pushdown = ON")
    return connection


def _execute(connection, sql):
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchall()


def _status(connection):
    return {name.removeprefix("Hailstone_"): int(value)
            for name, value in _execute(connection, "SHOW GLOBAL STATUS LIKE 'Hailstone\\_memory\\_%'") if value.isdigit()}


def resident_by_mapping(pid):
    """Resident bytes of the process by kind of mapping (MAPPINGS). The allocator's heaps of threads begin at multiples of 64 MiB."""
    sizes = dict.fromkeys(MAPPINGS, 0)
    kind, end_of_guard = "other", None
    with open(f"/proc/{pid}/smaps", encoding="utf-8") as file:
        for line in file:
            if found := re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \d+\s*(.*)", line):
                begin, end, name = int(found[1], 16), int(found[2], 16), found[4]
                if name.startswith("/"):
                    kind = "program"
                elif name == "[heap]" or begin % (64 << 20) == 0:
                    kind = "heap"
                elif name.startswith("[stack") or 128 << 10 <= end - begin <= 512 << 10 and end_of_guard == begin:
                    kind = "stack"
                else:
                    kind = "other"
                # A thread's stack lies behind pages that may not be touched.
                end_of_guard = end if found[3].startswith("---") else None
            elif line.startswith("Rss:"):
                sizes[kind] += int(line.split()[1]) * 1024
    return sizes


class Watch(threading.Thread):
    """Looks at the budget and the resident memory while the clients work."""

    def __init__(self, private):
        super().__init__()
        self._private = private
        self._connection = connect(private)
        self._over = threading.Event()
        self.used = self.resident = 0
        self.at_most = {}    # the status when most was resident
        self.mappings = {}   # as well

    def run(self):
        while not self._over.wait(SECONDS_BETWEEN_LOOKS):
            status = _status(self._connection)
            self.used = max(self.used, status["memory_used"])
            with open(f"/proc/{self._private.pid}/statm", encoding="utf-8") as file:
                resident = int(file.read().split()[1]) * PAGE
            if resident > self.resident * 1.02:
                self.resident, self.at_most, self.mappings = resident, status, resident_by_mapping(self._private.pid)

    def end(self):
        self._over.set()
        self.join()
        self._connection.close()


class Client(threading.Thread):
    def __init__(self, private, number, kind):
        super().__init__()
        self._connection = connect(private)
        self._number, self.kind = number, kind
        self.times, self.errors = [], []

    def run(self):
        for turn in range(COUNT):
            start = time.perf_counter()
            try:
                _execute(self._connection, KINDS[self.kind][1].format(client=self._number, turn=turn))
            except pymysql.Error as error:
                self.errors.append(str(error))
            self.times.append(time.perf_counter() - start)
        self._connection.close()


def bench(figures):
    engine = "HAILSTONE"
    with server() as private:
        connection = connect(private)
        for table in ("crowd_a", "crowd_b", "crowd_load", "crowd_change"):
            _execute(connection, f"CREATE TABLE {table} (id INT PRIMARY KEY, k VARCHAR(40), v INT) ENGINE={engine}")
        for table in ("crowd_a", "crowd_b"):
            _execute(connection, f"INSERT INTO {table} SELECT seq, CONCAT('a text of key ', seq * 7919 % {ROWS}), seq FROM seq_1_to_{ROWS}")
        _execute(connection, f"INSERT INTO crowd_change SELECT seq, 'a text', seq FROM seq_1_to_{2000 * CLIENTS + 2000}")
        _execute(connection, "OPTIMIZE TABLE crowd_a, crowd_b, crowd_change")
        say(f"{engine}: {CLIENTS} clients with joins, groups, sorts, loads and changes …")
        kinds = [list(KINDS)[number % len(KINDS)] for number in range(CLIENTS)]
        random.Random(1).shuffle(kinds)
        clients = [Client(private, number, kind) for number, kind in enumerate(kinds)]
        idle = resident_by_mapping(private.pid)
        watch = Watch(private)
        watch.start()
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        watch.end()
        for error in sorted({error for client in clients for error in client.errors}):
            say(f"  {error}")
        for kind, (title, _) in KINDS.items():
            times = [seconds for client in clients if client.kind == kind for seconds in client.times]
            figures.add(f"crowd-{kind}-median", f"{title}: median, s", engine, statistics.median(times))
            figures.add(f"crowd-{kind}-longest", f"{title}: longest, s", engine, max(times))
        figures.add("crowd-errors", "statements that fail", engine, sum(len(client.errors) for client in clients))
        figures.add("crowd-used", "most of the budget in use, MiB", engine, watch.used / 2**20)
        figures.add("crowd-resident", "most resident, MiB", engine, watch.resident / 2**20)
        for part in ("used", "kept"):
            figures.add(f"crowd-resident-{part}", f"memory_{part} then, MiB", engine, watch.at_most[f"memory_{part}"] / 2**20)
        for kind, title in MAPPINGS.items():
            figures.add(f"crowd-mapping-{kind}", title, engine, watch.mappings[kind] / 2**20)
            figures.add(f"crowd-mapping-{kind}", title, "idle", idle[kind] / 2**20)
        connection.close()


def text(figures, rows):
    """The section of the page. `rows`: of a table, for these keys."""
    def get(key, setup="HAILSTONE"):
        return figures.get(f"crowd-{key}", setup)

    mappings = [[title, *(report.number(get(f"mapping-{kind}", setup)) for setup in ("idle", "HAILSTONE"))] for kind, title in MAPPINGS.items()]
    return [
        f"## Many clients and little memory\n{CLIENTS} clients, each with {COUNT} statements of one kind, all at once; tables of {ROWS:,} rows, with a "
        f"budget of {BUDGET} MiB.\n",
        report.table(["statements", "median, s", "longest, s"],
                     [[title, report.number(get(f"{kind}-median")), report.number(get(f"{kind}-longest"))] for kind, (title, _) in KINDS.items()]),
        report.table(["", "HAILSTONE"], [row[:2] for row in rows([f"crowd-{key}" for key in (
            "errors", "used", "resident", "resident-used", "resident-kept")])]),
        "What is resident then, by kind of mapping, in MiB, and before the clients begin. `memory_used` is what the engine has reserved, and lies in pages "
        "of their own and in heaps. `memory_kept` is free pages, kept for the next that needs some; they go when memory is short. The rest is the server: "
        "its program, its buffers and caches, temporary tables and results, InnoDB's pool; the stacks of threads; what the allocator keeps "
        "of memory that was freed.\n",
        report.table(["mapping", "idle", "then"], mappings),
    ]


def aims(figures):
    def get(key):
        return figures.get(f"crowd-{key}", "HAILSTONE")

    yield (f"{CLIENTS} clients: at most {LARGEST_SHARE} of the budget in use", f"{get('used') / BUDGET:.2f} of it", get("used") <= LARGEST_SHARE * BUDGET)
    yield f"{CLIENTS} clients: no statement fails", f"{get('errors'):.0f}", get("errors") == 0
    for kind, (title, _) in KINDS.items():
        ratio = get(f"{kind}-longest") / get(f"{kind}-median")
        yield f"{title}: the longest at most {LONGEST} times the median", f"{ratio:.1f} times", ratio <= LONGEST
