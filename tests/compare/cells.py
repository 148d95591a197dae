"""The grid's cells: a call of a function over a table of values at the limits, in a place of a statement."""

import collections
import re

import limits
from calls import CALLS, COMPUTED, PLACE
from engines import NONE, Difference, text
from program import Failure
from ways import ENGINE, INNODB, TARGETS, WAYS
from zones import ZONES

SQL_MODES = ["", "", "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ZERO_DATE,NO_ZERO_IN_DATE", "STRICT_ALL_TABLES", "ERROR_FOR_DIVISION_BY_ZERO", "ANSI", "NO_UNSIGNED_SUBTRACTION",
             "PAD_CHAR_TO_FULL_LENGTH", "ALLOW_INVALID_DATES", "NO_ZERO_IN_DATE,NO_ZERO_DATE", "NO_ZERO_IN_DATE", "TIME_ROUND_FRACTIONAL", "NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT",
             "ALLOW_INVALID_DATES,ERROR_FOR_DIVISION_BY_ZERO,NO_ZERO_DATE", "HIGH_NOT_PRECEDENCE"]
ROWS = 100
OTHER_ROWS = 25
MOST_RANGES = 8  # of rows that do not fail, in a condition
PLACES_OF_A_CALL = 5
NUMBERS = ["0", "1", "-1", "2", "3", "10", "127", "-128", "255", "65536", "9223372036854775807", "-9223372036854775808", "18446744073709551615", "0.5", "-2.50", "0.001", "1e0", "1.5e0",
           "1e-3", "99999999999999999.99", "12345678901234567890123456789.5", "0.00", "NULL", "TRUE"]
SMALL = ["0", "1", "2", "3", "-1", "-3", "7", "30", "100", "id % 5", "id", "- id", "NULL"]
LITERALS = ["'a'", "''", "' '", "'A'", "'b'", "'ab'", "'é'", "'x'", "'12'", "'a '", "NULL", "'😀'", "'日'", "'-'"]
LIKES = ["'a%'", "'%a'", "'%a%'", "'_'", "'%'", "''", "'a_c%'", "'%é%'", "'A%'", "'a\\\\%b'", "'% '", "NULL", "'_b%_'"]
PATTERNS = ["'a'", "'^[a-z]+$'", "'(a)(b)?'", "'[0-9]+'", "'.'", "'$'", "'(?i)A|é'", "'[[:space:]]'"]
MOMENTS = ["'2024-02-29'", "DATE'2024-07-01'", "TIMESTAMP'2024-03-31 02:30:00.5'", "'2024-10-27 02:30:00'", "'9999-12-31 23:59:59'", "'1000-01-01'", "'0000-00-00'", "20240229",
           "TIMESTAMP'2024-10-27 01:00:00'", "DATE'1970-01-01'", "NULL"]
UNITS = ["YEAR", "MONTH", "DAY", "WEEK", "QUARTER", "HOUR", "MINUTE", "SECOND", "MICROSECOND", "DAY", "MONTH"]
FORMATS = ["'%Y-%m-%d'", "'%Y-%m'", "'%H:%i:%s.%f'", "'%d.%m.%y %T'", "'%j %e %c'", "'%W %M'", "'%x-%v'", "'%I %p %r'", "'%%'", "'%Y'", "''", "'%k %l %w'", "'%D'", "c_any"]
PATHS = ["'$'", "'$.a'", "'$[0]'", "'$.*'", "'$**.b'", "'$[1]'", "'$.b.c[0]'"]
CHOICE = re.compile(r"\b(IF|IFNULL|COALESCE|CASE|NULLIF|GREATEST|LEAST)\b")
COLUMN = re.compile(r"\b(?:c_\w+|id)\b")
ZERO_WITH_SIGN = re.compile(r"-0(\.0+)?")
Call = collections.namedtuple("Call", "sql name kind columns inner")


