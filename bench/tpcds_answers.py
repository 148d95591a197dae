"""Whether an answer to one of TPC-DS's queries is DuckDB's.

Where DuckDB has a floating-point number, which it makes of means and quotients, numbers may differ by a part, or by the last
digit that MariaDB shows. All else is exact. The rows come in the order that ORDER BY says. Of rows that share the last place with
rows behind the LIMIT, any may be there.
"""

import decimal

PART = 1e-4
_NUMBERS = (int, float, decimal.Decimal)


def difference(mine, theirs, order, limit, ask_whole):
    """How they differ; empty when they do not. `order`: places of the columns that ORDER BY names. `limit`: rows at most; 0:
    all. `ask_whole`: gives all rows that DuckDB has without the limit."""
    if len(mine) != len(theirs):
        return f"{len(mine)} rows and {len(theirs)}"
    inexact = {column for row in (*mine, *theirs) for column, value in enumerate(row) if isinstance(value, float)}
    keys = _certain(order, inexact)
    for number, (my, their) in enumerate(zip(mine, theirs), 1):
        if not all(_agree(my[column], their[column]) for column in keys):
            return f"row {number} of the order is {_shown(my)} and {_shown(their)}"
    surplus, missing = _apart(mine, theirs, inexact)
    if surplus and limit == len(mine):
        last = theirs[-1]
        if all(_agree(row[column], last[column]) for row in (*surplus, *missing) for column in keys):
            surplus, _ = _apart(surplus, ask_whole(), inexact)
    return f"{_shown(surplus[0])}, and {_shown(missing[0])} ({len(surplus)} of {len(mine)} rows)" if surplus else ""


def _certain(order, inexact):
    """The columns by which two answers are in the same order: up to the first number that rounding may have made others'
    equal."""
    certain = []
    for column in order:
        certain.append(column)
        if column in inexact:
            break
    return certain


def _apart(mine, theirs, inexact):
    """(rows of the one that have no equal in the other, and of the other)."""
    rest = {}
    for row in theirs:
        rest.setdefault(_exact(row, inexact), []).append(row)
    surplus = []
    for row in mine:
        same = rest.get(_exact(row, inexact), [])
        found = next((place for place, other in enumerate(same) if all(map(_agree, row, other))), None)
        if found is None:
            surplus.append(row)
        else:
            same.pop(found)
    return surplus, [row for rows in rest.values() for row in rows]


def _exact(row, inexact):
    return tuple(_plain(value) for column, value in enumerate(row) if column not in inexact)


def _plain(value):
    """The same for equal values of other types."""
    if isinstance(value, _NUMBERS):
        return decimal.Decimal(value)
    return None if value is None else str(value)


def _agree(one, other):
    if not isinstance(one, _NUMBERS) or not isinstance(other, _NUMBERS) or not (isinstance(one, float) or isinstance(other, float)):
        return _plain(one) == _plain(other)
    digits = [-value.as_tuple().exponent for value in (one, other) if isinstance(value, decimal.Decimal)]
    unit = 10.0 ** -digits[0] if digits else 0
    return abs(float(one) - float(other)) <= max(unit, PART * max(abs(float(one)), abs(float(other))))


def _shown(row):
    return "(" + ", ".join(str(value) for value in row) + ")"
