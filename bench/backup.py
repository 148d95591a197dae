"""./run bench backup: a backup of the whole server beside clients that commit all the time, one of what has changed, and a restore;
beside mariadb-backup of the same rows in InnoDB.

Seconds of another run or machine do not compare, ratios do. Writes backup.md and backup.csv to bench/results/.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import threading
import time
from pathlib import Path

import common
import report
from common import Failure, say
from private_server import PrivateServer

GIGABYTES = 4
TABLES = 10_000
RUNS = 3
SECONDS = 10  # of the writers' rate before and after each backup
WRITERS = 2
ROW_BYTES = 1000  # of noise, which no encoding makes fewer
ROWS_AT_ONCE = 500_000
MINE, PEER = "hailstone backup", "mariadb-backup"
ENGINE = {MINE: "HAILSTONE", PEER: "InnoDB"}
OPTIONS = ("--hailstone-memory-budget=256M", "--innodb-buffer-pool-size=256M", "--innodb-log-file-size=512M", "--log-bin=binlog",
           "--sync-binlog=1", "--hailstone-flush-log-at-trx-commit=1", "--innodb-flush-log-at-trx-commit=1", "--server-id=1",
           "--binlog-format=ROW")


class Writers:
    """Clients that commit all the time, each into rows of its own, and when they have done how much."""

    def __init__(self, server, table, first):
        program = common.compile_client(server, "commit_client.c")
        self._lines, self._mutex = [], threading.Lock()
        self._processes = [subprocess.Popen([program, server.socket, "d", table, str(first + 100_000_000 * i)], text=True,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE) for i in range(WRITERS)]
        self._readers = [threading.Thread(target=self._read, args=(process,), daemon=True) for process in self._processes]
        for process in self._processes:
            if process.stdout.readline().strip() != "ready":
                raise Failure("a client did not begin")
        for process, reader in zip(self._processes, self._readers):
            process.stdin.write("go\n")
            process.stdin.flush()
            reader.start()

    def _read(self, process):
        for line in process.stdout:
            words = [int(word) for word in line.split()]
            with self._mutex:
                self._lines.append(words)

    def between(self, begin, end):
        """Commits a second in this time of time.monotonic(), and the seconds of the longest commit."""
        with self._mutex:
            lines = [line for line in self._lines if 1e6 * begin <= line[0] <= 1e6 * end]
        return sum(line[1] for line in lines) / (end - begin), max(line[2] for line in lines) / 1e6

    def stop(self):
        for process in self._processes:
            if process.poll() is not None:
                raise Failure(f"a client has ended with {process.returncode}")
            process.kill()
            process.wait()
        for reader in self._readers:
            reader.join()


class Bench:
    def __init__(self, setup, server, folder, figures):
        self.setup, self.server, self.folder, self.figures = setup, server, folder, figures
        self.target = folder / "backup"
        self.option_file = folder / "client.cnf"
        self.option_file.write_text(f"[client]\nsocket={server.socket}\nuser=root\n")
        self.connection = server.connect()
        self.connection.execute("CREATE DATABASE d")
        self.connection.execute("USE d")
        self.rows = 0

    def make_tables(self, tables):
        self.connection.execute("SET SESSION sql_log_bin=0")
        for engine in ENGINE.values():
            # One of InnoDB always: else hailstone backup does without mariadb-backup.
            self.connection.execute(f"CREATE TABLE d.written_{engine} (id INT PRIMARY KEY, note VARCHAR(60)) ENGINE={engine}")
        self.connection.execute(f"CREATE TABLE d.big (id INT PRIMARY KEY, noise VARBINARY({ROW_BYTES})) ENGINE={ENGINE[self.setup]}")
        for i in range(tables):
            self.connection.execute(f"CREATE TABLE d.small_{i} (id INT PRIMARY KEY, note VARCHAR(60)) ENGINE={ENGINE[self.setup]}")
        self.connection.execute("SET SESSION sql_log_bin=1")

    def add_rows(self, count):
        self.connection.execute("SET SESSION sql_log_bin=0")
        end = self.rows + count
        while self.rows < end:
            last = min(self.rows + ROWS_AT_ONCE, end)
            self.connection.execute(f"INSERT INTO d.big SELECT seq, RANDOM_BYTES({ROW_BYTES}) FROM seq_{self.rows + 1}_to_{last}")
            self.rows = last
        self.connection.execute("SET SESSION sql_log_bin=1")

    def command(self, target, *more):
        root = f"{self.server.facts['mariadb_root']}/usr/bin"
        if self.setup == PEER:
            return [f"{root}/mariadb-backup", f"--defaults-file={self.option_file}", "--backup", f"--target-dir={target}",
                    f"--datadir={self.server.facts['data']}", *more]
        return [f"{common.PROJECT}/build/release/hailstone", "backup", "--server", f"--defaults-file={self.option_file}",
                f"--mariadb-backup={root}/mariadb-backup", *more, str(target)]

    def back_up(self, target, *more):
        """When it began and ended."""
        begin = time.monotonic()
        done = subprocess.run(self.command(target, *more), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace")
        if done.returncode != 0:
            raise Failure(f"{self.setup} failed: {done.stdout[-3000:]}")
        return begin, time.monotonic()

    def add(self, key, title, value):
        self.figures.add(key, title, self.setup, value)

    def beside_writers(self, runs):
        ratios, longest, before_longest, took, cuts = [], [], [], [], []
        for run in range(runs):
            writers = Writers(self.server, f"written_{ENGINE[self.setup]}", 1 + run * 10_000_000)
            time.sleep(1)
            start = time.monotonic()
            time.sleep(SECONDS)
            begin, end = self.back_up(self.target)
            time.sleep(SECONDS)
            stop = time.monotonic()
            alone = [writers.between(start, begin), writers.between(end + 1, stop)]
            beside = writers.between(begin, end)
            writers.stop()
            ratios.append(beside[0] / statistics.mean(rate for rate, _ in alone))
            longest.append(beside[1])
            before_longest.append(max(seconds for _, seconds in alone))
            took.append(end - begin)
            if self.setup == MINE:
                cuts.append(self.record(self.target)["cut_microseconds"] / 1e6)
            say(f"{self.setup}, run {run + 1}: {took[-1]:.1f} s; {alone[0][0]:,.0f} and {alone[1][0]:,.0f} commits a second without it, "
                f"{beside[0]:,.0f} beside it ({ratios[-1]:.2f}); the longest took {1000 * longest[-1]:.0f} ms")
            if run + 1 < runs:
                shutil.rmtree(self.target)
        self.add("rate", "writers' rate beside it, of that without", statistics.median(ratios))
        self.add("rate-lowest", "writers' rate beside it: lowest", min(ratios))
        self.add("rate-highest", "writers' rate beside it: highest", max(ratios))
        self.add("longest", "longest commit beside it, s", max(longest))
        self.add("longest-without", "longest commit without it, s", max(before_longest))
        self.add("seconds", "backup, s", statistics.median(took))
        if cuts:
            self.add("cut", "its share of the time without commits, s", max(cuts))
        self.add("bytes", "bytes of it", tree_bytes(self.target))

    def what_has_changed(self):
        self.add_rows(self.rows // 100)
        target = self.folder / "changes"
        if self.setup == MINE:
            begin, end = self.back_up(target, "--base", str(self.target))
            self.add("changes-engine-bytes", "backup of 1 % new, bytes of the engine",
                     sum(file["bytes"] for file in self.record(target)["database_files"]))
        else:
            begin, end = self.back_up(target, f"--incremental-basedir={self.target}")
        self.add("changes-seconds", "backup of 1 % new, s", end - begin)
        self.add("changes-bytes", "backup of 1 % new, bytes", tree_bytes(target))

    def restore(self):
        """Of both backups; mariadb-backup changes its backup for that."""
        root, data, changes = f"{self.server.facts['mariadb_root']}/usr/bin", self.folder / "restored", self.folder / "changes"
        begin = time.monotonic()
        if self.setup == MINE:
            common.run([f"{common.PROJECT}/build/release/hailstone", "restore", str(changes), str(data),
                        f"--mariadbd={self.server.facts['mariadbd']}", f"--plugin-dir={self.server.facts['folder']}/plugin",
                        f"--mariadb-backup={root}/mariadb-backup", f"--user={self.server.facts['user']}"], "hailstone restore")
        else:
            common.run([f"{root}/mariadb-backup", "--prepare", f"--target-dir={self.target}"], "mariadb-backup --prepare")
            common.run([f"{root}/mariadb-backup", "--prepare", f"--target-dir={self.target}", f"--incremental-dir={changes}"],
                       "mariadb-backup --prepare")
            common.run([f"{root}/mariadb-backup", "--copy-back", f"--target-dir={self.target}", f"--datadir={data}"],
                       "mariadb-backup --copy-back")
        self.add("restore", "restore, s", time.monotonic() - begin)

    @staticmethod
    def record(target):
        return json.loads((target / "backup.json").read_text(encoding="utf-8"))


def tree_bytes(folder):
    return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


def measure(setup, gigabytes, tables, runs, figures):
    folder = Path(common.PROJECT) / "build" / "backup-bench"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        with PrivateServer("bench-backup", *OPTIONS) as server:
            figures.versions["MariaDB"] = server.facts["version"]
            bench = Bench(setup, server, folder, figures)
            say(f"{setup}: {tables:,} tables and {gigabytes} GB of {ENGINE[setup]} …")
            bench.make_tables(tables)
            bench.add_rows(gigabytes * 1_000_000_000 // ROW_BYTES)
            bench.beside_writers(runs)
            bench.what_has_changed()
            bench.restore()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# --- the report

TEXT = """{gigabytes} GB of rows in one table, {tables:,} tables without rows; {writers} clients that insert a row a transaction, in tables of the \
engine that is backed up, with a synced log and a synced binary log; backup and server on the same disk, with its files as they are \
in the page cache. `hailstone backup --server` has the rows in HAILSTONE; it runs `mariadb-backup` for the rest of the server, and reads \
every byte of what it has copied; it copies at most 100 MB a second, the default of `--max-rate`. `mariadb-backup` has them in \
InnoDB, copies as fast as it can, and reads none. The first has two threads, the second one, as by default. The writers' rate is that \
during the backup, of the mean of {seconds} s before and {seconds} s after it.
"""
ROWS = (("seconds", "backup, s", "{:.1f}"), ("bytes", "its size, GB", "{:.2f}"),
        ("changes-seconds", "backup of 1 % new rows, s", "{:.1f}"), ("changes-bytes", "its size, GB", "{:.3f}"),
        ("restore", "restore of both, s", "{:.1f}"), ("longest", "longest commit beside a backup, ms", "{:.0f}"),
        ("longest-without", "longest commit without, ms", "{:.0f}"), ("cut", "of it for Hailstone's moment, ms", "{:.1f}"))
SCALES = {"bytes": 1e-9, "changes-bytes": 1e-9, "longest": 1e3, "longest-without": 1e3, "cut": 1e3}


def shown(figures, key, setup, form):
    value = figures.get(key, setup)
    return "-" if value is None else form.format(value * SCALES.get(key, 1))


def aims(figures):
    rate = figures.get("rate", MINE)
    yield "writers' rate beside a backup: at least 0.8 of that without", f"{rate:.2f}", rate >= 0.8
    cut = 1000 * figures.get("cut", MINE)
    yield "time without commits for Hailstone's part: below 50 ms", f"{cut:.1f} ms", cut < 50
    share = figures.get("changes-engine-bytes", MINE) / figures.get("bytes", MINE)
    yield "backup of 1 % new rows: 1 % of the engine's bytes", f"{100 * share:.2f} %", share <= 0.012


def write(folder, figures, arguments, setups):
    os.makedirs(folder, exist_ok=True)
    figures.write_csv(os.path.join(folder, "backup.csv"))
    rows = [["writers' rate beside a backup", *(f"{figures.get('rate', setup):.2f} ({figures.get('rate-lowest', setup):.2f} – "
                                                f"{figures.get('rate-highest', setup):.2f})" for setup in setups)]]
    rows += [[title, *(shown(figures, key, setup, form) for setup in setups)] for key, title, form in ROWS]
    text = [report.heading("Backups of a server at work", figures),
            TEXT.format(gigabytes=arguments.gigabytes, tables=arguments.tables, writers=WRITERS, seconds=SECONDS) + "\n",
            f"Medians of {arguments.runs} runs, with the lowest and the highest.\n\n", report.table(["", *setups], rows)]
    if MINE in setups:
        text += ["\n## Aims\n\n", report.aims_table(aims(figures))]
    with open(os.path.join(folder, "backup.md"), "w", encoding="utf-8") as file:
        file.write("".join(text))


def main():
    # scripts/bench has looked at the arguments.
    parser = argparse.ArgumentParser()
    parser.add_argument("part", nargs="*")
    parser.add_argument("--gigabytes", type=int, default=GIGABYTES)
    parser.add_argument("--tables", type=int, default=TABLES)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--output", default=os.path.join(common.PROJECT, "bench/results"))
    arguments = parser.parse_args()
    names = {"hailstone": MINE, "peer": PEER}
    setups = [names[part] for part in arguments.part] or [MINE, PEER]
    common.need_disk(common.PROJECT, 4_500_000_000 * arguments.gigabytes + 3_000_000_000)
    figures = report.Figures()
    for setup in setups:
        measure(setup, arguments.gigabytes, arguments.tables, arguments.runs, figures)
    write(arguments.output, figures, arguments, setups)
    say(f"written: {arguments.output}/backup.md, backup.csv")


if __name__ == "__main__":
    common.main(main)
