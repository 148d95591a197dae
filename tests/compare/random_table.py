"""A random table t, partitioned or not, with a view v of it: the same in both engines."""

from columns import BOUNDS, COLUMNS, LONG, NUMBERS, PACKED, STAMPS, VIRTUAL, literal
from expressions import Expressions
from program import Failure


class RandomTable:
    """`names` are its columns; `id` is among them, and no two rows have the same one. Of those `stored` get values, and `virtual` are computed; `defaulted`
    have a default, and `indexed` are the first ones of an index."""

    def __init__(self, random_source, pair):
        self.random = random_source
        self.pair = pair

    def make(self, row_counts=(0, 3, 200, 3000), multiply=1):
        """With one of the numbers of rows, or so many times more, of which the others repeat the first ones with another id."""
        names = self.random.sample(list(COLUMNS), 10)
        # A text, a document and a compressed column are in most tables.
        for kinds in (["story", "short"], ["document", "packed", "packed_text", "packed_lump", "packed_raw"]):
            names.append(self.random.choice([name for name in kinds if name not in names] or [name for name in COLUMNS if name not in names]))
        if self.random.random() < 0.4:
            names = [*names[1:], self.random.choice([name for name in STAMPS if name not in names[1:]] or [names[0]])]
        self.stored = names
        self.virtual = [] if self.random.random() < 0.75 else self.random.choice([["twice", "thrice"], [*VIRTUAL]])
        self.names = [*names, *self.virtual, "id"]
        both = self.pair.both
        both("DROP VIEW IF EXISTS w, v")
        both("DROP TABLE IF EXISTS t, target")
        self._create(names)
        rows = self.random.choice(row_counts)
        wide = self.random.random() < 0.5  # many different numbers
        for first in range(0, rows, 1000):
            values = ", ".join(f"({number}, {', '.join(self.value(name, wide) for name in names)})"
                               for number in range(first, min(rows, first + 1000)))
            both(f"INSERT INTO t (id, {', '.join(names)}) VALUES {values}")
        if multiply > 1:
            both(f"INSERT INTO t (id, {', '.join(names)}) SELECT id + seq * {rows}, {', '.join(names)} FROM t JOIN seq_1_to_{multiply - 1}")
        # Rows in segments, some of them deleted, and rows that are written later.
        self.pair.run("HAILSTONE", "OPTIMIZE TABLE t")
        self.pair.note({"HAILSTONE": "OPTIMIZE TABLE t"})
        both("DELETE FROM t WHERE id % 17 = 3")
        both(f"INSERT INTO t (id, {names[0]}) VALUES (-1, {self.value(names[0], False)}), (-2, {self.value(names[0], False)})")
        self._make_view()

    def _create(self, names):
        # By an index the server finds one of two moments that a time zone shows alike.
        indexable = [name for name in names if name not in LONG and name not in STAMPS]
        self.indexed = [*self.random.sample(indexable, 2), *(name for name in ("twice", "thrice", "told") if name in self.virtual and self.random.random() < 0.6)]
        keys = ", ".join(f"KEY ({name})" for name in self.indexed)
        prefixable = [name for name in names if name in LONG - PACKED]
        if prefixable and self.random.random() < 0.3:
            keys += f", KEY ({self.random.choice(prefixable)}(3))"
        self.not_null = {name for name in names if self.random.random() < 0.15}
        self.defaulted = self.not_null | {name for name in names if self.random.random() < 0.2 and name not in STAMPS}
        default = self.random.choice(sorted(self.defaulted) or ["id"])
        virtual = "".join(f", {name} {VIRTUAL[name].replace('DEFAULT(id)', '5').replace('<a>', default).replace('DEFAULT(id)', '5')}" for name in self.virtual)
        while True:
            partitions, self.has_key = self._partitions(names)
            if self.virtual and "UNIX_TIMESTAMP" in partitions:
                continue  # the tables of both engines would be partitioned so (see below), which InnoDB's virtual columns do not bear
            self.clustered = None  # a column before `id` in the primary key
            key = "PRIMARY KEY" if self.has_key else "NOT NULL, KEY (id)"
            if not partitions and self.random.random() < 0.3:
                self.has_key = False
                self.clustered = self.random.choice(indexable)
                self.not_null.add(self.clustered)
                self.defaulted.add(self.clustered)
                # Of one direction: the server's ranges lose rows of any engine where a key's later parts differ in it.
                direction = self.random.choice(["", "", " DESC"])
                key = f"NOT NULL, KEY (id), PRIMARY KEY ({self.clustered}{direction}, id{direction})"
            # Asked for the moment of a text that tells none, the server reads one partition only, of any engine. In the order of an index it merges partitions
            # of InnoDB with a virtual column of another one that is NULL where it is not.
            of_other = partitions if "UNIX_TIMESTAMP" in partitions or not self.virtual and self.random.random() < 0.7 else ""
            text = ", ".join(self._column(name) for name in names)
            shapes = {"HAILSTONE": (text, partitions), "InnoDB": (text.replace(" COLUMNAR=0", ""), of_other)}
            made = {engine: f"CREATE OR REPLACE TABLE t (id INT {key}, {shapes[engine][0]}{virtual}, {keys}) {shapes[engine][1]}" for engine in self.pair.engines}
            answers = [self.pair.run(engine, sql) for engine, sql in made.items()]
            self.pair.note(made)
            if all(answer.error is None for answer in answers):
                break
            if not partitions:
                raise Failure(f"the table cannot be made: {[answer.warnings for answer in answers]}")
        if of_other != partitions:
            self.chosen = []

    def _column(self, name):
        kind, values = COLUMNS[name]
        if name in self.not_null:
            kind = f"{kind.replace(' NULL', '')} NOT NULL"
        return f"{name} {kind} DEFAULT {values[0]}" if name in self.defaulted else f"{name} {kind}"

    def _make_view(self):
        some = Expressions(self.random, self.names)
        columns = ", ".join([*self.names, f"{some.number()} AS number", f"{some.text()} AS words"])
        conditions = ["1", self.random.choice([self.condition(), some.condition()])]
        while True:
            self.pair.both(f"CREATE OR REPLACE VIEW v AS SELECT {columns} FROM t WHERE {conditions.pop()}")
            if self.pair.both("SELECT COUNT(*) FROM v", may_fail=True).error is None:
                break

    def _partitions(self, names):
        """How the table is partitioned, or "", and whether rows still have a key. Sets those that a statement may choose."""
        self.chosen = []
        if self.random.random() < 0.5:
            return "", True
        count = self.random.choice([1, 2, 5, 30])
        self.chosen = [f"p{number}" for number in range(count)]
        rest = self.random.choice(["", f" PARTITIONS {count}"])
        if not rest:
            self.chosen = ["p0"]
        name = self.random.choice(names)
        kind = self.random.randrange(8)
        if kind == 0:
            return f"PARTITION BY {self.random.choice(['', 'LINEAR '])}{self.random.choice(['HASH (id)', 'KEY (id)', 'KEY ()', 'HASH (id DIV 100)'])}{rest}", True
        if kind == 1:
            self.chosen = ["p0", "p1", "p2"]
            return "PARTITION BY LIST (id % 4) (PARTITION p0 VALUES IN (-3, -2, -1, 0), PARTITION p1 VALUES IN (1, 3), PARTITION p2 DEFAULT)", True
        if name in STAMPS and kind < 7:
            self.chosen = ["p0", "p1", "p2"]
            return f"PARTITION BY RANGE (FLOOR(UNIX_TIMESTAMP({name}))) (PARTITION p0 VALUES LESS THAN (1), PARTITION p1 VALUES LESS THAN (1729987200), " \
                   "PARTITION p2 VALUES LESS THAN MAXVALUE)", False
        if kind == 2 and name not in LONG:
            return f"PARTITION BY KEY ({name}){rest}", False
        if kind == 3 and name in ("day", "moment"):
            return f"PARTITION BY {self.random.choice(['HASH (YEAR', 'HASH (TO_DAYS', 'HASH (MONTH'])}({name})){rest}", False
        if kind < 6:
            by, has_key, bounds = ("id", True, ["-1", "0", "7", "60", "250"]) if name not in BOUNDS else (name, False, BOUNDS[name])
            if name in BOUNDS and self.random.random() < 0.3:
                parts = [f"PARTITION p{number} VALUES IN ({value})" for number, value in enumerate(bounds)]
                self.chosen = [f"p{number}" for number in range(len(parts) + 1)]
                return f"PARTITION BY LIST COLUMNS ({name}) ({', '.join(parts)}, PARTITION p{len(parts)} DEFAULT)", False
            parts = [f"PARTITION p{number} VALUES LESS THAN ({value})" for number, value in enumerate([*bounds, "MAXVALUE"])]
            self.chosen = [f"p{number}" for number in range(len(parts))]
            below = self.random.choice(["", "", f" SUBPARTITION BY {self.random.choice(['HASH', 'KEY'])} (id) SUBPARTITIONS 2"])
            return f"PARTITION BY RANGE COLUMNS ({by}){below} ({', '.join(parts)})", has_key
        self.chosen = ["p0", "p1", "p2"]
        return "PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (0), PARTITION p1 VALUES LESS THAN (150), PARTITION p2 VALUES LESS THAN MAXVALUE)", True

    def value(self, name, wide):
        if name not in self.not_null and self.random.random() < 0.1:
            return "NULL"
        if wide and name in NUMBERS:
            return str(self.random.randrange(0, 120))
        return literal(self.random, name)

    def condition(self):
        name = self.random.choice(self.names)
        value = self.random.choice(["5", "100"]) if name not in COLUMNS else literal(self.random, name)
        return self.random.choice(["1", "1", f"{name} = {value}", f"{name} <> {value}", f"{name} IS NOT NULL", "id < 100", "id BETWEEN 40 AND 70",
                                   f"{name} IN ({value}, NULL) OR id > 50", f"{name} IS NULL AND id <> 1"])

    def table(self):
        """The table, or some of its partitions."""
        if not self.chosen or self.random.random() < 0.8:
            return "t"
        return f"t PARTITION ({', '.join(self.random.sample(self.chosen, self.random.randrange(1, len(self.chosen) + 1)))})"

    def source(self):
        return self.random.choice([self.table(), "t", "t", "v", f"(SELECT * FROM {self.table()} WHERE {self.condition()}) s"])

    def change(self):
        """Rows that the connection's transaction changes, takes away and brings."""
        name = self.random.choice(self.stored)
        self.pair.both(f"UPDATE t SET {name} = {self.value(name, False)} WHERE id % 5 = 1", may_fail=True)
        if self.has_key:
            self.pair.both("REPLACE INTO t (id) VALUES (-5), (-6)")
        else:
            self.pair.both("DELETE FROM t WHERE id IN (-5, -6)")
            self.pair.both("INSERT INTO t (id) VALUES (-5), (-6)")