class Shares:
    """Of calls of columns and constants, by function: how many the engine computed, asked the server for, and left to it with their statement."""

    KINDS = ("computed", "asked", "left")

    def __init__(self):
        self._counts = collections.defaultdict(collections.Counter)
        self.met = collections.Counter()  # calls, nested ones, too, that were asked in some place

    def add(self, name, kind):
        self._counts[name][kind] += 1

    def calls(self):
        return sum(self.met.values())

    def text(self):
        lines = ["function: calls met, and of those of columns: computed by the engine, asked of the server, left to it"]
        for name in CALLS:
            counts = self._counts[name]
            alone = max(1, sum(counts.values()))
            lines.append(f"  {name}: {self.met[name]}; " + ", ".join(f"{100 * counts[kind] / alone:.0f} %" for kind in self.KINDS))
        return "\n".join(lines)

    def check(self):
        """Of a run that meets each function often: what the table names, the engine computes for some columns."""
        rare = [name for name in COMPUTED if sum(self._counts[name].values()) >= 30 and not self._counts[name]["computed"]]
        if rare:
            raise Failure(f"the engine is said to compute {', '.join(rare)}, and did so for none of the calls")


def state_of(ways, call, kind, table):
    """Who computes a call over the table's columns, by EXPLAIN EXTENDED; None: the call fails."""
    # What is never NULL is counted without being computed.
    selects = {"d": ["COUNT(*) FROM {0} WHERE ({1}) > DATE'2020-01-01'"], "t": ["COUNT({1}) FROM {0}", "MAX({1}) FROM {0}"], "c": ["SUM({1}) FROM {0}"], "n": ["COUNT({1}) FROM {0}", "SUM({1}) FROM {0}"]}
    for of in selects[kind]:
        answer = ways.run(ENGINE, f"EXPLAIN EXTENDED SELECT {of.format(table, call)}")
        if answer.error is not None:
            return None
        notes = [note for _, note in answer.warnings if note.startswith("HAILSTONE")]
        if not notes or any("leaves select" in note for note in notes):
            return "left"
        if any("by the server" in note for note in notes):
            return "asked"
        if any(re.search(r" (compute|filter): |; filtered", note) for note in notes):
            return "computed"
    return "computed"


