"""What the project sets out to reach with analytic statements, and what was measured of it."""

import dataclasses
import statistics

import analytic_computed
import analytic_growth
import analytic_limits
import analytic_rates
import analytic_server
import analytic_tpcds
import article
from analytic_setup import AUTO, OFF, THREADS
from report import number

MOST = 3            # times DuckDB's time, of each statement
SLOWER = 1.1        # times the time with OFF: less is noise
NEAR = 0.7          # times the time with OFF: from there on both are measured once more, in turn,
OFF_REPEATS = 40    # so often
JOIN_SECONDS = 0.02
MOST_GROWTH = 12    # times as long on ten times the rows
MOST_INNODB = 1.2   # times InnoDB's time
MOST_CHOSEN = 1.2   # times the lesser of the times with ON and OFF
MOST_COMPUTED = 1.1  # times OFF's time
PLAIN_SHARE = 0.5   # of what the machine's memory gives
PACKED_RATE = 2     # G values a second and thread
MOST_SORTING = 1.2  # times DuckDB's time
MOST_SPILLING = 4   # times the time in memory


def beside_off(statement):
    """The statement where it is measured with AUTO and OFF in turn."""
    return dataclasses.replace(statement, name=f"{statement.name}-beside-off")


def is_near_off(figures, statement):
    """Whether the statement may be slower than with OFF."""
    return _to_off(figures, statement) > NEAR


def _to_off(figures, statement):
    """The longest time with AUTO to that with OFF."""
    return max(figures.get(statement.name, setup.title) for setup in AUTO.values()) / figures.get(statement.name, OFF.title)


def _is_slower_than_off(figures, statement):
    beside = beside_off(statement)
    return _to_off(figures, beside if figures.has(beside.name) else statement) > SLOWER


def aims(bench, ratio):
    """(aim, measured, reached); `ratio` gives Hailstone's time to DuckDB's of a statement and a number of threads."""
    figures = bench.figures
    for group in bench.groups:
        means = [statistics.geometric_mean([ratio(statement, threads) for statement in group.statements]) for threads in THREADS]
        yield f"{group.title}: geometric mean at most DuckDB's", _both(means), max(means) <= 1
    statements = [statement for group in bench.groups for statement in group.statements]
    if statements:
        yield _all(f"no statement above {MOST} times DuckDB's time",
                   [statement for statement in statements if max(ratio(statement, threads) for threads in THREADS) > MOST])
        yield _all("none slower than with OFF, by more than a tenth",
                   [statement for statement in statements if _is_slower_than_off(figures, statement)])
        yield _all("all answered in the engine",
                   [statement for statement in statements if not bench.outcomes[statement.name].pushed])
        yield _all("… also prepared, as views and in procedures",
                   [statement for statement in statements
                    if any(statement.name in names for names in bench.left_paths.values())])
        yield "answers as DuckDB's", f"{len(bench.differences)} differ", not bench.differences
    if figures.has(article.JOIN.name) and figures.get("rows-article.Big", "all") >= article.FULL_ROWS:
        seconds = [figures.get(article.JOIN.name, setup.title) for setup in AUTO.values()]
        yield ("the article's join of ten million rows, without an index: at most 20 ms",
               f"{_both([1000 * each for each in seconds])} ms", min(seconds) <= JOIN_SECONDS)
    if figures.has(analytic_rates.MEMORY):
        shares = [analytic_rates.plain_share(figures, threads) for threads in THREADS]
        yield f"filtered sum of plain numbers: at least {PLAIN_SHARE} of what the memory gives", _both(shares), min(shares) >= PLAIN_SHARE
        rates = [analytic_rates.packed_rate(figures, threads) for threads in THREADS]
        yield f"… of packed ones: at least {PACKED_RATE} G values/s a thread", _both(rates), min(rates) >= PACKED_RATE
        sorts = [statement for statement in statements if statement.name in analytic_rates.SORTS]
        yield _all(f"sorts of all rows: at most {MOST_SORTING} times DuckDB's time",
                   [statement for statement in sorts if max(ratio(statement, threads) for threads in THREADS) > MOST_SORTING])
        yield _all(f"with a tenth of the memory that an operator takes: at most {MOST_SPILLING} times as long",
                   [statement for statement in analytic_rates.spilled(bench) if analytic_rates.spilling(figures, statement) > MOST_SPILLING])
    if statements := analytic_growth.measured(figures):
        yield _all(f"ten times the rows and the memory: none above {MOST_GROWTH} times as long",
                   [statement for statement in statements
                    if max(analytic_growth.growth(figures, statement, threads) for threads in THREADS) > MOST_GROWTH])
    if figures.has(analytic_server.STATEMENTS[0].name):
        ratios = [analytic_server.ratio(figures, statement) for statement in analytic_server.STATEMENTS]
        yield (f"what stays with the server: at most {MOST_INNODB} times InnoDB's time", _both(ratios),
               None not in ratios and max(ratios) <= MOST_INNODB)
    if figures.has(analytic_limits.STATEMENTS[0].name):
        yield _all(f"statements that an index may end early: AUTO at most {MOST_CHOSEN} times the lesser of ON and OFF",
                   [statement for statement in analytic_limits.STATEMENTS
                    if analytic_limits.to_best(figures, statement) > MOST_CHOSEN])
    if figures.has(analytic_computed.STATEMENTS[0].name):
        yield _all(f"what only the server computes: AUTO at most {MOST_COMPUTED} times OFF's processor time",
                   [statement for statement in analytic_computed.STATEMENTS
                    if analytic_computed.to_off(figures, statement) > MOST_COMPUTED])
    if bench.tpcds:
        yield "TPC-DS: geometric mean at most DuckDB's", number(mean := analytic_tpcds.mean(bench)), mean <= 1
        yield _all(f"… all end within {bench.tpcds.limit} s", analytic_tpcds.without_end(bench))


def _both(values):
    return " / ".join(map(number, values))


def _all(aim, exceptions):
    names = ", ".join(statement.name for statement in exceptions)
    return aim, names or "none", not exceptions
