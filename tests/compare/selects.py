"""Random SELECTs over one table: the first rows of an order, rows that become groups, and rows of which equal ones are shown once, in
every place where a statement may have one."""

import collections
import re

from columns import COUNTED, DECIMALS, FILLED, FOLDED, NUMBERS, SPREAD, STAMPS
from expressions import Expressions
from random_table import RandomTable

# `ordered`: its rows come in one order only. `warnings`, `columns` and `near`: as Pair.both() takes them. `may_fail`: by its data.
Select = collections.namedtuple("Select", "sql ordered may_fail warnings columns near", defaults=(False, False, True, False, False))
SQL_MODES = ["", "", "ERROR_FOR_DIVISION_BY_ZERO,STRICT_TRANS_TABLES", "ANSI,PAD_CHAR_TO_FULL_LENGTH"]
LISTED_EXTREME = re.compile(r"\b(MIN|MAX)\( *(?:DISTINCT +)?(kind|flags|choice|many)\)")


def averaged(draw):
    """A number whose mean is asked for: not one of which the server tells too few digits, whose means are cut by some of its plans."""
    while True:
        number = draw()
        if "DAYOFWEEK" not in number and " DIV " not in number:
            return number


class Selects(RandomTable):
    """Each kind yields one or several, the last ones around the first."""

    def kind(self):
        """One of the kinds at random, and whether it is for any sql_mode."""
        if self.random.random() < 0.6:
            return self.random.choice([self.with_expressions, self.first_rows, self.with_expressions, self.first_rows, self.spreads, self.means,
                                       self.of_rows, self.of_rows, self.rollup, self.lists, self.distinct, self.parts]), True
        return self.random.choices([self.groups, self.groups_and_means, self.numbers_of_groups, self.groups_having, self.groups_in_order,
                                    self.unions_of_groups, self.derived_groups, self.groups_of_texts, self.groups_of_own_texts, self.groups_in_subqueries],
                                   [20, 10, 10, 10, 10, 6, 6, 6, 6, 6])[0], False

    def aggregate(self, kinds=("COUNT(*)", "COUNT", "SUM", "MIN", "MAX", "COUNT(1)")):
        kind = self.random.choice(kinds)
        if "(" in kind:
            return kind
        if kind == "SUM":
            names = [name for name in self.names if name in NUMBERS]
        else:
            names = [name for name in self.names if kind == "COUNT" or name not in FOLDED | COUNTED]
        return f"{kind}({self.plain(self.random.choice(names)) if kind in ('MIN', 'MAX') else self.random.choice(names)})"

    @staticmethod
    def plain(name):
        """A column without zeros in front."""
        return f"{name} + 0" if name in FILLED else name

    def aggregates(self):
        return [self.aggregate() for _ in range(self.random.randrange(1, 4))]

    def block(self, keys, aggregates, shown=None):
        if shown is None:
            shown = keys if self.random.random() < 0.9 else []
        if not keys:
            # By an index the server takes the first in the order of the definition for the least text.
            aggregates = [LISTED_EXTREME.sub(r"\1(\2 + 0)", text) for text in aggregates]
        columns = ", ".join([*shown, *(f"{text} AS n{number}" for number, text in enumerate(aggregates))])
        groups = f" GROUP BY {', '.join(self.random.sample(keys, len(keys)))}" if keys else ""
        return f"SELECT {columns} FROM {self.source()} WHERE {self.condition()}{groups}"

    def keys(self, folded=False, least=0):
        names = [name for name in self.names if name not in (COUNTED if folded else FOLDED | COUNTED)]
        return self.random.sample(names, self.random.choice([least, 1, 1, 1, 2, 3]))

    def number(self):
        return self.random.choice([name for name in self.names if name in NUMBERS])

    def aggregates_in_order(self):
        """Groups are sorted by the first one. Of two moments that a time zone shows alike the server's table of groups has one."""
        while True:
            aggregates = self.aggregates()
            if not any(name in aggregates[0] for name in STAMPS):
                return aggregates

    @staticmethod
    def shown(name, value):
        """The same for all strings that are equal in the column."""
        if name not in FOLDED:
            return value
        return f"HEX(WEIGHT_STRING({value if name == 'nopad' else f'RTRIM({value})'}))"

    def groups(self):
        # The server gives groups in the order of GROUP BY.
        yield Select(self.block(self.keys(), self.aggregates()), ordered=True)

    def groups_and_means(self):
        # What the server makes of a mean has more of its digits or fewer, as its plan has it.
        keys, aggregates = self.keys(), self.aggregates_in_order()
        mean = f"AVG({self.number()})"
        block = self.block(keys, [*aggregates, self.random.choice([mean, f"{mean} > 2"])], shown=keys)
        order = f" ORDER BY {self.random.choice(['n0', f'n{len(aggregates)} DESC', mean])}, {', '.join(keys)}" if keys else ""
        yield Select(block + order, ordered=True)
        yield Select(f"SELECT * FROM ({block}) d WHERE n{len(aggregates)} > 1.00001")

    def numbers_of_groups(self):
        number = self.aggregate(("COUNT", "SUM"))
        yield Select(self.block(self.keys(), [*self.aggregates(), f"{number} + 1", "'constant'", "NULL"]))

    def groups_having(self):
        # Of strings, the number of warnings and their order would be up to the plan.
        keys = self.keys(least=1)
        block = self.block(keys, [self.aggregate(("COUNT", "SUM", "COUNT(*)")), *self.aggregates()], shown=keys)
        having = self.random.choice(["n0 IS NOT NULL", "n0 > 1", f"{keys[0]} IS NOT NULL", "COUNT(*) > 2", "MAX(id) > 20"])
        limit = self.random.choice(["", " LIMIT 3"])
        # Where the server makes a condition of keys one of rows, it takes constant texts of others there for numbers. Behind a limit it may
        # read no more rows, by an index.
        yield Select(f"{block} HAVING {having}{limit}", ordered=True, warnings=not limit and not having.startswith(keys[0]))

    def groups_in_order(self):
        keys = self.keys(least=1)
        block = self.block(keys, self.aggregates_in_order(), shown=keys)
        order = ", ".join(f"{name}{self.random.choice(['', ' DESC'])}" for name in ["n0", *keys])
        limit = self.random.choice(["", "LIMIT 5", "LIMIT 2, 3", "LIMIT 0", "LIMIT 1000 OFFSET 1"])
        calculate = self.random.choice(["", "", "SQL_CALC_FOUND_ROWS "])
        yield Select(f"SELECT {calculate}{block[7:]} ORDER BY {order} {limit}", ordered=True, warnings=not limit)

    def unions_of_groups(self):
        keys, aggregates = self.keys(), self.aggregates()
        block, other = (self.block(keys, aggregates, shown=keys) for _ in range(2))
        yield Select(f"{block} UNION ALL {other}")
        if keys:
            order = f"ORDER BY {', '.join(keys)}"
            yield Select(f"({block} {order} LIMIT 3) UNION ALL ({other} {order} LIMIT 2, 4)", warnings=False)
            yield Select(f"{block} UNION ALL {other} ORDER BY {', '.join(map(str, range(1, len(keys) + len(aggregates) + 1)))} LIMIT 4", ordered=True)

    def derived_groups(self):
        yield Select(f"SELECT COUNT(*), MIN(n0), MAX(n0) FROM ({self.block(self.keys(), self.aggregates())}) d")

    def groups_of_texts(self):
        keys = self.keys(folded=True)
        extreme = self.random.choice([name for name in self.names if name not in COUNTED])
        block = self.block(keys, [f"{self.random.choice(['MIN', 'MAX'])}({extreme})", "SUM(id)"], shown=keys)
        shown = [*(self.shown(key, key) for key in keys), self.shown(extreme, "n0"), "n1"]
        yield Select(f"SELECT {', '.join(shown)} FROM ({block}) d")

    def groups_of_own_texts(self):
        """Each group is one row: it shows the texts of that row, whatever others are equal to them."""
        texts = [name for name in self.names if name in FOLDED]
        if not texts:
            return
        keys = ["id", *self.random.sample(texts, min(len(texts), self.random.choice([1, 2])))]
        rows = f"FROM {self.source()} WHERE {self.condition()}"
        self.random.shuffle(keys)
        yield Select(f"SELECT {', '.join(keys)}, COUNT(*) {rows} GROUP BY {', '.join(keys)}{self.random.choice(['', ' ORDER BY NULL', ' ORDER BY id'])}")
        yield Select(f"SELECT DISTINCT {', '.join(keys)} {rows}")

    def groups_in_subqueries(self):
        number = self.number()
        yield Select(f"SELECT id FROM t WHERE id IN (SELECT MAX(id) FROM t WHERE {self.condition()} GROUP BY {number})")
        yield Select(f"SELECT id FROM t o WHERE id = (SELECT MIN(id) FROM t i WHERE i.{number} = o.{number})")

    def with_expressions(self):
        """What a program of the library computes, and what the server evaluates for it, also together."""
        some = Expressions(self.random, self.names)
        keys = [some.key() for _ in range(self.random.choice([0, 1, 1, 2]))]
        if self.random.random() < 0.3:
            keys.append(self.random.choice([name for name in self.names if name not in FOLDED | COUNTED]))
        named = [f"k{number}" for number in range(len(keys))]
        shown = [f"{text} AS {name}" for text, name in zip(keys, named)]
        aggregates = [some.aggregate() for _ in range(self.random.randrange(1, 4))]
        condition = self.random.choice(["1", self.condition(), some.condition(), f"{self.condition()} AND {some.condition()}"])
        groups = f" GROUP BY {', '.join(named)}" if keys else ""
        order = f" ORDER BY {', '.join(named)}" if keys and self.random.random() < 0.3 else ""
        mean = self.random.random() < 0.1
        if mean:
            # The server makes as many digits as its plan has kept of the sum, nine at least.
            aggregates, order = [f"AVG({averaged(some.summand)})"], f" ORDER BY 1 DESC, {', '.join(named)}" if keys else ""
        texts = [f"{text} AS n{number}" for number, text in enumerate(aggregates)]
        if "ORDER BY 1" in order:
            shown, texts = texts, shown
        block = f"SELECT {', '.join([*shown, *texts])} FROM {self.source()} WHERE {condition}{groups}"
        yield Select(block + order, ordered=bool(order), may_fail=True, warnings="which", near=mean)

    def spreads(self):
        """The server's numbers depend on the order of its rows, in their last digits."""
        some = Expressions(self.random, self.names)
        names = [name for name in [*NUMBERS, *SPREAD, "quarter", "rounded", "fixed", "single", "year", "bits"]
                 if name in self.names and name != "ubig"]
        keys = self.keys()
        kinds = ["STD", "STDDEV", "STDDEV_POP", "STDDEV_SAMP", "VARIANCE", "VAR_POP", "VAR_SAMP"]
        spreads = [f"{self.random.choice(kinds)}({self.random.choice([self.random.choice(names), f'{self.random.choice(names)} / 3'])})"
                   for _ in range(self.random.choice([1, 1, 2, 3]))]
        block = self.block(keys, [*spreads, "COUNT(*)", some.aggregate()], shown=keys)
        if keys and self.random.random() < 0.5:
            # What is not sent the server's plans take for NULL, or not: nothing asks for that.
            block += f" HAVING COUNT(*) > 1 ORDER BY ROUND(STD(id), 2), {', '.join(keys)} {self.random.choice(['', 'LIMIT 5'])}"
        yield Select(block, ordered="ORDER" in block, may_fail=True, warnings="which", columns="plan", near=True)

    def means(self):
        """What reads a mean reads more digits of it than it shows, in whole statements."""
        # Not of those whose means may have more digits than 65: the server's table of groups cuts them, some plans do not.
        names = [name for name in [*NUMBERS, *DECIMALS] if name in self.names and name != "deep"]
        keys = self.keys()
        means = [f"AVG({self.random.choice(names)})" for _ in range(2)]
        texts = [self.random.choice([f"{means[0]} * 1000000", f"{means[0]} / 7", f"{means[0]} + {means[1]}", f"IFNULL({means[0]}, 3)", f"{means[0]} > 1.33333",
                                     f"CONCAT({means[0]}, '')", f"{means[0]} - SUM(id) / COUNT(*)", f"ROUND({means[0]}, 6)", means[0]])
                 for _ in range(self.random.randrange(1, 3))]
        block = self.block(keys, [*texts, means[1]], shown=keys)
        if keys and self.random.random() < 0.5:
            block += f" HAVING {self.random.choice([f'{means[0]} > 1.33333', f'{means[1]} * 3 <> 4', f'n{len(texts)} > 0.333333'])}"
        yield Select(block, may_fail=True, warnings="which", columns="plan")
        choice = self.random.random()
        if choice < 0.2:
            yield Select(f"SELECT * FROM ({block}) d WHERE n0 > 1.00001", may_fail=True)
        elif choice < 0.4:
            yield Select(f"{block} UNION ALL {block}", may_fail=True)
        elif choice < 0.5 and not keys:
            yield Select(f"SELECT id FROM t WHERE id > (SELECT {texts[0]} FROM t WHERE {self.condition()})", may_fail=True)

    def of_key(self, name):
        """A function of the column; texts that are equal may differ."""
        # The server has no room for the zero before the point of a DECIMAL(9,9) where it stores the text.
        return self.random.choice([f"HEX({name})", f"CRC32({name})" if name == "share" else f"CONCAT({name}, '!')", f"IFNULL({name}, 5)", f"{name} IS NULL", f"COALESCE({name}, id)" if name == "id"
                                   else f"({name} IS NOT NULL) + 1", f"LENGTH({name})"])

    def of_rows(self):
        """What is a function of the keys, or, where a group has one row, of any column; in the result, in HAVING, in the order."""
        some = Expressions(self.random, self.names)
        if self.random.random() < 0.5:
            groups = self.random.choice([["id"], ["id % 50", "id DIV 50", "id < 0"], ["id + 1"], ["CONCAT('id ', id)", "id"]])
            shown = [self.random.choice([some.key, some.number, some.text, lambda: self.random.choice(self.names)])()
                     for _ in range(self.random.randrange(1, 5))]
            shown = [text for text in shown if "/" not in text]
            total = "n0"
            shown.insert(0, "id")
        else:
            groups = self.keys(least=1)
            shown = [*groups, *(self.of_key(self.random.choice(groups)) for _ in range(self.random.randrange(1, 4)))]
            total = ", ".join(groups)
        columns = ", ".join(f"{text} AS n{number}" for number, text in enumerate(shown))
        aggregates = [some.aggregate() for _ in range(self.random.choice([0, 1, 2]))]
        columns = ", ".join([columns, *(f"{text} AS a{number}" for number, text in enumerate(aggregates))])
        block = f"SELECT {columns} FROM {self.source()} WHERE {self.condition()} GROUP BY {', '.join(groups)}"
        if self.random.random() < 0.3:
            block += f" HAVING {self.random.choice([f'n{len(shown) - 1} IS NOT NULL', 'n0 > 5', 'n0 IS NULL OR COUNT(*) > 1'])}"
        order = self.random.choice(["", *[f"{text}{self.random.choice(['', ' DESC'])}, " for text in
                                          (f"n{len(shown) - 1}", "COUNT(*) * 2 - MIN(id)", "SUM(id) / COUNT(*)", "MAX(id) % 7", "-COUNT(*)")]])
        if self.random.random() < 0.3:
            order += self.random.choice([f"CONCAT(n{len(shown) - 1}, 'x') DESC, ", f"CONCAT(COUNT(*), n{len(shown) - 1}), ", f"n{len(shown) - 1} IS NULL, "])
        limit = self.random.choice(["", "LIMIT 7", "LIMIT 3, 5"])
        # What HAVING asks of keys becomes a condition of rows, beside which the server takes a constant text for a number.
        warnings = "IS NOT NULL" not in block and "n0 > 5" not in block and "which"
        # Behind a limit the server may read no more rows, by an index.
        yield Select(f"{block} ORDER BY {order}{total} {limit}", ordered=True, may_fail=True, warnings=not limit and warnings, columns="plan")
        choice = self.random.random()
        if choice < 0.2:
            yield Select(f"SELECT COUNT(*), MIN(n0) FROM ({block}) d", may_fail=True, warnings=warnings)
        elif choice < 0.4:
            yield Select(f"{block} UNION ALL {block}", may_fail=True, warnings=warnings)

    def rollup(self):
        some = Expressions(self.random, self.names)
        keys = self.keys() or ["id"]
        if self.random.random() < 0.3:
            keys.append(some.key())
        named = [f"k{number}" for number in range(len(keys))]
        shown = [f"{text} AS {name}" for text, name in zip(keys, named)]
        # Of keys that are expressions the server shows some of the group before.
        shown += [f"{self.of_key(key)} AS f{number}" for number, key in enumerate(keys) if key in self.names and self.random.random() < 0.3]
        limit = self.random.choice(["", "", " LIMIT 5", " LIMIT 2, 4"])
        # Behind a limit the server reads no more rows: it does not see their errors and warnings.
        aggregates = [self.aggregate() if limit else some.aggregate() for _ in range(self.random.randrange(1, 4))]
        texts = [f"{text} AS n{number}" for number, text in enumerate(aggregates)]
        if "id" in keys:
            # Of groups by a unique key the server drops DISTINCT, of those that they are rolled up to as well.
            texts = [text.replace("DISTINCT", "") for text in texts]
        # In descending order the server takes the group of a decimal expression that is NULL for the one before.
        directions = self.random.choice(["", "", " DESC"]) if all(key in self.names for key in keys) else ""
        having = self.random.choice(["", "", f" HAVING {self.random.choice(named)} IS NULL", " HAVING COUNT(*) > 1", " HAVING n0 > 3"])
        groups = ", ".join(f"{name}{directions}" for name in self.random.sample(named, len(named)))
        block = f"SELECT {', '.join([*shown, *texts])} FROM {self.source()} WHERE {self.condition()} GROUP BY {groups} WITH ROLLUP{having}"
        calculate = self.random.choice(["", "", "SQL_CALC_FOUND_ROWS "])
        # Of one row that it has read before the server says that its key may be NULL.
        yield Select(f"SELECT {calculate}{block[7:]}{limit}", ordered=True, may_fail=True, warnings=not limit and "which",
                     columns="id = " not in block and "plan")

    def first_rows(self):
        """All rows, or the first ones in an order, which is a total one: of the table, a view, or a derived table."""
        some = Expressions(self.random, self.names)
        source = self.random.choice(["t", "t", self.table(), "v", "v", f"(SELECT * FROM {self.table()} WHERE {self.condition()}) d",
                                     f"(SELECT * FROM v WHERE {some.condition()}) d"])
        names = [*self.names, "number", "words"] if "v" in source.split() else self.names
        shown = self.random.sample(names, self.random.randrange(1, len(names)))
        shown += [self.random.choice([some.key, some.number, some.condition])() for _ in range(self.random.choice([0, 0, 1, 2]))]
        condition = self.random.choice(["1", "1", self.condition(), some.condition(), f"{self.condition()} AND {some.condition()}"])
        order = [f"{self.random.choice([*names, some.key()])}{self.random.choice(['', ' DESC'])}" for _ in range(self.random.choice([0, 1, 1, 2]))]
        order.append(self.random.choice(["id", "id DESC"]))
        limit = self.random.choice(["LIMIT 5", "LIMIT 1", "LIMIT 2, 3", "LIMIT 100", "LIMIT 5000", "LIMIT 0", "LIMIT 1000 OFFSET 1", ""])
        calculate = self.random.choice(["", "", "SQL_CALC_FOUND_ROWS "])
        columns = ", ".join(f"{text} AS n{number}" for number, text in enumerate(shown))
        having = self.random.choice(["", "", "", "HAVING n0 IS NOT NULL", "HAVING n0 = n0 OR n0 IS NULL"])
        ordered = self.random.random() < 0.7
        rest = f"ORDER BY {', '.join(order)} {limit}" if ordered else ""
        block = f"SELECT {calculate}{columns} FROM {source} WHERE {condition} {having} {rest}"
        # The server may read no more rows, by an index, than a small limit asks for.
        warnings = limit in ("", "LIMIT 5000") and "which"
        yield Select(block, ordered=ordered, may_fail=True, warnings=warnings, columns=True)
        choice = self.random.random()
        if limit == "LIMIT 0":
            return
        if choice < 0.05:
            yield Select(f"({block}) UNION ALL ({block})", may_fail=True, warnings=False)
        elif choice < 0.1 and shown[0] not in FOLDED:
            yield Select(f"SELECT COUNT(*), MAX(n0) FROM ({block}) d", may_fail=True, warnings=False)

    def lists(self):
        """Aggregates that the server computes of rows that the engine has sorted by their groups."""
        some = Expressions(self.random, self.names)
        keys = self.keys()
        names = [name for name in self.names if name not in FOLDED]

        def value():
            return self.random.choice([self.random.choice(names), some.number(), some.key()])

        lists = [self.random.choice([f"GROUP_CONCAT({value()} ORDER BY id SEPARATOR '|')", f"GROUP_CONCAT({value()}, {value()} ORDER BY id DESC LIMIT 3)",
                                     f"JSON_ARRAYAGG({value()} ORDER BY id)", f"COUNT(DISTINCT {self.random.choice(names)}, {self.random.choice(names)})"])
                 for _ in range(self.random.choice([1, 1, 2]))]
        others = self.random.choice([[], ["COUNT(*)", "MAX(id)"], ["AVG(id) * 3", "LENGTH(GROUP_CONCAT(id ORDER BY id)) + 1"]])
        source = self.random.choice(["t", self.table()])
        condition = self.random.choice(["1", "id < 300", self.condition(), some.condition()])
        columns = ", ".join(f"{text} AS n{number}" for number, text in enumerate([*keys, *lists, *others]))
        group = f"GROUP BY {', '.join(keys)}" if keys else ""
        having = self.random.choice(["", "", "HAVING COUNT(*) > 1"])
        order = f"ORDER BY {', '.join(reversed(keys))} {self.random.choice(['', 'LIMIT 2, 5'])}" if keys and self.random.random() < 0.5 else ""
        block = f"SELECT {columns} FROM {source} WHERE {condition} {group} {having} {order}"
        # Whether the server makes the groups behind a limit, and so meets their warnings, is its plan's.
        warnings = "LIMIT" not in order and "which"
        yield Select(block, ordered=bool(order), may_fail=True, warnings=warnings, columns="plan")
        choice = self.random.random()
        if choice < 0.15:
            yield Select(f"({block}) UNION ALL ({block})", may_fail=True, warnings=warnings)
        elif choice < 0.3:
            yield Select(f"SELECT * FROM ({block}) d WHERE n{len(keys)} IS NOT NULL", may_fail=True, warnings=warnings)

    def distinct(self):
        """Rows of which equal ones are shown once; groups, too."""
        some = Expressions(self.random, self.names)
        names = [name for name in self.names if name not in FOLDED | COUNTED]
        shown = self.random.sample(names, self.random.choice([1, 1, 2, 3]))
        shown += [self.random.choice([some.key(), "'constant'", "NULL"]) for _ in range(self.random.choice([0, 0, 1]))]
        condition = self.random.choice(["1", self.condition(), some.condition(), f"{self.condition()} AND {some.condition()}"])
        grouped = self.random.random() < 0.3
        group = f" GROUP BY {', '.join(shown[:2])}" if grouped else ""
        counts = self.random.choice([["COUNT(*)"], ["SUM(id)", "MAX(id)"], []]) if grouped else []
        texts = [text for text in [*shown, *counts] if not grouped or text in [*shown[:2], *counts]]
        if grouped and self.random.random() < 0.2 and len(texts) > 1:
            texts = texts[1:]
        columns = ", ".join(f"{text} AS n{number}" for number, text in enumerate(texts))
        named = [f"n{number}{self.random.choice(['', ' DESC'])}" for number in range(len(texts))]
        order = f" ORDER BY {', '.join(self.random.sample(named, len(named)))}" if self.random.random() < 0.6 else ""
        limit = self.random.choice(["", "", " LIMIT 5", " LIMIT 2, 3", " LIMIT 1000 OFFSET 1"]) if order else ""
        calculate = self.random.choice(["", "", "SQL_CALC_FOUND_ROWS "])
        block = f"{columns} FROM {self.source()} WHERE {condition}{group}{order}{limit}"
        warnings = not limit and "which"
        yield Select(f"SELECT {calculate}DISTINCT {block}", ordered=bool(order), may_fail=True, warnings=warnings, columns="plan")
        choice = self.random.random()
        if choice < 0.2:
            yield Select(f"SELECT COUNT(*), MIN(n0) FROM (SELECT DISTINCT {block}) d", may_fail=True, warnings=warnings)
        elif choice < 0.4:
            yield Select(f"(SELECT DISTINCT {block}) UNION ALL (SELECT DISTINCT {block})", may_fail=True, warnings=warnings)

    def rows(self, columns, only=()):
        """A block without groups that shows so many columns, those that are called n0 and so on, and which names may be among them."""
        some = Expressions(self.random, self.names)
        names = [name for name in self.names if name not in only]
        shown = [self.random.choice([self.random.choice(names), self.random.choice(names), some.key(), some.number()]) for _ in range(columns)]
        condition = self.random.choice(["1", self.condition(), self.condition(), some.condition(), f"{self.condition()} AND {some.condition()}"])
        having = self.random.choice(["", "", "", " HAVING n0 IS NOT NULL"])
        return (f"SELECT {', '.join(f'{text} AS n{number}' for number, text in enumerate(shown))} FROM {self.random.choice(['t', self.table()])} "
                f"WHERE {condition}{having}")

    def parts(self):
        """Rows without groups where they are a part of a statement: of a union, a derived table, a subquery."""
        columns = self.random.randrange(1, 4)
        block, other = self.rows(columns), self.rows(columns)
        order = "ORDER BY id", "ORDER BY id DESC"
        choice = self.random.randrange(9)
        warnings = False
        if choice == 0:
            sql, warnings = f"{block} UNION ALL {other}", "which"
        elif choice == 1:
            sql = f"({block} {order[0]} LIMIT {self.random.choice(['3', '2, 5', '10000'])}) UNION ALL ({other} {order[1]} LIMIT 4)"
        elif choice == 2:
            block, other = self.rows(columns, FOLDED | COUNTED), self.rows(columns, FOLDED | COUNTED)
            sql = f"SELECT COUNT(*) FROM ({block} {self.random.choice(['UNION', 'EXCEPT', 'INTERSECT'])} {other}) d"
        elif choice == 3:
            calculate = self.random.choice(["", "SQL_CALC_FOUND_ROWS "])
            sql = f"SELECT {calculate}* FROM ({block} {self.random.choice(order)} LIMIT {self.random.choice(['1', '7', '100000'])}) d"
        elif choice == 4:
            sql = f"SELECT COUNT(*), MIN(n0), MAX(n0) FROM ({block} {self.random.choice(order)} LIMIT {self.random.choice(['9', '2, 500'])}) d"
        elif choice == 5:
            sql = f"SELECT ({self.rows(1)} {self.random.choice(order)} LIMIT 1) AS one, EXISTS ({block}) AS two"
        elif choice == 6:
            sql = f"SELECT id FROM t WHERE id + 1 {self.random.choice(['IN', 'NOT IN', '> ALL', '<> ALL', '= ANY', '< ANY'])} (SELECT {self.number()} FROM t WHERE {self.condition()})"
        elif choice == 7:
            # Of NOT IN, with NULL in a column without a sign, the server's plan decides.
            sql = f"SELECT id FROM t WHERE (id, {self.number()}) IN (SELECT {self.number()}, {self.number()} FROM t WHERE {self.condition()})"
        else:
            limit = f"{self.random.choice(order)} LIMIT 50"
            sql = f"WITH c AS (SELECT id, {self.number()} AS n FROM t WHERE {self.condition()} {limit}) SELECT a.id, b.n FROM c a JOIN c b ON a.id + 1 = b.id"
        yield Select(sql, may_fail=True, warnings=warnings)
