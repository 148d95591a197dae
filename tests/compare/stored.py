"""CREATE … SELECT of the same rows in both engines: the tables have the same columns and rows."""

import re

from engines import ENGINES, Difference, text

NULLS = re.compile(r" NOT NULL| DEFAULT (NULL|'[^']*'|[^ ,]+)")  # of a column's definition, whether it may be NULL, and what follows from that


def _definition(pair, engine, nulls):
    definition = re.sub(r" ENGINE=\w+", "", text(pair.run(engine, "SHOW CREATE TABLE target").rows[0][1]))
    return definition if nulls else NULLS.sub("", definition)


def make_target(pair, sql, near=False, nulls=True):
    """Whether there is a table `target` of the rows of a SELECT. `near`: as Pair.both() takes it; `nulls`: whether it is the same what may be NULL."""
    pair.both("DROP TABLE IF EXISTS target")
    if pair.both(f"CREATE TABLE target AS {sql}", may_fail=True, plan_of=sql).error is not None:
        return False
    definitions = [_definition(pair, engine, nulls) for engine in ENGINES]
    if definitions[0] != definitions[1]:
        raise Difference(f"other columns of the table made of: {sql}\n{definitions[0]}\n{definitions[1]}")
    pair.both("SELECT * FROM target", near=near)
    return True
