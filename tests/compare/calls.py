"""Calls for the grid: of each function that docs/functions.md says the engine computes, by the name that its table has, and of others that stand beside them."""

import os
import re

from program import PROJECT, Failure

# A call is a template by the kind of its result: "n" a number, "t" a text, "d" a moment, "c" a truth. Its places are:
# <w> <v> a whole number, with a sign or any; <e> a DECIMAL; <f> a floating-point number; <n> any of these; <k> a constant number; <i> a small whole one
# <t> a text or bytes; <l> a constant text; <o> a pattern of LIKE; <r> a regular expression
# <d> a moment; <m> a constant one; <u> a unit; <p> a format; <s> a TIME
# <g> an ENUM or SET; <c> a truth; <x> any column; <j> a text that may be a document; <q> a path in it
_PARTS = {name: ("n", [f"{name}(<d>)"]) for name in ["YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "MICROSECOND", "TO_DAYS", "WEEKDAY", "DAYOFWEEK", "DAYOFYEAR", "TO_SECONDS", "UNIX_TIMESTAMP"]}
_COMPARISONS = {name: ("c", [f"<n> {name} <n>", f"<n> {name} <k>", f"<t> {name} <t>", f"<t> {name} <l>", f"<d> {name} <d>", f"<d> {name} <m>", f"<e> {name} <e>"])
                for name in ["=", "<>", "<", "<=", ">", ">=", "<=>"]}

COMPUTED = {
    "+": ("n", ["<n> + <n>", "<n> + <k>", "<e> + <e>", "<w> + <w>"]),
    "-": ("n", ["<n> - <n>", "<k> - <n>", "<e> - <e>", "- <n>", "<w> - <w>"]),
    "*": ("n", ["<n> * <n>", "<n> * <k>", "<e> * <e>", "<w> * <i>"]),
    "/": ("n", ["<n> / <n>", "<f> / <f>", "<f> / <n>", "<n> / <k>", "<e> / <e>"]),
    "DIV": ("n", ["<n> DIV <n>", "<w> DIV <w>", "<w> DIV <k>", "<e> DIV <e>"]),
    "MOD": ("n", ["<n> MOD <n>", "<w> % <w>", "MOD(<w>, <k>)", "<e> % <e>"]),
    "a DECIMAL of fewer decimals": ("n", ["<n> / <n> = <n>", "<n> / <w> * <n> > <n>", "IF(<n> / 3 < <n>, 1, <n>)"]),
    "an INT result": ("n", ["<v> - <w>", "<v> + <k>", "<v> * <w>", "<v> DIV <w>"]),
    "a DECIMAL or INT as DOUBLE": ("n", ["<e> + <f>", "<w> * <f>", "<f> - <n>", "<f> / <w>"]),
    "a BIGINT UNSIGNED result": ("n", ["CAST(<w> AS UNSIGNED)", "<w> | <v>", "~ <w>"]),
    "ABS": ("n", ["ABS(<n>)", "ABS(<e>)"]),
    "SIGN": ("n", ["SIGN(<n>)"]),
    "FLOOR": ("n", ["FLOOR(<n>)", "FLOOR(<e>)"]),
    "CEIL": ("n", ["CEIL(<e>)"]),
    "CEILING": ("n", ["CEILING(<n>)"]),
    "ROUND": ("n", ["ROUND(<n>)", "ROUND(<n>, <i>)", "ROUND(<e>, <i>)"]),
    "TRUNCATE": ("n", ["TRUNCATE(<n>, <i>)", "TRUNCATE(<e>, <i>)"]),
    "CAST AS DECIMAL": ("n", ["CAST(<n> AS DECIMAL(15,3))", "CAST(<e> AS DECIMAL(18,2))", "CAST(<w> AS DECIMAL(12,1))", "CAST(<n> AS DOUBLE)"]),
    "CAST AS SIGNED": ("n", ["CAST(<n> AS SIGNED)", "CAST(<f> AS SIGNED)", "CAST(<d> AS SIGNED)"]),
    "CAST AS UNSIGNED": ("n", ["CAST(<n> AS UNSIGNED)", "CAST(<f> AS UNSIGNED)", "CAST(<d> AS UNSIGNED)"]),
    "&": ("n", ["<w> & <v>", "<n> & <n>", "<w> & <i>", "~ <w> & <v>"]),
    "\\|": ("n", ["<w> | <v>", "<n> | <n>"]),
    "^": ("n", ["<w> ^ <v>", "<n> ^ <w>"]),
    "~": ("n", ["~ <w>", "~ <n>"]),
    "<<": ("n", ["<w> << <i>", "<n> << <i>", "<v> << <w>"]),
    ">>": ("n", ["<v> >> <i>", "<n> >> <i>", "<w> >> <w>"]),
    "BIT_COUNT": ("n", ["BIT_COUNT(<w>)", "BIT_COUNT(<v>)", "BIT_COUNT(<n>)"]),
    **_COMPARISONS,
    "BETWEEN": ("c", ["<n> BETWEEN <n> AND <n>", "<n> NOT BETWEEN <k> AND <n>", "<t> BETWEEN <l> AND <t>", "<d> BETWEEN <m> AND <d>", "<e> BETWEEN <e> AND <k>"]),
    "=, <, BETWEEN, IN, LIKE with constants": ("c", ["<t> LIKE <o>", "<t> NOT LIKE <o>", "<t> IN (<l>, <l>, <l>)", "<t> NOT IN (<l>, <t>)", "<t> BETWEEN <l> AND <l>"]),
    "IN with constants": ("c", ["<n> + 0 IN (0, 1, -1, 127, 255, 2147483647, 9223372036854775807, 2.5, NULL)", "<w> NOT IN (0, 1, 2, 3, 4, 5, <i>, 7, 8, 9, 10)", "<e> IN (0.5, 1, <k>, -0.01, 9.99, 12)"]),
    "AND": ("c", ["(<c>) AND (<c>)", "(<c>) AND <n>"]),
    "OR": ("c", ["(<c>) OR (<c>)", "(<c>) OR <n>"]),
    "NOT": ("c", ["NOT (<c>)", "NOT <n>"]),
    "IS TRUE": ("c", ["(<c>) IS TRUE", "(<c>) IS NOT TRUE", "(<c>) IS FALSE", "<n> IS TRUE", "(<c>) IS UNKNOWN"]),
    "IS NULL": ("c", ["<n> IS NULL", "<t> IS NOT NULL", "<d> IS NULL", "(<c>) IS NULL", "<x> IS NULL"]),
    "CASE WHEN": ("n", ["CASE WHEN <c> THEN <n> WHEN <c> THEN <n> ELSE <k> END", "CASE WHEN <c> THEN <e> END", "CASE <n> WHEN <n> THEN 1 WHEN <k> THEN 2 END"]),
    "IF": ("n", ["IF(<c>, <n>, <n>)", "IF(<c>, <k>, <n>)"]),
    "COALESCE": ("n", ["COALESCE(<n>, <n>, <k>)", "COALESCE(<e>, <e>)"]),
    "IFNULL": ("n", ["IFNULL(<n>, <n>)", "IFNULL(<n>, <k>)"]),
    "GREATEST": ("n", ["GREATEST(<n>, <n>)", "GREATEST(<e>, <e>)", "GREATEST(<w>, <v>, <i>)"]),
    "LEAST": ("n", ["LEAST(<n>, <n>)", "LEAST(<w>, <k>)"]),
    "what is asked for once more": ("c", ["<n> IN (<n>, <n>, <k>)", "<n> + <n> IN (<k>, <n>, <w>)", "CONCAT(<t>, <t>) IN (<l>, <t>)"]),
    "what may hold, where it is not known": ("c", ["<n> + <n> > <k> OR <n> IS NULL", "<w> * <w> < <k> OR (<c>)"]),
    **_PARTS,
    "EXTRACT": ("n", ["EXTRACT(<u> FROM <d>)"]),
    "WEEK": ("n", ["WEEK(<d>)", "WEEK(<d>, <i>)", "WEEKOFYEAR(<d>)", "EXTRACT(WEEK FROM <d>)"]),
    "YEARWEEK": ("n", ["YEARWEEK(<d>)", "YEARWEEK(<d>, <i>)"]),
    "CAST AS DATE": ("d", ["CAST(<d> AS DATE)"]),
    "CAST AS DATETIME": ("d", ["CAST(<d> AS DATETIME)", "CAST(<d> AS DATETIME(3))", "CAST(<d> AS DATETIME(6))"]),
    "FROM_DAYS": ("d", ["FROM_DAYS(<w>)", "FROM_DAYS(730000 + <i>)"]),
    "MAKEDATE": ("d", ["MAKEDATE(<w>, <i>)", "MAKEDATE(2000 + <i>, <w>)"]),
    "FROM_UNIXTIME": ("d", ["FROM_UNIXTIME(<i>)", "FROM_UNIXTIME(<w>)", "FROM_UNIXTIME(<e>)"]),
    "CONVERT_TZ": ("d", ["CONVERT_TZ(<d>, 'MET', '+00:00')", "CONVERT_TZ(<d>, '-05:00', 'MET')"]),
    "LAST_DAY": ("d", ["LAST_DAY(<d>)"]),
    "DATE": ("d", ["DATE(<d>)"]),
    "+ INTERVAL": ("d", ["<d> + INTERVAL <i> <u>", "<d> + INTERVAL <w> <u>"]),
    "- INTERVAL": ("d", ["<d> - INTERVAL <i> <u>", "<d> - INTERVAL <w> <u>"]),
    "DATE_ADD": ("d", ["DATE_ADD(<d>, INTERVAL <i> <u>)"]),
    "DATE_SUB": ("d", ["DATE_SUB(<d>, INTERVAL <i> <u>)"]),
    "ADDDATE": ("d", ["ADDDATE(<d>, <i>)", "ADDDATE(<d>, INTERVAL <i> <u>)"]),
    "SUBDATE": ("d", ["SUBDATE(<d>, <i>)"]),
    "TIMESTAMPDIFF": ("n", ["TIMESTAMPDIFF(<u>, <d>, <d>)", "TIMESTAMPDIFF(<u>, <d>, <m>)"]),
    "TIME_TO_SEC": ("n", ["TIME_TO_SEC(<s>)", "HOUR(<s>)", "MINUTE(<s>)", "SECOND(<s>)", "MICROSECOND(<s>)"]),
    "DATE_FORMAT": ("t", ["'2024-02-29' + INTERVAL <i> MONTH", "DATE_SUB('2024-01-31', INTERVAL <w> DAY)", "'9999-12-30' + INTERVAL <v> YEAR", "'2024-02-29 00:00' + INTERVAL <i> WEEK", "DATE_FORMAT(<d>, <p>)"]),
    "CONCAT": ("t", ["CONCAT(<t>, <t>)", "CONCAT(<t>, <l>, <t>)", "CONCAT(<t>, <w>)"]),
    "CONCAT_WS": ("t", ["CONCAT_WS(<l>, <t>, <t>)", "CONCAT_WS(<t>, <t>, <l>, <t>)"]),
    "SUBSTRING": ("t", ["SUBSTRING(<t>, <i>)", "SUBSTRING(<t>, <i>, <i>)", "SUBSTRING(<t>, <w>, <w>)", "MID(<t>, <i>, <i>)"]),
    "LEFT": ("t", ["LEFT(<t>, <i>)", "LEFT(<t>, <w>)"]),
    "RIGHT": ("t", ["RIGHT(<t>, <i>)", "RIGHT(<t>, <w>)"]),
    "UPPER": ("t", ["UPPER(<t>)"]),
    "UCASE": ("t", ["UCASE(<t>)"]),
    "LOWER": ("t", ["LOWER(<t>)"]),
    "LCASE": ("t", ["LCASE(<t>)"]),
    "TRIM": ("t", ["TRIM(<t>)", "TRIM(BOTH <l> FROM <t>)", "TRIM(LEADING <l> FROM <t>)", "TRIM(TRAILING FROM <t>)"]),
    "LTRIM": ("t", ["LTRIM(<t>)"]),
    "RTRIM": ("t", ["RTRIM(<t>)"]),
    "REPLACE": ("t", ["REPLACE(<t>, <l>, <l>)", "REPLACE(<t>, <t>, <l>)", "REPLACE(<t>, <t>, <t>)"]),
    "LENGTH": ("n", ["LENGTH(<t>)", "LENGTH(<e>)", "LENGTH(<w>)"]),
    "OCTET_LENGTH": ("n", ["OCTET_LENGTH(<t>)"]),
    "CHAR_LENGTH": ("n", ["CHAR_LENGTH(<t>)", "CHAR_LENGTH(<e>)"]),
    "CHARACTER_LENGTH": ("n", ["CHARACTER_LENGTH(<t>)"]),
    "INSTR": ("n", ["INSTR(<t>, <l>)", "INSTR(<t>, <t>)"]),
    "LOCATE": ("n", ["LOCATE(<l>, <t>)", "LOCATE(<t>, <t>)", "LOCATE(<l>, <t>, <i>)"]),
    "HEX": ("t", ["HEX(<t>)", "HEX(<w>)"]),
    "an ENUM or SET as a text": ("t", ["CONCAT(<g>, <l>)", "UPPER(<g>)", "CONCAT_WS(<g>, <t>, <g>)", "LEFT(<g>, <i>)", "REPLACE(<g>, ',', <l>)", "COALESCE(<g>, <t>)", "LPAD(<g>, 7, <g>)"]),
    "an INT or DECIMAL as a text": ("t", ["CONCAT(<e>, '')", "CONCAT(<e>, <l>, <e>)", "LPAD(<e>, 12, '0')", "CONCAT(<w>, '')", "CONCAT_WS('-', <w>, <v>)", "LEFT(<w>, <i>)"]),
    "ASCII": ("n", ["ASCII(<t>)", "ORD(<t>)"]),
    "LPAD": ("t", ["LPAD(<t>, 6, <l>)", "LPAD(<t>, <i>, <t>)", "LPAD(<w>, 12, '0')", "LPAD(<t>, <i>)"]),
    "RPAD": ("t", ["RPAD(<t>, 6, <l>)", "RPAD(<t>, <w>, <t>)", "RPAD(<t>, <i>)"]),
    "REPEAT": ("t", ["REPEAT(<t>, <i>)", "REPEAT(<l>, <i>)"]),
    "SPACE": ("t", ["SPACE(<i>)", "SPACE(<w>)"]),
    "REVERSE": ("t", ["REVERSE(<t>)"]),
    "TRIM(BOTH)": ("t", ["TRIM(BOTH <l> FROM <t>)", "TRIM(<t> FROM <t>)"]),
    "TRIM(LEADING)": ("t", ["TRIM(LEADING <l> FROM <t>)", "TRIM(LEADING LEFT(<t>, 1) FROM <t>)"]),
    "TRIM(TRAILING)": ("t", ["TRIM(TRAILING <l> FROM <t>)", "TRIM(TRAILING RIGHT(<t>, 1) FROM <t>)"]),
    "SUBSTRING_INDEX": ("t", ["SUBSTRING_INDEX(<t>, <l>, <i>)", "SUBSTRING_INDEX(<t>, ' ', <i>)", "SUBSTRING_INDEX(<t>, <t>, <w>)"]),
    "FIND_IN_SET": ("n", ["FIND_IN_SET(<l>, <g>)", "FIND_IN_SET(<l>, <t>)", "FIND_IN_SET(<t>, <t>)", "FIND_IN_SET(<t>, CONCAT(<t>, ',', <t>))"]),
    "STRCMP": ("n", ["STRCMP(<t>, <t>)", "STRCMP(<t>, <l>)"]),
    "GREATEST of texts": ("t", ["GREATEST(<t>, <t>)", "GREATEST(<t>, <l>, <t>)"]),
    "LEAST of texts": ("t", ["LEAST(<t>, <t>)", "LEAST(<t>, <l>)"]),
    "FIELD": ("n", ["FIELD(<t>, <l>, <l>)", "FIELD(<t>, <t>, <l>)"]),
    "ELT": ("t", ["ELT(<i>, <t>, <l>, <t>)", "ELT(<w>, <t>, <t>)"]),
    "MD5": ("t", ["MD5(<t>)"]),
    "CRC32": ("n", ["CRC32(<t>)"]),
    "REGEXP": ("c", ["<t> REGEXP <r>", "<t> NOT REGEXP <r>"]),
    "RLIKE": ("c", ["<t> RLIKE <r>"]),
    "REGEXP_REPLACE": ("t", ["REGEXP_REPLACE(<t>, <r>, <l>)", "REGEXP_REPLACE(<t>, <r>, <t>)"]),
    "REGEXP_SUBSTR": ("t", ["REGEXP_SUBSTR(<t>, <r>)"]),
    "REGEXP_INSTR": ("n", ["REGEXP_INSTR(<t>, <r>)"]),
    "JSON_VALUE": ("t", ["JSON_VALUE(<j>, <q>)"]),
    "JSON_EXTRACT": ("t", ["JSON_EXTRACT(<j>, <q>)", "JSON_EXTRACT(<j>, <q>, <q>)", "JSON_UNQUOTE(JSON_EXTRACT(<j>, <q>))", "CONCAT(JSON_EXTRACT(<j>, <q>), <l>)"]),
    "JSON_UNQUOTE": ("t", ["JSON_UNQUOTE(<j>)", "JSON_UNQUOTE(<t>)", "JSON_UNQUOTE(JSON_EXTRACT(<j>, <q>))"]),
}
# Choices of texts and moments, and functions that the server computes.
OTHERS = {
    "CASE WHEN of texts": ("t", ["CASE WHEN <c> THEN <t> ELSE <t> END", "CASE WHEN <c> THEN <t> WHEN <c> THEN <l> END"]),
    "IF of texts": ("t", ["IF(<c>, <t>, <t>)", "IF(<c>, <t>, NULL)"]),
    "COALESCE of texts": ("t", ["COALESCE(<t>, <t>)", "IFNULL(<t>, <l>)"]),
    "choices of moments": ("d", ["COALESCE(<d>, <d>)", "IF(<c>, <d>, <d>)", "IFNULL(<d>, <d>)", "CASE WHEN <c> THEN <d> ELSE <d> END", "CASE <w> WHEN <i> THEN <d> END", "GREATEST(<d>, <d>)", "LEAST(<d>, <d>)"]),
    "DATEDIFF": ("n", ["DATEDIFF(<d>, <d>)", "DATEDIFF(<d>, <m>)"]),
    "NULLIF": ("n", ["NULLIF(<n>, <n>)", "NULLIF(<n>, <k>)"]),
    "IN of moments": ("c", ["<d> IN (<d>, <m>, <d>)", "<d> NOT IN (<m>, <m>, NULL)", "<d> IN ('2024-02-29', <d>)"]),
    "NULLIF of moments": ("d", ["NULLIF(<d>, <d>)", "NULLIF(<d>, <m>)"]),
    "NULLIF of texts": ("t", ["NULLIF(<t>, <l>)", "NULLIF(<t>, <t>)"]),
    "CASE of texts": ("t", ["CASE <t> WHEN <l> THEN <t> WHEN <t> THEN <l> ELSE <t> END"]),
    "XOR": ("c", ["(<c>) XOR (<c>)"]),
    "SQRT": ("n", ["SQRT(<n>)"]),
    "POW": ("n", ["POW(<f>, <i>)", "POW(<w>, 2)"]),
    "CAST to a number": ("n", ["CAST(<n> AS SIGNED)", "CAST(<n> AS UNSIGNED)", "CAST(<t> AS SIGNED)", "CAST(<n> AS DECIMAL(20,5))", "CAST(<e> AS DOUBLE)", "CAST(<t> AS DECIMAL(12,3))"]),
    "CAST to a text": ("t", ["CAST(<n> AS CHAR)", "CAST(<t> AS CHAR(3))", "CAST(<t> AS BINARY(4))", "CONVERT(<t> USING utf8mb4)", "CAST(<d> AS CHAR)"]),
    "CAST to a moment": ("d", ["CAST(<d> AS DATE)", "CAST(<d> AS DATETIME)", "CAST(<d> AS DATETIME(3))"]),
    "TIME": ("n", ["TIME(<d>) IS NULL", "HOUR(TIME(<d>))", "HOUR(ADDTIME(<s>, '1:00'))", "MINUTE(ADDTIME(<d>, '1:00'))"]),
    "COLLATE": ("c", ["(<t>) COLLATE utf8mb4_bin = <l>"]),
    "COLUMN_CREATE": ("n", ["LENGTH(COLUMN_CREATE('a', <n>))"]),
    "DAYOFMONTH": ("n", ["DAYOFMONTH(<d>)"]),
    "names of days": ("t", ["DAYNAME(<d>)", "MONTHNAME(<d>)"]),
    "TIMESTAMPADD": ("d", ["TIMESTAMPADD(<u>, <i>, <d>)"]),
    "INSERT": ("t", ["INSERT(<t>, <i>, <i>, <l>)"]),
    "QUOTE": ("t", ["QUOTE(<t>)"]),
    "checksums": ("t", ["SHA1(<t>)", "SHA2(<t>, 256)", "TO_BASE64(<t>)", "UNHEX(HEX(LEFT(<t>, 9)))"]),
    "FORMAT": ("t", ["FORMAT(<n>, 2)"]),
    "CONV": ("t", ["CONV(<w>, 10, 16)", "BIN(<w>)", "OCT(<w>)", "CHAR(97 + (<i>) USING utf8mb4)"]),
    "JSON_QUERY": ("t", ["JSON_QUERY(<j>, <q>)"]),
    "compared documents": ("c", ["JSON_EXTRACT(<j>, <q>) = <l>", "'a' <=> JSON_EXTRACT(<j>, <q>)", "JSON_EXTRACT(<j>, <q>) < <t>", "JSON_EXTRACT(<j>, <q>) <> <t>"]),
    "JSON_VALID": ("c", ["JSON_VALID(<j>)", "JSON_EXISTS(<j>, <q>)", "JSON_CONTAINS_PATH(<j>, 'one', <q>)"]),
    "JSON_LENGTH": ("n", ["JSON_LENGTH(<j>)"]),
    "JSON_TYPE": ("t", ["JSON_TYPE(<j>)", "JSON_QUOTE(<t>)"]),
    "of spans": ("n", ["EXTRACT(HOUR FROM <s>)", "EXTRACT(MINUTE_MICROSECOND FROM <s>)", "EXTRACT(SECOND_MICROSECOND FROM <s>)", "EXTRACT(DAY_HOUR FROM <s>)", "EXTRACT(HOUR_SECOND FROM <s>)"]),
    "of other types": ("n", ["<y> + 0", "<y> = <k>", "LENGTH(<y>)", "<y> IS NULL", "COALESCE(<y>, 5) + 0", "<y> > <w>", "<y> * <f>"]),
    "of other types as texts": ("t", ["CONCAT(<y>, '')", "HEX(<y>)", "LEFT(<y>, <i>)", "IF(<c>, <y>, 'x')", "CONCAT(<e>, <f>)", "CONCAT(<s>)"]),
}
CALLS = {**COMPUTED, **OTHERS}
PLACE = re.compile(r"<([a-z])>")


def names_of_table():
    """Of the functions that the engine computes, by docs/functions.md: a unit test holds that to the engine's own table."""
    with open(os.path.join(PROJECT, "docs", "functions.md"), encoding="utf-8") as page:
        rows = re.findall(r"^\| (.+?) \| .* \| .* \|.*\|$", page.read().partition("| function |")[2].partition("\n\n")[0], re.M)
    if len(rows) < 2:
        raise Failure("docs/functions.md has no table of functions")
    names = []
    for row in rows[1:]:
        names += [row] if row in COMPUTED else row.split(", ")
    return names


def check_names():
    """Whatever the table names is met by a call here."""
    if missing := sorted(set(names_of_table()) - set(COMPUTED)):
        raise Failure(f"the engine computes {', '.join(missing)} (docs/functions.md), of which tests/compare/calls.py has no call: add one")
