"""Random calls of the server's functions over the columns of a random table: of texts, bytes, JSON, regular expressions, times, addresses and numbers.
The engine computes few of them itself; the others the server evaluates for it, wherever they stand."""

import re

from columns import FILLED

TEXTS = ["fold", "nopad", "filled", "exact", "body", "story", "short", "document", "packed", "packed_text", "glyphs", "kind", "flags", "choice", "many"]
BYTES = ["raw", "fixed_raw", "lump", "medium_lump", "packed_lump", "packed_raw"]
TIMES = ["day", "moment", "moment6", "stamp", "instant"]
SPANS = ["span", "span6"]
WHOLE = ["tiny", "utiny", "small", "medium", "plain", "big", "ubig", "grouped", "year", "numbered", "zero_filled", "told", "twice", "thrice"]
DECIMALS = ["money", "price", "share", "total", "wide", "beyond", "deep", "huge", "thin", "padded"]
ADDRESSES = ["address", "old_address"]
# Columns of texts and bytes of which equal values are the same; so are those of numbers, but for floating-point ones, and of times.
SAME = ["exact", "story", "short", "packed", "packed_text", "glyphs", "raw", "fixed_raw", "lump", "medium_lump", "packed_lump", "packed_raw", "label", "address",
        "old_address", "day", "moment", "moment6", "span", "span6", "kind", "flags", "choice", "many", "quoted"]
WORDS = ["'a'", "'B'", "''", "' '", "'o'", "'abc'", "'x y'", "'é'", "'1'", "'-2.5'", "'2024-02-29'", "'\"'"]
SIZES = ["0", "1", "2", "3", "-1", "-2", "100", "id % 4", "NULL"]
PATTERNS = ["'a'", "'^[a-z]+$'", "'(o)(n)?'", "'[0-9]+'", "'.'", "'$'", "'x{2}'", "'(?i)A|é'", "'[[:space:]]'"]
# Not of `last`: of a constant path the server finds it once, and not in the next row.
PATHS = ["'$'", "'$.a'", "'$[0]'", "'$.b.c[1]'", "'$.*'", "'$**.c'"]
MOMENTS = ["'2001-02-03'", "'2024-10-27 02:30:00.5'", "DATE'2024-07-01'", "TIMESTAMP'2024-03-31 02:30:00.25'", "'9999-12-31 23:59:59'", "'1000-01-01'", "20240229", "'0000-00-00'"]
UNITS = ["YEAR", "MONTH", "DAY", "WEEK", "QUARTER", "HOUR", "MINUTE", "SECOND", "MICROSECOND"]

# Bytes are made of few characters only: of a LONGTEXT the server thinks that they have none, and does not sort by them.
# <t>: a text or bytes; <j>: what may be a document; <n>: a number; <w>: a whole number; <d>: a moment; <u>: a span of time; <c>: a condition; <x>: any column; <a>: an
# address; <l>: a word; <s>: a size; <r>: a pattern; <p>: a path; <m>: a constant moment; <i>: a unit.
OF_TEXT = ["UPPER(<t>)", "LOWER(<t>)", "CONCAT(<t>, <l>)", "CONCAT(<l>, <x>)", "CONCAT_WS('-', <t>, <n>, <l>)", "REPLACE(<t>, <l>, <l>)", "INSERT(<t>, <s>, <s>, <l>)",
           "SUBSTRING(<t>, <s>)", "SUBSTRING(<t>, <s>, <s>)", "LEFT(<t>, <s>)", "RIGHT(<t>, <s>)", "TRIM(<t>)", "TRIM(LEADING <l> FROM <t>)", "LTRIM(<t>)", "RTRIM(<t>)",
           "LPAD(<t>, 6, <l>)", "LPAD(<t>, <s>, <t>)", "RPAD(<t>, 5, <l>)", "RPAD(<x>, <s>, <l>)", "REVERSE(<t>)", "REPEAT(<t>, <s>)", "QUOTE(<t>)", "SOUNDEX(<t>)", "HEX(<x>)", "HEX(<t>)", "UNHEX(HEX(LEFT(<t>, 9)))", "UNHEX(LEFT(<t>, 4))",
           "TO_BASE64(<t>)", "FROM_BASE64(TO_BASE64(LEFT(<t>, 9)))", "MD5(<t>)", "SHA1(<t>)", "SHA2(<t>, 256)", "ELT(1 + id % 3, <t>, <l>, <l>)", "ELT(<w>, <t>, <x>)", "TRIM(<l> FROM <t>)", "TRIM(TRAILING <l> FROM <t>)", "MAKE_SET(<w>, <l>, <t>)",
           "EXPORT_SET(<w> & 15, 'Y', 'N', ',', 4)", "SUBSTRING_INDEX(<t>, <l>, <s>)", "FORMAT(<n>, 2)", "CONV(<w>, 10, 16)", "BIN(<w>)", "OCT(<w>)",
           "CHAR(97 + id % 26 USING utf8mb4)", "CONVERT(<t> USING utf8mb4)", "CONVERT(<t> USING latin1)", "CAST(<t> AS CHAR(3))", "CAST(<x> AS CHAR)", "CAST(<t> AS BINARY(4))",
           "COALESCE(<t>, <l>)", "IF(<c>, <t>, <l>)", "IFNULL(<t>, <l>)", "NULLIF(<t>, <l>)", "NVL2(<x>, <t>, <l>)", "CASE WHEN <c> THEN <t> WHEN <c> THEN <l> END",
           "CASE <t> WHEN <l> THEN <l> ELSE <t> END", "GREATEST(<t>, <l>)", "LEAST(<t>, <l>)", "NATURAL_SORT_KEY(<t>)", "SPACE(<s>)", "UNCOMPRESS(COMPRESS(<t>))"]
