"""./run bench tables: very many tables: create, insert one row, drop, without a server and through MariaDB.

Synced steps are compared with as many synced writes of 4 KiB in the same run; other seconds of another run or machine
do not compare, ratios do. Writes tables.md, tables.csv and tables.svg to bench/results/.
"""

import argparse
import os
import shutil

import common
import report
from common import say
from private_server import PrivateServer

TABLES = 30_000
CATALOG_TABLES = 1_000_000
TURN = 1_000  # tables of one engine before the next one has its turn
PARTS = ("library", "catalog", "server")

# (what the original published, seconds), for the same steps on a laptop disk of 2009.
PUBLISHED = (("its defaults", 14.5 * 60), ("100 steps in a transaction", 180), ("unsynced", 60),
             ("fsync switched off", 17.5))

# How a server keeps what is committed: (key, title, options that do the same for each engine).
SYNCED = ("synced", "synced at each commit",
          ("--innodb-flush-log-at-trx-commit=1", "--hailstone-flush-log-at-trx-commit=1", "--sync-frm=1"))
UNSYNCED = ("unsynced", "written at each commit, not synced",
            ("--innodb-flush-log-at-trx-commit=2", "--hailstone-flush-log-at-trx-commit=2", "--sync-frm=0"))
ENGINES = ("HAILSTONE", "MyISAM", "InnoDB")
STEPS = (("create", "create table t{n} (id int primary key, text varchar(100)) engine={engine}"),
         ("insert", "insert into t{n} values ({n}, 'one row')"),
         ("drop", "drop table t{n}"))


def program(folder, *arguments):
    output = common.run([f"{common.PROJECT}/build/release/tables_bench", folder, *map(str, arguments)], "tables_bench")
    return {key: float(value) for key, value in (line.split("\t") for line in output.splitlines())}


def bench_server(mode, tables, figures):
    """The engines take turns, as the disk's speed drifts while this runs."""
    key, title, options = mode
    with PrivateServer("bench-tables", "--innodb-buffer-pool-size=1G", "--innodb-log-file-size=1G",
                       "--table-definition-cache=400", "--table-open-cache=400", *options) as private:
        connection = private.connect()
        for engine in ENGINES:
            connection.execute(f"create database many_{engine} character set latin1")
        for step, statement in STEPS:
            say(f"{step}, {title}: {tables:,} tables of each engine …")
            seconds = dict.fromkeys(ENGINES, 0)
            for first in range(0, tables, TURN):
                for engine in ENGINES:
                    connection.execute(f"use many_{engine}")

                    def run_turn(statement=statement, engine=engine, first=first):
                        for number in range(first, min(first + TURN, tables)):
                            connection.execute(statement.format(n=number, engine=engine))
                    seconds[engine] += common.timed(run_turn)[0]
            for engine in ENGINES:
                figures.add(f"{key}-{step}", f"{step}, {title}, tables per second", engine, tables / seconds[engine])
        for engine in ENGINES:
            connection.execute(f"drop database many_{engine}")
            total = sum(1 / figures.get(f"{key}-{step}", engine) for step, _ in STEPS)
            figures.add(f"{key}-all", f"create + insert + drop, {title}, tables per second", engine, 1 / total)
        figures.add("server-tables", "tables of each engine through MariaDB", "MariaDB", tables)
        figures.versions["MariaDB"] = private.facts["version"]
        connection.close()


