"""./run bench disk: how files are read and written, by each of the engine's methods, against dd on the same disk, and
a full cold scan of a table.

Ratios of one run count. Writes disk.md, disk.csv and the plots of `hailstone disk report` to bench/results/.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile

import article
import common
import report
from common import say

METHODS = ("sync", "buffered", "async", "mmap", "direct")
RECORD = 103
PARTS = ("records", "large", "scan")
ROUNDS = 3


def command(*arguments):
    return common.run([f"{common.PROJECT}/build/release/hailstone", *map(str, arguments)], "hailstone " + str(arguments[0]))


def records(folder, count, figures, output):
    """Records of 103 bytes, warm and cold: the sweep that users run."""
    results = []
    for key, options in (("warm", ()), ("cold", ("--cold",))):
        say(f"records of {RECORD} bytes, {key}: files of up to {count:,} …")
        path = os.path.join(folder, f"{key}.json")
        command("disk", "sweep", folder, "--from", max(1, count >> 8), "--to", count, "--repeat", ROUNDS, "--output", path, *options)
        with open(path, encoding="utf-8") as file:
            sweep = json.load(file)
        measured = sweep["measurements"]
        # The page is read elsewhere.
        with open(path, "w", encoding="utf-8") as file:
            json.dump(sweep | {"folder": os.path.relpath(sweep["folder"], common.PROJECT)}, file)
        most = max(one["records"] for one in measured)
        for job in ("write", "read"):
            for method in METHODS:
                runs = [one for one in measured if (one["job"], one["method"], one["records"]) == (job, method, most)]
                if runs:
                    figures.add(f"{key}-{job}", f"{job} {most:,} records of {RECORD} bytes, {key}, seconds", method,
                                statistics.median(one["seconds"] for one in runs))
        results.append(path)
    command("disk", "report", *results, "--html", os.path.join(output, "disk.html"), "--svg", os.path.join(output, "disk"))


def dd(path):
    """MB/s of reading with O_DIRECT and blocks of 1 MiB."""
    done = subprocess.run(["dd", f"if={path}", "of=/dev/null", "bs=1M", "iflag=direct"], capture_output=True, text=True,
                          env={**os.environ, "LC_ALL": "C"}, check=True)
    size, seconds = re.search(r"(\d+) bytes .* copied, ([\d.e-]+) s", done.stderr).groups()
    return int(size) / float(seconds) / 1e6


def large(folder, megabytes, figures):
    """One big file in blocks of 1 MiB past the page cache, beside dd, in turns."""
    path = os.path.join(folder, "large")
    say(f"a file of {megabytes:,} MiB: direct with a queue and dd in turns …")
    command("disk", "write", path, "--method", "direct", "--records", megabytes, "--record-size", 1 << 20, "--buffer", "1M", "--fsync")
    rates = {"dd": [], "direct": []}
    for _ in range(ROUNDS + 2):
        rates["dd"].append(dd(path))
        result = os.path.join(folder, "read.json")
        command("disk", "read", path, "--method", "direct", "--record-size", 1 << 20, "--buffer", "1M", "--output", result)
        with open(result, encoding="utf-8") as file:
            one = json.load(file)["measurements"][0]
        rates["direct"].append(one["bytes"] / one["seconds"] / 1e6)
    for name, values in rates.items():
        figures.add("large", "read past the page cache, MB/s", name, statistics.median(values))
    os.unlink(path)


def scan(folder, rows, figures):
    """All rows of the article's table Big as Arrow arrays, from a cold disk and from the block cache."""
    data, database = os.path.join(folder, "data"), os.path.join(folder, "database")
    say(f"a table of {rows:,} rows: cold scans …")
    article.generate(data, rows, "--small-rows", "0")
    command("load", database, "article/big", os.path.join(data, "big.tsv"), "--create", "--no-header", "--columns",
            "Id,PZN,EVP,HAP,ArtikelBez,ArtikelText,Hersteller", "--types",
            ",".join(f"{name}=string" for name in ("Id", "PZN", "EVP", "HAP", "ArtikelBez", "ArtikelText", "Hersteller")))
    shutil.rmtree(data)
    for method in METHODS:
        runs = []
        for _ in range(ROUNDS):
            common.evict(database)
            output = common.run([f"{common.PROJECT}/build/release/disk_bench", database, "article/big", method], "disk_bench")
            runs.append({key: float(value) for key, value in (line.split("\t") for line in output.splitlines())})
        one = sorted(runs, key=lambda run: run["cold-seconds"])[len(runs) // 2]
        figures.add("scan-bytes", "encoded bytes", method, one["bytes"])
        figures.add("scan-cold", "full scan from a cold disk, s", method, one["cold-seconds"])
        figures.add("scan-processor", "… processor seconds of it", method, one["cold-processor"])
        figures.add("scan-cached", "the same from the block cache: decoding alone, s", method, one["cached-seconds"])


def _aims(figures):
    """(aim, measured, reached)"""
    for job in ("write", "read"):
        sync, buffered = figures.get(f"warm-{job}", "sync"), figures.get(f"warm-{job}", "buffered")
        if sync and buffered:
            yield (f"{job}, records of {RECORD} bytes, warm: buffered at least 5 times as fast as sync",
                   f"{sync / buffered:.2f} times", sync / buffered >= 5)
    direct, plain = figures.get("large", "direct"), figures.get("large", "dd")
    if direct and plain:
        yield "direct with a queue: at least 0.9 of dd with O_DIRECT and blocks of 1 MiB", f"{direct / plain:.2f}", direct / plain >= 0.9
    setups = figures.setups("scan-cold")
    if setups and plain:
        best = min(setups, key=lambda setup: figures.get("scan-cold", setup))
        rate = figures.get("scan-bytes", best) / figures.get("scan-cold", best) / 1e6
        # Reading and decoding take turns on one thread: what is not processor time is waiting for the disk.
        busy = figures.get("scan-processor", best) / figures.get("scan-cold", best)
        decoding = busy >= 0.9
        yield (f"full cold scan ({best}): at least 0.8 of dd's encoded bytes per second, or bound by one core's decoding",
               f"{rate / plain:.2f} of dd; the core is busy for {busy:.0%} of the time: bound by "
               + ("decoding" if decoding else "the disk"), rate >= 0.8 * plain or decoding)


def write(folder, figures, count, megabytes, rows):
    os.makedirs(folder, exist_ok=True)
    figures.write_csv(os.path.join(folder, "disk.csv"))
    text = [report.heading("Reading and writing files", figures) +
            "Machines are shared and noisy: compare ratios within this report, not seconds between reports. "
            "[docs/io.md](../../docs/io.md) says what the methods are and what follows.\n"]
    if figures.has("warm-write"):
        setups = figures.setups("warm-write")
        rows_of = []
        for key, title in (("warm-write", "write"), ("warm-read", "read, warm"), ("cold-read", "read, cold")):
            sync = figures.get(key, "sync")
            rows_of.append([f"{title}, s"] + [report.number(figures.get(key, setup)) for setup in setups])
            if sync:
                rows_of.append(["… in percent of sync"] + [f"{100 * (figures.get(key, setup) or 0) / sync:.0f}" for setup in setups])
        text.append(f"## Records of {RECORD} bytes\nFiles of up to {count:,} records, buffers of 128 KiB; medians of {ROUNDS}, "
                    "not synced. All sizes: [disk.html](disk.html).\n")
        text.append(report.table([""] + setups, rows_of))
        text.append("![writing](disk/1-write-time.svg)\n\n![reading, cold](disk/2-read-time.svg)\n")
    if figures.has("large"):
        text.append(f"## A file of {megabytes:,} MiB past the page cache\nBlocks of 1 MiB, 8 on their way; in turns.\n")
        text.append(report.table(["MB/s"] + figures.setups("large"),
                                 [["read"] + [report.number(figures.get("large", setup)) for setup in figures.setups("large")]]))
    if figures.has("scan-cold"):
        setups = figures.setups("scan-cold")
        text.append(f"## A full scan\nAll {rows:,} rows and 7 columns of Big as Arrow arrays, one thread; medians of {ROUNDS}.\n")
        lines = [[title] + [report.number(figures.get(key, setup)) for setup in setups]
                 for key, title in (("scan-cold", "cold, s"), ("scan-processor", "… processor seconds"),
                                    ("scan-cached", "from the block cache (decoding alone), s"))]
        lines.append(["encoded MB"] + [report.number(figures.get("scan-bytes", setup) / 1e6) for setup in setups])
        lines.append(["cold, encoded MB/s"] + [report.number(figures.get("scan-bytes", setup) / 1e6 / figures.get("scan-cold", setup))
                                               for setup in setups])
        text.append(report.table([""] + setups, lines))
    text.append("## Aims\n")
    text.append(report.aims_table(_aims(figures)))
    with open(os.path.join(folder, "disk.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(text))


def main():
    # scripts/bench has looked at the arguments.
    parser = argparse.ArgumentParser()
    parser.add_argument("part", nargs="*")
    parser.add_argument("--records", type=int, default=1 << 22)
    parser.add_argument("--megabytes", type=int, default=2048)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--folder", default=os.path.join(common.PROJECT, "build/disk-bench"))
    parser.add_argument("--output", default=os.path.join(common.PROJECT, "bench/results"))
    arguments = parser.parse_args()
    parts = arguments.part or PARTS
    figures = report.Figures()
    os.makedirs(arguments.folder, exist_ok=True)
    os.makedirs(arguments.output, exist_ok=True)
    # A folder of its own, as what else lies there is somebody's.
    folder = tempfile.mkdtemp(prefix="hailstone-bench-", dir=arguments.folder)
    try:
        common.need_disk(folder, max(len(METHODS) * RECORD * arguments.records, arguments.megabytes << 20,
                                               150 * arguments.rows) + 500_000_000)
        if "records" in parts:
            records(folder, arguments.records, figures, arguments.output)
        if "large" in parts:
            large(folder, arguments.megabytes, figures)
        if "scan" in parts:
            scan(folder, arguments.rows, figures)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    write(arguments.output, figures, arguments.records, arguments.megabytes, arguments.rows)
    say(f"written: {arguments.output}/disk.md, disk.csv, disk.html, disk/")


if __name__ == "__main__":
    common.main(main)
