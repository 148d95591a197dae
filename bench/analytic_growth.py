"""What the star schema's and TPC-H's statements cost at the scale, and at a tenth of it with a tenth of the memory."""

import dataclasses
import math

import ssb
import tpch
from analytic_setup import AUTO, THREADS, threads_of
from common import say
from report import milliseconds, number, table

TENTH = "tenth"
BENCHMARKS = (ssb, tpch)


def at_a_tenth(statement):
    return dataclasses.replace(statement, name=f"{statement.name}-{TENTH}", schema=f"{statement.schema}_{TENTH}")


def measure(bench, scale):
    """The statements at the scale are measured here unless they have been."""
    for benchmark in BENCHMARKS:
        group = benchmark.GROUP
        say(f"{group.title}: growth from scale {scale / 10:g} to {scale:g} …")
        for schema, size in ((benchmark.SCHEMA, scale), (f"{benchmark.SCHEMA}_{TENTH}", scale / 10)):
            bench.load(schema, benchmark.sources(size, bench.folder), ("HAILSTONE",), [bench.duckdb])
        if group not in bench.groups:
            _measure(bench, group.statements)
        bench.connection.execute(f"SET GLOBAL hailstone_memory_budget = {bench.memory // 10}")
        _measure(bench, map(at_a_tenth, group.statements))
        bench.connection.execute(f"SET GLOBAL hailstone_memory_budget = {bench.memory}")


def _measure(bench, statements):
    for statement in statements:
        answers = bench.measure_in_turn(statement, AUTO.values())
        bench.compare(statement, answers, bench.duckdb.rows(statement.schema, statement.sql))


def growth(figures, statement, threads):
    """How many times as long a statement takes on ten times the rows; infinite where it does not end."""
    whole, tenth = (figures.get(asked.name, AUTO[threads].title) for asked in (statement, at_a_tenth(statement)))
    return math.inf if whole == math.inf else whole / tenth


def section(bench):
    """Of the page; empty when this was not measured."""
    rows = []
    for statement in measured(bench.figures):
        tenth = at_a_tenth(statement)
        rows.append([f"{statement.name}: {statement.title}"] +
                    [milliseconds(bench.figures.get(asked.name, setup.title), bench.limit_of(setup)) for setup in AUTO.values()
                     for asked in (tenth, statement)] +
                    [number(growth(bench.figures, statement, threads)) for threads in THREADS])
    if not rows:
        return ""
    header = ["ms", *(f"{what}, {threads_of(threads)}" for threads in THREADS for what in ("tenth", "whole")),
              *(f"times, {threads_of(threads)}" for threads in THREADS)]
    return ("## Growth\nThe same statements, warm, with AUTO, on tables of a tenth of the scale with a tenth of the memory budget "
            f"({bench.memory // 10 / 2**20:,.0f} MiB).\n\n" + table(header, rows))


def measured(figures):
    """The statements of which growth is known."""
    return [statement for benchmark in BENCHMARKS for statement in benchmark.GROUP.statements
            if figures.has(at_a_tenth(statement).name)]
