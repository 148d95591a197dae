"""./run bench ingest: how fast records come in, and whether that stays so: the engine's rate while a table grows far beyond its memory,
by LOAD DATA and by small transactions, what it writes and reads for a row, and what readers meet meanwhile; `hailstone collect` beside
LOAD DATA of the same file, its spool by itself, and a run of summaries.

Engines and ways take turns in the same servers: seconds of another run or machine do not compare, ratios do. Writes ingest.md,
ingest.csv and ingest.svg to bench/results/.
"""

import argparse
import datetime
import http
import json
import math
import os
import random
import shutil
import signal
import statistics
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

import common
import ingest_report
import report
from common import Failure, say
from ingest_report import ENGINES, ORDERS
from private_server import PrivateServer

PARTS = ("rate", "rows", "collect", "spool", "summaries")
BATCH = 40_000
ARRAY = 1000
READS_SECONDS = 20
READS = 1000
PAUSE = 5000  # microseconds between reads beside a client that inserts
COMMAND = f"{common.PROJECT}/build/release/hailstone"
DAY = datetime.datetime(2026, 11, 24)
RECORD_BYTES = 104
COLUMNS = ("at DATETIME NOT NULL, visitor BIGINT NOT NULL, site INT NOT NULL, bytes INT NOT NULL, url VARCHAR(100) NOT NULL, "
           "referrer VARCHAR(100) NOT NULL")


def memory_options(megabytes):
    return (f"--hailstone-memory-budget={megabytes}M", f"--innodb-buffer-pool-size={megabytes}M", "--innodb-log-file-size=512M",
            "--hailstone-flush-log-at-trx-commit=1", "--innodb-flush-log-at-trx-commit=1", "--skip-log-bin", "--local-infile=1",
            "--secure-file-priv=")


class Records:
    """Records of a web server's log, about 104 bytes each; the same for the same seed."""

    def __init__(self, seed):
        self._random = random.Random(seed)

    def lines(self, first, count, second_of, site_of=None):
        """`count` lines from record number `first` on; `second_of` gives a record's second of the day."""
        bits = self._random.getrandbits
        for number in range(first, first + count):
            second = second_of(number)
            at = f"2026-11-{24 + second // 86400:02} {second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02}"
            page = bits(17)
            site = site_of(number) if site_of else page % 1000
            yield f"{at}\t{bits(62)}\t{site}\t{page % 9000}\t/shop/article/{page:08}.html\thttp://search.example/{bits(40):013}\n"


class Amplification:
    """What the engine writes and reads for the rows that come in between the start and told()."""

    COUNTERS = ("segment_write_bytes", "log_write_bytes", "segment_read_bytes", "block_cache_misses", "merges")

    def __init__(self, connection):
        self._connection = connection
        self._start = self._counters()

    def _counters(self):
        found = {name.lower(): int(value) for name, value in self._connection.execute("SHOW GLOBAL STATUS LIKE 'hailstone%'")
                 if value.isdigit()}
        return [found[f"hailstone_{name}"] for name in self.COUNTERS]

    def told(self, figures, key, title, rows):
        """Adds the figures, for so many rows of RECORD_BYTES."""
        change = [now - then for now, then in zip(self._counters(), self._start)]
        segments, log, read, misses, merges = change
        figures.add(f"{key}-written", f"{title}, bytes written for a byte of data", "HAILSTONE", (segments + log) / rows / RECORD_BYTES)
        figures.add(f"{key}-read", f"{title}, bytes read for a byte of data", "HAILSTONE", read / rows / RECORD_BYTES)
        figures.add(f"{key}-blocks", f"{title}, blocks read for a row", "HAILSTONE", misses / rows)
        figures.add(f"{key}-merges", f"{title}, merges", "HAILSTONE", merges)


def write_file(path, lines):
    with open(path, "w", encoding="ascii") as file:
        file.writelines(lines)
    os.chmod(path, 0o644)


