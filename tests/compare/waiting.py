"""Faults that the random comparisons find and that are known: which statements meet them. Such a statement is drawn, and not asked. The line of a fault goes with
the fault, so that its statements are asked from then on."""

import re

# Columns that no random table has meanwhile.
COLUMNS = {"packed", "packed_text", "packed_lump", "packed_raw",  # compressed: aggregates and orders see the stored bytes
           "with_default",  # DEFAULT() in a virtual column ends the server
           "thrice", "told", "quoted"}  # virtual columns of virtual ones are NULL where a covering index is read
STATEMENTS = {
    "MIN or MAX of a text that a function makes shows memory that was freed": r"\b(MIN|MAX)\( *[A-Z][A-Z0-9_]*\(",
    "HAVING with a subquery judges groups by other rows, or ends the server": r"HAVING .*\(SELECT |\(SELECT (SUM|MAX)\([^()]*\bo\.|\(SELECT MAX\([^()]*\([^()]*\bo\.",
    "DEFAULT() of a derived table or a view ends the server": r"DEFAULT\(",
    "IS NULL of a mean or a spread of texts, asked of groups, is that of another group": r"\b(STD|STDDEV_SAMP|VARIANCE|VAR_SAMP|AVG)\(LEFT\(.* IS (NOT )?NULL",
    "a number or text that is no time is sorted and grouped as a zero date": r" AS (DATE|TIME|DATETIME)\b",
}
WAITS = re.compile("|".join(STATEMENTS.values()))


def waits(sql):
    return WAITS.search(sql) is not None
