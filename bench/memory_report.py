"""The page of ./run bench memory: tables, aims, and rows a second by clients as a plot."""

import os

import report

ENGINES = ("HAILSTONE", "MEMORY")
CLIENTS = (1, 2, 4)
MULTI = 100
TURNOVERS = 10
KINDS = (("article", "rows of varying lengths"), ("sysbench", "sysbench's rows"))
MANNERS = (("single", "single rows"), ("multi", f"{MULTI} rows a statement"))
MEGABYTE = 1e6

INSERT = """## Inserting
By prepared statements of one row, and of {multi} rows, each committed at its end. Rows of varying lengths: `(id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, \
c VARCHAR(4096) NOT NULL)` in latin1, lengths uniform from 0 to 4,096, {rows:,} rows of random bytes. sysbench's rows: `(id, k, c CHAR(120), pad CHAR(60))` with a \
primary key and an index on k, {more:,} rows. A fresh server for each figure; medians of {runs} runs in turns. Processor time is the server's, a row.
"""
MEMORY = """## What the rows take
Resident memory of the server above idle, by two clients that insert single rows: once background work has ended, and at most while inserting. The values' bytes \
are those of the text that was sent, and 4 for a number.
"""
TURNOVER = """## Rows that are replaced
{rows:,} rows of varying lengths, of which two clients replace random ones (`REPLACE`) by rows of other lengths, {turnovers} times as many as there are. Resident \
memory above idle beside the bytes of the values that are there at the end.
"""
READ = """## Reading
{rows:,} rows `(id INT PRIMARY KEY, k INT, c CHAR(120))` with a BTREE index on k: rows by random primary keys (a hash index in MEMORY), and ranges of 100 rows of \
the index, by prepared statements; medians of {runs} runs in turns.
"""
COUNT = """## Counting
`SELECT COUNT(*) … WHERE a = 77 AND b < 5` of {rows:,} rows, warm.
"""


def ratio(figures, key, engine="HAILSTONE", other="MEMORY"):
    mine, theirs = figures.get(key, engine), figures.get(key, other)
    return mine / theirs if mine is not None and theirs else None


def shown(figures, key, engine):
    return report.number(figures.get(key, engine))


def insert_text(figures, arguments):
    yield INSERT.format(multi=MULTI, rows=arguments.rows, more=4 * arguments.rows, runs=arguments.runs)
    rows = []
    for kind, kind_title in KINDS:
        for manner, manner_title in MANNERS:
            for clients in CLIENTS:
                key = f"{kind}-{manner}-{clients}"
                rows.append([f"{kind_title}, {manner_title}, {clients} client{'s' if clients > 1 else ''}",
                             *(shown(figures, key, engine) for engine in ENGINES), f"{ratio(figures, key):.2f}",
                             *(shown(figures, f"{key}-cpu", engine) for engine in ENGINES)])
    yield report.table(["rows/s", *ENGINES, "ratio", "µs HAILSTONE", "µs MEMORY"], rows)
    yield f"`std::map` of the rows of varying lengths in one thread: {shown(figures, 'map-insert', 'std::map')} rows/s.\n"
    yield "![rows a second by clients](memory.svg)\n"
    yield MEMORY
    rows = []
    for kind, title in KINDS:
        for engine in ENGINES:
            rows.append(memory_row(f"{title}, {engine}", *(figures.get(f"{kind}-{key}", engine) for key in ("rows", "values", "memory", "peak"))))
    rows.append(memory_row(f"{KINDS[0][1]}, std::map", arguments.rows, *(figures.get(f"map-{key}", "std::map") for key in ("values", "memory")), None))
    yield report.table(["", "rows", "MB of values", "MB resident", "to the values", "most, to the values", "bytes beyond them, a row"], rows)


def memory_row(title, rows, values, memory, peak):
    return [title, f"{rows:,}", f"{values / MEGABYTE:,.1f}", f"{memory / MEGABYTE:,.1f}", f"{memory / values:.2f}",
            f"{peak / values:.2f}" if peak is not None else "-", f"{(memory - values) / rows:,.0f}"]


def turnover_text(figures, arguments):
    yield TURNOVER.format(rows=arguments.rows, turnovers=TURNOVERS)
    yield report.table(["", "rows", "MB of values", "MB resident", "to the values", "most, to the values", "bytes beyond them, a row"],
                       [memory_row(engine, *(figures.get(f"turnover-{key}", engine) for key in ("rows", "values", "memory", "peak")))
                        for engine in ENGINES])


