"""./run bench upkeep points: statements of one row, of one connection and of many, and how long the mutexes are held that all of them
take."""

import statistics

import pymysql

import common
import report
from client_processes import ClientProcesses
from common import say
from private_server import PrivateServer

ENGINES = ("HAILSTONE", "InnoDB")
WORKS = {"lookup": "looked up by its key", "insert": "inserted", "update": "updated by its key", "delete": "deleted by its key"}
CLIENTS = (1, 16)
ROWS = 200_000
COUNT = {1: 40_000, 16: 80_000}  # statements of all clients together
TURNS = 3
MANY_TURNS = 7  # the mutexes are looked at by samples
MANY = 64  # clients of mixed statements
MANY_COUNT = 160_000
# The counters of microseconds, and what each mutex guards.
MUTEXES = {
    "commit_mutex": "order of commits",
    "snapshot_mutex": "snapshots",
    "lock_mutex": "row and table locks",
    "log_mutex": "log",
}
LARGEST_SHARE = 0.05


def server():
    return PrivateServer("bench-upkeep", "--hailstone-memory-budget=512M", "--innodb-buffer-pool-size=512M", "--skip-log-bin",
                         "--hailstone-flush-log-at-trx-commit=2", "--innodb-flush-log-at-trx-commit=2", "--max-connections=200")


class Points:
    def __init__(self, private):
        self._private = private
        self._program = common.compile_client(private, "point_client.c")
        self._connection = pymysql.connect(unix_socket=private.socket, user="root", autocommit=True)
        self._execute("CREATE DATABASE upkeep")
        self._execute("USE upkeep")

    def _execute(self, sql):
        with self._connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall()

    def make(self, engine):
        self._execute(f"CREATE TABLE upkeep.points_{engine} (id INT PRIMARY KEY, n INT NOT NULL, note VARCHAR(60)) ENGINE={engine}")
        self._execute(f"INSERT INTO upkeep.points_{engine} SELECT seq, seq, 'a note of some words' FROM seq_1_to_{ROWS}")

    def run(self, engine, work, clients, count, first):
        """`first`: the first id of the rows that come or go; each client has ids of its own."""
        each = count // clients
        return ClientProcesses(self._private, [
            [self._program, self._private.socket, "upkeep", f"points_{engine}", work, str(each), str(ROWS), str(first + number * each), str(number + 1)]
            for number in range(clients)], each * clients)

    def counters(self):
        values = dict(self._execute("SHOW GLOBAL STATUS LIKE 'Hailstone\\_%\\_mutex\\_microseconds'"))
        return {mutex: int(values[f"Hailstone_{mutex}_microseconds"]) for mutex in MUTEXES}

    def close(self):
        self._connection.close()


def bench(figures):
    with server() as private:
        points = Points(private)
        for engine in ENGINES:
            points.make(engine)
        for clients in CLIENTS:
            taken = {(engine, work): [] for engine in ENGINES for work in WORKS}
            for turn in range(TURNS):
                # What is inserted is what is deleted then.
                first = ROWS + 1 + turn * COUNT[clients]
                for work in WORKS:
                    for engine in ENGINES:
                        say(f"{engine}: {work}, {clients} clients …")
                        taken[engine, work].append(points.run(engine, work, clients, COUNT[clients], first))
            for (engine, work), runs in taken.items():
                rate = statistics.median(each.rate for each in runs)
                figures.add(f"points-{work}-{clients}", f"{WORKS[work]}, {clients} client{'s' if clients > 1 else ''}", engine, rate)
                figures.add(f"points-{work}-{clients}-cpu", f"{WORKS[work]}, {clients}: processor µs", engine,
                            min(each.microseconds for each in runs))
        mixed = {engine: [] for engine in ENGINES}
        held = {mutex: [] for mutex in MUTEXES}
        for turn in range(MANY_TURNS):
            for engine in ENGINES:
                say(f"{engine}: mixed statements, {MANY} clients …")
                before = points.counters()
                run = points.run(engine, "mixed", MANY, MANY_COUNT, (10 + turn) * ROWS)
                mixed[engine].append(run)
                if engine == "HAILSTONE":
                    for mutex, time in points.counters().items():
                        held[mutex].append((time - before[mutex]) / 1e6 / run.seconds)
        for engine, runs in mixed.items():
            figures.add("points-mixed", f"mixed, {MANY} clients", engine, statistics.median(run.rate for run in runs))
            figures.add("points-mixed-longest", "longest of them, s", engine, max(int(answer) for run in runs for answer in run.answers) / 1e6)
        for mutex, shares in held.items():
            figures.add(f"points-{mutex}", MUTEXES[mutex], "HAILSTONE", statistics.median(shares))
            say(f"  {MUTEXES[mutex]}: {' '.join(f'{100 * share:.2f} %' for share in shares)}")
        points.close()


def text(figures, rows):
    """The section of the page. `rows`: of a table, for these keys."""
    return [
        f"## Statements of one row\nRows a second, each a statement and a transaction, prepared, of a table of {ROWS:,} rows; medians of {TURNS} turns, "
        "in which the engines take turns; the least processor time of the server for one.\n",
        report.table(["", *ENGINES], rows([f"points-{work}-{clients}{part}" for clients in CLIENTS for work in WORKS for part in ("", "-cpu")])),
        f"Lookups, inserts, updates and deletes at random by {MANY} clients:\n",
        report.table(["", *ENGINES], rows(["points-mixed", "points-mixed-longest"])),
        f"The share of that time in which a mutex of the whole database is held, the median of {MANY_TURNS} turns:\n",
        report.table(["mutex", "share"], [[title, f"{100 * figures.get(f'points-{mutex}', 'HAILSTONE'):.2f} %"] for mutex, title in MUTEXES.items()]),
    ]


def aims(figures):
    for mutex, title in MUTEXES.items():
        share = figures.get(f"points-{mutex}", "HAILSTONE")
        yield f"{MANY} clients: the mutex of {title} is held at most 5 % of the time", f"{100 * share:.2f} %", share <= LARGEST_SHARE
