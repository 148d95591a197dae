"""LIKE with patterns of every shape: pieces that overlap, wildcards and escapes in a row, characters of several bytes, and
bytes that are no characters; and comparisons of the same values, which find them in the same way."""

# Few letters, so that patterns match and nearly match.
TEXTS = [text.encode() for text in ("a", "b", "ab", "ba", "aba", "A", "é", "日", "本", "😀", " ", "%", "_", "\\", "!", "\0")]
BYTES = [b"a", b"b", b"ab", b"ba", b"aba", b"A", b"\xc3", b"\xa9", b"\xc3\xa9", b"\xff", b" ", b"%", b"_", b"\\", b"!", b"\0"]
COLUMNS = {"v": ("VARCHAR(12)", "VARBINARY(24)"), "c": ("CHAR(12)", "BINARY(24)"), "x": ("TEXT", "BLOB")}
ESCAPES = ["", "", "", " ESCAPE '!'", " ESCAPE ''", " ESCAPE 'a'", " ESCAPE '\\\\'", " ESCAPE '%'", " ESCAPE '_'"]


class Patterns:
    """Of one collation: `constant` writes a text of UTF-8, or bytes, as a constant of it."""

    def __init__(self, random_source, pair, character_set, name, constant):
        self.random = random_source
        self.pair = pair
        self.binary = character_set == "binary"
        self.pieces = BYTES if self.binary else TEXTS
        self.collate = "" if self.binary else f"CHARACTER SET {character_set} COLLATE {name}"
        self.constant = constant

    def value(self):
        return self.random.choices(self.pieces, k=self.random.randrange(6))

    def pattern(self, value):
        """Of the pieces of a value, or of others."""
        pieces = value if self.random.random() < 0.6 else self.value()
        pattern = b"%" if self.random.random() < 0.4 else b""
        for piece in pieces:
            chance = self.random.random()
            if chance < 0.2:
                continue
            pattern += self.random.choice([b"\\", b"!"]) if chance < 0.3 else b""
            pattern += b"_" if chance > 0.95 else piece
            pattern += b"%" if self.random.random() < 0.3 else b""
        return pattern + self.random.choice([b"", b"", b"%", b"%%", b"\\", b"!"])

    def comparison(self, values):
        """Of a column with values that are there, or nearly."""
        low, high = (self.constant(b"".join(self.random.choice(values)) + self.random.choice([b"", b"", b" ", b"a"]))
                     for _ in range(2))
        return f"{self.random.choice([*COLUMNS])} " + self.random.choice(
            [f"<> {low}", f"= {low}", f"< {low}", f"NOT IN ({low}, {high})", f"NOT BETWEEN {low} AND {high}"])

    def compare(self, rows, patterns):
        both = self.pair.both
        columns = ", ".join(f"{name} {kinds[self.binary]} {self.collate}" for name, kinds in COLUMNS.items())
        both("DROP TABLE IF EXISTS p")
        both(f"CREATE TABLE p (id INT PRIMARY KEY, {columns})")
        values = [self.value() for _ in range(rows)]
        listed = ", ".join(f"({number}, {', '.join(self.constant(b''.join(value)) for _ in COLUMNS)})"
                           for number, value in enumerate(values))
        both(f"INSERT IGNORE INTO p VALUES {listed}")
        for number in range(patterns):
            if number == patterns // 2:
                # From here on dictionaries and summaries of blocks are asked, too.
                self.pair.run("HAILSTONE", "OPTIMIZE TABLE p")
            if self.random.random() < 0.2:
                self.pair.set("SET sql_mode = 'NO_BACKSLASH_ESCAPES'")
            conditions = []
            for _ in range(2):
                pattern = self.constant(self.pattern(self.random.choice(values)))
                negated = "NOT " if self.random.random() < 0.3 else ""
                escape = self.random.choice(ESCAPES)
                conditions.append(f"{self.random.choice([*COLUMNS])} {negated}LIKE {pattern}{escape}")
            conditions.append(self.comparison(values))
            for condition in [*conditions, " OR ".join(conditions), " AND ".join(conditions)]:
                both(f"SELECT id FROM p WHERE {condition}", may_fail=True)
            both(f"SELECT COUNT(*) FROM p WHERE {conditions[0]}", may_fail=True)
            self.pair.set("SET sql_mode = ''")
