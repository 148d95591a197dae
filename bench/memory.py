"""./run bench memory: tables in memory (IN_MEMORY=1) beside the server's MEMORY engine: the article's rows of varying lengths and
sysbench's, inserted by several clients, what memory they take, also after rows have been replaced again and again, rows read by
key, ranges of an index, and counts.

Engines take turns, each in a fresh server. Processor time is measured beside time, as machines are shared. Writes memory.md,
memory.csv and memory.svg to bench/results/.
"""

import argparse
import os
import statistics
import time

import common
import memory_report
import report
from client_processes import ClientProcesses
from common import Failure, say
from memory_report import CLIENTS, ENGINES, MULTI, TURNOVERS
from private_server import PrivateServer

PARTS = ("insert", "turnover", "read", "count")
LOOKUPS = 200_000
RANGES = 20_000
NEWEST = 11_000
OPTIONS = {"HAILSTONE": "ENGINE=HAILSTONE IN_MEMORY=1", "MEMORY": "ENGINE=MEMORY"}
TABLES = {
    "article": "(id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, c VARCHAR(4096) NOT NULL)",
    "sysbench": "(id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL, "
                "KEY (k))",
}


def server(gigabytes):
    size = max(1, round(gigabytes * 1024))
    return PrivateServer("bench-memory", f"--hailstone-in-memory-size={size}M", f"--max-heap-table-size={size}M", "--skip-log-bin",
                         "--max-allowed-packet=64M")


def compile_programs(private):
    programs = {"client": common.compile_client(private, "memory_client.c"), "map": f"{common.PROJECT}/build/bench-memory-map"}
    common.run(["g++", "-O2", "-std=c++20", "-Wall", "-Wextra", "-Werror", f"{common.PROJECT}/bench/memory_map.cc",
                "-o", programs["map"]], "compiling bench/memory_map.cc")
    return programs