class Cells:
    def __init__(self, random_source, ways, shares, only=None):
        self.random = random_source
        self.ways = ways
        self.shares = shares
        self.names = [name for name in CALLS if not only or only in name]
        if not self.names:
            raise Failure(f"no function has '{only}' in its name")
        self.mode = ""

    def draw_from(self, random_source):
        self.random = random_source

    # The tables.

    def make(self):
        self._in_mode("ALLOW_INVALID_DATES", "+00:00")
        self.decimals = self.random.random() < 0.3
        self.columns = (limits.of_decimals if self.decimals else limits.of_all_types)(self.random)
        self.by_name = {column.name: column for column in self.columns}
        self.not_null = {column.name for column in self.columns if self.random.random() < 0.15}
        self.rows = {"t": self._rows(ROWS), "u": self._rows(OTHER_ROWS)}
        columns = ", ".join(f"{column.name} {self._kind(column)}" for column in self.columns)
        self.definition = f"(id INT NOT NULL, {columns})"
        for name, rows in self.rows.items():
            self._both(f"DROP TABLE IF EXISTS {name}")
            self._both(f"CREATE TABLE {name} {self.definition}")
            # Literals differ in their types: many rows in one list of VALUES would be converted to a common one.
            for number, row in enumerate(rows, 1):
                self._both(f"INSERT IGNORE INTO {name} VALUES ({number}, {', '.join(row)})")
            if self.random.random() < 0.7:
                self.ways.run(ENGINE, f"OPTIMIZE TABLE {name}")
            shown = [self.ways.run(way, f"SELECT * FROM {name} ORDER BY id").rows for way in (ENGINE, INNODB)]
            if shown[0] != shown[1] or len(shown[0]) != len(rows):
                raise Failure(f"the rows of {name} differ: {[pair for pair in zip(*shown) if pair[0] != pair[1]][:3]}")

    def _kind(self, column):
        if column.name not in self.not_null:
            return column.kind
        return f"{column.kind.removesuffix(' NULL')} NOT NULL"

    def _rows(self, count):
        rows = []
        for number in range(count):
            empty = number == 1
            rows.append(["NULL" if column.name not in self.not_null and (empty or self.random.random() < 0.1) else self.random.choice(column.values) for column in self.columns])
        return rows

    def _both(self, sql):
        for way in (ENGINE, INNODB):
            answer = self.ways.run(way, sql)
            if answer.error is not None:
                raise Failure(f"'{sql}' failed with error {answer.error}: {answer.warnings}")

    def _in_mode(self, mode, zone):
        self.mode, self.zone = mode, zone
        # By default the server sorts by the first KiB of a text, and leaves rows that are equal so far in any order.
        self.ways.set(f"SET sql_mode = '{mode}', time_zone = '{zone}', max_sort_length = 65536")

    # The calls.

    def _column(self, letters, collation=None):
        there = [column for column in self.columns if column.letter in letters]
        if collation:
            there = [column for column in there if collation in column.kind] or there
        return self.random.choice(there).name if there else None

    def _part(self, letter, depth, collation):
        choose = self.random.choice
        kind = {"n": "n", "w": "n", "v": "n", "e": "n", "f": "n", "t": "t", "d": "d", "c": "c"}.get(letter)
        if depth > 0 and kind and self.random.random() < 0.6:
            inner = self.call(depth - 1, kind, collation)
            self._inner.append(inner)
            return f"({inner.sql})"
        if letter == "c":
            return self._condition(collation)
        letters = {"n": choose(["wv", "e", "f", "wvef", "e"]), "w": "wv", "v": "v", "e": "e", "f": "f", "t": choose(["t", "t", "t", "t", "tb"]), "d": "d", "s": "s", "y": "yg", "g": "g",
                   "x": "wveftbdsyg", "j": "t"}.get(letter)
        if letters:
            fallback = {"v": "w", "f": "e", "n": "w"}.get(letters, None)
            name = self._column(letters, collation) or (fallback and self._column(fallback)) or self._column("w") or self._column("v")
            return name or "id"
        if letter == "p":
            format_text = choose(FORMATS)
            return format_text if format_text != "c_any" else self._column("t") or "'%Y'"
        return choose({"k": NUMBERS, "i": SMALL, "l": LITERALS, "o": LIKES, "r": PATTERNS, "m": MOMENTS, "u": UNITS, "q": PATHS}[letter])

    def _condition(self, collation):
        template = self.random.choice(["<n> > <k>", "<n> = <n>", "<n> < <n>", "<n> IS NULL", "<t> = <l>", "<t> > <l>", "<t> IS NOT NULL", "<d> > <m>", "<d> IS NULL", "<w>", "<n> IN (0, 1)"])
        if self.decimals:
            template = "<e> > <k>"
        return PLACE.sub(lambda match: self._part(match.group(1), 0, collation), template)

    def call(self, depth, kind=None, collation=None, name=None):
        """`kind`: of its result; `name`: of the function."""
        if name is None:
            names = [each for each in self.names if not kind or CALLS[each][0] == kind] or [each for each in CALLS if CALLS[each][0] == kind]
            if self.decimals:
                names = [each for each in names if not {*"tdsyjg"} & {*PLACE.findall(" ".join(CALLS[each][1]))} or "<e>" in " ".join(CALLS[each][1])] or names
            # The first ones are the engine's.
            name = self.random.choice([each for each in names if each in COMPUTED] or names) if self.random.random() < 0.6 else self.random.choice(names)
        templates = CALLS[name][1]
        if self.decimals:
            templates = [template for template in templates if not {*"tdsyjg"} & {*PLACE.findall(template)}] or templates
        if collation is None and self.random.random() < 0.85:
            texts = [column for column in self.columns if column.letter == "t"]
            collation = self.random.choice(texts).kind.partition(" COLLATE ")[2] if texts else None
        before, self._inner = getattr(self, "_inner", []), []
        sql = PLACE.sub(lambda match: self._part(match.group(1), depth, collation), self.random.choice(templates))
        inner, self._inner = self._inner, before
        return Call(sql, name, CALLS[name][0], sorted({column for column in COLUMN.findall(sql) if column != "id"}), inner)

    def of_other(self, call, alias):
        """The call with each column of a table that the statement has under this name."""
        return COLUMN.sub(lambda match: f"{alias}.{match.group()}", call.sql)

    # The cells of one call.

    def meet(self):
        self._in_mode(self.random.choice(SQL_MODES), self.random.choice(ZONES))
        name = self.random.choice(self.names) if self.random.random() < 0.5 else None
        call = self.call(self.random.choice([0, 0, 1, 2]), name=name)
        self.where = None
        self.shares.met[call.name] += 1
        if not call.inner:
            self._share(call)
        try:
            self._meet(call)
        except Difference as difference:
            raise Failure(f"{difference}\n{self._smallest(call, difference)}") from difference

    def _meet(self, call):
        ranges, failing = self._good_ranges(call)
        for first, last in ranges:
            self._compare(f"SELECT id, {call.sql} AS x FROM t WHERE id BETWEEN {first} AND {last} ORDER BY id")
        for number in self.random.sample(failing, min(4, len(failing))):
            self._compare(f"SELECT id, {call.sql} AS x FROM t WHERE id BETWEEN {number} AND {number} ORDER BY id", columns=None)
        ranges.sort(key=lambda each: each[0] - each[1])
        if not ranges:
            return
        self.where = "id > 0" if ranges == [(1, ROWS)] else f"({' OR '.join(f'id BETWEEN {first} AND {last}' for first, last in ranges[:MOST_RANGES])})"
        values = [row[0] for row in self.ways.run(INNODB, f"SELECT {call.sql} FROM t WHERE {self.where}").rows]
        # A zero with a sign is not 0 to the server's comparisons (differences.md).
        if any(ZERO_WITH_SIGN.fullmatch(text(value)) for value in values if value != NONE):
            return
        self.all_values = values
        self.is_small = all(value == NONE or len(text(value)) < 7 for value in values)
        self.values = [value for value in dict.fromkeys(values) if value != NONE and len(value) < 40 and "\\" not in value and "'" not in text(value) and value.isprintable()]
        for place in self.random.sample(self.places(), PLACES_OF_A_CALL):
            place(call)

    def places(self):
        return [self._as_condition, self._as_condition, self._as_order, self._as_key, self._as_key, self._in_aggregates, self._in_aggregates, self._in_aggregates, self._in_having,
                self._in_merged, self._in_stored, self._in_join, self._in_outer_join, self._in_insert]

    def _good_ranges(self, call):
        """Ranges of ids of which no row fails, and those of rows that do, by InnoDB."""
        good, failing = [], []

        def look(first, last):
            if self.ways.run(INNODB, f"SELECT id, {call.sql} AS x FROM t WHERE id BETWEEN {first} AND {last} ORDER BY id").error is None:
                if good and good[-1][1] == first - 1:
                    good[-1] = (good[-1][0], last)
                else:
                    good.append((first, last))
            elif first == last:
                failing.append(first)
            elif self.ways.run(INNODB, f"SELECT {call.sql} FROM t WHERE id < 0").error is not None:
                failing.append(first)
            else:
                middle = (first + last) // 2
                look(first, middle)
                look(middle + 1, last)

        look(1, ROWS)
        return good, failing

    def _share(self, call):
        state = state_of(self.ways, call.sql, call.kind, "t")
        if state:
            self.shares.add(call.name, state)

    def _compare(self, sql, **how):
        self.asked = (sql, how)
        self.ways.compare(sql, **how)

    # The places.

    def _value(self, call):
        """A constant beside the call's values."""
        if self.values and self.random.random() < 0.7:
            value = self.random.choice(self.values)
            return text(value) if call.kind in "nc" and re.fullmatch(r"-?\d+(\.\d+)?(e[-+]?\d+)?", text(value)) else value
        return self.random.choice({"n": NUMBERS, "c": ["0", "1"], "t": LITERALS, "d": MOMENTS}[call.kind])

    def _test(self, call, sql=None):
        """A condition on the call, or on what has its value."""
        sql = sql or f"({call.sql})"
        choose = self.random.choice
        # Of a list of one constant again and again the server's optimizer makes "=", which takes a DECIMAL's negative zero for zero: IN does not.
        first, second = self._value(call), self._value(call)
        listed = first if first == second else f"{first}, {second}"
        tests = [f"{sql} {choose(['=', '<>', '<', '<=', '>', '>=', '<=>'])} {self._value(call)}", f"{sql} IS {choose(['', 'NOT '])}NULL",
                 f"{sql} {choose(['', 'NOT '])}BETWEEN {self._value(call)} AND {self._value(call)}", f"{sql} {choose(['', 'NOT '])}IN ({listed})"]
        if call.kind in "nc":
            tests += [sql, f"NOT {sql}"]
        if call.kind == "t":
            tests.append(f"{sql} LIKE {choose(LIKES)}")
        return choose(tests)

    def _as_condition(self, call):
        self._compare(f"SELECT id FROM t WHERE {self.where} AND {self._test(call)} ORDER BY id")

    def _as_order(self, call):
        if self._is_sorted_otherwise(call):
            return
        limit = self.random.choice(["", "", " LIMIT 7", " LIMIT 3, 9"])
        shown = self.random.choice(["id", f"id, {call.sql} AS x"])
        self._compare(f"SELECT {shown} FROM t WHERE {self.where} ORDER BY {call.sql}{self.random.choice(['', ' DESC'])}, id{limit}", warnings="which")

    def _as_key(self, call):
        # A choice of TINYTEXTs is one group to the server, whatever the texts are (differences.md).
        if "tinytext" in call.sql and CHOICE.search(call.sql):
            return
        if not self._has_extremes(call):
            return
        other = self.random.choice(["", "", ", id % 3"])
        having = self.random.choice(["", "", " HAVING COUNT(*) > 1"])
        self._compare(f"SELECT COUNT(*) AS n, MIN(id) AS i, SUM(id) AS s FROM t WHERE {self.where} GROUP BY {call.sql}{other}{having} ORDER BY i", warnings="which")

    def _aggregates(self, call):
        """And whether they may differ in the last digits."""
        sql = call.sql
        all_of_them = [f"COUNT({sql})", f"COUNT(DISTINCT {sql})", f"GROUP_CONCAT({sql} ORDER BY id SEPARATOR '|')", f"GROUP_CONCAT({sql} ORDER BY id DESC)"]
        extreme = self.random.choice(["MIN", "MAX"]) if self._has_extremes(call) else "COUNT"
        all_of_them.append(self._shown_text(call, f"{extreme}({sql})") if call.kind == "t" else f"{extreme}({sql})")
        if call.kind in "nc":
            # Of greater numbers the engine's spreads have more right digits (differences.md).
            spreads = ["STDDEV", "VAR_SAMP"] if self.is_small else []
            all_of_them += [f"{aggregate}({sql})" for aggregate in ("SUM", "AVG", "BIT_AND", "BIT_OR", "BIT_XOR", "SUM", "AVG", "MIN", "MAX", "SUM(DISTINCT", *spreads)]
        chosen = self.random.sample(all_of_them, self.random.choice([1, 1, 2]))
        return [each + ")" if "DISTINCT" in each and each.startswith("SUM") else each for each in chosen]

    def _is_sorted_otherwise(self, call):
        """By bytes the server sorts computed texts by spaces at their ends, too (differences.md), without padding it takes a zero byte for none, and JSON_UNQUOTE() may hand on bytes of
        another character set. Quotients of more than 65 digits it sorts by some of them."""
        if self._has_foreign_bytes(call) or (" / " in call.sql and re.search(r"c_dec([3-6]\d)", call.sql)):
            return True
        if call.kind != "t":
            return False
        collation = self._collation(call)
        has_zeros = any("\0" in value for value in self.all_values)
        return (collation.endswith("_bin") and not collation.startswith("utf")) or ("nopad" in collation and has_zeros)

    def _collation(self, call):
        return text(self.ways.run(INNODB, f"SELECT COLLATION({call.sql}) FROM t LIMIT 1").rows[0][0])

    @staticmethod
    def _has_foreign_bytes(call):
        """Of another character set than UTF-8, which JSON_UNQUOTE() hands on as they are (differences.md)."""
        return "JSON_UNQUOTE" in call.sql

    def _has_extremes(self, call):
        """What a mode makes NULL, or takes for no day, is a zero date to MIN, MAX and GROUP BY, or not, as the server stores it or compares it first (differences.md)."""
        if self._has_foreign_bytes(call):
            return False
        return call.kind != "d" or ("ALLOW_INVALID" in self.mode and "NO_ZERO" not in self.mode)

    def _shown_text(self, call, aggregate):
        """The same of whichever of equal texts is taken."""
        collation = self._collation(call)
        return f"HEX(WEIGHT_STRING({aggregate if 'nopad' in collation or collation == 'binary' else f'RTRIM({aggregate})'}))"

    def _is_real(self, call):
        [_, column] = self.ways.run(INNODB, f"SELECT id, {call.sql} AS x FROM t WHERE id < 0").columns
        return column[1] in (4, 5)

    def _in_aggregates(self, call):
        aggregates = self._aggregates(call)
        by = self.random.choice(["", "id % 4", "id % 4"])
        rounds = self._is_real(call)
        if rounds and any(re.match(r"SUM|AVG|STD|VAR", each) for each in aggregates):
            # Sums of numbers that are so far from each other are all rounding: each row is a group.
            by = "id"
        elif " / " in call.sql and by:
            # Of quotients a table of groups keeps the digits that show, row by row, and other plans keep all.
            by = ""
        near = any(re.match(r"STD|VAR", each) for each in aggregates)
        shown = ", ".join(f"{each} AS a{number}" for number, each in enumerate(aggregates))
        key = f"{by} AS k, " if by else ""
        self._compare(f"SELECT {key}{shown} FROM t WHERE {self.where}{' GROUP BY k ORDER BY k' if by else ''}", warnings="which", near=near)

    def _in_having(self, call):
        # A text that is the least or the greatest may be any of equal ones.
        aggregate = self.random.choice(["COUNT"] if call.kind == "t" or not self._has_extremes(call) else ["COUNT", "MIN", "MAX"])
        test = self._test(call, f"{aggregate}({call.sql})") if aggregate != "COUNT" else f"COUNT({call.sql}) > {self.random.choice([0, 5, 20])}"
        self._compare(f"SELECT id % 7 AS k, COUNT(*) AS n FROM t WHERE {self.where} GROUP BY k HAVING {test} ORDER BY k", warnings="which")

    def _outer(self, call):
        """Of a derived table's column x."""
        return self.random.choice({"n": ["x", "x + 1", "- x", "x IS NULL", "COALESCE(x, 0)", "x * x"], "c": ["x", "NOT x", "x + x"], "t": ["x", "CONCAT(x, '!')", "LENGTH(x)", "UPPER(x)", "HEX(x)"],
                                   "d": ["x", "DATE(x)", "YEAR(x)", "x + INTERVAL 1 DAY", "DATE_FORMAT(x, '%Y')"]}[call.kind])

    def _fails(self, sql):
        return self.ways.run(INNODB, sql).error is not None

    def _in_merged(self, call):
        sql = f"SELECT id, {self._outer(call)} AS y FROM (SELECT id, {call.sql} AS x FROM t WHERE {self.where}) s WHERE {self._test(call, 'x')} ORDER BY id"
        if not self._fails(sql):
            self._compare(sql, warnings="which")

    def _in_stored(self, call):
        inner = self.random.choice([f"SELECT DISTINCT id, {call.sql} AS x FROM t WHERE {self.where}", f"SELECT id, {call.sql} AS x FROM t WHERE {self.where} ORDER BY id LIMIT 60",
                                    f"SELECT id, {call.sql} AS x FROM t WHERE {self.where} UNION ALL SELECT id + 1000, {call.sql} FROM t WHERE {self.where}"])
        sql = f"SELECT id, {self._outer(call)} AS y FROM ({inner}) s WHERE {self._test(call, 'x')} ORDER BY id"
        if not self._fails(sql):
            self._compare(sql, warnings="which", columns="kept")

    def _in_join(self, call):
        one, other = self.of_other(call, "a"), self.of_other(call, "b")
        where = COLUMN.sub(lambda match: f"a.{match.group()}", self.where)
        sql = self.random.choice([f"SELECT a.id, b.id FROM t a JOIN u b ON {one} = {other} WHERE {where}",
                                  f"SELECT a.id, b.id FROM t a JOIN t b ON {one} = {other} AND b.id < 30 WHERE {where}",
                                  f"SELECT a.id, b.id FROM t a JOIN u b ON a.id = b.id AND {self._test(call, other)} WHERE {where}",
                                  f"SELECT a.id, b.id FROM t a JOIN u b ON a.id = b.id + 3 AND {one} >= {other} WHERE {where}"])
        if not self._fails(sql):
            self._compare(sql, warnings=None, columns="kept", ordered=False)

    def _in_outer_join(self, call):
        other = self.of_other(call, "b")
        where = COLUMN.sub(lambda match: f"a.{match.group()}", self.where)
        # Without an order, for which the server would store the rows in a table, and cut what is longer than its type.
        sql = f"SELECT a.id, b.id, {other} AS x FROM t a LEFT JOIN u b ON a.id = b.id AND {self._test(call, f'({other})')} WHERE {where} AND a.id < 40"
        if not self._fails(sql):
            self._compare(sql, warnings=None, columns="kept", ordered=False)

    def _in_insert(self, call):
        shown = f"SELECT id, {call.sql} AS x FROM t WHERE {self.where}"
        made = [self.ways.run(way, f"CREATE OR REPLACE TABLE {name} AS {shown} LIMIT 0") for way, name in TARGETS.items()]
        if any(answer.error for answer in made):
            if {answer.error for answer in made} != {made[0].error}:
                raise Difference(f"errors differ for: CREATE TABLE target AS {shown} LIMIT 0\n{made}")
            return
        definitions = [re.sub(r" ENGINE=\w+|[`\"]target\w*[`\"]", "", text(self.ways.run(way, f"SHOW CREATE TABLE {name}").rows[0][1])) for way, name in TARGETS.items()]
        if len({*definitions}) > 1:
            raise Difference(f"columns differ of: CREATE TABLE target AS {shown} LIMIT 0\n" + "\n".join(definitions))
        verb = self.random.choice(["INSERT", "INSERT IGNORE"])
        self._compare({way: f"{verb} INTO {name} {shown} ORDER BY id" for way, name in TARGETS.items()}, shown=f"{verb} INTO target {shown} ORDER BY id", columns=None)
        self._compare({way: f"SELECT * FROM {name} ORDER BY id" for way, name in TARGETS.items()}, shown=f"SELECT * FROM target after {shown}")

    # A difference made small.

    def _smallest(self, call, difference):
        """Statements that show it with as few rows and columns as it takes, if one row is enough."""
        lines = [f"sql_mode = '{self.mode}', time_zone = '{self.zone}'"]
        sql, how = self.asked
        if isinstance(sql, str) and self.where and self.where in sql:
            for number in range(1, ROWS + 1):
                try:
                    self.ways.compare(sql.replace(self.where, f"id BETWEEN {number} AND {number}"), **how)
                except Difference as smaller:
                    return "\n".join([*lines, *self._row(call, number), f"{smaller}"])
        for each in [*self._inner_first(call)]:
            for number in range(1, ROWS + 1):
                for sql in (f"SELECT id, {each.sql} AS x FROM t WHERE id BETWEEN {number} AND {number} ORDER BY id", f"SELECT COUNT(*) AS n, MIN(id) AS i FROM t WHERE id BETWEEN {number} AND {number} GROUP BY {each.sql}",
                            f"SELECT COUNT({each.sql}) AS n FROM t WHERE id BETWEEN {number} AND {number}"):
                    try:
                        self.ways.compare(sql, columns="columns differ" in str(difference), warnings="which" if "GROUP" in sql else "warnings differ" in str(difference))
                    except Difference as smaller:
                        return "\n".join([*lines, *self._row(each, number), f"{smaller}"])
        return "\n".join([*lines, f"columns: {', '.join(f'{name} {self._kind(self.by_name[name])}' for name in call.columns)}"])

    def _inner_first(self, call):
        for inner in call.inner:
            yield from self._inner_first(inner)
        yield call

    def _row(self, call, number):
        kinds = ", ".join(f"{name} {self._kind(self.by_name[name])}" for name in call.columns)
        row = self.rows["t"][number - 1]
        values = ", ".join(row[[column.name for column in self.columns].index(name)] for name in call.columns)
        return [f"of one row: CREATE TABLE t (id INT NOT NULL, {kinds}); INSERT INTO t VALUES ({number}, {values})"]
