"""Rates of single operators on plain numbers: sums of what a filter leaves, a million groups, sorts, a join; beside what the
machine's memory gives, and with a tenth of the memory that they take.
"""

import concurrent.futures
import dataclasses
import statistics
import time

import draws
from analytic_setup import AUTO, THREADS, threads_of
from analytic_statement import Statement, group_of
from analytic_tables import Table
from common import say
from report import milliseconds, number, table

SCHEMA = "rates"
GROUPS = 1_000_000
LITTLE = "little"          # memory
# Each kind of operator may have the budget's fourth part, and a sort that is alone its half.
SHARE, SHARE_OF_SORTS = 4, 2
TIMES = 10                 # as much as an operator has of memory then, it takes where there is enough
LEAST_BUDGET = 1 << 20     # bytes
TOUCHED = 512 << 20        # bytes that are read to see what the memory gives
READS = 5
MEMORY = "memory-read"     # the key of that figure
PLAIN, PACKED = "r1", "r2"  # sums
SORTS = ("r4", "r5")

TABLE = Table("numbers", (("id", "INTEGER"), ("plain", "BIGINT"), ("packed", "INTEGER"), ("million", "INTEGER"),
                          ("word", "VARCHAR(20)")))


def generator(rows):
    """DuckDB's SQL for so many rows: numbers of 62 bits, of 10, of a million, and texts that begin alike by hundreds."""
    return (f"SELECT i AS id, {draws.wide('i', 1)} // 2 AS plain, {draws.mix('i', 2)} % 1000 AS packed, "
            f"{draws.mix('i', 3)} % {GROUPS} AS million, "
            f"'word ' || {draws.mix('i', 4)} % 100000 || ' ' || {draws.mix('i', 5)} % 100000000 AS word FROM range({rows}) AS counted(i)")


def group(rows):
    last = f"LIMIT 10 OFFSET {rows - 10}"
    return group_of("Rates", "The statements and the rows are in `bench/analytic_rates.py`.", SCHEMA, (
        Statement(PLAIN, "a sum of plain numbers that a filter leaves",
                  f"SELECT COUNT(*), SUM(plain) FROM numbers WHERE plain < {1 << 61}",
                  # Whose sums of 64 bits go round.
                  clickhouse=f"SELECT COUNT(*), SUM(CAST(plain AS Decimal(38, 0))) FROM numbers WHERE plain < {1 << 61}"),
        Statement(PACKED, "a sum of packed numbers that a filter leaves", "SELECT COUNT(*), SUM(packed) FROM numbers WHERE packed < 500"),
        Statement("r3", "a million groups", "SELECT million, COUNT(*) AS c, SUM(packed) FROM numbers GROUP BY million "
                  "ORDER BY c DESC, million LIMIT 10", order=(1, 0)),
        Statement(SORTS[0], "all rows sorted by a number", f"SELECT plain, id FROM numbers ORDER BY plain, id {last}", order=(0, 1)),
        Statement(SORTS[1], "all rows sorted by a text", f"SELECT word, id FROM numbers ORDER BY word, id {last}", order=(0, 1)),
        Statement("r6", "a join of all rows with themselves",
                  "SELECT COUNT(*), SUM(a.packed + b.packed) FROM numbers a JOIN numbers b ON a.plain = b.plain")))


def sources(rows):
    """The table with DuckDB's SQL for its rows."""
    return [(TABLE, generator(rows))]


def measure(bench, rows):
    """What the machine's memory gives, and the statements, which have been measured, with little memory."""
    measured = group(rows)
    say("what the machine's memory gives …")
    for threads in THREADS:
        bench.figures.add(MEMORY, "bytes read of memory, GB/s", threads_of(threads), _memory_rate(threads))
    for statement in measured.statements:
        if statement.name not in (PLAIN, PACKED):
            say(f"{statement.name} with little memory …")
            _measure_with_little(bench, statement)