class Work(ClientProcesses):
    """What several clients did at once; their answers are bytes."""

    def __init__(self, private, program, table, work, count, rows, clients):
        super().__init__(private, [[program, private.socket, "memory", table, work, str(count // clients), str(rows), str(seed + 1)]
                                   for seed in range(clients)], count // clients * clients)
        self.bytes = sum(int(answer) for answer in self.answers)


def settled_memory(private):
    """Resident memory once it has stopped falling: background work may still encode, and pages are kept for some seconds."""
    connection = private.connect()
    while int(connection.execute("SHOW STATUS LIKE 'hailstone_memory_kept'")[0][1]) != 0:
        time.sleep(0.5)
    connection.close()
    least = private.memory("VmRSS")
    quiet = 0
    while quiet < 6:
        time.sleep(0.5)
        now = private.memory("VmRSS")
        quiet = quiet + 1 if now > least - (1 << 20) else 0
        least = min(least, now)
    return least


def table_of(connection, kind, engine, keys=""):
    connection.execute("CREATE OR REPLACE DATABASE memory CHARACTER SET latin1")
    connection.execute("USE memory")
    columns = TABLES[kind]
    if keys:
        columns = columns[:-1] + f", {keys})"
    connection.execute(f"CREATE TABLE rows_{kind} {columns} {OPTIONS[engine]}")
    return f"rows_{kind}"


def bench_insert(arguments, figures, programs):
    for kind in TABLES:
        for many, per_statement in (("single", 1), ("multi", MULTI)):
            for clients in CLIENTS:
                measured = {engine: [] for engine in ENGINES}
                for _ in range(arguments.runs):
                    for engine in ENGINES:
                        measured[engine].append(insert_once(arguments, programs, kind, engine, clients, per_statement))
                for engine, runs in measured.items():
                    key, title = f"{kind}-{many}-{clients}", f"{kind}, {many}-row inserts of {clients} clients"
                    figures.add(key, f"{title}, rows/s", engine, statistics.median(each["work"].rate for each in runs))
                    figures.add(f"{key}-cpu", f"{title}, processor µs a row", engine,
                                statistics.median(each["work"].microseconds for each in runs))
                    if many == "single" and clients == 2:
                        run = runs[-1]
                        work = run["work"]
                        figures.add(f"{kind}-rows", f"{kind}, rows", engine, work.count)
                        figures.add(f"{kind}-values", f"{kind}, bytes of the values", engine, work.bytes)
                        figures.add(f"{kind}-memory", f"{kind}, resident memory above idle, bytes", engine, run["memory"])
                        figures.add(f"{kind}-peak", f"{kind}, most of it while inserting, bytes", engine, run["peak"])
    rate, taken, values, found = common.run([programs["map"], str(arguments.rows)], "memory_map").split()
    for key, title, value in (("map-insert", "std::map, rows/s", rate), ("map-memory", "std::map, bytes", taken),
                              ("map-values", "std::map, bytes of the values", values), ("map-lookup", "std::map, lookups/s", found)):
        figures.add(key, title, "std::map", float(value))


def insert_once(arguments, programs, kind, engine, clients, per_statement):
    rows = arguments.rows if kind == "article" else arguments.rows * 4
    gigabytes = rows * (4400 if kind == "article" else 400) * 1.5 / 2**30
    with server(gigabytes) as private:
        connection = private.connect()
        table = table_of(connection, kind, engine)
        idle = private.memory("VmRSS")
        work = Work(private, programs["client"], table, kind, rows // per_statement // clients * per_statement * clients,
                    per_statement, clients)
        peak = private.memory("VmHWM") - idle
        found = connection.execute(f"SELECT COUNT(*) FROM {table}")[0][0]
        if found != work.count:
            raise Failure(f"{engine} has {found} rows of {work.count}")
        memory = settled_memory(private) - idle
        say(f"{kind}, {engine}, {clients} clients, {per_statement} rows a statement: {work.rate:,.0f} rows/s, "
            f"{work.microseconds:.1f} µs of processor time a row, {memory / work.bytes:.2f} of the values' bytes")
        connection.close()
        return {"work": work, "memory": memory, "peak": peak}


def bench_turnover(arguments, figures, programs):
    """What rows of varying lengths take when as many have been replaced as TURNOVERS tables have."""
    rows = arguments.rows // MULTI * MULTI
    for engine in ENGINES:
        with server(rows * 4400 * 1.5 / 2**30) as private:
            connection = private.connect()
            table = table_of(connection, "article", engine)
            idle = private.memory("VmRSS")
            Work(private, programs["client"], table, "article", rows, MULTI, 1)
            work = Work(private, programs["client"], table, "replace", TURNOVERS * rows, rows, 2)
            peak = private.memory("VmHWM") - idle
            found, values = connection.execute(f"SELECT COUNT(*), 4 * COUNT(*) + SUM(LENGTH(c)) FROM {table}")[0]
            if int(found) != rows:
                raise Failure(f"{engine} has {found} rows of {rows}")
            memory, values = settled_memory(private) - idle, int(values)
            say(f"{engine}: {TURNOVERS} turnovers of {rows:,} rows: {memory / values:.2f} of the values' bytes, "
                f"{work.microseconds:.1f} µs of processor time a row")
            for key, title, value in (("rows", "rows", rows), ("values", "bytes of the values", values), ("memory", "resident memory above idle, bytes", memory),
                                      ("peak", "most of it, bytes", peak)):
                figures.add(f"turnover-{key}", f"after {TURNOVERS} turnovers, {title}", engine, value)
            figures.add("turnover-rate", "rows replaced/s", engine, work.rate)
            connection.close()


def bench_read(arguments, figures, programs):
    """Rows by primary key (a hash in MEMORY), ranges of a BTREE index, what the newest rows take."""
    rows = arguments.rows
    measured = {}
    for _ in range(arguments.runs):
        for engine in ENGINES:
            with server(rows * 500 / 2**30 + 0.5) as private:
                connection = private.connect()
                connection.execute("CREATE OR REPLACE DATABASE memory CHARACTER SET latin1")
                connection.execute("USE memory")
                connection.execute(f"CREATE TABLE r (id INT NOT NULL PRIMARY KEY, k INT NOT NULL, c CHAR(120) NOT NULL, "
                                   f"KEY k (k) USING BTREE) {OPTIONS[engine]}")
                connection.execute(f"INSERT INTO r SELECT seq, seq, LEFT(REPEAT(SHA2(seq, 256), 2), 120) FROM seq_1_to_{rows}")
                settled_memory(private)
                for key, count in (("lookup", LOOKUPS), ("range", RANGES)):
                    for clients in (1, 2):
                        work = Work(private, programs["client"], "r", key, count, rows, clients)
                        measured.setdefault((key, clients, engine), []).append(work)
                        say(f"{engine}, {key}, {clients} clients: {work.rate:,.0f}/s, {work.microseconds:.1f} µs of processor time")
                if engine == "HAILSTONE":
                    figures_of_newest(connection, figures)
                connection.close()
    for (key, clients, engine), runs in measured.items():
        title = f"{key} by {clients} clients"
        figures.add(f"{key}-{clients}", f"{title}, per second", engine, statistics.median(each.rate for each in runs))
        figures.add(f"{key}-{clients}-cpu", f"{title}, processor µs each", engine,
                    statistics.median(each.microseconds for each in runs))


def counter(connection):
    return int(connection.execute("SHOW GLOBAL STATUS LIKE 'hailstone_in_memory_used'")[0][1])


def figures_of_newest(connection, figures):
    """Bytes of overhead of rows that are not encoded yet, with one key: some blocks of memory are less than a row."""
    if figures.has("newest"):
        return
    connection.execute("CREATE TABLE newest (id INT NOT NULL PRIMARY KEY, c VARCHAR(40) NOT NULL) "
                       "ENGINE=HAILSTONE IN_MEMORY=1 IN_MEMORY_SIZE=1500000")
    before = counter(connection)
    connection.execute(f"INSERT INTO newest SELECT seq, LEFT(SHA2(seq, 256), 40) FROM seq_1_to_{NEWEST}")
    figures.add("newest", "newest rows, bytes of overhead a row", "HAILSTONE", (counter(connection) - before) / NEWEST - 44)


def bench_count(arguments, figures):
    rows = arguments.count_rows
    for engine in ENGINES:
        with server(rows * 60 / 2**30 + 0.5) as private:
            connection = private.connect()
            connection.execute("CREATE OR REPLACE DATABASE memory")
            connection.execute("USE memory")
            connection.execute(f"CREATE TABLE counted (id INT NOT NULL PRIMARY KEY, a INT NOT NULL, b INT NOT NULL) {OPTIONS[engine]}")
            connection.execute(f"INSERT INTO counted SELECT seq, seq * 7919 % 1000, seq % 13 FROM seq_1_to_{rows}")
            settled_memory(private)
            cpu = []

            def ask(private=private, connection=connection, cpu=cpu):
                start = private.cpu_seconds()
                answer = connection.execute("SELECT COUNT(*) FROM counted WHERE a = 77 AND b < 5")[0][0]
                cpu.append(private.cpu_seconds() - start)
                return answer
            seconds, answer = common.warm_time(ask, 5)
            right = sum(1 for seq in range(1, rows + 1) if seq * 7919 % 1000 == 77 and seq % 13 < 5)
            if answer != right:
                raise Failure(f"{engine} counts {answer} rows of {right}")
            say(f"{engine}: COUNT(*) WHERE of {rows:,} rows: {1000 * seconds:.1f} ms")
            figures.add("count", "COUNT(*) WHERE, seconds", engine, seconds)
            figures.add("count-cpu", "COUNT(*) WHERE, processor seconds", engine, statistics.median(cpu))
            connection.close()


def main():
    # scripts/bench has looked at the arguments.
    parser = argparse.ArgumentParser()
    parser.add_argument("part", nargs="*")
    parser.add_argument("--rows", type=int, default=80_000)
    parser.add_argument("--count-rows", type=int, default=5_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--output", default=os.path.join(common.PROJECT, "bench/results"))
    arguments = parser.parse_args()
    parts = arguments.part or PARTS
    figures = report.Figures()
    with server(1) as private:
        figures.versions["MariaDB"] = private.facts["version"]
        programs = compile_programs(private)
    if "insert" in parts:
        bench_insert(arguments, figures, programs)
    if "turnover" in parts:
        bench_turnover(arguments, figures, programs)
    if "read" in parts:
        bench_read(arguments, figures, programs)
    if "count" in parts:
        bench_count(arguments, figures)
    memory_report.write(arguments.output, figures, arguments)
    say(f"written: {arguments.output}/memory.md, memory.csv" + (", memory.svg" if "insert" in parts else ""))


common.main(main)