def read_text(figures, arguments):
    yield READ.format(rows=arguments.rows, runs=arguments.runs)
    rows = []
    for key, title in (("lookup", "rows by primary key"), ("range", "ranges of 100 rows")):
        for clients in (1, 2):
            name = f"{key}-{clients}"
            rows.append([f"{title}, {clients} client{'s' if clients > 1 else ''}", *(shown(figures, name, engine) for engine in ENGINES),
                         f"{ratio(figures, name):.2f}", *(shown(figures, f"{name}-cpu", engine) for engine in ENGINES)])
    yield report.table(["per second", *ENGINES, "ratio", "µs HAILSTONE", "µs MEMORY"], rows)
    yield (f"A row of an INT key and 40 bytes takes {shown(figures, 'newest', 'HAILSTONE')} bytes beyond its values while it is one of the newest, "
           "which are not encoded yet.\n")


def count_text(figures, arguments):
    yield COUNT.format(rows=arguments.count_rows)
    yield report.table(["", "ms", "ms of processor time"],
                       [[engine, report.number(1000 * figures.get("count", engine)), report.number(1000 * figures.get("count-cpu", engine))]
                        for engine in ENGINES])


def aims(figures):
    """(aim, measured, reached) for what the project sets out to reach."""
    def at_least(key, title, least):
        value = ratio(figures, key)
        if value is not None:
            yield f"{title}: at least {least} of MEMORY's rate", f"{value:.2f}", value >= least

    for kind, title in KINDS:
        yield from at_least(f"{kind}-single-1", f"{title}, 1 client", 0.95)
        yield from at_least(f"{kind}-single-4", f"{title}, 4 clients", 1.2)
    yield from at_least("article-multi-1", f"{MULTI} rows a statement, 1 client", 1.0)
    yield from at_least("article-multi-4", f"{MULTI} rows a statement, 4 clients", 1.5)
    memory, values = figures.get("article-memory", "HAILSTONE"), figures.get("article-values", "HAILSTONE")
    if memory is not None:
        yield "rows of varying lengths: memory at most 1.10 of the values' bytes", f"{memory / values:.2f}", memory / values <= 1.10
        value = ratio(figures, "sysbench-memory")
        yield "sysbench's rows: memory not above MEMORY's", f"{value:.2f} of it", value <= 1
    memory, values = figures.get("turnover-memory", "HAILSTONE"), figures.get("turnover-values", "HAILSTONE")
    if memory is not None:
        yield f"{TURNOVERS} turnovers of rows of varying lengths: memory at most 1.25 of the values' bytes", f"{memory / values:.2f}", memory / values <= 1.25
    yield from at_least("lookup-1", "rows by primary key", 0.9)
    yield from at_least("range-1", "ranges of a BTREE index", 1.0)
    newest = figures.get("newest", "HAILSTONE")
    if newest is not None:
        yield "at most 40 bytes of overhead a row that has one key", f"{newest:.0f}", newest <= 40
    value = ratio(figures, "count", "MEMORY", "HAILSTONE")
    if value is not None:
        yield "COUNT(*) WHERE: at least 50 times as fast as MEMORY", f"{value:.0f} times", value >= 50


def draw(path, figures):
    pyplot = report.pyplot
    pyplot.rcParams["svg.hashsalt"] = "hailstone"  # the same figures give the same file
    figure, all_axes = pyplot.subplots(1, len(KINDS), figsize=(12, 5), sharey=True)
    for axes, (kind, title) in zip(all_axes, KINDS):
        for engine, color in zip(ENGINES, ("tab:blue", "tab:orange")):
            for (manner, manner_title), style in zip(MANNERS, ("-o", "--s")):
                axes.plot(CLIENTS, [figures.get(f"{kind}-{manner}-{clients}", engine) for clients in CLIENTS], style,
                          color=color, label=f"{engine}, {manner_title}")
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("clients")
        axes.set_xticks(CLIENTS)
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter("{x:,.0f}")
    all_axes[0].set_ylabel("rows a second (higher is better)")
    # Of both, below them, where no line is.
    handles, labels = all_axes[0].get_legend_handles_labels()
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    figure.legend(handles, labels, loc="lower center", ncol=len(labels), fontsize=8)
    figure.savefig(path, metadata={"Date": None})


def write(folder, figures, arguments):
    os.makedirs(folder, exist_ok=True)
    figures.write_csv(os.path.join(folder, "memory.csv"))
    text = [report.heading("Tables in memory", figures) + "Machines are shared and noisy: compare ratios within this report.\n"]
    if figures.has("article-single-1"):
        draw(os.path.join(folder, "memory.svg"), figures)
        text.extend(insert_text(figures, arguments))
    if figures.has("turnover-memory"):
        text.extend(turnover_text(figures, arguments))
    if figures.has("lookup-1"):
        text.extend(read_text(figures, arguments))
    if figures.has("count"):
        text.extend(count_text(figures, arguments))
    text.append("## Aims\n")
    text.append(report.aims_table(aims(figures)))
    with open(os.path.join(folder, "memory.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(text))
