"""The page of ./run bench analytic: summary, a line for each statement, cold runs, loads, what runs beside writers."""

import dataclasses
import math
import os
import re
import statistics

import analytic_mixed
import report
from analytic_setup import AUTO, CLICKHOUSE, DUCKDB, OFF, THREADS, Setup, threads_of

WORST = 10
_OPERATOR = re.compile(r"HAILSTONE, select \d+: *")
_LEFT = re.compile(r"HAILSTONE leaves select \d+ to the server: ")


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What became of a statement's blocks: status counters that grew, and the engine's notes of EXPLAIN EXTENDED."""
    counted: list
    notes: list

    @property
    def pushed(self):
        return "pushed" in self.counted

    @property
    def reason(self):
        """Why a block was left to the server; empty when none was."""
        if all(name == "pushed" for name in self.counted) and self.counted:
            return ""
        reasons = [_LEFT.sub("", note) for note in self.notes if _LEFT.match(note)]
        if not self.counted:
            return "the server does not offer it to the engine"
        return "; ".join(reasons) or ", ".join(name for name in self.counted if name != "pushed")

    @property
    def plan(self):
        return " ← ".join(_OPERATOR.sub("", note) for note in self.notes if _OPERATOR.match(note))


class Page:
    def __init__(self, bench, seconds):
        self._bench = bench
        self._figures = bench.figures
        self._seconds = seconds
        self._measured = [(group, statement) for group, statements in bench.groups.items() for statement in statements]

    def text(self):
        sections = [self._heading()]
        if self._measured:
            sections += [self._summary(), self._worst(), self._left()]
        for group, statements in self._bench.groups.items():
            sections.append(self._table(group, statements))
        if self._measured:
            sections.append("![Hailstone's time to DuckDB's of each statement](analytic.svg)\n")
            sections.append(self._cold())
        sections += [self._loads(), self._mixed()]
        if self._measured:
            sections.append(self._answers())
        return "\n".join(section for section in sections if section)

    def ratio(self, statement, threads, key="", peer=None):
        """Hailstone's time to DuckDB's."""
        mine = self._figures.get(statement.name + key, AUTO[threads].title)
        theirs = self._figures.get(statement.name + key, (peer or DUCKDB)[threads].title)
        return mine / theirs

    def _mean(self, statements, threads, key="", peer=None):
        ratios = [self.ratio(statement, threads, key, peer) for statement in statements]
        ended = [ratio for ratio in ratios if ratio != math.inf]
        if not ended:
            return "–"
        mean = report.number(statistics.geometric_mean(ended))
        return mean if len(ended) == len(ratios) else f"{mean} without {len(ratios) - len(ended)} that took too long"

    def _heading(self):
        bench = self._bench
        peers = f" {' and '.join(bench.engines[1:])} have no index either, and a limit of {bench.limit} s." if bench.engines[1:] else ""
        tables = ", ".join(f"{table} {self._figures.get(f'rows-{table}', 'all'):,} rows" for table in ("hits", "lineitem", "Big")
                           if self._figures.has(f"rows-{table}"))
        libraries = "DuckDB and ClickHouse (as chDB)" if bench.clickhouse else "DuckDB"
        return (report.heading("Analytic statements", bench.figures) +
                f"{tables}, made here; no table has an index. Every column of Hailstone is COLUMNAR=1, also those of type TEXT; "
                "strings have the collation utf8mb4_bin (the article's tables latin1_swedish_ci), as DuckDB compares bytes. "
                f"Hailstone's memory budget and the memory limit of {libraries} are {bench.memory / 2**20:,.0f} MiB.\n\n"
                f"Seconds are medians of warm runs: Hailstone through a client, {libraries} in their caller's process; of OFF one warm run; a "
                "statement of more than 3 s ran once. AUTO and OFF are values of `hailstone_select_pushdown`, threads those of "
                f"`hailstone_query_threads` and those that the libraries are told to use. With OFF a statement may take {bench.limit} s."
                f"{peers} Machines are shared and noisy: compare ratios within this report, not seconds between reports.\n")

    def _summary(self):
        groups = [*self._bench.groups.items()]
        if len(groups) > 1:
            groups.append(("all", [statement for _, statement in self._measured]))
        rows = []
        for title, statements in groups:
            pushed = sum(self._bench.outcomes[statement.name].pushed for statement in statements)
            rows.append([title, f"{pushed} of {len(statements)}", *(self._mean(statements, threads) for threads in THREADS),
                         self._mean(statements, 2, "-cold")])
            if self._bench.clickhouse:
                rows[-1] += [self._mean(statements, threads, peer=CLICKHOUSE) for threads in THREADS]
        header = ["", "answered in the engine", *(threads_of(threads) for threads in THREADS), "2 threads, cold"]
        if self._bench.clickhouse:
            header += [setup.title for setup in CLICKHOUSE.values()]
        others = " The last columns: to ClickHouse's." if self._bench.clickhouse else ""
        return (f"## Hailstone's time to DuckDB's\nGeometric means, with AUTO; below 1 Hailstone is faster.{others}\n\n" +
                report.table(header, rows))

    def _worst(self):
        rows = []
        worst = sorted(self._measured, key=lambda pair: -max(self.ratio(pair[1], threads) for threads in THREADS))
        for _, statement in worst[:WORST]:
            outcome = self._bench.outcomes[statement.name]
            rows.append([f"{statement.name}: {statement.title}",
                         *(report.number(self.ratio(statement, threads)) for threads in THREADS),
                         f"left to the server: {outcome.reason}" if outcome.reason else outcome.plan])
        return (f"The {len(rows)} statements with the greatest ratios, and what the engine says of them:\n\n" +
                report.table(["statement", "1 thread", "2 threads", "the engine"], rows))

    def _left(self):
        left = [(statement, self._bench.outcomes[statement.name]) for _, statement in self._measured]
        rows = [[f"{statement.name}: {statement.title}", outcome.reason] for statement, outcome in left if outcome.reason]
        if not rows:
            return ""
        return "Left to the server:\n\n" + report.table(["statement", "why"], rows)

    def _table(self, group, statements):
        setups = [*AUTO.values(), *OFF.values(), *DUCKDB.values(), *(CLICKHOUSE.values() if self._bench.clickhouse else ()),
                  *map(Setup, self._bench.engines[1:])]
        rows = []
        for statement in statements:
            outcome = self._bench.outcomes[statement.name]
            rows.append([f"{statement.name}: {statement.title}", "server" if outcome.reason else "engine"] +
                        [self._milliseconds(statement, setup) for setup in setups] +
                        [report.number(self.ratio(statement, threads)) for threads in THREADS])
        source = {"ClickBench": "The statements are in `bench/clickbench.py`, the rows, in the order of time, in "
                                "`bench/clickbench_data.py`.",
                  "TPC-H": "The statements and the rows are in `bench/tpch.py`."}.get(
                      group, "The statements are in [report.md](report.md).")
        return (f"## {group}, warm\n{source} Who computes the groups: the engine, or the server. Times in ms; the last columns are "
                "AUTO's to DuckDB's.\n\n" +
                report.table(["ms", "groups by", *(setup.title for setup in setups), "ratio, 1 thread", "ratio, 2 threads"], rows))

    def _milliseconds(self, statement, setup):
        seconds = self._figures.get(statement.name, setup.title)
        return f"> {1000 * self._bench.limit_of(setup):,}" if seconds == math.inf else report.number(1000 * seconds)

    def _cold(self):
        rows = []
        for _, statement in self._measured:
            key = f"{statement.name}-cold"
            mine, theirs = self._figures.get(key, AUTO[2].title), self._figures.get(key, DUCKDB[2].title)
            rows.append([f"{statement.name}: {statement.title}", report.number(1000 * mine), report.number(1000 * theirs),
                         report.number(mine / theirs)])
        return ("## Cold\nThe first statement behind a start of the server, or an opening of DuckDB's database, with its files out "
                "of the page cache; 2 threads, one run each. Such single runs differ by much.\n\n" +
                report.table(["ms", "Hailstone", "DuckDB", "ratio"], rows))

    def _loads(self):
        engines = ["DuckDB", *(["ClickHouse"] if self._bench.clickhouse else []), *self._bench.engines]
        rows = []
        for table in ("hits", "lineitem"):
            if not self._figures.has(f"load-{table}"):
                continue
            text = report.number(self._figures.get(f"text-{table}", "all") / 1e6)
            rows.append([f"load of {table}, {text} MB of text, s"] +
                        [report.number(self._figures.get(f"load-{table}", engine)) for engine in engines])
            rows.append([f"{table} on disk, MB"] + [report.number(self._figures.get(f"size-{table}", engine) / 1e6)
                                                   for engine in engines])
        if not rows:
            return ""
        return ("## Loads\nLOAD DATA, and of the libraries COPY and INSERT with all processors, of the same file.\n\n" +
                report.table(["", *engines], rows))

    def _mixed(self):
        if not self._figures.has("mixed-writes"):
            return ""
        rows = [[title, *(report.number(self._figures.get(key, how)) for how in ("alone", "together"))]
                for key, title in (("mixed-queries", analytic_mixed.QUERIES), ("mixed-writes", analytic_mixed.WRITES))]
        return (f"## Beside writers\nHailstone, hits: for {self._seconds} s each, one client with two statements, and "
                f"{analytic_mixed.CLIENTS} clients that insert single rows into the same table, each a durable commit.\n\n" +
                report.table(["", "alone", "together"], rows))

    def _answers(self):
        if self._bench.differences:
            return "## Answers\n**They differ:**\n\n" + "".join(f"- {text}\n" for text in self._bench.differences)
        left = f" The engine did not answer {', '.join(self._bench.left_paths)}." if self._bench.left_paths else ""
        return ("## Answers\nAll setups that ended a statement gave DuckDB's answer. Rows that share a LIMIT's last place or an "
                "OFFSET's first one with others may be any of these: of them the values that ORDER BY names were compared, and "
                "those of AUTO were looked up in what DuckDB answers without LIMIT. Numbers with digits behind the point may "
                "differ by the last digit that MariaDB shows. With AUTO each statement was also asked prepared, twice, as a view "
                f"and in a procedure, with the same answers.{left}\n")

    def plot(self, path):
        pyplot = report.pyplot
        pyplot.rcParams["svg.hashsalt"] = "hailstone"  # the same figures give the same file
        figure, axes = pyplot.subplots(figsize=(14, 5))
        width = 0.4
        for number, threads in enumerate(THREADS):
            ratios = [self.ratio(statement, threads) for _, statement in self._measured]
            axes.bar([place + number * width for place in range(len(ratios))],
                     [0 if ratio == math.inf else ratio - 1 for ratio in ratios], width, bottom=1, label=threads_of(threads))
        axes.axhline(1, color="black", linewidth=0.8)
        axes.set_yscale("log")
        axes.set_ylabel("Hailstone's time / DuckDB's, warm\n(logarithmic; lower is better)")
        axes.set_xticks([place + width / 2 for place in range(len(self._measured))],
                        [statement.name for _, statement in self._measured], fontsize=7)
        axes.margins(x=0.01)
        axes.legend(fontsize=8)
        figure.tight_layout()
        figure.savefig(path, metadata={"Date": None})


def write(folder, bench, seconds):
    os.makedirs(folder, exist_ok=True)
    bench.figures.write_csv(os.path.join(folder, "analytic.csv"))
    page = Page(bench, seconds)
    if bench.groups:
        page.plot(os.path.join(folder, "analytic.svg"))
    with open(os.path.join(folder, "analytic.md"), "w", encoding="utf-8") as file:
        file.write(page.text())