def _measure_with_little(bench, statement):
    """With one thread, as what several take differs."""
    bench.use(statement, AUTO[1])
    bench.connection.execute(statement.sql)
    peak, _ = _operators(bench, statement)
    share = SHARE_OF_SORTS if statement.name in SORTS else SHARE
    bench.connection.execute(f"SET GLOBAL hailstone_memory_budget = {max(LEAST_BUDGET, share * peak // TIMES)}")
    little = dataclasses.replace(statement, name=f"{statement.name}-{LITTLE}")
    answers = bench.measure_in_turn(little, [AUTO[1]])
    _, spilled = _operators(bench, statement)
    bench.connection.execute(f"SET GLOBAL hailstone_memory_budget = {bench.memory}")
    bench.compare(little, answers, bench.duckdb.rows(statement.schema, statement.sql))
    bench.figures.add(f"{statement.name}-peak", f"{statement.title}, bytes of memory", AUTO[1].title, peak)
    bench.figures.add(f"{statement.name}-spilled", f"{statement.title} with little memory, bytes spilled", AUTO[1].title, spilled)


def _operators(bench, statement):
    """(bytes of memory that the greatest operator of the statement took, bytes that all spilled)."""
    return bench.connection.execute(
        "SELECT CAST(MAX(MEMORY_PEAK) AS INTEGER), CAST(SUM(BYTES_SPILLED) AS INTEGER) FROM INFORMATION_SCHEMA.HAILSTONE_QUERIES WHERE QUERY_ID = "
        "(SELECT MAX(QUERY_ID) FROM INFORMATION_SCHEMA.HAILSTONE_QUERIES WHERE CONNECTION_ID = CONNECTION_ID() AND "
        f"QUERY = '{statement.sql}')")[0]


def _memory_rate(processes):
    """GB/s that so many processes read at once, each by the C library's search for a byte."""
    with concurrent.futures.ProcessPoolExecutor(processes) as pool:
        return sum(pool.map(_read_memory, [TOUCHED // processes] * processes))


def _read_memory(size):
    bytes_there = b"\2" * size
    rates = []
    for _ in range(READS):
        start = time.perf_counter()
        bytes_there.find(b"\1")
        rates.append(size / (time.perf_counter() - start) / 1e9)
    return statistics.median(rates)


def plain_share(figures, threads):
    """Of what the memory gives, what the sum of plain numbers reads."""
    return 8 * _a_second(figures, PLAIN, threads) / 1e9 / figures.get(MEMORY, threads_of(threads))


def packed_rate(figures, threads):
    """G values a second and thread."""
    return _a_second(figures, PACKED, threads) / threads / 1e9


def _a_second(figures, name, threads):
    return figures.get(f"rows-{SCHEMA}.{TABLE.name}", "all") / figures.get(name, AUTO[threads].title)


def spilling(figures, statement):
    """How many times as long a statement takes with little memory."""
    return figures.get(f"{statement.name}-{LITTLE}", AUTO[1].title) / figures.get(statement.name, AUTO[1].title)


def spilled(bench):
    """The statements that were measured with little memory."""
    return [statement for measured in bench.groups for statement in measured.statements
            if bench.figures.has(f"{statement.name}-{LITTLE}")]


def section(bench):
    """Of the page; empty when this was not measured."""
    figures = bench.figures
    if not figures.has(MEMORY):
        return ""
    rows = [["bytes read of memory, GB/s", *(number(figures.get(MEMORY, threads_of(threads))) for threads in THREADS)],
            ["sum of plain numbers, GB/s", *(number(8 * _a_second(figures, PLAIN, threads) / 1e9) for threads in THREADS)],
            ["sum of packed numbers, G values/s and thread", *(number(packed_rate(figures, threads)) for threads in THREADS)]]
    text = ("## Rates beside the machine's\nThe filtered sums of the rates, with AUTO. What the memory gives is measured by as many processes as "
            "threads, each with the C library's search for a byte that is not there.\n\n" +
            table(["", *map(threads_of, THREADS)], rows))
    rows = []
    for statement in spilled(bench):
        megabytes = [number(figures.get(f"{statement.name}-{what}", AUTO[1].title) / 1e6) for what in ("peak", "spilled")]
        times = [milliseconds(figures.get(name, AUTO[1].title), bench.limit_of(AUTO[1]))
                 for name in (statement.name, f"{statement.name}-{LITTLE}")]
        rows.append([f"{statement.name}: {statement.title}", *megabytes, *times, number(spilling(figures, statement))])
    return (text + "\n## With little memory\nThe same statements, one thread, with a memory budget of which their share is a tenth of what "
            "they take; what has no room goes by way of files.\n\n" +
            table(["", "memory, MB", "spilled, MB", "ms in memory", "ms with little", "times"], rows))
