"""TPC-H's queries through hailstone.h, in one process, beside DuckDB and polars: bench/results/library.md.

The engines take turns, query by query; the least of all turns counts, as others may be at work on the machine. Amounts of
money, percentages and quantities are whole numbers of hundredths in all of them: the C interface has no DECIMAL.
"""

import argparse
import datetime
import decimal
import os
import re
import shutil
import statistics
import subprocess

import common
import peer_process
import tpch
from common import Failure, say
from report import Figures, aims_table, heading, number, table

THREADS = 2
MEMORY = 4 << 30
TURNS = 7
LITTLE = 10        # the part of its memory with which a query is asked again
LEAST_RATIO = 0.7  # of DuckDB's time
MOST_SPILLING = 4  # times its own
ENGINES = ("Hailstone", "DuckDB", "polars")
SPILLING = "Hailstone, a tenth of the memory"

# As the specification has them (section 2.4), of hundredths.
QUERIES = {
    "q1": ("all but the last lines, by two flags", """
        SELECT l_returnflag, l_linestatus, SUM(l_quantity), SUM(l_extendedprice), SUM(l_extendedprice * (100 - l_discount)),
          SUM(l_extendedprice * (100 - l_discount) * (100 + l_tax)), AVG(l_quantity), AVG(l_extendedprice), AVG(l_discount), COUNT(*)
        FROM lineitem WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL '90' DAY
        GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus"""),
    "q3": ("greatest orders not yet shipped", """
        SELECT l_orderkey, SUM(l_extendedprice * (100 - l_discount)) AS revenue, o_orderdate, o_shippriority
        FROM customer, orders, lineitem
        WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
          AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15'
        GROUP BY l_orderkey, o_orderdate, o_shippriority ORDER BY revenue DESC, o_orderdate LIMIT 10"""),
    "q5": ("suppliers in the customer's nation", """
        SELECT n_name, SUM(l_extendedprice * (100 - l_discount)) AS revenue
        FROM customer, orders, lineitem, supplier, nation, region
        WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey
          AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'ASIA'
          AND o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1994-01-01' + INTERVAL '1' YEAR
        GROUP BY n_name ORDER BY revenue DESC"""),
    "q6": ("one sum of a filter", """
        SELECT SUM(l_extendedprice * l_discount) FROM lineitem
        WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1994-01-01' + INTERVAL '1' YEAR
          AND l_discount BETWEEN 5 AND 7 AND l_quantity < 2400"""),
    "q12": ("late lines by mode of shipping", """
        SELECT l_shipmode,
          SUM(CASE WHEN o_orderpriority = '1-URGENT' OR o_orderpriority = '2-HIGH' THEN 1 ELSE 0 END),
          SUM(CASE WHEN o_orderpriority <> '1-URGENT' AND o_orderpriority <> '2-HIGH' THEN 1 ELSE 0 END)
        FROM orders, lineitem
        WHERE o_orderkey = l_orderkey AND l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate
          AND l_shipdate < l_commitdate AND l_receiptdate >= DATE '1994-01-01'
          AND l_receiptdate < DATE '1994-01-01' + INTERVAL '1' YEAR
        GROUP BY l_shipmode ORDER BY l_shipmode"""),
    "q14": ("share of promoted parts", """
        SELECT 100.00 * SUM(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (100 - l_discount) ELSE 0 END) /
          SUM(l_extendedprice * (100 - l_discount))
        FROM lineitem, part
        WHERE l_partkey = p_partkey AND l_shipdate >= DATE '1995-09-01' AND l_shipdate < DATE '1995-09-01' + INTERVAL '1' MONTH"""),
    "q18": ("customers with large orders", """
        SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, SUM(l_quantity)
        FROM customer, orders, lineitem
        WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING SUM(l_quantity) > 30000)
          AND c_custkey = o_custkey AND o_orderkey = l_orderkey
        GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice ORDER BY o_totalprice DESC, o_orderdate LIMIT 100"""),
}
TABLES = ("region", "nation", "supplier", "customer", "part", "orders", "lineitem")
_COUNTS = re.compile(r"bytes of memory: (\d+); of files: (\d+)")


def columns_of(rows):
    """(name, type) of a table's columns, whose DECIMALs are hundredths."""
    return [(name, "BIGINT" if kind.startswith("DECIMAL") else kind) for name, kind in rows.columns]


