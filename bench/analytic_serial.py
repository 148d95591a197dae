"""./run bench analytic --serial: how much of a statement's work one thread must do alone, by operator.

Each statement runs warm with 2 threads. What its operators took, and what of it one thread did while no other could work,
is what INFORMATION_SCHEMA.HAILSTONE_QUERIES says of the statement's blocks. Writes serial.md.
"""

import dataclasses
import statistics

import analytic_tables
import common
import report
from common import Failure, say

NAME = "bench-analytic-serial"  # of the server
PARTS = ("clickbench", "ssb", "tpch", "rates", "tpcds")  # unless others are named
RUNS = 3           # the quickest counts
LEAST = 0.1        # seconds: shorter statements are not shown
SHOWN = 0.005      # of the work: an operator with less of it alone is not named
AIM_MEDIAN, AIM_MOST = 0.02, 0.1


@dataclasses.dataclass
class Work:
    """Milliseconds of a statement's operators."""
    statement: object
    waited: float  # seconds, of the client
    all: float
    alone: dict    # operator -> those of one thread alone

    @property
    def share(self):
        return sum(self.alone.values()) / self.all if self.all else 0


class Serial(analytic_tables.Loader):
    def __init__(self, folder, duckdb, build, limit):
        super().__init__(folder, duckdb, [duckdb], ("HAILSTONE",), report.Figures())
        self.build = build
        self.limit = limit
        self.works = []
        self.without_end = []  # names

    def places(self):
        return [(self.build.server, self.build.connection)]

    def measure(self, group):
        self.build.use(group.schema, self.limit)
        for statement in group.statements:
            if not statement.to_client:
                self._measure(statement)

    def _measure(self, statement):
        best = None
        for run in range(RUNS + 1):
            for history in ("0", "DEFAULT"):  # so that it has this statement alone
                self.build.connection.execute(f"SET GLOBAL hailstone_query_history = {history}")
            try:
                _, waited, _ = self.build.run(statement, 1)
            except Failure as failure:
                if not common.has_reached_limit(failure):
                    raise
                self.without_end.append(statement.name)
                return
            if run == 0 and waited < LEAST / 2:
                return
            work = self._work_of(statement, waited)
            if run and (best is None or waited < best.waited):
                best = work
        if best.waited >= LEAST and best.all:
            self.works.append(best)
            say("  ".join(row(best)))

    def _work_of(self, statement, waited):
        operators = self.build.connection.execute(
            "SELECT OPERATOR, SUM(MILLISECONDS), SUM(MILLISECONDS_ALONE) FROM INFORMATION_SCHEMA.HAILSTONE_QUERIES "
            "WHERE CONNECTION_ID = CONNECTION_ID() AND OPERATOR_ID IS NOT NULL GROUP BY 1")
        return Work(statement, waited, sum(float(took) for _, took, _ in operators),
                    {name: float(alone) for name, _, alone in operators})


def row(work):
    named = sorted(((alone, name) for name, alone in work.alone.items() if alone > SHOWN * work.all), reverse=True)
    return [f"{work.statement.name}: {work.statement.title}", report.number(1000 * work.waited), report.number(work.all),
            f"{100 * work.share:.1f} %", ", ".join(f"{name} {report.number(alone)}" for alone, name in named) or "-"]


def page(serial, rows, scale):
    shares = [work.share for work in serial.works]
    if not shares:
        raise Failure(f"no statement took {LEAST} s and more: give more rows, or a greater scale")
    median, most = statistics.median(shares), max(shares)
    above = [work.statement.name for work in serial.works if work.share > AIM_MOST]
    return f"""# What one thread does alone

{serial.build.title}, MariaDB {serial.build.server.facts["version"]}. Machine: {report.machine()}.

Statements of at least {LEAST} s ({rows:,} rows, scale {scale:g}), with AUTO and 2 threads, warm; the quickest of {RUNS} runs.
A statement's work is what its operators took on all threads; parsing, planning and sending are not part of it.
Alone is what one thread did of it while no other could work for the statement ([explain.md](../../docs/explain.md#what-a-statement-took)).

{report.table(["statement", "waited, ms", "work, ms", "alone", "operators that worked alone, ms"], map(row, serial.works))}
{"Not ended within " + str(serial.limit) + " s: " + ", ".join(serial.without_end) + "." if serial.without_end else ""}

## Aims
{report.aims_table([(f"median: at most {100 * AIM_MEDIAN:g} %", f"{100 * median:.2f} %", median <= AIM_MEDIAN),
                    (f"none above {100 * AIM_MOST:g} %", ", ".join([f"{100 * most:.1f} %", *above]), most <= AIM_MOST)])}"""
