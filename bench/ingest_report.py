"""The page of ./run bench ingest: tables, aims, and the rate over time as a plot."""

import os

import report
from report import pyplot

ENGINES = ("HAILSTONE", "InnoDB")
ORDERS = ("time", "random")
MEGABYTE = 1e6

RATE = """## The rate while the table grows
Records of about 104 bytes, in batches of {batch:,} by LOAD DATA, one transaction each; both engines have {memory} MiB of memory, and sync each commit. The \
primary key is of two columns: either the records come in its order (time), or in no order (random). The time is that of the statements; making the files is \
not part of it. InnoDB has {limit:,} s for each; the ratio is that of the rates where it ended, at the same number of rows. Repeats are the last twentieth \
of the batches, loaded once more with IGNORE. Slowest is the rate of the slowest batch to that of the median one.
"""
ROWS = """## The same by small transactions
Records as before, {array:,} in a statement that binds arrays of parameters, each statement a transaction, from one client without a pause. Slowest is the rate of the slowest second to that of the median one. Commits: what 99.9 % of the statements took, with their commit, and the longest one.
"""
AMPLIFICATION = """What Hailstone wrote and read for these rows, to segments and to the log, of data with {bytes} bytes a row; blocks are those that were not in memory.
"""
READS = """Repeats are rows that are there already, inserted with IGNORE: of the last twentieth, and as many from the whole table. Reads are those of one client beside one that inserts at half of its rate: up to 100 rows of a summary by its key, and of the table a range of its key (10 seconds of all visitors, or a day of one visitor).
"""
COLLECT = """## From a file into a table
{records:,} records of a file, by `hailstone collect run --once` (parsed, in the spool and synced there, loaded, committed) and by one LOAD DATA INFILE of the \
same file; medians of {runs} runs in turns.
"""
SPOOL = """## From a file into the spool
The same records while there is no server, until all of them are acknowledged; the collector's start is part of the time.
"""
SUMMARIES = """## Summaries
{jobs:,} jobs, one for each site, whose numbers of records are as 1, 1/2, 1/3 … ({records:,} in all): each groups its site's records of a day by URL. The \
shortest run first; small ones share transactions. Seconds from the start of the first job.
"""


def ratio(figures, key, setup, other_key, other):
    mine, theirs = figures.get(key, setup), figures.get(other_key, other)
    return mine / theirs if mine is not None and theirs else None


def rate_text(figures, arguments, batch):
    yield RATE.format(batch=batch, memory=arguments.memory, limit=arguments.limit)
    rows = []
    for order in ORDERS:
        for engine in ENGINES:
            def shown(what, order=order, engine=engine):
                return report.number(figures.get(f"rate-{order}-{what}", engine))
            last = ratio(figures, f"rate-{order}-last", engine, f"rate-{order}-first", engine)
            size = figures.get(f"rate-{order}-size", engine)
            rows.append([f"{order}, {engine}", f"{figures.get(f'rate-{order}-rows', engine):,}", shown("first"), shown("last"),
                         f"{last:.2f}", shown("slowest"), shown("again"), f"{size / MEGABYTE:,.0f}", shown("ratio")])
    yield report.table(["order of keys, engine", "rows", "rows/s, first tenth", "last tenth", "last/first", "slowest", "repeats/s",
                        "MB on disk", "to InnoDB"], rows)
    yield "![rows a second while the table grows](ingest.svg)\n"
    yield from amplification_text(figures, arguments, [(f"rate-{order}", f"LOAD DATA, {order}") for order in ORDERS])


def amplification_text(figures, arguments, parts):
    yield AMPLIFICATION.format(bytes=arguments.record_bytes)
    rows = [[title, *(report.number(figures.get(f"{key}-{what}", "HAILSTONE")) for what in ("written", "read", "blocks", "merges"))]
            for key, title in parts]
    yield report.table(["Hailstone", "bytes written for a byte", "bytes read for a byte", "blocks read for a row", "merges"], rows)