def make_rows(duckdb, scale, folder):
    """The files FOLDER/TABLE.tsv."""
    for rows, source in tpch.sources(scale, folder):
        if rows.name not in TABLES:
            continue
        values = [f"CAST({name} * 100 AS BIGINT)" if kind.startswith("DECIMAL") else name for name, kind in rows.columns]
        duckdb.write(source.replace("*", ", ".join(values), 1), os.path.join(folder, f"{rows.name}.tsv"))


class Library:
    """The program bench/tpch_library.cc."""

    def __init__(self, program, folder):
        self._process = subprocess.Popen([program, os.path.join(folder, "hailstone"), folder, str(MEMORY)],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._line()

    def _line(self):
        line = self._process.stdout.readline()
        if not line:
            raise Failure(f"tpch_library has ended with {self._process.wait()}")
        return line.rstrip("\n")

    def ask(self, query, memory=0):
        """(seconds, seconds of the processor, rows, explanation)"""
        self._process.stdin.write(f"{query} {THREADS} {memory}\n")
        self._process.stdin.flush()
        taken, processor, rows, lines = map(int, self._line().split())
        answer = [self._line().split("\t") for _ in range(rows)]
        return taken / 1e6, processor / 1e6, answer, "\n".join(self._line() for _ in range(lines))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.wait()


def same(mine, theirs):
    """Whether a value is another engine's, which may be the nearest DOUBLE of it."""
    if isinstance(theirs, (float, decimal.Decimal)):
        return abs(float(mine) - float(theirs)) <= 1e-4 + 1e-9 * abs(float(theirs))
    return mine == (theirs.isoformat() if isinstance(theirs, datetime.date) else str(theirs))


def compare(query, engine, mine, theirs):
    if len(mine) != len(theirs) or not all(len(a) == len(b) and all(map(same, a, b)) for a, b in zip(mine, theirs)):
        raise Failure(f"{query}: Hailstone answers {mine[:3]} and {engine} {theirs[:3]}")


class Times:
    """Seconds, and seconds of the processor, of all turns, by what was measured."""

    def __init__(self):
        self._wall, self._processor = {}, {}

    def add(self, key, seconds, processor):
        self._wall.setdefault(key, []).append(seconds)
        self._processor.setdefault(key, []).append(processor)

    def least(self, *key):
        return min(self._wall[key])

    def median(self, *key):
        return statistics.median(self._wall[key])

    def processor(self, *key):
        return min(self._processor[key])


class Bench:
    def __init__(self, library, duckdb, polars, turns):
        self.library, self.duckdb, self.polars, self.turns = library, duckdb, polars, turns
        self.times = Times()
        self.memory, self.written = {}, {}

    def measure(self):
        for turn in range(self.turns + 1):  # the first one warms
            say(f"turn {turn} of {self.turns} …")
            for query, (_, sql) in QUERIES.items():
                *mine, rows, explanation = self.library.ask(query)
                *theirs, known = self.duckdb.measured(tpch.SCHEMA, sql, THREADS)
                *others, others_rows = self.polars.measured(query)
                if turn == 0:
                    compare(query, ENGINES[1], rows, known)
                    compare(query, ENGINES[2], rows, others_rows)
                    self.memory[query] = sum(int(memory) for memory, _ in _COUNTS.findall(explanation))
                    continue
                for engine, taken in zip(ENGINES, (mine, theirs, others)):
                    self.times.add((query, engine), *taken)
                *little, rows, explanation = self.library.ask(query, max(1, self.memory[query] // LITTLE))
                compare(query, ENGINES[1], rows, known)
                self.times.add((query, SPILLING), *little)
                self.written[query] = sum(int(written) for _, written in _COUNTS.findall(explanation))

    def ratio(self, query, engine, of=ENGINES[0]):
        return self.times.least(query, of) / self.times.least(query, engine)

    def mean(self, engine):
        return statistics.geometric_mean([self.ratio(query, engine) for query in QUERIES])

    def spilling(self):
        """The ratios of those queries that went by way of files."""
        return {query: self.ratio(query, ENGINES[0], SPILLING) for query in QUERIES if self.written[query]}

    def aims(self):
        mean = self.mean(ENGINES[1])
        yield f"geometric mean: at most {LEAST_RATIO} of DuckDB's time", number(mean), mean <= LEAST_RATIO
        worst = max(self.spilling().values(), default=None)
        yield (f"with a tenth of its memory: at most {MOST_SPILLING} times its own time", number(worst),
               worst is not None and worst <= MOST_SPILLING)

    def page(self, versions, scale):
        figures = Figures()
        figures.versions.update(versions)
        times = self.times
        rows = [[f"{query}: {title}", *(f"{number(1000 * times.least(query, engine))} ({number(1000 * times.median(query, engine))})"
                                        for engine in ENGINES),
                 number(self.ratio(query, ENGINES[1])),
                 number(times.processor(query, ENGINES[0]) / times.processor(query, ENGINES[1])), number(self.ratio(query, ENGINES[2]))]
                for query, (title, _) in QUERIES.items()]
        rows.append(["geometric mean", "", "", "", number(self.mean(ENGINES[1])), "", number(self.mean(ENGINES[2]))])
        spilling = self.spilling()
        little = [[query, number(self.memory[query] / 2**20), number(self.written[query] / 2**20),
                   number(1000 * times.least(query, SPILLING)), number(spilling.get(query))] for query in QUERIES]
        return (
            heading("TPC-H's queries in one process", figures)
            + f"TPC-H's rows at scale {scale:g}, made by tpchgen-cli. Each engine works in the process that asks, with {THREADS} threads:\n"
              "Hailstone through `hs_query_*` (`bench/tpch_library.cc`), DuckDB and polars through their Python packages.\n"
              "Amounts of money, percentages and quantities are whole numbers of hundredths in all three.\n"
              "Hailstone and DuckDB have the tables in a folder or file, and their blocks in memory; polars has data frames in memory.\n"
              "The answers are the same.\n\n"
              "Machines are shared and noisy: compare ratios within this page, not milliseconds between pages.\n\n"
              "## Times\n"
            + f"Milliseconds: the least, and in brackets the median, of {self.turns} turns, in which the engines follow each other.\n"
              "A ratio is Hailstone's least time in that of the other engine; below 1, Hailstone is quicker.\n\n"
            + table(["query", *(f"{engine}, ms" for engine in ENGINES), "ratio to DuckDB", "the same of the processor", "ratio to polars"], rows)
            + "\n## Little memory\n"
              f"Each query again with a tenth of the memory that its operators took at most (`hs_query_memory`).\n"
              "The ratio is that of its own least time. A query without one wrote nothing to files.\n\n"
            + table(["query", "memory, MiB", "written to files, MiB", "ms", "ratio"], little)
            + "\n## Aims\n" + aims_table(self.aims()))


def main():
    # scripts/bench has looked at the arguments.
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--output", default=os.path.join(common.PROJECT, "bench/results"))
    arguments = parser.parse_args()
    if arguments.scale < tpch.LEAST_SCALE:
        raise Failure(f"TPC-H's rows need a scale of {tpch.LEAST_SCALE} at least")
    for reason in (peer_process.install_duckdb(), peer_process.install_polars(), peer_process.install_tpchgen()):
        if reason:
            raise Failure(reason)
    folder = os.path.join(common.PROJECT, "build/library-bench/tpch")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    try:
        common.need_disk(folder, int(arguments.scale * 3e9) + 500_000_000)
        with peer_process.duckdb() as duckdb, peer_process.polars() as polars:
            versions = {"DuckDB": duckdb.open(os.path.join(folder, "duckdb.db"), MEMORY), "polars": polars.open()}
            say(f"TPC-H, scale {arguments.scale:g}: making the rows …")
            make_rows(duckdb, arguments.scale, folder)
            say("loading them into DuckDB and polars …")
            for rows in tpch.TABLES:
                if rows.name not in TABLES:
                    continue
                path = os.path.join(folder, f"{rows.name}.tsv")
                duckdb.load(tpch.SCHEMA, rows.name, columns_of(rows), path)
                polars.load(rows.name, columns_of(rows), path)
            duckdb.size()  # a checkpoint
            say("… and into Hailstone …")
            with Library(arguments.program, folder) as library:
                bench = Bench(library, duckdb, polars, arguments.turns)
                bench.measure()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    page = bench.page(versions, arguments.scale)
    os.makedirs(arguments.output, exist_ok=True)
    with open(os.path.join(arguments.output, "library.md"), "w", encoding="utf-8") as file:
        file.write(page)
    print(page)


common.main(main)
