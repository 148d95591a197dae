"""What INFORMATION_SCHEMA.HAILSTONE_QUERIES says of a statement: an operator takes what the one below it hands on, and ANALYZE
makes the same rows as the statement."""

import collections
import re

from engines import text
from program import Failure

IDLE = {"filter", "evaluate", "compute"}  # where the server evaluates everything, some of these have nothing to do
Step = collections.namedtuple("Step", "block state operator rows_in rows_out")


def _steps(pair, sql):
    rows = pair.run("HAILSTONE", "SELECT SELECT_ID, STATE, OPERATOR, ROWS_IN, ROWS_OUT, QUERY FROM INFORMATION_SCHEMA.HAILSTONE_QUERIES "
                    "WHERE CONNECTION_ID = CONNECTION_ID() AND STATE <> 'declined' AND QUERY_ID = (SELECT MAX(QUERY_ID) FROM "
                    "INFORMATION_SCHEMA.HAILSTONE_QUERIES WHERE CONNECTION_ID = CONNECTION_ID() AND STATE <> 'declined') "
                    "ORDER BY SELECT_ID, HOOK, OPERATOR_ID").rows
    # Such tables of the server have characters of up to three bytes.
    if not rows or text(rows[0][5]).strip() != re.sub("[\U00010000-\U0010ffff]", "?", sql.strip()[:1024].strip()):
        raise Failure(f"nothing is known of: {sql}\nbut of: {rows}")
    return [Step(int(text(row[0])), text(row[1]), text(row[2]), int(text(row[3])), int(text(row[4]))) for row in rows]


def _is_right(above, below, is_last):
    # A limit may end what takes rows one by one.
    if below.operator == "join" or above.operator == "having" or (above.operator == "group" and below.operator == "sort") or (above.operator in ("filter", "evaluate") and is_last):
        return above.rows_in <= below.rows_out
    return above.rows_in == below.rows_out or (above.operator in IDLE and above.rows_in == above.rows_out == 0)


def _with_dead_rows_of(step, before):
    """A scan meets dead rows, too, of which a merge may have let some go since it met them before."""
    is_fewer = step.operator == before.operator == "scan" and step.rows_out <= step.rows_in < before.rows_in
    return step._replace(rows_in=before.rows_in) if is_fewer else step


def check_counts(pair, sql):
    """Of a statement that the engine has just answered, in part at least."""
    steps = _steps(pair, sql)
    wrong = [step for step in steps if step.state not in ("finished", "not run") or
             (step.operator == "scan" and step.rows_out > step.rows_in)]
    inputs = []  # what the operators above take, of joins the sides
    for step in reversed(steps):
        if step.operator == "scan":
            inputs.append(step)
            continue
        if step.operator == "join":
            # Further conditions leave fewer of a side; where one side has no row, the other is not read.
            if step.rows_in > inputs.pop().rows_out + inputs.pop().rows_out:
                wrong.append(step)
            inputs.append(step)
            continue
        below = inputs.pop()
        if not _is_right(step, below, is_last=step == next(first for first in steps if first.block == step.block)):
            wrong.append(step)
        # A group of no rows is one, too.
        inputs.append(step if step.rows_in != 0 or step.rows_out != 0 else below)
    if wrong:
        raise Failure(f"counts are wrong of: {sql}\n{wrong}\namong {steps}")
    # First rows of the table come from as many blocks as the threads happen to have looked at.
    of_table = any(step.operator == "first rows" for step in steps) and all(step.operator != "group" for step in steps)
    analyzed = f"ANALYZE {sql}"
    if pair.run("HAILSTONE", analyzed).error is not None:
        raise Failure(f"it fails: {analyzed}")
    again = [_with_dead_rows_of(step, before) for step, before in zip(_steps(pair, analyzed), steps, strict=True)]
    if not of_table and again != steps:
        raise Failure(f"other counts with ANALYZE of: {sql}\n{steps}\n{again}")