def rows_text(figures, arguments, array):
    yield ROWS.format(array=array)
    rows = []
    for order in ORDERS:
        for engine in ENGINES:
            def shown(what, factor=1, order=order, engine=engine):
                value = figures.get(f"rows-{order}-{what}", engine)
                return report.number(None if value is None else factor * value)
            last = ratio(figures, f"rows-{order}-last", engine, f"rows-{order}-first", engine)
            rows.append([f"{order}, {engine}", f"{figures.get(f'rows-{order}-rows', engine):,}", shown("first"), shown("last"),
                         f"{last:.2f}", shown("slowest"), shown("commit", 1000), shown("longest", 1000), shown("ratio")])
    yield report.table(["order of keys, engine", "rows", "rows/s, first tenth", "last tenth", "last/first", "slowest",
                        "99.9 % of commits, ms", "longest, ms", "to InnoDB"], rows)
    yield "![rows in each second](ingest-rows.svg)\n"
    parts = [(f"rows-{order}{suffix}", f"{title}, {order}") for order in ORDERS
             for suffix, title in (("", "inserted"), ("-again", "repeats of the last"), ("-old", "repeats of old rows"))]
    yield from amplification_text(figures, arguments, parts)
    yield READS
    rows = [[order, *(report.number(figures.get(f"rows-{order}-{what}", "HAILSTONE")) for what in ("last", "again", "old", "beside")),
             *(report.number(1000 * figures.get(f"rows-{order}-{what}", "HAILSTONE")) for what in ("summary", "range"))]
            for order in ORDERS]
    yield report.table(["order of keys", "rows/s, last tenth", "repeats of the last/s", "of old rows/s", "rows/s beside reads",
                        "99 % of reads of a summary, ms", "of a range, ms"], rows)


def collect_text(figures, arguments):
    yield COLLECT.format(records=arguments.records, runs=arguments.runs)
    yield report.table(["records/s", *ENGINES],
                       [["LOAD DATA", *(report.number(figures.get("collect-load", engine)) for engine in ENGINES)],
                        ["hailstone collect", *(report.number(figures.get("collect-collect", engine)) for engine in ENGINES)],
                        ["ratio", *(f"{ratio(figures, 'collect-collect', engine, 'collect-load', engine):.2f}" for engine in ENGINES)]])
    yield f"The collector took {figures.get('collect-memory', 'HAILSTONE') / MEGABYTE:,.0f} MB of memory at most.\n"


def spool_text(figures):
    yield SPOOL
    yield (f"{report.number(figures.get('spool', 'HAILSTONE'))} records a second; with all of them waiting the collector took "
           f"{figures.get('spool-memory', 'HAILSTONE') / MEGABYTE:,.0f} MB of memory at most.\n")


def summaries_text(figures, arguments):
    yield SUMMARIES.format(jobs=arguments.jobs, records=arguments.records)
    rows = []
    for engine in ENGINES:
        share = ratio(figures, "summaries-most", engine, "summaries-all", engine)
        rows.append([engine, *(report.number(figures.get(f"summaries-{key}", engine)) for key in ("half", "most", "all")),
                     f"{100 * share:.0f} %"])
    yield report.table(["engine", "50 % done, s", "97 % done, s", "all done, s", "97 % done in, of the time"], rows)
    if figures.has("summaries-rows"):
        records, stored = (100 * figures.get(f"summaries-{what}", "HAILSTONE") for what in ("records", "rows"))
        yield f"The shortest 97 % of the jobs read {records:.0f} % of the records and store {stored:.0f} % of the rows: their order cannot have them done much earlier.\n"


