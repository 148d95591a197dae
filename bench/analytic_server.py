"""What stays with the server: statements that it evaluates by itself, on tables of Hailstone and of InnoDB."""

import dataclasses
import math

import tpch
from analytic_setup import OFF, Setup
from common import say
from report import milliseconds, number, table

SCHEMA = "server"
SCALE = 0.1
INNODB = Setup("InnoDB")
STATEMENTS = tuple(dataclasses.replace(statement, name=f"{statement.name}-server", schema=SCHEMA)
                   for statement in (*tpch.GROUP.statements, tpch.NESTED) if statement.name in ("h9", "h20"))


def measure(bench):
    say(f"what stays with the server: TPC-H, scale {SCALE:g} …")
    bench.load(SCHEMA, tpch.sources(SCALE, bench.folder), ("HAILSTONE", "InnoDB"), [bench.duckdb])
    for statement in STATEMENTS:
        answers = bench.measure_in_turn(statement, (OFF, INNODB))
        bench.compare(statement, answers, bench.duckdb.rows(SCHEMA, statement.sql))


def ratio(figures, statement):
    """Hailstone's time to InnoDB's; None: neither has ended."""
    mine, theirs = (figures.get(statement.name, setup.title) for setup in (OFF, INNODB))
    return None if mine == theirs == math.inf else mine / theirs


def section(bench):
    """Of the page; empty when this was not measured."""
    figures = bench.figures
    if not figures.has(STATEMENTS[0].name):
        return ""
    rows = [[statement.title, *(milliseconds(figures.get(statement.name, setup.title), bench.limit) for setup in (OFF, INNODB)),
             number(ratio(figures, statement))] for statement in STATEMENTS]
    return (f"## What stays with the server\nTPC-H at scale {SCALE:g}, warm: the server evaluates by itself, over tables of "
            f"Hailstone with OFF and of InnoDB, for at most {bench.limit} s.\n\n" +
            table(["ms", OFF.title, INNODB.title, "ratio"], rows))