def _aims(figures):
    """(aim, measured, reached)"""
    library = "libhailstone"
    durable, writes = figures.get("durable-all", library), figures.get("synced-writes", library)
    tables = figures.get("steps-tables", library)
    if durable and writes:
        yield ("each step durable: at most 1.2 times as many synced 4 KiB writes", f"{durable / writes:.2f} times",
               durable / writes <= 1.2)
    for key, title, most in (("hundred-all", "100 steps in a transaction: under 3 s for 30,000 tables", 3),
                             ("unsynced-all", "unsynced: under 1 s for 30,000 tables", 1)):
        value = figures.get(key, library)
        if value:
            value *= TABLES / tables
            yield title, f"{value:.2f} s", value < most
    for key, title, _ in (SYNCED, UNSYNCED):
        mine = figures.get(f"{key}-all", "HAILSTONE")
        for engine, least in (("MyISAM", 1.0), ("InnoDB", 2.5)):
            other = figures.get(f"{key}-all", engine)
            if mine and other:
                at_least = "faster than MyISAM" if engine == "MyISAM" else "at least 2.5 times InnoDB's rate"
                yield f"through MariaDB, {title}: {at_least}", f"{mine / other:.2f} times", mine / other >= least


def _plot(path, figures):
    modes = [mode for mode in (SYNCED, UNSYNCED) if figures.has(f"{mode[0]}-all")]
    pyplot = report.pyplot
    pyplot.rcParams["svg.hashsalt"] = "hailstone"  # the same figures give the same file
    figure, all_axes = pyplot.subplots(1, len(modes), figsize=(5.5 * len(modes), 4), squeeze=False, sharey=True)
    names = [step for step, _ in STEPS] + ["all"]
    for axes, (key, title, _) in zip(all_axes[0], modes):
        for number, engine in enumerate(ENGINES):
            axes.bar([place + number * 0.27 for place in range(len(names))],
                     [figures.get(f"{key}-{name}", engine) or 0 for name in names], 0.27, label=engine)
        axes.set_title(title, fontsize=9)
        axes.set_ylabel("tables per second (higher is better)", fontsize=8)
        axes.set_xticks([place + 0.27 for place in range(len(names))], names)
        axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def _library_text(figures):
    tables = figures.get("steps-tables", "libhailstone")
    get = lambda key: figures.get(key, "libhailstone")  # noqa: E731
    rows = []
    for key, title in (("durable", "each step a durable transaction"), ("hundred", "100 steps in a durable transaction"),
                       ("unsynced", "each step a transaction, written, not synced")):
        rows.append([title] + [report.number(get(f"{key}-{step}")) for step in ("create", "insert", "drop", "all")]
                    + [report.number(get(f"{key}-log-syncs")), report.number(get(f"{key}-log-bytes") / (3 * tables))])
    rows.append([f"{3 * tables:,.0f} synced writes of 4 KiB", "-", "-", "-", report.number(get("synced-writes")),
                 f"{3 * tables:,.0f}", "-"])
    published = ", ".join(f"{seconds / 60:.3g} min with {title}" if seconds >= 60 else f"15 to 20 s with {title}"
                          for title, seconds in PUBLISHED)
    return (f"## The library: {tables:,.0f} tables\nSeconds for creating them, inserting one row into each and dropping "
            "them.\n\n"
            + report.table(["s", "create", "insert", "drop", "all", "log syncs", "log bytes a step"], rows)
            + f"\nHailDB, whose interface the library has too, published for 30,000 tables (its own machine, 2009-2011): "
            f"{published}.\n")


def _catalog_text(figures):
    def get(key):
        return figures.get(key, "catalog")
    rows = []
    for title, keys, unit in (
            ("open the database, s", ("empty-open", "row-open"), 1),
            ("memory per table, bytes, once opened", ("empty-memory", "row-memory"), 1),
            ("memory per table, bytes, after they were made or filled", ("empty-memory-after-create", "row-memory-after-insert"), 1),
            ("make them, or insert one row into each, s (100 in a transaction)", ("empty-create", "row-insert"), 1),
            ("the checkpoint after that, s", ("empty-full-checkpoint", "row-full-checkpoint"), 1),
            ("a checkpoint after one row in one table, ms", ("empty-checkpoint", "row-checkpoint"), 1000),
            ("… manifest records that it wrote", ("empty-checkpoint-records", "row-checkpoint-records"), 1)):
        rows.append([title] + [report.number(get(key) * unit) for key in keys])
    return (f"## A catalog of {get('catalog-tables'):,.0f} tables\nUnsynced, `open_tables` 4,096. Memory is the "
            "process's own, less what it takes with an empty database.\n\n"
            + report.table(["", "empty", "one row each"], rows)
            + f"\nSegment files: {get('row-files'):,.0f}; the manifest has {get('row-manifest-bytes'):,.0f} bytes a table.\n")