OF_PATTERN = ["REGEXP_REPLACE(<t>, <r>, <l>)", "REGEXP_SUBSTR(<t>, <r>)", "REGEXP_REPLACE(<t>, <r>, '[\\\\0]')"]
OF_DOCUMENT = ["JSON_VALUE(<j>, <p>)", "JSON_QUERY(<j>, <p>)", "JSON_EXTRACT(<j>, <p>)", "JSON_UNQUOTE(JSON_EXTRACT(<j>, <p>))", "JSON_OBJECT('k', <t>, 'n', <n>)",
               "JSON_ARRAY(<t>, <n>, NULL)", "JSON_SET(<j>, <p>, <n>)", "JSON_INSERT(<j>, '$.z', <t>)", "JSON_REPLACE(<j>, <p>, <l>)", "JSON_REMOVE(<j>, '$.a')",
               "JSON_MERGE_PATCH(<j>, '{\"z\": 1}')", "JSON_MERGE_PRESERVE(<j>, '[1]')", "JSON_KEYS(<j>)", "JSON_TYPE(<j>)", "JSON_SEARCH(<j>, 'one', '%1%')", "JSON_QUOTE(<t>)",
               "JSON_UNQUOTE(<t>)", "JSON_COMPACT(<j>)", "JSON_LOOSE(<j>)", "JSON_DETAILED(<j>)", "JSON_NORMALIZE(<j>)", "JSON_ARRAY_APPEND(<j>, '$', <n>)"]
OF_TIME_AS_TEXT = ["DATE_FORMAT(<d>, '%W %M %e %Y')", "DATE_FORMAT(<d>, '%Y-%m-%dT%H:%i:%s.%f')", "DAYNAME(<d>)", "MONTHNAME(<d>)", "TIME_FORMAT(<u>, '%H:%i:%s.%f')",
                   "CONCAT(<d>)", "CAST(<u> AS CHAR)", "DATE_FORMAT(<d>, '%x week %v')"]
