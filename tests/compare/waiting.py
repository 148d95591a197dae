"""Faults that the random comparisons find and that are known, of the engine and of the server: which statements meet them. Such a statement is drawn, and not
asked. The line of a fault goes with the fault, so that its statements are asked from then on."""

import re

STATEMENTS = {
    # The server's own. What a conversion makes NULL is a zero date for MIN and MAX, and CAST('2020-02-31' AS DATE) is NULL behind a join only.
    "conversions to dates and times go by the server's plan": r" AS (DATE|TIME|DATETIME)\b",
    # Left to the server, whose plans differ: aggregates in a materialised subquery, the greatest UUID of an index.
    "a JSON aggregate that is read twice has its brackets twice in the server, or once, by its plan": r"\bJSON_(ARRAY|OBJECT)AGG\(.*( HAVING |\) d WHERE )",
    "HAVING with a subquery goes by the server's plan": r"HAVING .*\(SELECT |\(SELECT (SUM|MAX)\([^()]*\bo\.|\(SELECT MAX\([^()]*\([^()]*\bo\.",
    "a BIT of all ones is 0 for the server among several values, or where groups have a constant, or nothing by an index": r" (IN \([^()]*|<=> |= )x'(FFFFFFFFFFFFFFFF|8000000000000000)'",
    "the default of a TEXT or BLOB is NULL, or not, as the row before it was":
        r"DEFAULT\((\w+\.)?(body|lump|story|short|medium_lump|document|packed_text|packed_lump)\)",
    "without GROUP BY a mean or a spread of texts is NULL, or not, as the server looks before it computes":
        r"^(?!.* GROUP BY ).*\b(STD|STDDEV_SAMP|VARIANCE|VAR_SAMP|AVG)\(LEFT\(.* IS (NOT )?NULL",
    "a spread of groups is NULL for HAVING, where the server sorts the rows of groups": r"^(?=.*\b(STD|STDDEV_SAMP|VARIANCE|VAR_SAMP)\().*( HAVING .*|\) d WHERE n\d) IS (NOT )?NULL",
    "JSON_DEPTH of a column that is NOT NULL is never NULL to the server, which then takes the depth of what is no document for 0 in DISTINCT": r"\bDISTINCT\b.*\bJSON_DEPTH\(",
    "JSON_INSERT, JSON_SET and JSON_REPLACE are cut where a plan of the server's stores them": r"\bJSON_(INSERT|SET|REPLACE)\(.* JOIN .* ORDER BY ",
    "NULL and zero are one key of computed TIMESTAMPs where the server sorts the rows of groups, whose values come in turns":
        r"^(?=.*(DISTINCT|GROUP_CONCAT|JSON_\w+AGG)).*\b(stamp|instant)\b.*(\)|END) AS k\d\b.* GROUP BY ",
    "means of groups that are ordered by an extreme of a text are wrong in the server": r"\bAVG\(.* ORDER BY (MIN|MAX)\([A-Z]",
    "which rows of a text that is no number are warned of goes by the server's index": r"\btold\b|\bwith_default +(NOT +)?([<=>!]+|IN +\(|BETWEEN) *-?\d",
    "a DOUBLE of two digits that has more than its type is cut where the server's plan stores it":
        r"^(?=.*\bu?big\b).*(\b(IFNULL\(rounded, 0\.1\)|rounded) [-+*]|[-+*] (IFNULL\(rounded, 0\.1\)|rounded))",
    "without groups the server finds the extremes of an ENUM or SET by an index, and so by their numbers": r"^(?!.* GROUP BY ).*\b(MIN|MAX)\( *(DISTINCT +)?(kind|flags|choice|many)\)",
    "a negative zero of TIME is a group of its own, or not, as the server sorts the rows of groups": r"\bSEC_TO_TIME\([^)]*\bdeep\b.* GROUP BY ",
    "a space is the empty SET, or no SET, as an index is read or not": r"\b(many|flags|kind|choice)\b *(=|<=>|IN) *\(?' '",
    "the server sorts quotients of more than 65 digits by some of them": r"\bdeep\b\)? / .* ORDER BY ",
    "the server adds different values up once a group of an index, in the total, too": r"\bDISTINCT\b.* WITH ROLLUP",
}
WAITS = re.compile("|".join(STATEMENTS.values()))


def waits(sql):
    return WAITS.search(sql) is not None