def aims(figures):
    """(aim, measured, reached) for what the project sets out to reach."""
    for order, least in (("time", 0.95), ("random", 0.8)):
        value = ratio(figures, f"rate-{order}-last", "HAILSTONE", f"rate-{order}-first", "HAILSTONE")
        if value is not None:
            yield f"keys in order of {order}: last tenth at least {least} of the first", f"{value:.2f}", value >= least
            value = figures.get(f"rate-{order}-ratio", "HAILSTONE")
            yield f"keys in order of {order}: at least 10 times InnoDB's rate at the same rows", f"{value:.2f}", value >= 10
            value = ratio(figures, f"rate-{order}-again", "HAILSTONE", f"rate-{order}-last", "HAILSTONE")
            yield f"keys in order of {order}: repeats at least half as fast", f"{value:.2f}", value >= 0.5
    for order, least in (("time", 0.95), ("random", 0.8)):
        value = ratio(figures, f"rows-{order}-last", "HAILSTONE", f"rows-{order}-first", "HAILSTONE")
        if value is None:
            continue
        title = f"small transactions, keys in order of {order}"
        yield f"{title}: last tenth at least {least} of the first", f"{value:.2f}", value >= least
        value = figures.get(f"rows-{order}-ratio", "HAILSTONE")
        yield f"{title}: at least 10 times InnoDB's rate at the same rows", f"{value:.2f}", value >= 10
        value = figures.get(f"rows-{order}-slowest", "HAILSTONE")
        yield f"{title}: no second below half of the median", f"{value:.2f}", value >= 0.5
        value = 1000 * figures.get(f"rows-{order}-commit", "HAILSTONE")
        yield f"{title}: 99.9 % of the commits within 50 ms", f"{value:.1f} ms", value <= 50
        for name, what in (("again", "the last rows"), ("old", "old rows")):
            value = ratio(figures, f"rows-{order}-{name}", "HAILSTONE", f"rows-{order}-last", "HAILSTONE")
            yield f"{title}: repeats of {what} at least half as fast", f"{value:.2f}", value >= 0.5
            value = figures.get(f"rows-{order}-{name}-blocks", "HAILSTONE")
            yield f"{title}: at most one block read for a repeat of {what}", f"{value:.2f}", value <= 1
        value = 1000 * max(figures.get(f"rows-{order}-{what}", "HAILSTONE") for what in ("summary", "range"))
        yield f"{title}: 99 % of the reads within 10 ms", f"{value:.1f} ms", value <= 10
    value = ratio(figures, "collect-collect", "HAILSTONE", "collect-load", "HAILSTONE")
    if value is not None:
        yield "hailstone collect: at least half of LOAD DATA's rate", f"{value:.2f}", value >= 0.5
        value = figures.get("collect-memory", "HAILSTONE") / MEGABYTE
        yield "memory of the collector below 100 MB", f"{value:.0f} MB", value < 100
    value = figures.get("spool", "HAILSTONE")
    if value is not None:
        yield "spool: at least 500,000 records/s", report.number(value), value >= 500_000
        value = figures.get("spool-memory", "HAILSTONE") / MEGABYTE
        yield "memory of the collector below 100 MB, all records waiting", f"{value:.0f} MB", value < 100
    value = ratio(figures, "summaries-most", "HAILSTONE", "summaries-all", "HAILSTONE")
    if value is not None:
        yield "97 % of the jobs in at most 50 % of the time", f"{100 * value:.0f} %", value <= 0.5


def draw(path, curves, batch):
    pyplot.rcParams["svg.hashsalt"] = "hailstone"  # the same figures give the same file
    figure, all_axes = pyplot.subplots(1, len(ORDERS), figsize=(14, 5), sharey=True)
    for axes, order in zip(all_axes, ORDERS):
        for engine in ENGINES:
            seconds = curves[order, engine]
            # About a hundred points, each the rate of some batches together.
            step = max(1, len(seconds) // 100)
            parts = [seconds[at:at + step] for at in range(0, len(seconds), step)]
            axes.plot([(at * step + len(part)) * batch / 1e6 for at, part in enumerate(parts)],
                      [len(part) * batch / sum(part) for part in parts], label=engine)
        axes.set_title(f"keys in order of {order}", fontsize=10)
        axes.set_xlabel("million rows in the table")
        axes.set_yscale("log")
        axes.legend(fontsize=8)
    all_axes[0].set_ylabel("rows a second (logarithmic; higher is better)")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def draw_rows(path, by_second):
    pyplot.rcParams["svg.hashsalt"] = "hailstone"
    figure, all_axes = pyplot.subplots(1, len(ORDERS), figsize=(14, 5), sharey=True)
    for axes, order in zip(all_axes, ORDERS):
        for engine in ENGINES:
            axes.plot(range(1, len(by_second[order, engine]) + 1), by_second[order, engine], label=engine, linewidth=1)
        axes.set_title(f"keys in order of {order}", fontsize=10)
        axes.set_xlabel("second")
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=8)
    all_axes[0].set_ylabel("rows in the second (higher is better)")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def write(folder, figures, curves, by_second, arguments, batch, array):
    os.makedirs(folder, exist_ok=True)
    figures.write_csv(os.path.join(folder, "ingest.csv"))
    text = [report.heading("Records coming in", figures) +
            "Machines are shared and noisy: compare ratios within this report.\n"]
    if curves:
        draw(os.path.join(folder, "ingest.svg"), curves, batch)
        text.extend(rate_text(figures, arguments, batch))
    if by_second:
        draw_rows(os.path.join(folder, "ingest-rows.svg"), by_second)
        text.extend(rows_text(figures, arguments, array))
    if figures.has("collect-load"):
        text.extend(collect_text(figures, arguments))
    if figures.has("spool"):
        text.extend(spool_text(figures))
    if figures.has("summaries-all"):
        text.extend(summaries_text(figures, arguments))
    text.append("## Aims\n")
    text.append(report.aims_table(aims(figures)))
    with open(os.path.join(folder, "ingest.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(text))
