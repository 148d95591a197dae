"""Random SELECTs with functions of texts, JSON, regular expressions and times in every clause, HAVING with subqueries, DEFAULT(), and limits beside indexes."""

from columns import COUNTED, FOLDED
from functions import Functions
from selects import Select, Selects

FLOATING = {"precise", "single", "far", "quarter", "rounded", "fixed"}
LISTED = {"kind", "flags", "choice", "many"}
LIMITS = ["LIMIT 1", "LIMIT 5", "LIMIT 2, 3", "LIMIT 1000 OFFSET 1", "LIMIT 5000"]


class Clauses(Selects):
    """Each kind yields one or several, as those of Selects do."""

    SHARE = 0.55  # of all statements

    def kind(self):
        if self.random.random() > self.SHARE:
            return super().kind()
        return self.random.choice([self.functions_of_rows, self.functions_of_rows, self.functions_of_groups, self.functions_of_groups, self.functions_of_groups,
                                   self.functions_rolled_up, self.functions_distinct, self.functions_in_parts, self.functions_in_subqueries, self.having_subqueries,
                                   self.having_subqueries, self.defaults, self.first_by_index, self.first_by_index]), True

    def _some(self, prefix=""):
        return Functions(self.random, self.names, prefix)

    def _from(self):
        """A source that has all columns of the table."""
        return self.random.choice(["t", "t", "t", self.table(), "v", f"(SELECT * FROM {self.table()} WHERE {self._where()}) s",
                                   f"(SELECT * FROM t WHERE {self.condition()} UNION ALL SELECT * FROM t WHERE id < 0) s"])

    def _where(self):
        return self.random.choice(["1", self.condition(), self._some().condition(), self._some().condition(), f"{self.condition()} AND {self._some().condition()}"])

    def _limit(self):
        return self.random.choice(["", "", *LIMITS])

    def _direction(self):
        return self.random.choice(["", "", " DESC"])

    @staticmethod
    def _named(texts, letter="n"):
        return ", ".join(f"{text} AS {letter}{number}" for number, text in enumerate(texts))

    def functions_of_rows(self):
        some = self._some()
        shown = [some.value() for _ in range(self.random.randrange(1, 4))]
        order = [f"{self.random.choice([some.value, some.column])()}{self._direction()}" for _ in range(self.random.choice([0, 1, 1, 2]))]
        order += [f"n0{self._direction()}"] * (self.random.random() < 0.3) + [f"id{self._direction()}"]
        having = self.random.choice(["", "", "", "HAVING n0 IS NOT NULL", "HAVING LENGTH(n0) < 5", f"HAVING n0 <> {self.random.choice(['1', chr(39) + 'a' + chr(39)])}"])
        ordered = self.random.random() < 0.7
        rest = f"ORDER BY {', '.join(order)} {self._limit()}" if ordered else ""
        block = f"SELECT {self._named(shown)} FROM {self._from()} WHERE {self._where()} {having} {rest}"
        yield Select(block, ordered=ordered, may_fail=True, warnings=False, columns=True)
        if self.random.random() < 0.1:
            yield Select(f"SELECT * FROM ({block}) d WHERE n0 IS NOT NULL", may_fail=True, warnings=False)

    def _groups(self, some, least=0):
        """Keys, and aggregates with what is computed of them."""
        keys = [some.same() for _ in range(self.random.choice([least, 1, 1, 2]))]
        aggregates = [some.aggregate(bool(keys)) for _ in range(self.random.randrange(1, 4))]
        return keys, [some.of_aggregate(text) if self.random.random() < 0.15 and not some.near else text for text in aggregates]

    def _block(self, some, keys, aggregates, source=None):
        names = [f"k{number}" for number in range(len(keys))]
        group = f" GROUP BY {', '.join(self.random.sample(names, len(names)))}" if names else ""
        shown = ", ".join(filter(None, [self._named(keys, "k"), self._named(aggregates)]))
        return f"SELECT {shown} FROM {source or self._from()} WHERE {self._where()}{group}"

    def functions_of_groups(self):
        some = self._some()
        keys, aggregates = self._groups(some)
        block = self._block(some, keys, aggregates)
        if keys and self.random.random() < 0.3:
            block += f" HAVING {self.random.choice(['COUNT(*) > 1', 'n0 IS NOT NULL', 'LENGTH(n0) > 1', 'k0 IS NOT NULL', f'{some.aggregate()} IS NOT NULL', 'k0 > n0'])}"
        ordered = bool(keys) and self.random.random() < 0.4
        if ordered:
            first = "" if some.near else self.random.choice(["n0, ", "n0 DESC, ", f"MAX({some.same()}), ", "LENGTH(n0), ", "CONCAT(n0, 'x') DESC, ", "COUNT(*), ", ""])
            block += f" ORDER BY {first}{', '.join(f'k{number}{self._direction()}' for number in range(len(keys)))} {self._limit()}"
        yield Select(block, ordered=ordered, may_fail=True, warnings=False, columns="plan", near=some.near)
        choice = self.random.random()
        if choice < 0.1:
            yield Select(f"SELECT * FROM ({block}) d WHERE n0 IS NOT NULL", may_fail=True, warnings=False, near=some.near)
        elif choice < 0.2:
            yield Select(f"({block}) UNION ALL ({self._block(some, keys, aggregates)})", may_fail=True, warnings=False, near=some.near)

    def functions_rolled_up(self):
        some = self._some()
        # Of keys that are expressions the server shows some of the group before.
        keys = [some.column([name for name in self.names if name not in FOLDED | COUNTED | FLOATING]) for _ in range(self.random.choice([1, 1, 2]))]
        keys = [*dict.fromkeys(keys)]
        aggregates = [some.aggregate() for _ in range(self.random.randrange(1, 3))]
        having = self.random.choice(["", "", " HAVING COUNT(*) > 1", " HAVING n0 IS NOT NULL", " HAVING LENGTH(n0) > 1"])
        if "id" in keys:
            aggregates = [text.replace("DISTINCT", "") if text.startswith("COUNT(DISTINCT") else text for text in aggregates]
        yield Select(f"{self._block(some, keys, aggregates)} WITH ROLLUP{having}", may_fail=True, warnings=False, near=some.near)

    def functions_distinct(self):
        some = self._some()
        shown = [some.same() for _ in range(self.random.choice([1, 1, 2, 3]))]
        names = [f"n{number}{self._direction()}" for number in range(len(shown))]
        ordered = self.random.random() < 0.6
        order = f" ORDER BY {', '.join(self.random.sample(names, len(names)))} {self._limit()}" if ordered else ""
        block = f"SELECT DISTINCT {self._named(shown)} FROM {self._from()} WHERE {self._where()}{order}"
        yield Select(block, ordered=ordered, may_fail=True, warnings=False, columns="plan")
        if self.random.random() < 0.2:
            yield Select(f"SELECT COUNT(*), MIN(n0), MAX(n0) FROM ({block}) d", may_fail=True, warnings=False)

    def functions_in_parts(self):
        """Of a union, where columns meet of different types."""
        some = self._some()
        columns = self.random.choice([1, 1, 2])
        one, other = ([some.same() for _ in range(columns)] for _ in range(2))
        blocks = [f"SELECT {self._named(shown)} FROM {self._from()} WHERE {self._where()}" for shown in (one, other)]
        if self.random.random() < 0.3:
            blocks[1] = f"SELECT {self._named([some.aggregate(False) for _ in range(columns)])} FROM {self._from()} WHERE {self._where()}"
        union = f" {self.random.choice(['UNION ALL', 'UNION ALL', 'UNION', 'EXCEPT', 'INTERSECT'])} ".join(blocks)
        if self.random.random() < 0.3:
            union = f"SELECT COUNT(*), COUNT(DISTINCT n0), MIN(n0) FROM ({union}) d"
        elif self.random.random() < 0.3:
            union = f"{union} ORDER BY {', '.join(str(number + 1) for number in range(columns))} LIMIT 7"
        yield Select(union, may_fail=True, warnings=False, columns="plan", near=some.near)

    def functions_in_subqueries(self):
        some, outer, inner = self._some(), self._some("o."), self._some("i.")
        (left, right), (one, other) = outer.alike(some), outer.alike(inner)
        condition = self.random.choice([
            f"{left} {self.random.choice(['IN', 'IN', 'NOT IN', '= ANY', '<> ALL'])} (SELECT {right} FROM t WHERE {self._where()})",
            f"{outer.number()} {self.random.choice(['>', '<', '>=', '<='])} {self.random.choice(['ALL', 'ANY'])} (SELECT {some.number()} FROM t WHERE {self._where()})",
            f"{self.random.choice(['', 'NOT '])}EXISTS (SELECT 1 FROM t i WHERE {one} = {other} AND i.id < 30)",
            f"o.id = (SELECT MAX(id) FROM t WHERE {some.condition()})",
            f"HEX({outer.value()}) > (SELECT {self.random.choice(['MIN', 'MAX'])}(CONCAT({some.same(times=False)})) FROM t WHERE {self._where()})",
            f"{left} IN (SELECT MAX({right}) FROM t GROUP BY id % 5 HAVING COUNT(*) > 0)"])
        shown = f"{outer.value()} AS n0, (SELECT {some.aggregate(False)} FROM t WHERE {some.condition()}) AS n1" if self.random.random() < 0.4 else "o.id"
        yield Select(f"SELECT {shown} FROM t o WHERE o.id < {self.random.choice([40, 40, 1000])} AND {condition} ORDER BY o.id {self._limit()}", ordered=True, may_fail=True,
                     warnings=False, near=some.near)

    def having_subqueries(self):
        """Groups that a subquery is asked about: one by itself, or one of the group's own row or key."""
        # What the server looks up in the rows of a subquery that it has stored it takes for a text where it is of ENUM or SET.
        names = [name for name in self.names if name not in FOLDED | COUNTED | FLOATING | LISTED]
        key, other = self.random.choice(names), self.number()
        some = Functions(self.random, self.names)
        aggregate = self.random.choice(["SUM(id)", "COUNT(*)", f"SUM({other})", f"MIN({other} + 0)", f"MAX({other} + 0)", f"AVG({other})", f"MAX(CONCAT({some.same()}))"])
        inner = self.random.choice([f"SELECT {aggregate} FROM t GROUP BY {self.random.choice(names)}", f"SELECT {aggregate} FROM t WHERE {self._where()}",
                                    f"SELECT {other} FROM t WHERE {self.condition()} AND {other} IS NOT NULL"])
        comparison = self.random.choice(["<", "<=", ">", ">=", "=", "<>"])
        asked = [f"{aggregate} {comparison} {self.random.choice(['ALL', 'ANY'])} ({inner})", f"NOT {aggregate} {comparison} {self.random.choice(['ALL', 'ANY'])} ({inner})",
                 f"{aggregate} {self.random.choice(['IN', 'NOT IN'])} ({inner})", f"{aggregate} {comparison} (SELECT {self.random.choice(['MIN', 'MAX'])}({other}) FROM t WHERE {self.condition()})",
                 "EXISTS (SELECT 1 FROM t i WHERE i.id = COUNT(*))"]
        # Of groups that it keeps in a table, and of ROLLUP, the server takes the outer query's aggregate for NULL in such a subquery, or leaves totals out.
        of_aggregate = [f"9 {self.random.choice(['IN', 'NOT IN'])} (SELECT SUM(o.{other}))", f"{aggregate} IN (SELECT SUM(o.{other}))"]
        of_key = [f"EXISTS (SELECT 1 FROM t i WHERE i.{key} = o.{key} AND i.id < 50)", f"(SELECT o.{key} FROM t i WHERE i.id = 5) IS NOT NULL",
                  f"o.{key} IN (SELECT o.{key} FROM t i WHERE i.{key} = o.{key})",
                  f"o.{key} {self.random.choice(['IN', 'NOT IN'])} (SELECT {key} FROM t WHERE {self._where()})", f"(SELECT COUNT(*) FROM t i WHERE i.{key} <=> o.{key}) = COUNT(*)",
                  f"o.{key} >= ALL (SELECT {key} FROM t WHERE {key} IS NOT NULL)"]
        # Of a column that stands only in an aggregate of a subquery of HAVING the server reads that of the last row: it is asked for where columns are shown.
        in_aggregate = [f"(SELECT MAX(i.id + LENGTH(o.{key})) FROM t i)", f"(SELECT MAX(CONCAT(o.{key}, i.id)) FROM t i WHERE i.id < 9)"]
        grouped = self.random.random() < 0.8
        having = self.random.choice([*asked, *of_key] if grouped else [*asked, *of_aggregate])
        if self.random.random() < 0.2:
            having += self.random.choice([" AND COUNT(*) > 1", " OR MAX(o.id) > 60", f" AND {self.random.choice(asked)}"])
        condition = self.random.choice(["1", f"o.{key} IS NOT NULL", "o.id < 50"])
        shown = f"o.{key} AS k0, {aggregate} AS n0" if grouped else f"{aggregate} AS n0, COUNT(*) AS n1"
        if self.random.random() < 0.15:
            shown += f", {self.random.choice([*(in_aggregate if grouped else of_aggregate), '(SELECT MAX(o.id))', f'(SELECT COUNT(*) FROM t WHERE {self.condition()})'])} AS n2"
        rolled = " WITH ROLLUP" if grouped and self.random.random() < 0.15 else ""
        block = f"SELECT {shown} FROM t o WHERE {condition}{f' GROUP BY o.{key}' if grouped else ''}{rolled} HAVING {having}"
        yield Select(block, may_fail=True, warnings=False, columns=not rolled and "plan")
        if self.random.random() < 0.15:
            yield Select(f"SELECT * FROM ({block}) d", may_fail=True, warnings=False)

    def defaults(self):
        """DEFAULT() of the table's columns, and of those of views and derived tables."""
        there = sorted(self.defaulted) or [self.random.choice(self.stored)]
        name, other = self.random.choice(there), self.random.choice(there)
        some = self._some()
        source = self.random.choice(["t", "t", "v", f"(SELECT {', '.join(self.names)} FROM t WHERE {self.condition()}) s"])
        default, shown = f"DEFAULT({name})", self.random.choice([f"DEFAULT({other})", f"HEX(DEFAULT({other}))", f"{other} <=> DEFAULT({other})", f"COALESCE({other}, DEFAULT({other}))"])
        same = f"HEX({other})"
        yield Select(self.random.choice([
            f"SELECT id, {name}, {default} AS n0, {shown} AS n1 FROM {source} WHERE {self._where()} ORDER BY {shown}, id {self._limit()}",
            f"SELECT id, {name} FROM {source} WHERE {name} = {default} OR {name} > {default} ORDER BY id",
            f"SELECT id, {default} AS n0 FROM {source} WHERE {name} IN ({default}, NULL) ORDER BY id DESC {self._limit()}",
            f"SELECT {same} AS k0, COUNT(*), MAX(HEX({default})), SUM({name} <=> {default}) FROM {source} WHERE {self._where()} GROUP BY k0 ORDER BY k0",
            f"SELECT HEX({default}) AS k0, {same} AS k1, COUNT(*) FROM {source} GROUP BY k0, k1 HAVING COUNT(*) > 0 OR k0 IS NULL ORDER BY k0, k1",
            f"SELECT COUNT({default}), MIN(HEX({shown})), COUNT(DISTINCT HEX({default})), {some.aggregate(False)} FROM {source} WHERE {self._where()}",
            f"SELECT DISTINCT HEX({default}) AS n0, HEX({name}) AS n1 FROM {source} ORDER BY n0, n1",
            f"SELECT id, {default} FROM {source} WHERE {self._where()} UNION ALL SELECT id, {name} FROM t WHERE {self.condition()}"]),
            ordered=False, may_fail=True, warnings=False, near=some.near)

    def first_by_index(self):
        """The first ones in the order of an index, which ends the statement early."""
        name = self.random.choice([*self.indexed, "id"])
        down = self._direction()
        some, limit = self._some(), self.random.choice(LIMITS)
        single = f"{name}{down}" if name == "id" else f"{name}{down}, id{self.random.choice([down, down, ''])}"
        shown = self.random.sample(self.names, self.random.randrange(1, 4))
        where = self.random.choice([self.condition(), f"{name} IS NOT NULL", f"id > {self.random.choice([0, 30])}", f"{name} >= (SELECT MIN({name}) FROM t)", some.condition(),
                                    f"id IN (SELECT id FROM t WHERE {self.condition()})", f"EXISTS (SELECT 1 FROM t i WHERE i.id = t.id + 1 AND i.{name} <=> t.{name})"])
        sql = f"SELECT {', '.join(shown)}, {some.value()} AS n0 FROM t WHERE {where} ORDER BY {single} {limit}"
        choice = self.random.random()
        if choice < 0.25 and name not in FOLDED | COUNTED:
            sql = f"SELECT {name} AS k0, {some.aggregate()} AS n0, COUNT(*) FROM t WHERE {where} GROUP BY {name} ORDER BY {name}{down} {limit}"
        elif choice < 0.4 and name not in FOLDED | COUNTED:
            sql = f"SELECT DISTINCT {name} AS n0 FROM t WHERE {where} ORDER BY {name}{down} {limit}"
        elif choice < 0.6:
            join = self.random.choice(["JOIN t b ON a.id = b.id", "LEFT JOIN t b ON a.id = b.id + 1 AND b.id % 2 = 0", f"JOIN t b ON a.id = b.id AND a.{name} = b.{name}"])
            sql = (f"SELECT a.{shown[0]} AS n0, b.{shown[-1]} AS n1, {self._some('b.').value()} AS n2 FROM t a {join} WHERE {self._some('a.').condition()} "
                   f"ORDER BY a.{name}{down}, a.id {limit}")
        elif choice < 0.7:
            sql = f"SELECT id, {name} FROM t WHERE id IN (SELECT MAX(id) FROM t GROUP BY {name}) ORDER BY {single} {limit}"
        yield Select(sql, ordered=True, may_fail=True, warnings=False, near=some.near)