AS_NUMBER = ["LENGTH(<t>)", "CHAR_LENGTH(<t>)", "BIT_LENGTH(<t>)", "ASCII(<t>)", "ORD(<t>)", "INSTR(<t>, <l>)", "LOCATE(<l>, <t>, 2)", "LOCATE(<t>, <t>, <s>)", "FIELD(<t>, <l>, <l>)", "FIELD(<t>, <t>, <x>)", "FIND_IN_SET(<t>, <t>)",
             "FIND_IN_SET(<l>, <t>)", "STRCMP(<t>, <l>)", "CRC32(<t>)", "REGEXP_INSTR(<t>, <r>)", "JSON_LENGTH(<j>)", "JSON_DEPTH(<j>)", "JSON_VALID(<t>)",
             "JSON_CONTAINS(<j>, '1', <p>)", "JSON_CONTAINS_PATH(<j>, 'one', <p>)", "JSON_EXISTS(<j>, <p>)", "JSON_OVERLAPS(<j>, '[1]')", "TO_DAYS(<d>)", "TO_SECONDS(<d>)",
             "DAYOFYEAR(<d>)", "WEEK(<d>, 3)", "WEEK(<d>, id % 8)", "WEEK(<d>, 6)", "WEEK(<d>)", "YEARWEEK(<d>)", "YEARWEEK(<d>, 5)", "CAST(<d> AS SIGNED)", "EXTRACT(DAY_MICROSECOND FROM <d>)", "EXTRACT(MINUTE_SECOND FROM <d>)",
              "WEEKDAY(<d>)", "DATEDIFF(<d>, <m>)", "TIME_TO_SEC(<u>)", "MICROSECOND(<d>)", "UNIX_TIMESTAMP(<d>)",
             "TIMESTAMPDIFF(<i>, <d>, <m>)", "PERIOD_ADD(202401, id)", "EXTRACT(YEAR_MONTH FROM <d>)", "EXTRACT(HOUR FROM <u>)", "CAST(<t> AS SIGNED)",
             "CAST(<t> AS DECIMAL(20,5))", "CAST(<n> AS DECIMAL(65,30))", "CAST(<n> AS UNSIGNED)", "CAST(<x> AS SIGNED)", "BIT_COUNT(<w>)", "FLOOR(<n>)", "CEIL(<n>)",
             "ROUND(<n>, <s>)", "TRUNCATE(<n>, <s>)", "SIGN(<n>)", "ABS(<n>)", "- <n>", "<n> * 2", "<n> + 1", "<n> - <n>", "<n> / 3", "<w> DIV 7", "<w> & 255", "~<w>", "<w> | 5", "<w> >> 2", "(<w> & <w>) ^ <w>", "<n> XOR <w>", "CASE <w> WHEN 0 THEN <n> WHEN 1 THEN 5 WHEN 7 THEN <w> ELSE 2 END",
             "CAST(<n> AS DOUBLE)", "CAST(<w> AS DECIMAL(12,2))", "SIGN(<w>)", "<w> << 3", "<w> ^ 5",
             "COALESCE(<n>, <n>)", "IF(<c>, <n>, 0)", "GREATEST(<n>, 5)", "LEAST(<n>, <n>)", "NULLIF(<n>, 1)", "INTERVAL(<w>, 1, 10, 100)", "IS_IPV4(<t>)", "IS_IPV6(<t>)",
             "INET_ATON(<t>)", "<c>"]
AS_TIME = ["DATE(<d>)", "CAST(<t> AS DATE)", "CAST(<t> AS DATETIME(3))", "CAST(<n> AS DATE)", "CAST(<n> AS DATETIME)", "CAST(<n> AS TIME)", "CAST(<t> AS TIME)",
           "STR_TO_DATE(<t>, '%Y-%m-%d')", "STR_TO_DATE(DATE_FORMAT(<d>, '%d.%m.%Y'), '%d.%m.%Y')", "<d> + INTERVAL id % 40 <i>", "<d> - INTERVAL 1 <i>",
           "DATE_ADD('2020-01-01', INTERVAL id <i>)", "LAST_DAY(<d>)", "ADDTIME(<d>, '1:00:00.5')", "SUBTIME(<u>, '0:30')", "TIMEDIFF(<d>, <d>)", "TIMESTAMP(<d>)",
           "TIMESTAMP(<d>, '01:00:00')", "MAKEDATE(2000 + id % 30, <w>)", "MAKETIME(id % 800, 5, 1.5)", "SEC_TO_TIME(<n>)", "FROM_DAYS(730000 + id)", "FROM_UNIXTIME(id * 86400)",
           "FROM_UNIXTIME(<n>)", "CONVERT_TZ(<d>, 'MET', '+00:00')", "TIMESTAMPADD(<i>, id, <d>)", "TIME(<d>)", "COALESCE(<d>, DATE'2001-01-01')", "IF(<c>, <d>, <d>)",
           "GREATEST(<d>, DATE'2010-01-01')", "LEAST(<d>, <d>)", "CASE <w> WHEN 1 THEN <d> ELSE LAST_DAY(<d>) END", "MAKEDATE(<w>, id)", "CAST(<d> AS DATETIME)", "NULLIF(<d>, DATE'2001-02-03')", "CAST(<d> AS TIME(3))"]
