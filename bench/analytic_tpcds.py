"""TPC-DS's 99 queries: whether each ends, how many of its blocks the engine answers, and its time beside DuckDB's."""

import dataclasses
import math
import os
import re
import statistics

import peer_process
import tpcds
import tpcds_answers
from analytic_setup import AUTO, DUCKDB
from common import say
from report import milliseconds, number, table

LIMIT = 60  # seconds of a query
SETUPS = (AUTO[2], DUCKDB[2])
_TAKEN = re.compile(r"HAILSTONE, select (\d+):")
_LEFT = re.compile(r"HAILSTONE leaves select (\d+) to the server: ([^:]*)")
NOT_OFFERED = "the server does not offer it to the engine"
SHOWN = 2  # reasons of a query


def load(loader, scale):
    """Makes the tables; the queries, with DuckDB's answers."""
    path = os.path.join(loader.folder, "tpcds.db")
    with peer_process.tpcds() as reference:
        say(f"TPC-DS, scale {scale:g}: making the rows …")
        reference.open(path, scale, SETUPS[1].threads, loader.memory)
        loader.load(tpcds.SCHEMA, tpcds.sources(reference, loader.folder))
        say("the answers of the extension's DuckDB …")
        queries = list(tpcds.queries(reference))
    os.remove(path)
    return queries


@dataclasses.dataclass(frozen=True)
class Measured:
    """What the page has beside the figures."""
    scale: float
    limit: int         # seconds of a query
    statements: list
    outcomes: dict     # name of a statement -> Outcome


@dataclasses.dataclass(frozen=True)
class Outcome:
    taken: int     # blocks that the engine answers
    blocks: int
    reasons: list  # why it leaves the others to the server


def measure(bench, scale, limit):
    """What was measured."""
    queries = load(bench, scale)
    # A query has more notes than the server keeps by itself.
    bench.connection.execute("SET SESSION max_error_count = 65535")
    measured = Measured(scale, limit, [], {})
    for query in queries:
        statement = dataclasses.replace(query.statement, seconds=limit)
        measured.statements.append(statement)
        measured.outcomes[statement.name] = _outcome(bench, statement)
        bench.figures.add(f"{statement.name}-rows", "rows of the answer", "all", len(query.answer))
        for setup, answer in bench.measure_in_turn(statement, SETUPS).items():
            if answer is not None and (how := query.difference(answer, lambda sql: bench.duckdb.rows(tpcds.SCHEMA, sql))):
                bench.differences.append(f"{statement.name}, {setup.title} and the extension's DuckDB: {how}")
                say(f"the answers differ: {bench.differences[-1]}")
        say(f"{statement.name}: " + ", ".join(f"{setup.title} {_shown(bench, statement, setup)} ms" for setup in SETUPS))
    return measured


def _outcome(bench, statement):
    bench.use(statement, SETUPS[0])
    plan = bench.connection.execute(f"EXPLAIN EXTENDED {statement.sql}")
    notes = [text for _, _, text in bench.connection.execute("SHOW WARNINGS")]
    taken = {int(found[1]) for note in notes if (found := _TAKEN.match(note))}
    left = {int(found[1]): found[2] for note in notes if (found := _LEFT.match(note)) and int(found[1]) not in taken}
    planned = {int(row[0]) for row in plan if row[0] is not None}
    reasons = list(dict.fromkeys(left.values()))
    if planned - taken - left.keys():
        reasons.append(NOT_OFFERED)
    return Outcome(len(taken), len(taken | left.keys() | planned), reasons)


def _shown(bench, statement, setup):
    return milliseconds(bench.figures.get(statement.name, setup.title), bench.limit_of(setup, statement))


def ratio(figures, measured, statement):
    """Hailstone's time to DuckDB's; of a query that does not end, the limit's."""
    mine, theirs = (figures.get(statement.name, setup.title) for setup in SETUPS)
    return min(mine, measured.limit) / theirs


def mean(bench):
    """Geometric, of all queries."""
    return statistics.geometric_mean([ratio(bench.figures, bench.tpcds, statement) for statement in bench.tpcds.statements])


def without_end(bench):
    """The queries that do not end within the limit."""
    return [statement for statement in bench.tpcds.statements if bench.figures.get(statement.name, SETUPS[0].title) == math.inf]


def _answers(bench):
    names = {statement.name for statement in bench.tpcds.statements}
    wrong = [difference for difference in bench.differences if difference.partition(",")[0] in names]
    return ((f"**{len(wrong)} answers are not DuckDB's**" if wrong else "All answers that came are DuckDB's") +
            f"; what is a floating-point number there may differ by {tpcds_answers.PART:g} of it, or by the last digit that MariaDB shows.")


def section(bench):
    """Of the page; empty when this was not measured."""
    figures, measured = bench.figures, bench.tpcds
    if measured is None:
        return ""
    rows, kinds = [], dict.fromkeys(("all", "some", "none"), 0)
    for statement in measured.statements:
        outcome = measured.outcomes[statement.name]
        kinds["all" if outcome.taken == outcome.blocks else "some" if outcome.taken else "none"] += 1
        reasons = "; ".join(outcome.reasons[:SHOWN]) + (" …" if len(outcome.reasons) > SHOWN else "")
        rows.append([statement.name, f"{outcome.taken} of {outcome.blocks}", str(figures.get(f"{statement.name}-rows", "all")),
                     *(_shown(bench, statement, setup) for setup in SETUPS), number(ratio(figures, measured, statement)), reasons])
    ended = len(rows) - len(without_end(bench))
    load = {engine: number(sum(figures.get(key, engine) for key in figures.keys(f"load-{tpcds.SCHEMA}."))) for engine in ("HAILSTONE", "DuckDB")}
    return (f"## TPC-DS\nThe {len(rows)} queries and the rows of DuckDB's extension, scale {measured.scale:g}; `bench/tpcds_sql.py` has the rules by which the "
            f"queries are in MariaDB's words. The tables have primary keys and no other index. {SETUPS[0].title}, and {SETUPS[1].title}; the answers are those of "
            f"the DuckDB that the extension is for. The load took {load['HAILSTONE']} s, and DuckDB {load['DuckDB']} s.\n\n"
            f"{ended} of {len(rows)} queries end within {measured.limit} s. The engine answers all blocks of {kinds['all']}, some of {kinds['some']}, none of "
            f"{kinds['none']}. {_answers(bench)} Geometric mean of the ratios, in which a query without an end has taken {measured.limit} s: {number(mean(bench))}.\n\n" +
            table(["ms", "blocks in the engine", "rows", *(setup.title for setup in SETUPS), "ratio", "why the server has the others"], rows))
