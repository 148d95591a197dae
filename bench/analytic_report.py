"""The page of ./run bench analytic: summary, a line for each statement, cold runs, loads, what runs beside writers, how costs
grow, what stays with the server, and what of the aims is reached."""

import dataclasses
import math
import os
import re
import statistics

import analytic_aims
import analytic_computed
import analytic_growth
import analytic_limits
import analytic_mixed
import analytic_plot
import analytic_rates
import analytic_server
import analytic_tpcds
import report
from analytic_setup import AUTO, CLICKHOUSE, DUCKDB, LONG, OFF, THREADS, Setup, threads_of

WORST = 10
GREATEST = ("clickbench.hits", "ssb.lineorder", "tpch.lineitem", "article.Big", "rates.numbers")
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
        self._measured = [statement for group in bench.groups for statement in group.statements]

    def text(self):
        sections = [self._heading()]
        if self._measured:
            sections += [self._summary(), self._worst(), self._left()]
        sections += map(self._table, self._bench.groups)
        if self._measured:
            sections.append("![Hailstone's time to DuckDB's of each statement](analytic.svg)\n")
            sections.append(self._cold())
        further = [analytic_rates.section(self._bench), analytic_growth.section(self._bench), analytic_server.section(self._bench)]
        sections += [self._loads(), self._mixed(), *further, analytic_limits.section(self._bench),
                     analytic_computed.section(self._bench), analytic_tpcds.section(self._bench)]
        if self._measured or any(further) or self._bench.differences:
            sections.append(self._answers())
        if aims := list(analytic_aims.aims(self._bench, self.ratio)):
            sections.append("## Aims\n" + report.aims_table(aims))
        return "\n".join(section for section in sections if section)

    def ratio(self, statement, threads, key="", peer=None):
        """Hailstone's time to DuckDB's."""
        mine = self._figures.get(statement.name + key, AUTO[threads].title)
        theirs = self._figures.get(statement.name + key, (peer or DUCKDB)[threads].title)
        return mine / theirs

    def _mean(self, statements, threads, key="", peer=None):
        ratios = [self.ratio(statement, threads, key, peer) for statement in statements]
        ended = [ratio for ratio in ratios if 0 < ratio < math.inf]
        if not ended:
            return "–"
        mean = report.number(statistics.geometric_mean(ended))
        return mean if len(ended) == len(ratios) else f"{mean} without {len(ratios) - len(ended)} that did not end"

    def _heading(self):
        bench = self._bench
        peers = f" {' and '.join(bench.engines[1:])} have the same keys, and a limit of {bench.limit} s." if bench.engines[1:] else ""
        tables = ", ".join(f"{table.partition('.')[2]} {self._figures.get(f'rows-{table}', 'all'):,} rows" for table in GREATEST
                           if self._figures.has(f"rows-{table}"))
        libraries = "DuckDB and ClickHouse (as chDB)" if bench.clickhouse else "DuckDB"
        return (report.heading("Analytic statements", bench.figures) +
                (f"{tables}, made here. " if tables else "") + "In the server the tables of the star schema and of TPC-H have primary keys and indexes of "
                "their foreign keys; hits, Small, Big and numbers have none. Every column of Hailstone is COLUMNAR=1, also those of type TEXT; "
                "strings have the collation utf8mb4_bin (the article's tables latin1_swedish_ci), as DuckDB compares bytes. "
                + ("ClickHouse's tables are sorted by what their queries ask for (hits by counter and date, lineorder, orders and lineitem by "
                   "date, Big by Hersteller, others by their key), their rows in no other engine. " if bench.clickhouse else "") +
                f"Hailstone's memory budget and the memory limit of {libraries} are {bench.memory / 2**20:,.0f} MiB.\n\n"
                f"Seconds are medians of warm runs: Hailstone through a client, {libraries} in their caller's process; of OFF one warm run, "
                f"and of both {analytic_aims.OFF_REPEATS} in turn where it may be as quick, for the aims below; a "
                f"statement of more than {LONG} s ran once. AUTO and OFF are values of `hailstone_select_pushdown`, threads those of "
                f"`hailstone_query_threads` and those that the libraries are told to use. With OFF, and in ClickHouse, a statement may take {bench.limit} s."
                f"{peers} Machines are shared and noisy: compare ratios within this report, not seconds between reports.\n")

    def _summary(self):
        groups = [(group.title, group.statements) for group in self._bench.groups]
        if len(groups) > 1:
            groups.append(("all", self._measured))
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
        worst = sorted(self._measured, key=lambda statement: -max(self.ratio(statement, threads) for threads in THREADS))
        for statement in worst[:WORST]:
            outcome = self._bench.outcomes[statement.name]
            rows.append([f"{statement.name}: {statement.title}",
                         *(report.number(self.ratio(statement, threads)) for threads in THREADS),
                         f"left to the server: {outcome.reason}" if outcome.reason else outcome.plan])
        return (f"The {len(rows)} statements with the greatest ratios, and what the engine says of them:\n\n" +
                report.table(["statement", "1 thread", "2 threads", "the engine"], rows))

    def _left(self):
        left = [(statement, self._bench.outcomes[statement.name]) for statement in self._measured]
        rows = [[f"{statement.name}: {statement.title}", outcome.reason] for statement, outcome in left if outcome.reason]
        if not rows:
            return ""
        return "Left to the server:\n\n" + report.table(["statement", "why"], rows)

    def _table(self, group):
        setups = [*AUTO.values(), OFF, *DUCKDB.values(), *(CLICKHOUSE.values() if self._bench.clickhouse else ()),
                  *map(Setup, self._bench.engines[1:])]
        rows = []
        for statement in group.statements:
            outcome = self._bench.outcomes[statement.name]
            rows.append([f"{statement.name}: {statement.title}", "server" if outcome.reason else "engine"] +
                        [self._milliseconds(statement, setup) for setup in setups] +
                        [report.number(self.ratio(statement, threads)) for threads in THREADS])
        return (f"## {group.title}, warm\n{group.source} Who computes the groups: the engine, or the server. Times in ms; the last "
                "columns are AUTO's to DuckDB's.\n\n" +
                report.table(["ms", "groups by", *(setup.title for setup in setups), "ratio, 1 thread", "ratio, 2 threads"], rows))

    def _milliseconds(self, statement, setup):
        return report.milliseconds(self._figures.get(statement.name, setup.title), self._bench.limit_of(setup))

    def _cold(self):
        rows = []
        for statement in self._measured:
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
        for group in self._bench.groups:
            tables = self._figures.keys(f"load-{group.schema}.")
            if not tables:
                continue
            name = f"{len(tables)} tables of {group.title}" if len(tables) > 1 else tables[0].partition(".")[2]
            text = report.number(self._total("text", group, "all") / 1e6)
            rows.append([f"load of {name}, {text} MB of text, s"] +
                        [report.number(self._total("load", group, engine)) for engine in engines])
            rows.append([f"{name} on disk, MB"] +
                        [report.number(self._figures.get(f"size-{group.schema}", engine) / 1e6) for engine in engines])
        if not rows:
            return ""
        return ("## Loads\nLOAD DATA, and of the libraries COPY and INSERT with all processors, of the same file.\n\n" +
                report.table(["", *engines], rows))

    def _total(self, what, group, engine):
        """Of a group's tables."""
        return sum(self._figures.get(key, engine) for key in self._figures.keys(f"{what}-{group.schema}."))

    def _mixed(self):
        if not self._figures.has("mixed-writes"):
            return ""
        rows = [[title, *(report.number(self._figures.get(key, how)) for how in ("alone", "together"))]
                for key, title in (("mixed-queries", analytic_mixed.QUERIES), ("mixed-writes", analytic_mixed.WRITES))]
        return (f"## Beside writers\nHailstone, hits: for {self._seconds} s each, one client with two statements, and "
                f"{analytic_mixed.CLIENTS} clients that insert single rows into the same table, each a durable commit.\n\n" +
                report.table(["", "alone", "together"], rows))

    def _answers(self):
        left = "".join(f" Asked as {path}, the engine did not answer {', '.join(names)}."
                       for path, names in self._bench.left_paths.items())
        left += "".join(f" {reason.splitlines()[0]:.200} (asked for {name})." for name, reason in self._bench.refusals.items())
        if self._bench.differences:
            text = "**They differ:**\n\n" + "".join(f"- {text}\n" for text in self._bench.differences)
            return f"## Answers\n{text}\n{left.strip()}\n"
        return ("## Answers\nAll setups that ended a statement gave DuckDB's answer. Rows that share a LIMIT's last place or an "
                "OFFSET's first one with others may be any of these: of them the values that ORDER BY names were compared, and "
                "those of AUTO were looked up in what DuckDB answers without LIMIT. Numbers with digits behind the point may "
                "differ by the last digit that MariaDB shows. With AUTO each statement was also asked prepared, twice, as a view "
                f"and in a procedure, with the same answers.{left}\n")


def write(folder, bench, seconds):
    os.makedirs(folder, exist_ok=True)
    bench.figures.write_csv(os.path.join(folder, "analytic.csv"))
    page = Page(bench, seconds)
    if bench.groups:
        analytic_plot.write(os.path.join(folder, "analytic.svg"), bench.groups, page.ratio)
    with open(os.path.join(folder, "analytic.md"), "w", encoding="utf-8") as file:
        file.write(page.text())
