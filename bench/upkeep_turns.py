"""./run bench upkeep turns: many clients with the same long query, how even their times are, and a row looked up beside them."""

import statistics
import subprocess
import time

import pymysql

import common
import report
from common import Failure, say
from private_server import PrivateServer

CLIENTS = 64
ROWS = 1_000_000
SECONDS = 15
POINT_PAUSE = 1000  # µs between the lookups
POINTS = 1000  # lookups at the least
POINT = "SELECT v FROM turns.t WHERE id = 777777"
QUERIES = {
    "filter": ("a filter", "SELECT COUNT(*), SUM(v) FROM turns.t WHERE v % 7 = 3"),
    "group": ("groups", "SELECT g, SUM(v), COUNT(*) FROM turns.t GROUP BY g"),
    "texts": ("groups of texts", "SELECT s, COUNT(*) FROM turns.t GROUP BY s ORDER BY 2 DESC LIMIT 3"),
    "join": ("a join", "SELECT d.name, SUM(t.v) FROM turns.t JOIN turns.d ON d.id = t.k GROUP BY d.name"),
    "server": ("aggregates of the server", "SELECT g, GROUP_CONCAT(DISTINCT k % 3), COUNT(*) FROM turns.t WHERE id < 100000 GROUP BY g"),
}
MOST_LONGEST = 3
MOST_BESIDE = 10


class Client:
    """Runs a query again and again for some seconds."""

    def __init__(self, program, private, query, seconds, pause=0):
        self._process = subprocess.Popen([program, private.socket, str(seconds), str(pause)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._process.stdin.write(query + "\n")
        self._process.stdin.close()

    def times(self):
        """In µs, of each run."""
        times = [int(line.split()[1]) for line in self._process.stdout]
        if self._process.wait() != 0:
            raise Failure("a client failed")
        return times


def bench(figures):
    with PrivateServer("bench-upkeep", "--hailstone-memory-budget=1G", "--skip-log-bin", "--max-connections=200") as private:
        program = common.compile_client(private, "read_client.c")
        connection = pymysql.connect(unix_socket=private.socket, user="root", autocommit=True)
        with connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE turns")
            cursor.execute("USE turns")
            cursor.execute("CREATE TABLE turns.t (id INT PRIMARY KEY, g INT NOT NULL, k INT NOT NULL, v BIGINT NOT NULL, s VARCHAR(30) NOT NULL) ENGINE=HAILSTONE")
            cursor.execute("INSERT INTO turns.t SELECT seq, seq % 100, seq * 7919 % 20000, seq * 31337 % 1000003, CONCAT('text ', seq * 17 % 5000) "
                           f"FROM seq_1_to_{ROWS}")
            cursor.execute("CREATE TABLE turns.d (id INT PRIMARY KEY, name VARCHAR(20)) ENGINE=HAILSTONE")
            cursor.execute("INSERT INTO turns.d SELECT seq, CONCAT('n', seq % 50) FROM seq_0_to_19999")
            cursor.execute("OPTIMIZE TABLE turns.t, turns.d")
            cursor.execute("ANALYZE TABLE turns.t, turns.d")
        connection.close()
        Client(program, private, POINT, 1).times()
        figures.add("turns-point", "a row by its key, alone, µs", "HAILSTONE", statistics.median(Client(program, private, POINT, 4, POINT_PAUSE).times()))
        for key, (title, query) in QUERIES.items():
            say(f"{title}: {CLIENTS} clients …")
            alone = statistics.median(Client(program, private, query, 2).times())
            clients = [Client(program, private, query, SECONDS) for _ in range(CLIENTS)]
            time.sleep(1)
            points = Client(program, private, POINT, SECONDS - 4, POINT_PAUSE).times()
            if len(points) < POINTS:
                raise Failure(f"only {len(points)} rows were looked up beside {title}")
            times = [each for client in clients for each in client.times()]
            for part, value in (("alone", alone / 1000), ("median", statistics.median(times) / 1000), ("longest", max(times) / 1000),
                                ("rate", len(times) / SECONDS), ("beside", statistics.median(points))):
                figures.add(f"turns-{key}-{part}", f"{title}: {part}", "HAILSTONE", value)


def text(figures):
    """The section of the page."""
    get = lambda key, part: figures.get(f"turns-{key}-{part}", "HAILSTONE")  # noqa: E731
    rows = [[title, *(f"{get(key, part):,.1f}" for part in ("alone", "rate", "median", "longest", "beside"))] for key, (title, _) in QUERIES.items()]
    return [
        f"## Many long queries\nEach of {CLIENTS} clients runs the same query over and over for {SECONDS} s, of a table of {ROWS:,} rows; beside them one looks a row up by "
        f"its key, every {POINT_PAUSE / 1000:g} ms: alone that takes {figures.get('turns-point', 'HAILSTONE'):.0f} µs.\n",
        report.table(["query", "alone, ms", "of all, 1/s", "median, ms", "longest, ms", "the row, median, µs"], rows),
    ]


def aims(figures):
    point = figures.get("turns-point", "HAILSTONE")
    for key, (title, _) in QUERIES.items():
        longest = figures.get(f"turns-{key}-longest", "HAILSTONE") / figures.get(f"turns-{key}-median", "HAILSTONE")
        beside = figures.get(f"turns-{key}-beside", "HAILSTONE") / point
        yield f"{CLIENTS} clients, {title}: the longest at most {MOST_LONGEST} times the median", f"{longest:.1f} times", longest <= MOST_LONGEST
        yield f"{CLIENTS} clients, {title}: a row beside them at most {MOST_BESIDE} times its time alone", f"{beside:.1f} times", beside <= MOST_BESIDE
