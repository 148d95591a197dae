"""Random expressions over the columns of a random table: numbers, conditions, texts and times."""

from columns import FILLED

NUMBERS = ["tiny", "utiny", "small", "medium", "plain", "big", "ubig", "grouped", "id", "money", "price", "share", "quarter"]
WHOLE = [name for name in NUMBERS if name not in ("money", "price", "share", "quarter")]
REAL = ["quarter"]
TEXTS = ["exact", "raw", "fold", "body"]
TIMES = ["day", "moment", "stamp", "instant"]
MOMENTS = ["'2001-02-03'", "'2024-10-27 02:30:00'", "'2024-10-27 00:30:00.25'", "'2024-03-31 03:00:00'", "'2009-10-25'", "TIMESTAMP'2024-10-27 01:30:00'",
           "TIMESTAMP'2024-03-31 02:30:00.5'", "DATE'2024-07-01'", "FROM_UNIXTIME(1729989000)", "20241027013000", "'2024-10-27 02:30:00' + INTERVAL 90 MINUTE"]
UNITS = ["YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MICROSECOND"]


class Expressions:
    def __init__(self, random, names):
        self.random = random
        self.names = names

    def _one_of(self, kinds):
        there = [name for name in kinds if name in self.names]
        return self.random.choice(there) if there else None

    def number(self, depth=2, real=True):
        """Of whole numbers and decimals; `real`: of floating-point ones, too."""
        kind = self.random.randrange(14 if depth > 0 else 3)
        if kind == 0:
            constants = ["0", "1", "-3", "2.50", "0.001", "100", "127"]
            # NULL by itself counts as a floating-point number.
            return self.random.choice([*constants, *(["1.5e0", "NULL"] if real else ["CAST(NULL AS SIGNED)"])])
        if real and "rounded" in self.names and self.random.random() < 0.1:
            return self.random.choice(["rounded", "rounded / 3", "IFNULL(rounded, 0.1)"])
        if kind < 3 or depth == 0:
            return self._one_of(NUMBERS if real else [name for name in NUMBERS if name not in REAL]) or "id"
        inner = [self.number(depth - 1, real) for _ in range(3)]
        if kind < 7:
            return f"({inner[0]} {self.random.choice('+-*')} {inner[1]})"
        if kind == 7:
            return self.random.choice([f"(- {inner[0]})", f"({inner[0]} % {inner[1]})", f"({inner[0]} DIV {inner[1]})",
                                       f"ABS({inner[0]})", f"ROUND({inner[0]}, 1)", f"({inner[0]} & 255)"])
        if kind == 8:
            return f"CASE WHEN {self.condition(depth - 1, real)} THEN {inner[0]} ELSE {inner[1]} END"
        if kind == 9:
            return f"CASE WHEN {self.condition(depth - 1, real)} THEN {inner[0]} WHEN {self.condition(depth - 1, real)} THEN {inner[1]} END"
        if kind == 10:
            return f"IF({self.condition(depth - 1, real)}, {inner[0]}, {inner[1]})"
        if kind == 11:
            return self.random.choice([f"COALESCE({inner[0]}, {inner[1]}, {inner[2]})", f"IFNULL({inner[0]}, {inner[1]})",
                                       f"NULLIF({inner[0]}, {inner[1]})"])
        if kind == 12 and (name := self._one_of(TIMES)):
            # Not TO_DAYS(), for whose seven digits the server has room for six beside decimals, in some plans.
            part = self.random.choice(["YEAR", "MONTH", "DAY", "QUARTER", "HOUR", "MINUTE", "SECOND", "DAYOFWEEK"])
            unit = self.random.choice(["YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "YEAR_MONTH", "DAY_HOUR"])
            if self.random.random() < 0.4:
                return self.random.choice([f"DATEDIFF({name}, {self.random.choice([self.moment(name), self.random.choice(MOMENTS)])})", f"DAYOFYEAR({name})", f"WEEKDAY({name})",
                                           f"{self.random.choice(['YEAR', 'MONTH', 'DAY'])}({self.moment(name)})",
                                           f"TIMESTAMPDIFF({self.random.choice(UNITS[:-1])}, {name}, {self.moment(self._one_of(TIMES))})"])
            return self.random.choice([f"{part}({name})", f"{part}({name})", f"EXTRACT({unit} FROM {name})", f"EXTRACT({unit} FROM {name})", f"UNIX_TIMESTAMP({name})",
                                       f"TIMESTAMPDIFF({unit.split('_')[0]}, {name}, {self.random.choice(MOMENTS)})",
                                       f"({name} {self.random.choice(['<', '=', '>='])} {self.random.choice(MOMENTS)})"])
        if name := self._one_of(TEXTS):
            return f"{self.random.choice(['LENGTH', 'CHAR_LENGTH', 'OCTET_LENGTH', 'CRC32'])}({name})"
        return f"({self.condition(depth - 1, real)})"

    def condition(self, depth=1, real=True):
        kind = self.random.randrange(11 if depth > 0 else 5)
        if kind == 10:
            return f"{self.number(depth - 1, real)} {self.random.choice(['IN', 'NOT IN'])} ({self.number(0, real)}, {self.number(depth - 1, real)}, 7)"
        if kind < 2:
            left, right = self.number(0, real), self.number(depth, real)
            # By an index of whole numbers, or of decimals of two digits, the server looks for the rounded one, and finds it.
            is_rounded = {"1.5e0", "0.001"} & {left, right} or ("2.50" in (left, right) and {left, right} & set(WHOLE))
            equalities = [] if is_rounded else ["=", "<>", "<=>"]
            return f"{left} {self.random.choice(['<', '<=', '>', '>=', *equalities])} {right}"
        if kind == 2:
            return f"{self.number(depth, real)} IS {self.random.choice(['', 'NOT '])}NULL"
        if kind == 3:
            return f"{self.number(0, real)} IN ({self.number(0, real)}, 5, {self.number(0, real)})"
        if kind == 4:
            name = self._one_of(TEXTS)
            return f"{name} {self.random.choice(['LIKE', 'NOT LIKE'])} '%o%'" if name else f"{self.number(0, real)} > 2"
        if kind < 7:
            return f"({self.condition(depth - 1, real)} {self.random.choice(['AND', 'OR'])} {self.condition(depth - 1, real)})"
        if kind == 7:
            return f"NOT {self.condition(depth - 1, real)}"
        if kind == 8 and (name := self._one_of(TIMES)):
            return self.of_time(name)
        value = self.number(depth - 1, real)
        if not any(name in value for name in self.names):
            # Of a constant that is not between columns the server loses rows, by an index of a bound.
            value = f"(id + {value})"
        return f"{value} {self.random.choice(['', '', 'NOT '])}BETWEEN {self.number(0, real)} AND {self.number(depth - 1, real)}"

    def moment(self, name):
        """Made of a column of times."""
        amount = self.random.choice([str(self.random.randrange(-40, 40)), "300", "9999", "id", "- id", self._one_of(WHOLE) or "id"])
        moved = f"{name} {self.random.choice('+-')} INTERVAL {amount} {self.random.choice(UNITS)}"
        return self.random.choice([moved, moved, moved, f"LAST_DAY({name})", f"DATE({name})", f"COALESCE({name}, {self._one_of(TIMES)})"])

    def of_time(self, name):
        """A condition."""
        one, other = self.random.sample(MOMENTS, 2)
        comparison = self.random.choice(["<", "<=", ">", ">=", "=", "<>", "<=>"])
        if self.random.random() < 0.5:
            made, beside = self.moment(name), self.random.choice([one, self._one_of(TIMES), self.moment(self._one_of(TIMES))])
            return self.random.choice([f"{made} {comparison} {beside}", f"{made} {comparison} {beside}", f"{made} {self.random.choice(['', 'NOT '])}BETWEEN {beside} AND {one}",
                                       f"TO_DAYS({made}) {comparison} TO_DAYS({beside})", f"{made} IN ({beside}, {one})"])
        return self.random.choice([f"{name} {comparison} {one}", f"{name} {comparison} {one}", f"{name} BETWEEN {one} AND {other}", f"{name} NOT IN ({one}, {other})",
                                   f"{name} {comparison} {self._one_of(TIMES)}", f"{name} + INTERVAL 30 MINUTE {comparison} {one}",
                                   f"{name} IN ({one}, {other})"])

    def text(self):
        """Equal ones are the same."""
        name = self._one_of(["exact", "raw"])
        if name is None:
            return f"CONCAT('id ', id % 5)"
        return self.random.choice([f"CONCAT({name}, '!')", f"HEX({name})", f"LEFT({name}, 1)", f"COALESCE({name}, 'none')"])

    def time(self):
        name = self._one_of(TIMES)
        if name is None:
            return self.text()
        return self.random.choice([f"DATE({name})", f"DATE_FORMAT({name}, '%Y-%m')", f"{name} + INTERVAL 1 DAY", f"LAST_DAY({name})",
                                   f"{name} - INTERVAL 90 MINUTE", f"DATE_FORMAT({name}, '%d %H:%i')", f"CONVERT_TZ({name}, 'MET', '+00:00')", f"TIME({name})"])

    def key(self):
        choice = self.random.random()
        if choice >= 0.6:
            return self.text() if choice < 0.8 else self.time()
        # It is up to the server's plan whether such a number is rounded before it is compared or shown, and whether -0.0, which % makes
        # of decimals, is a group of its own.
        while True:
            number = self.number()
            if "rounded" not in number and not ("%" in number and any(decimal in number for decimal in (".", "money", "price", "share"))):
                return number

    def summand(self):
        """Floating-point ones have sums without rounding."""
        if self.random.random() < 0.8 or "quarter" not in self.names:
            return self.number(real=False)
        return self.random.choice(["quarter", "quarter + id", "quarter * 3e0", "- quarter", "quarter / 4",
                                   f"CASE WHEN {self.condition(1, False)} THEN quarter ELSE id END", "IFNULL(quarter, -1)"])

    def aggregate(self):
        kind = self.random.choice(["COUNT", "SUM", "SUM", "MIN", "MAX", "COUNT(DISTINCT", "SUM(DISTINCT", "BIT_AND", "BIT_OR", "BIT_XOR"])
        if kind in ("SUM", "SUM(DISTINCT"):
            argument = self.summand()
            if "NULLIF" in argument:
                # Beside decimals the server has room for two digits of NULLIF(100, …), in which it stores distinct values.
                kind = "SUM"
        elif kind in ("MIN", "MAX", "COUNT"):
            argument = self.key()
            argument = f"{argument} + 0" if argument in FILLED else argument
        elif kind == "COUNT(DISTINCT":
            argument = self.random.choice([self.number(), self.number(), self.random.choice(self.names)])
        else:
            argument = self.random.choice([self.number(), self._one_of(WHOLE) or "id"])
        return f"{kind} {argument})" if "(" in kind else f"{kind}({argument})"
