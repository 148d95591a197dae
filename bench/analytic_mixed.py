"""Two analytic statements in turn by one client, beside clients that each insert single rows into the same table."""

import subprocess
import time

from common import Failure, say
from replication import status

CLIENTS = 4
SECONDS = 10
NAMES = ("c8", "c12")  # users by region; the most frequent phrases
QUERIES, WRITES = f"{' and '.join(NAMES)} in turn, statements/s", f"INSERTs of {CLIENTS} clients, rows/s"
ROW = ("UUID_SHORT(), 1, 'a title of a page', '2013-07-31 12:00:00', '2013-07-31', 62, 1234567, 2, 1234567890123, 3, "
       "'http://example.org/page', 'http://example.org/', 0, 1366, 0, '', 1, 2, 'a phrase', 0, 1300, 700, 0, 0, 0, 17, 19")


class Writers:
    """Clients of mariadb-slap: clients in Python would be the slowest part."""

    def __init__(self, server, database):
        self._process = subprocess.Popen(
            [f"{server.facts['mariadb_root']}/usr/bin/mariadb-slap", "--no-defaults", f"--socket={server.socket}", "--user=root",
             f"--create-schema={database}", "--no-drop", f"--concurrency={CLIENTS}", "--number-of-queries=1000000000",
             f"--query=INSERT INTO hits VALUES ({ROW})"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        time.sleep(1)  # until all are connected

    def check(self):
        if self._process.poll() is not None:
            raise Failure(f"mariadb-slap has ended: {self._process.stderr.read().decode(errors='replace').strip()}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait()
        self._process.stderr.close()


def measure(bench, setup, statements, seconds):
    """Rates of each alone and together; each commit is durable."""
    chosen = [statement for statement in statements if statement.name in NAMES]
    bench.use(chosen[0], setup)
    say(f"{CLIENTS} clients that write, and {' and '.join(NAMES)} …")
    for statement in chosen:
        bench.connection.execute(statement.sql)
    bench.figures.add("mixed-queries", QUERIES, "alone", _ask(bench, chosen, seconds))
    with Writers(bench.server, setup.database(chosen[0].schema)) as writers:
        before, start = _inserts(bench), time.perf_counter()
        time.sleep(seconds)
        bench.figures.add("mixed-writes", WRITES, "alone", (_inserts(bench) - before) / (time.perf_counter() - start))
        writers.check()
        before, start = _inserts(bench), time.perf_counter()
        bench.figures.add("mixed-queries", QUERIES, "together", _ask(bench, chosen, seconds))
        bench.figures.add("mixed-writes", WRITES, "together", (_inserts(bench) - before) / (time.perf_counter() - start))
        writers.check()


def _ask(bench, statements, seconds):
    """Statements a second."""
    asked, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        for statement in statements:
            bench.connection.execute(statement.sql)
            asked += 1
    return asked / (time.perf_counter() - start)


def _inserts(bench):
    return status(bench.connection, "Com_insert")[0]