class Folder:
    """A folder that the server's user can read files of."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="hailstone-ingest-", dir="/var/tmp")
        os.chmod(self.path, 0o755)
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path)


# --- rate


def create_hits(connection, engine, order):
    connection.execute("CREATE DATABASE ingest")
    key = "at, visitor" if order == "time" else "visitor, at"
    connection.execute(f"CREATE TABLE ingest.hits ({COLUMNS}, PRIMARY KEY ({key})) ENGINE={engine} DEFAULT CHARSET=latin1")


def load_batches(server, folder, figures, engine, order, batches, limit):
    """Seconds of each batch, as many as fit into the limit, and of the last twentieth loaded again with IGNORE."""
    connection = server.connect()
    create_hits(connection, engine, order)
    amplification = Amplification(connection) if engine == "HAILSTONE" else None
    path = os.path.join(folder, "batch")
    load = f"LOAD DATA INFILE '{path}' {{}} INTO TABLE ingest.hits"
    records, seconds, again = Records(7), [], []
    repeated = []
    for number in range(batches):
        # Two days, whatever the number of records.
        write_file(path, records.lines(number * BATCH, BATCH, lambda record: record * 172_800 // (batches * BATCH)))
        seconds.append(common.timed(lambda: connection.execute(load.format("")))[0])
        if number >= batches - max(1, batches // 20):
            repeated.append(shutil.copy(path, f"{path}{number}"))
        if limit and sum(seconds) > limit:
            break
    rows = connection.execute("SELECT COUNT(*) FROM ingest.hits")[0][0]
    if rows != len(seconds) * BATCH:
        raise Failure(f"{engine} has {rows} rows of {len(seconds) * BATCH}")
    if amplification:
        amplification.told(figures, f"rate-{order}", f"keys in order of {order}", rows)
    if len(seconds) == batches:
        for copy in repeated:
            again.append(common.timed(lambda copy=copy: connection.execute(load.format("IGNORE").replace(path, copy)))[0])
        if connection.execute("SELECT COUNT(*) FROM ingest.hits")[0][0] != rows:
            raise Failure(f"{engine} took a record twice")
    for copy in repeated:
        os.remove(copy)
    size = server.bytes_on_disk(*({"HAILSTONE": ["#hailstone"], "InnoDB": ["ingest"]}[engine]))
    connection.execute("DROP DATABASE ingest")
    connection.close()
    return seconds, again, size


def bench_rate(arguments, figures):
    batches = max(20, arguments.rows // BATCH)
    curves = {}
    for order in ORDERS:
        for engine in ENGINES:
            say(f"{engine}, keys in order of {order}: {batches * BATCH:,} rows in batches of {BATCH:,} …")
            with Folder() as folder, PrivateServer("bench-ingest", *memory_options(arguments.memory)) as server:
                figures.versions["MariaDB"] = server.facts["version"]
                seconds, again, size = load_batches(server, folder, figures, engine, order, batches,
                                                    None if engine == "HAILSTONE" else arguments.limit)
            curves[order, engine] = seconds
            tenth = max(1, len(seconds) // 10)
            rates = [BATCH / one for one in seconds]
            key, title = f"rate-{order}", f"keys in order of {order}"
            figures.add(f"{key}-rows", f"{title}, rows", engine, len(seconds) * BATCH)
            figures.add(f"{key}-first", f"{title}, rows/s of the first tenth", engine, tenth * BATCH / sum(seconds[:tenth]))
            figures.add(f"{key}-last", f"{title}, rows/s of the last tenth", engine, tenth * BATCH / sum(seconds[-tenth:]))
            figures.add(f"{key}-slowest", f"{title}, slowest batch to the median", engine, min(rates) / statistics.median(rates))
            figures.add(f"{key}-size", f"{title}, bytes on disk", engine, size)
            if again:
                figures.add(f"{key}-again", f"{title}, rows/s of repeats", engine, len(again) * BATCH / sum(again))
        # Where the peer ended, both have the same number of rows.
        reached = len(curves[order, "InnoDB"])
        tenth = max(1, reached // 10)
        mine, theirs = (sum(curves[order, engine][reached - tenth:reached]) for engine in ENGINES)
        figures.add(f"rate-{order}-ratio", f"keys in order of {order}, rate to InnoDB's at the same rows", "HAILSTONE", theirs / mine)
    return curves


# --- small transactions


class Client:
    """Runs of bench/ingest_client.c against one server."""

    def __init__(self, private):
        self._program = common.compile_client(private, "ingest_client.c")
        self._socket = private.socket

    def start(self, verb, first, rows, rate=0, limit=1_000_000):
        process = subprocess.Popen([self._program, self._socket, "ingest.hits", verb, str(first), str(rows), str(ARRAY), str(rate),
                                    str(limit)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if process.stdout.readline().strip() != "ready":
            raise Failure("the client did not begin")
        process.stdin.write("go\n")
        process.stdin.flush()
        return process

    def run(self, *arguments, **options):
        return Statements(self.start(*arguments, **options))


class Statements:
    """When each statement of a client ended, how long it took, in seconds, and how many rows it inserted."""

    def __init__(self, process):
        lines = process.stdout.read().splitlines()
        if process.wait() != 0 or not lines:
            raise Failure("the client failed")
        numbers = [line.split() for line in lines]
        self.ends = [int(end) / 1e6 for end, _, _ in numbers]
        self.took = [int(took) / 1e6 for _, took, _ in numbers]
        self.inserted = sum(int(rows) for _, _, rows in numbers)

    @property
    def rows(self):
        return len(self.ends) * ARRAY

    def rate(self, first=0.0, last=1.0):
        """Rows a second of a part of the statements."""
        begin, end = int(first * len(self.ends)), int(last * len(self.ends))
        start = self.ends[begin - 1] if begin > 0 else 0
        return (end - begin) * ARRAY / (self.ends[end - 1] - start)

    def by_second(self):
        """Rows that came in each whole second; of a shorter run its rate."""
        rows = [0] * int(self.ends[-1])
        if not rows:
            return [self.rate()]
        for end in self.ends:
            if end < len(rows):
                rows[int(end)] += ARRAY
        return rows

    def longest_but(self, share):
        return sorted(self.took)[min(len(self.took) - 1, int((1 - share) * len(self.took)))]


def bench_rows(arguments, figures):
    curves = {}
    rows = arguments.rows // 2 // ARRAY * ARRAY
    for order in ORDERS:
        for engine in ENGINES:
            say(f"{engine}, keys in order of {order}: {rows:,} rows in transactions of {ARRAY:,} …")
            with PrivateServer("bench-ingest", *memory_options(arguments.memory)) as server:
                figures.versions["MariaDB"] = server.facts["version"]
                curves[order, engine] = insert_rows(server, figures, engine, order, rows, arguments.limit)
        mine, theirs = (curves[order, engine] for engine in ENGINES)
        reached = min(1.0, theirs.rows / mine.rows)
        figures.add(f"rows-{order}-ratio", f"keys in order of {order}, rate to InnoDB's at the same rows", "HAILSTONE",
                    mine.rate(0.9 * reached, reached) / theirs.rate(0.9, 1))
    return {key: statements.by_second() for key, statements in curves.items()}


def insert_rows(server, figures, engine, order, rows, limit):
    connection, client = server.connect(), Client(server)
    create_hits(connection, engine, order)
    mine = engine == "HAILSTONE"
    amplification = Amplification(connection) if mine else None
    statements = client.run("INSERT", 0, rows, limit=1_000_000 if mine else limit)
    key, title = f"rows-{order}", f"small transactions, keys in order of {order}"
    found = connection.execute("SELECT COUNT(*) FROM ingest.hits")[0][0]
    if found != statements.rows:
        raise Failure(f"{engine} has {found} rows of {statements.rows}")
    by_second = statements.by_second()
    for name, what, value in (("rows", "rows", statements.rows), ("first", "rows/s of the first tenth", statements.rate(0, 0.1)),
                              ("last", "rows/s of the last tenth", statements.rate(0.9, 1)),
                              ("slowest", "slowest second to the median", min(by_second) / statistics.median(by_second)),
                              ("commit", "99.9 % of the commits within, s", statements.longest_but(0.001)),
                              ("longest", "longest commit, s", max(statements.took))):
        figures.add(f"{key}-{name}", f"{title}, {what}", engine, value)
    if mine:
        amplification.told(figures, key, title, statements.rows)
        add_repeats(connection, client, figures, key, title, rows)
        add_reads(server, client, figures, order, key, title, rows, statements.rate(0.9, 1))
    return statements


def add_repeats(connection, client, figures, key, title, rows):
    """The last twentieth of the rows, and as many from the whole table, inserted again with IGNORE."""
    part = max(1, rows // ARRAY // 20) * ARRAY
    for name, what, first, times in (("again", "repeats of the last rows", rows - part, 1), ("old", "repeats of old rows", 0, 20)):
        amplification, begun, inserted, runs = Amplification(connection), time.perf_counter(), 0, 0
        for number in range(times):
            # Of old rows some of each twentieth.
            repeated = client.run("INSERT IGNORE", first + number * (rows // times), max(1, part // ARRAY // times) * ARRAY)
            inserted += repeated.inserted
            runs += repeated.rows
        seconds = time.perf_counter() - begun
        if inserted != 0:
            raise Failure("a record was taken twice")
        figures.add(f"{key}-{name}", f"{title}, {what}, rows/s", "HAILSTONE", runs / seconds)
        amplification.told(figures, f"{key}-{name}", f"{title}, {what}", runs)


def add_reads(server, client, figures, order, key, title, rows, rate):
    """Reads of a summary, and of a range of the key, while rows come in at half the rate."""
    connection = server.connect()
    connection.execute("CREATE TABLE ingest.pages (day DATE NOT NULL, site INT NOT NULL, url VARCHAR(100) NOT NULL, "
                       "hits BIGINT NOT NULL, bytes BIGINT NOT NULL, PRIMARY KEY (day, site, url)) ENGINE=HAILSTONE "
                       "DEFAULT CHARSET=latin1")
    connection.execute("INSERT INTO ingest.pages SELECT DATE(at), site, url, COUNT(*), SUM(bytes) FROM ingest.hits "
                       "GROUP BY DATE(at), site, url")
    visitors = [row[0] for row in connection.execute("SELECT visitor FROM ingest.hits WHERE site = 7 LIMIT 1000")]
    process = client.start("INSERT", rows, 1_000_000_000 // ARRAY * ARRAY, rate=max(1, int(rate / 2)), limit=READS_SECONDS)
    draw, reads = random.Random(3), []
    for _ in range(READS):
        reads.append(f"SELECT url, hits FROM ingest.pages WHERE day = '2026-11-24' AND site = {draw.randrange(1000)} LIMIT 100")
        if order == "time":
            second = draw.randrange(min(86_400, rows // 100))
            at = DAY + datetime.timedelta(seconds=second)
            span = f"at >= '{at}' AND at < '{at + datetime.timedelta(seconds=10)}'"
        else:
            span = f"visitor = {draw.choice(visitors)} AND at >= '2026-11-24' AND at < '2026-11-25'"
        reads.append(f"SELECT at, visitor, site, bytes FROM ingest.hits WHERE {span}")
    output = common.run([common.compile_client(server, "read_client.c"), server.socket, str(READS_SECONDS), str(PAUSE)],
                        "the reading client", "\n".join(reads))
    took = [[int(number) for number in line.split()] for line in output.splitlines()]
    summaries, ranges = ([time / 1e6 for read, time in took if read % 2 == kind] for kind in (0, 1))
    statements = Statements(process)
    for name, what, times in (("summary", "a summary's rows", summaries), ("range", "a range of keys", ranges)):
        figures.add(f"{key}-{name}", f"{title}, 99 % of reads of {what} within, s", "HAILSTONE", sorted(times)[int(0.99 * len(times))])
    figures.add(f"{key}-beside", f"{title}, rows/s beside the reads", "HAILSTONE", statements.rate())


# --- collect and spool


CONFIG = """
[server]
option_file = "{folder}/client.cnf"
database = "ingest"
[spool]
directory = "{folder}/spool"
[[stream]]
name = "hits"
table = "hits"
file = "{folder}/hits.tsv"
header = false
columns = ["at", "visitor", "site", "bytes", "url", "referrer"]
reject_file = "{folder}/rejects"
{more}
"""


def write_config(folder, socket, more="", command=""):
    with open(f"{folder}/client.cnf", "w", encoding="ascii") as file:
        file.write(f"[client]\nsocket={socket}\nuser=root\n{command}")
    with open(f"{folder}/c.toml", "w", encoding="ascii") as file:
        file.write(CONFIG.format(folder=folder, more=more))


def collect(folder):
    """Seconds of a run over all that is there, and the most memory that the collector took, in bytes."""
    start = time.perf_counter()
    with open(f"{folder}/log", "wb") as log:
        process = subprocess.Popen([COMMAND, "collect", "run", f"{folder}/c.toml", "--once"], stdin=subprocess.DEVNULL, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status != 0:
        with open(f"{folder}/log", encoding="utf-8") as log:
            raise Failure(f"hailstone collect failed: {log.read()[-1000:]}")
    return seconds, usage.ru_maxrss * 1024


def bench_collect(arguments, figures):
    rows = arguments.records
    key = "PRIMARY KEY (at, visitor)"
    with Folder() as folder, PrivateServer("bench-ingest", *memory_options(256)) as server:
        figures.versions["MariaDB"] = server.facts["version"]
        connection = server.connect()
        write_file(f"{folder}/hits.tsv", Records(8).lines(0, rows, lambda record: record * 86_400 // rows))
        write_config(folder, server.socket)
        measured = {(way, engine): [] for engine in ENGINES for way in ("load", "collect")}
        memory = 0
        for _ in range(arguments.runs):
            for engine in ENGINES:
                for way in ("load", "collect"):
                    connection.execute("CREATE OR REPLACE DATABASE ingest")
                    connection.execute(f"CREATE TABLE ingest.hits ({COLUMNS}, {key}) ENGINE={engine} DEFAULT CHARSET=latin1")
                    shutil.rmtree(f"{folder}/spool", ignore_errors=True)
                    if way == "load":
                        seconds, _ = common.timed(lambda: connection.execute(f"LOAD DATA INFILE '{folder}/hits.tsv' INTO TABLE ingest.hits"))
                    else:
                        seconds, most = collect(folder)
                        memory = max(memory, most)
                    if connection.execute("SELECT COUNT(*) FROM ingest.hits")[0][0] != rows:
                        raise Failure(f"{way} of {engine} lost records")
                    say(f"{engine}, {way}: {rows / seconds:,.0f} records a second")
                    measured[way, engine].append(rows / seconds)
        for (way, engine), rates in measured.items():
            figures.add(f"collect-{way}", f"{way}, records/s", engine, statistics.median(rates))
        figures.add("collect-memory", "most memory of the collector, bytes", "HAILSTONE", memory)


def bench_spool(arguments, figures):
    """Records of a file into the spool while there is no server."""
    rows, rates, memory = arguments.records, [], 0
    with Folder() as folder:
        write_file(f"{folder}/hits.tsv", Records(8).lines(0, rows, lambda record: record * 86_400 // rows))
        write_config(folder, "/nowhere")
        for _ in range(arguments.runs):
            shutil.rmtree(f"{folder}/spool", ignore_errors=True)
            start = time.perf_counter()
            with subprocess.Popen([COMMAND, "collect", "run", f"{folder}/c.toml", "--metrics", "0", "--log-format", "json"],
                                  stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
                address = json.loads(process.stderr.readline())["message"].split()[-1]
                # The state is told twice a second, so that up to half a second is too much.
                while acknowledged(address) < rows:
                    time.sleep(0.02)
                seconds = time.perf_counter() - start
                with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
                    memory = max(memory, *(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:")))
                process.send_signal(signal.SIGTERM)
                process.stderr.read()
            say(f"spool: {rows / seconds:,.0f} records a second")
            rates.append(rows / seconds)
    figures.add("spool", "file to spool, records/s", "HAILSTONE", statistics.median(rates))
    figures.add("spool-memory", "most memory with all records waiting, bytes", "HAILSTONE", memory)


def acknowledged(address):
    try:
        with urllib.request.urlopen(address, timeout=10) as answer:
            for line in answer.read().decode().splitlines():
                if line.startswith("hailstone_collect_acknowledged_records_total"):
                    return int(line.split()[-1])
    except urllib.error.HTTPError as error:
        if error.code != http.HTTPStatus.SERVICE_UNAVAILABLE:  # the collector is starting
            raise
    return 0


# --- summaries


SUMMARY = """
time_column = "at"
time_zone = "+00:00"
create = "({columns}, PRIMARY KEY (site, at, visitor)) ENGINE={engine} DEFAULT CHARSET=latin1"
[[summary]]
name = "pages"
stream = "hits"
table = "pages"
create = "(day DATE NOT NULL, site INT NOT NULL, url VARCHAR(100) NOT NULL, hits BIGINT NOT NULL, bytes BIGINT NOT NULL, \
PRIMARY KEY (day, site, url)) ENGINE={engine} DEFAULT CHARSET=latin1"
time_column = "day"
partition = "1 month"
every = "1 day"
for_each = "site"
select = "SELECT DATE({{begin}}) AS day, site, url, COUNT(*) AS hits, SUM(bytes) AS bytes FROM {{table}} WHERE at >= {{begin}} AND \
at < {{end}} AND site = {{value}} GROUP BY site, url"
"""


def zipf_sites(rows, jobs):
    """How many records each of so many sites has: in proportion to 1, 1/2, 1/3 …, at least one."""
    whole = sum(1 / rank for rank in range(1, jobs + 1))
    return [max(1, round(rows / rank / whole)) for rank in range(1, jobs + 1)]


def bench_summaries(arguments, figures):
    sites = [site for site, count in enumerate(zipf_sites(arguments.records, arguments.jobs)) for _ in range(count)]
    random.Random(9).shuffle(sites)
    rows = len(sites)
    day, after = (int((DAY + datetime.timedelta(hours=hours)).replace(tzinfo=datetime.timezone.utc).timestamp()) for hours in (12, 36))
    for engine in ENGINES:
        with Folder() as folder, PrivateServer("bench-ingest", *memory_options(256)) as server:
            figures.versions["MariaDB"] = server.facts["version"]
            server.connect().execute("CREATE DATABASE ingest")
            write_file(f"{folder}/hits.tsv",
                       Records(9).lines(0, rows, lambda record: record * 86_400 // rows, lambda record: sites[record]))
            more = SUMMARY.format(columns=COLUMNS, engine=engine).replace("{{", "{").replace("}}", "}")
            # First the records, on their day; then, on the next one, nothing but the summaries.
            for moment in (day, after):
                write_config(folder, server.socket, more, f'init-command="SET timestamp = {moment}"\n')
                seconds, _ = collect(folder)
            output = common.run([COMMAND, "collect", "report", f"{folder}/c.toml", "--json"], "collect report")
            period = json.loads(output.splitlines()[-1])
            if period["jobs"] != arguments.jobs or period["done"] != arguments.jobs:
                raise Failure(f"{engine}: {period['done']} of {period['jobs']} jobs are done, {arguments.jobs} were to be")
            hits = server.connect().execute("SELECT SUM(hits) FROM ingest.pages")[0][0]
            if hits != rows:
                raise Failure(f"{engine}: the summaries have {hits} records of {rows}")
            jobs = server.connect().execute("SELECT SUM(hits) AS records, COUNT(*) FROM ingest.pages GROUP BY site ORDER BY records")
            shortest = jobs[:math.ceil(0.97 * len(jobs))]
            for place, what in enumerate(("records", "rows")):
                share = sum(int(job[place]) for job in shortest) / sum(int(job[place]) for job in jobs)
                figures.add(f"summaries-{what}", f"the {what} of the shortest 97 % of the jobs, of all", engine, share)
        say(f"{engine}: {arguments.jobs} jobs in {period['all']:.1f} s ({seconds:.1f} with the start), 97 % in {period['most']:.1f} s")
        for key, title in (("half", "50 %"), ("most", "97 %"), ("all", "all")):
            figures.add(f"summaries-{key}", f"seconds until {title} of the jobs were done", engine, period[key])


def main():
    # scripts/bench has looked at the arguments.
    parser = argparse.ArgumentParser()
    parser.add_argument("part", nargs="*")
    parser.add_argument("--rows", type=int, default=8_000_000)
    parser.add_argument("--memory", type=int, default=64)
    parser.add_argument("--limit", type=int, default=60)
    parser.add_argument("--records", type=int, default=4_000_000)
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--output", default=os.path.join(common.PROJECT, "bench/results"))
    arguments = parser.parse_args()
    arguments.record_bytes = RECORD_BYTES
    parts = arguments.part or PARTS
    figures, curves, seconds = report.Figures(), {}, {}
    common.need_disk("/var/tmp", 300 * arguments.records + 100_000_000)
    common.need_disk(common.PROJECT, 400 * max(arguments.records, arguments.rows) + 2_000_000_000)
    if "rate" in parts:
        curves = bench_rate(arguments, figures)
    if "rows" in parts:
        seconds = bench_rows(arguments, figures)
    if "collect" in parts:
        bench_collect(arguments, figures)
    if "spool" in parts:
        bench_spool(arguments, figures)
    if "summaries" in parts:
        bench_summaries(arguments, figures)
    ingest_report.write(arguments.output, figures, curves, seconds, arguments, BATCH, ARRAY)
    plots = [name for name, drawn in (("ingest.svg", curves), ("ingest-rows.svg", seconds)) if drawn]
    say("written: " + ", ".join(f"{arguments.output}/{name}" for name in ("ingest.md", "ingest.csv", *plots)))


common.main(main)