AS_ADDRESS = ["INET6_ATON(<a>)", "INET6_NTOA(INET6_ATON(<a>))", "COALESCE(<a>, '::1')", "CAST(<t> AS INET6)", "CAST(<t> AS UUID)", "IF(<c>, <a>, NULL)", "INET_NTOA(<w>)"]
CONDITIONS = ["<t> = <l>", "<t> > <l>", "<t> <= <l>", "<t> <=> <l>", "<t> IN (<l>, <l>)", "<t> BETWEEN <l> AND <l>", "<t> LIKE '%a%'", "<t> REGEXP <r>", "<t> NOT REGEXP <r>",
              "<x> IS NULL", "<x> IS NOT NULL", "<n> > <n>", "<n> = <n>", "<n> <> 1", "<n> BETWEEN 0 AND <n>", "<n> IN (0, 1, <n>)", "<w> + 0 IN (0, 1, 2, 3, 5, 7, 8, 77, -1, 127, -128, 255, 1999, 2024, 32767, 4294967295, NULL, 11, 12, 13)", "<n> + 1 IN (1, 2.5, 10.99, 0, -9, 1.000000001)", "(<n>) IS NOT FALSE", "<d> > <m>", "<d> BETWEEN <m> AND <m>", "<u> < '12:00'",
              "<d> = <m>", "<w> & 1", "JSON_VALID(<t>)", "JSON_CONTAINS_PATH(<j>, 'one', <p>)", "LENGTH(<t>) > 2", "NOT (<c>)", "(<c>) AND <c>", "(<c>) OR <c>", "(<c>) XOR <c>",
              "(<c>) IS TRUE", "(<c>) IS UNKNOWN", "id % 3 = 1", "id < 40"]
WIDEST = re.compile(r"deep|huge|beyond|wide|thin|DECIMAL\(65|[*/]")
PLACE = re.compile(r"<([a-z])>")