def write(folder, figures):
    os.makedirs(folder, exist_ok=True)
    figures.write_csv(os.path.join(folder, "tables.csv"))
    text = [report.heading("Very many tables", figures) +
            "Machines are shared and noisy: compare ratios within this report, not seconds between reports.\n"]
    if figures.has("durable-all"):
        text.append(_library_text(figures))
    if figures.has("empty-open"):
        text.append(_catalog_text(figures))
    modes = [mode for mode in (SYNCED, UNSYNCED) if figures.has(f"{mode[0]}-all")]
    if modes:
        tables = figures.get("server-tables", "MariaDB")
        text.append(f"## Through MariaDB: {tables:,.0f} tables of each engine\nOne client, statement by statement, the engines "
                    f"taking turns of {TURN:,} tables; tables per second. The server syncs its own log of DDL 4 times for "
                    "each CREATE and 6 times for each DROP, whatever the engine (counted by strace, 10.11.18), so that an "
                    "engine can differ only in the rest: Hailstone syncs once for each of the three statements, InnoDB 4 "
                    "times for CREATE and once for each of the others. MyISAM never syncs rows.\n")
        rows = [[engine, title.split(",")[0]] + [report.number(figures.get(f"{key}-{step}", engine))
                                                for step in ("create", "insert", "drop", "all")]
                for key, title, _ in modes for engine in ENGINES]
        text.append(report.table(["engine", "commits", "create", "insert", "drop", "all three"], rows))
        text.append("![tables per second](tables.svg)\n")
        _plot(os.path.join(folder, "tables.svg"), figures)
    text.append("## Aims\n")
    text.append(report.aims_table(_aims(figures)))
    with open(os.path.join(folder, "tables.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(text))


def main():
    # scripts/bench has looked at the arguments.
    parser = argparse.ArgumentParser()
    parser.add_argument("part", nargs="*")
    parser.add_argument("--tables", type=int, default=TABLES)
    parser.add_argument("--server-tables", type=int, default=TABLES)
    parser.add_argument("--catalog-tables", type=int, default=CATALOG_TABLES)
    parser.add_argument("--output", default=os.path.join(common.PROJECT, "bench/results"))
    arguments = parser.parse_args()
    parts = arguments.part or PARTS
    figures = report.Figures()
    folder = os.path.join(common.PROJECT, "build/tables-bench")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    try:
        common.need_disk(folder, 2_000 * arguments.catalog_tables + 2_000_000_000)
        if "library" in parts:
            say(f"library: {arguments.tables:,} tables, and {3 * arguments.tables:,} synced writes …")
            figures.add("steps-tables", "tables", "libhailstone", arguments.tables)
            for key, value in program(os.path.join(folder, "steps"), "steps", arguments.tables).items():
                figures.add(key, "create, insert, drop", "libhailstone", value)
        if "catalog" in parts:
            say(f"library: a catalog of {arguments.catalog_tables:,} tables …")
            figures.add("catalog-tables", "tables", "catalog", arguments.catalog_tables)
            for key, value in program(os.path.join(folder, "catalog"), "catalog", arguments.catalog_tables).items():
                figures.add(key, "a big catalog", "catalog", value)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if "server" in parts:
        for mode in (SYNCED, UNSYNCED):
            bench_server(mode, arguments.server_tables, figures)
    write(arguments.output, figures)
    say(f"written: {arguments.output}/tables.md, tables.csv, tables.svg")


if __name__ == "__main__":
    common.main(main)
