"""./run bench ingest: how fast records come in, and whether that stays so: the engine's rate while a table grows far beyond its memory,
`hailstone collect` beside LOAD DATA of the same file, its spool by itself, and a run of summaries.

Engines and ways take turns in the same servers: seconds of another run or machine do not compare, ratios do. Writes ingest.md,
ingest.csv and ingest.svg to bench/results/.
"""

import argparse
import datetime
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import tempfile
import time
import urllib.request

import common
import ingest_report
import report
from common import Failure, say
from ingest_report import ENGINES, ORDERS
from private_server import PrivateServer

PARTS = ("rate", "collect", "spool", "summaries")
BATCH = 40_000
COMMAND = f"{common.PROJECT}/build/release/hailstone"
DAY = datetime.datetime(2026, 11, 24)
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


def load_batches(server, folder, engine, order, batches, limit):
    """Seconds of each batch, as many as fit into the limit, and of the last twentieth loaded again with IGNORE."""
    connection = server.connect()
    connection.execute("CREATE OR REPLACE DATABASE ingest")
    key = "at, visitor" if order == "time" else "visitor, at"
    connection.execute(f"CREATE TABLE ingest.hits ({COLUMNS}, PRIMARY KEY ({key})) ENGINE={engine} DEFAULT CHARSET=latin1")
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
    if len(seconds) == batches:
        for copy in repeated:
            again.append(common.timed(lambda copy=copy: connection.execute(load.format("IGNORE").replace(path, copy)))[0])
        if connection.execute("SELECT COUNT(*) FROM ingest.hits")[0][0] != rows:
            raise Failure(f"{engine} took a record twice")
    for copy in repeated:
        os.remove(copy)
    size = server.bytes_on_disk(*({"HAILSTONE": ["hailstone"], "InnoDB": ["ingest"]}[engine]))
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
                seconds, again, size = load_batches(server, folder, engine, order, batches,
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
    with urllib.request.urlopen(address, timeout=10) as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith("hailstone_collect_acknowledged_records_total"):
                return int(line.split()[-1])
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
        say(f"{engine}: {arguments.jobs} jobs in {period['all']:.1f} s ({seconds:.1f} with the start), 97 % in {period['most']:.1f} s")
        for key, title in (("half", "50 %"), ("most", "97 %"), ("all", "all")):
            figures.add(f"summaries-{key}", f"seconds until {title} of the jobs were done", engine, period[key])


def main():
    # scripts/bench has looked at the arguments.
    parser = argparse.ArgumentParser()
    parser.add_argument("part", nargs="*")
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--memory", type=int, default=64)
    parser.add_argument("--limit", type=int, default=1800)
    parser.add_argument("--records", type=int, default=4_000_000)
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--output", default=os.path.join(common.PROJECT, "bench/results"))
    arguments = parser.parse_args()
    parts = arguments.part or PARTS
    figures, curves = report.Figures(), {}
    common.need_disk("/var/tmp", 300 * arguments.records + 100_000_000)
    common.need_disk(common.PROJECT, 400 * max(arguments.records, arguments.rows) + 2_000_000_000)
    if "rate" in parts:
        curves = bench_rate(arguments, figures)
    if "collect" in parts:
        bench_collect(arguments, figures)
    if "spool" in parts:
        bench_spool(arguments, figures)
    if "summaries" in parts:
        bench_summaries(arguments, figures)
    ingest_report.write(arguments.output, figures, curves, arguments, BATCH)
    say(f"written: {arguments.output}/ingest.md, ingest.csv" + (", ingest.svg" if curves else ""))


common.main(main)