class Functions:
    """`names`: of columns that random tables have; `prefix`: of each in a statement, such as an alias with a point. `near` becomes True with an aggregate of
    floating-point numbers, which the server adds in the order of its rows."""

    def __init__(self, random, names, prefix=""):
        self.random = random
        self.names = names
        self.prefix = prefix
        self.near = False

    def column(self, kinds=None, otherwise="id"):
        """One of those kinds, or of any."""
        there = [name for name in self.names if kinds is None or name in kinds]
        return self.prefix + (self.random.choice(there) if there else otherwise)

    def _part(self, letter, depth):
        choose = self.random.choice
        deeper = depth > 0 and self.random.random() < 0.35
        if letter == "t":
            return self.text(depth - 1) if deeper else self.column(TEXTS + BYTES)
        if letter == "j":
            return self.document(depth - 1) if deeper else self.column(["document", "document", "body", "story"], "told") if "document" in self.names else choose(
                ["'{\"a\": 1}'", "'[1, 2, {\"a\": null}]'", f"JSON_ARRAY({self.prefix}id, 1)", f"JSON_OBJECT('a', {self.prefix}id)"])
        if letter == "n":
            return self.number(depth - 1) if deeper else choose([self.column(WHOLE + DECIMALS), self.column(DECIMALS), self.column(DECIMALS), "1", "2.5", "-7"])
        if letter == "w":
            return self.column(WHOLE)
        if letter == "d":
            return self.time(depth - 1) if deeper else self.column(TIMES, "id") if any(name in TIMES for name in self.names) else choose(MOMENTS[1:4])
        if letter == "u":
            return self.column(SPANS) if any(name in SPANS for name in self.names) else f"SEC_TO_TIME({self.prefix}id)"
        if letter == "c":
            return self.condition(depth - 1)
        if letter == "x":
            return self.column()
        if letter == "a":
            return self.column(ADDRESSES) if any(name in ADDRESSES for name in self.names) else "'2001:db8::1'"
        return choose({"l": WORDS, "s": SIZES, "r": PATTERNS, "p": PATHS, "m": MOMENTS, "i": UNITS}[letter])

    def _fill(self, templates, depth):
        filled = PLACE.sub(lambda match: self._part(match.group(1), depth), self.random.choice(templates))
        return re.sub(r"(?<![\w.])id(?!\w)", f"{self.prefix}id", filled) if self.prefix else filled

    def text(self, depth=1):
        return self._fill(self.random.choice([OF_TEXT, OF_TEXT, OF_TEXT, OF_PATTERN, OF_DOCUMENT, OF_TIME_AS_TEXT]), depth)

    def document(self, depth=1):
        return self._fill(OF_DOCUMENT, depth)

    def number(self, depth=1):
        """Of whole numbers and decimals, which are exact."""
        return f"({self._fill(AS_NUMBER, depth)})"

    def bounded(self, depth=1):
        """A number of which a sum has no more than 65 digits, and which has not more of them than its type tells: where it has, it is up to the server's plan
        whether a table that it makes of the rows keeps all."""
        number = self.number(depth)
        return f"CAST({number} AS DECIMAL(58,25))" if WIDEST.search(number) else number

    def time(self, depth=1):
        return self._fill(AS_TIME, depth)

    def condition(self, depth=1):
        templates = CONDITIONS if depth > 0 else [text for text in CONDITIONS if "<c>" not in text]
        return self._fill(templates, depth)

    def value(self, depth=1):
        """Of any type."""
        choice = self.random.random()
        if choice < 0.5:
            return self.text(depth)
        if choice < 0.7:
            return self.number(depth)
        if choice < 0.85:
            return self.time(depth)
        return self._fill(AS_ADDRESS, depth) if choice < 0.9 else self.column()

    def same(self, depth=1, times=True):
        """A value of which equal ones are the same, so that it does not matter which of them stands for the others. `times`: of these types, too."""
        choice = self.random.random()
        if choice < 0.2:
            return self.column([name for name in [*SAME, *WHOLE, *DECIMALS] if name not in FILLED])
        if choice < 0.55:
            return self.bytewise(self.text(depth))
        return self.bounded(depth) if choice < 0.8 or not times else self.time(depth)

    def bytewise(self, text):
        """A text that is equal to the same ones only. Sorted by a collation without padding the server takes a zero byte for none, so that groups fall apart."""
        characters = f"REPLACE(CONVERT({text} USING utf8mb4), CHAR(0 USING utf8mb4), '0') COLLATE utf8mb4_nopad_bin"
        return self.random.choice([characters, characters, f"HEX({text})", f"CAST({text} AS BINARY)", f"TO_BASE64({text})"])

    def alike(self, other):
        """Two values of one kind, this one's and another one's: a text that is looked up among times or numbers is found or not as the server's plan converts it."""
        if self.random.random() < 0.5:
            return self.bounded(), other.bounded()
        return f"HEX({self.text()})", f"HEX({other.text()})"

    def aggregate(self, grouped=True):
        """What it tells is the same in whatever order its rows come, but for floating-point sums. Without groups the server's MIN and MAX of a time that a
        conversion makes NULL are a zero date."""
        kind = self.random.choice(["COUNT", "MIN", "MAX", "MIN", "MAX", "SUM", "AVG", "COUNT(DISTINCT", "GROUP_CONCAT", "GROUP_CONCAT(DISTINCT", "JSON_ARRAYAGG", "BIT_XOR", "BIT_OR",
                                   "BIT_AND", "two", "SUM(DISTINCT", "floating"])
        if kind == "floating":
            self.near = True
            # Texts of few characters, so that no sum is all rounding.
            return f"{self.random.choice(['SUM', 'AVG', 'STD', 'VARIANCE', 'STDDEV_SAMP', 'VAR_SAMP'])}(LEFT(CONCAT({self.value()}), 2))"
        if kind == "COUNT":
            return f"COUNT({self.value()})"
        if kind in ("MIN", "MAX", "COUNT(DISTINCT"):
            return f"{kind}{'' if '(' in kind else '('} {self.same(times=grouped)})"
        if kind in ("SUM", "AVG", "SUM(DISTINCT"):
            return f"{kind}{'' if '(' in kind else '('}{self.bounded()})"
        if kind == "GROUP_CONCAT":
            return f"GROUP_CONCAT({self.value()} ORDER BY {self.prefix}id{self.random.choice(['', ' DESC'])} SEPARATOR '|')"
        if kind == "GROUP_CONCAT(DISTINCT":
            value = self.same()
            return f"GROUP_CONCAT(DISTINCT {value} ORDER BY {value})"
        if kind == "JSON_ARRAYAGG":
            return f"JSON_ARRAYAGG({self.value()} ORDER BY {self.prefix}id)"
        if kind == "two":
            return f"COUNT(DISTINCT {self.same()}, {self.same()})"
        return f"{kind}({self.number()})"

    def of_aggregate(self, aggregate):
        """A function of an aggregate."""
        return self.random.choice([f"CONCAT({aggregate}, '!')", f"LENGTH({aggregate})", f"HEX({aggregate})", f"COALESCE({aggregate}, 'none')", f"IF({aggregate} IS NULL, 1, 2)",
                                   f"UPPER({aggregate})", f"LEFT({aggregate}, 3)", f"REPLACE({aggregate}, 'a', 'bb')", f"REGEXP_REPLACE({aggregate}, '[a-z]', '.')",
                                   f"JSON_QUOTE(CONCAT({aggregate}))", f"CAST({aggregate} AS CHAR)"])
