"""One server, two schemas: the same statements in HAILSTONE and in InnoDB, whose answers must be the same, to the byte that a client gets."""

import collections
import decimal
import math
import re

import pymysql
from program import Failure

ENGINES = ("HAILSTONE", "InnoDB")
OUT_OF_RANGE = 1690  # of a BIGINT
TIMED_OUT = 1969  # by max_statement_time
# Where the engine makes groups it tells of columns as the server does that keeps them in a table of its own; the server's plan may do without (the SQL test "metadata").
GROUPED = re.compile(r"\b(GROUP BY|DISTINCT)\b")
# Of a column of a result: flags, and types: DECIMAL, all numbers, and texts and bytes.
NOT_NULL, UNSIGNED = 1, 32
DECIMAL, NUMBERS, TEXTS = 246, {1, 2, 3, 4, 5, 8, 9, 246}, {249, 250, 251, 252, 253, 254}
NONE = "NULL"  # of a row, what is shown of NULL
Answer = collections.namedtuple("Answer", "error rows affected warnings columns", defaults=((),))


class Difference(Failure):
    """The engines' answers differ."""


def text(value):
    """Of a row, the text that shown() was made of."""
    return value[1:-1]


def shown(value):
    """What the client got of a value: a text that is the same for the same bytes only."""
    # What is no UTF-8 becomes characters that no UTF-8 has.
    return NONE if value is None else f"'{value.decode('utf-8', 'surrogateescape')}'"


class Pair:
    """A connection to the schema of each engine, or to that of one of them."""

    def __init__(self, server, engines=ENGINES):
        self.engines = engines
        self._connections = {}
        self.settings = []  # statements that brought the sessions to where they are
        for engine in engines:
            connection = self._connections[engine] = self.connect(server)
            with connection.cursor() as cursor:
                cursor.execute(f"CREATE OR REPLACE DATABASE in_{engine.lower()} CHARACTER SET utf8mb4")
                cursor.execute(f"USE in_{engine.lower()}")
                cursor.execute(f"SET default_storage_engine = {engine}")
        self.statements = self.timed_out = 0
        self.history = []  # what both were told since begin_history(), behind the settings of before the first call
        self._lasting = None

    @staticmethod
    def connect(server):
        """Without conversions: what the server sends, to the byte."""
        return pymysql.connect(unix_socket=server.socket, user="root", autocommit=True, charset="utf8mb4", local_infile=True, conv={}, use_unicode=False)

    def close(self):
        for connection in self._connections.values():
            connection.close()

    def begin_history(self):
        if self._lasting is None:
            self._lasting = [*self.settings]
        self.history = [*self._lasting]

    def keep_history(self, path):
        """Writes it as files for the server's client, one of each engine, and gives back their names."""
        paths = []
        for engine in self.engines:
            paths.append(f"{path}-{engine.lower()}.sql")
            with open(paths[-1], "w", encoding="utf-8") as file:
                file.write(f"SET default_storage_engine = {engine};\n")
                file.writelines(f"DELIMITER //\n{sql} //\nDELIMITER ;\n" if ";" in sql else f"{sql};\n"
                                for each in self.history if (sql := each.get(engine) if isinstance(each, dict) else each))
        return " and ".join(paths)

    def note(self, told):
        """What engines were told one by one, for the history: a statement by engine."""
        self.history.append(told)

    def run(self, engine, sql):
        """The answer of one engine. A row is a tuple of what shown() makes of the client's values."""
        with self._connections[engine].cursor() as cursor:
            try:
                affected = cursor.execute(sql)
                rows = [tuple(map(shown, row)) for row in cursor.fetchall()]
                # Name, type, length, decimals, flags and character set.
                fields = cursor._result.fields if cursor.description else []
                columns = [(f.name, f.type_code, f.length, f.scale, f.flags, f.charsetnr) for f in fields]
                error = None
            except pymysql.MySQLError as failure:
                if failure.args[0] in (2006, 2013):
                    raise Failure(f"the server went away during: {sql}") from failure
                affected, rows, error, columns = 0, [], failure.args[0], []
            result = cursor._result
            if error is None and not result.warning_count and not result.has_next:
                return Answer(error, rows, affected, [], columns)
            try:
                cursor.execute("SHOW WARNINGS")
                warnings = [(int(code), re.sub(f'[`"]in_{engine.lower()}[`"][.]', "", message.decode("utf-8", "backslashreplace")))
                            for _, code, message in cursor.fetchall()]
            except pymysql.MySQLError as failure:
                raise Failure(f"the server went away after: {sql}") from failure
        return Answer(error, rows, affected, warnings, columns)

    def set(self, sql, *engines):
        """Changes a setting of both sessions, or of some engines'."""
        self.settings.append(sql)
        self.history.append(sql)
        for engine in engines or self.engines:
            answer = self.run(engine, sql)
            if answer.error is not None:
                raise Failure(f"'{sql}' failed with error {answer.error}")

    def both(self, sql, ordered=False, warnings=False, may_fail=False, columns=False, near=False, plan_of=None, may_time_out=()):
        """The common answer. Raises Difference when there is none. `ordered`: rows come in one order only. `warnings`:
        those are the same, in whatever order, as sorts do not say which of equal rows comes first; "which": their number is not. `columns`: so is what the client is told of the result's columns;
        "plan": but for what another plan of the server tells otherwise of them; "joined": also whether they are NOT NULL, which its plan decides of a column
        of an outer join or of ROLLUP.
        `near`: floating-point numbers may differ in their last digits, decimals behind the ninth. `plan_of`: the SELECT in the statement, which can be explained.
        `may_time_out`: engines that max_statement_time may stop; nothing is compared then."""
        self.history.append(sql)
        answers = [self.run(engine, sql) for engine in self.engines]
        self.statements += 1
        errors = [answer.error for answer in answers]
        if any(error == TIMED_OUT and engine in may_time_out for engine, error in zip(self.engines, errors)):
            self.timed_out += 1
            return answers[errors.index(TIMED_OUT)]
        # A plan of the server that takes the row away by another condition first, or comes by fewer rows in an index, has no
        # error, either; and of several errors its plan decides which comes first.
        if may_fail and (None not in errors or errors == [None, OUT_OF_RANGE] or
                         (errors == [OUT_OF_RANGE, None] and self._reads_fewer_rows(plan_of or sql))):
            return next(answer for answer in answers if answer.error is not None)
        decimals = {number for number, column in enumerate(answers[0].columns) if column[1] == DECIMAL}
        for part, name in enumerate(Answer._fields):
            if (name == "warnings" and not warnings) or (name == "columns" and not columns):
                continue
            seen = [answer[part] for answer in answers]
            if name == "columns" and seen[0] != seen[1] and (columns == "joined" or columns == "plan" and self._has_table(plan_of or sql) or GROUPED.search(plan_of or sql)):
                seen = [[_kept(*column, nulls=columns == "plan") for column in each] for each in seen]
            if name == "warnings":
                seen = [sorted(each) for each in seen]
            if name == "warnings" and warnings == "which":
                seen = [sorted(set(each)) for each in seen] if answers[0].error is None else []
            if all(each == seen[0] for each in seen):
                continue
            # Of rows that an index does not lead to, whatever else is asked of them is not evaluated.
            if name == "warnings" and warnings == "which" and {*seen[1]} < {*seen[0]} and self._reads_fewer_rows(plan_of or sql):
                continue
            if name == "columns" and columns == "plan" and "WITH ROLLUP" in sql and self._has_no_rows(plan_of or sql):
                # Where its plan has no rows, the server does not say of keys of ROLLUP that they are NOT NULL.
                seen = [[(column[0], column[2]) for column in each] for each in seen]
            if name == "rows" and not ordered:
                seen = [sorted(rows) for rows in seen]
            if seen[0] != seen[1] and not (near and name == "rows" and are_near(*seen, decimals)):
                plans = "".join(f"\n{engine} plans: {self.run(engine, 'EXPLAIN ' + (plan_of or sql)).rows}" for engine in ENGINES)
                raise Difference(f"{name} differ for: {sql}\nafter: {'; '.join(self.settings[-3:])}" +
                                 "".join(f"\n{engine}: {_shown(name, seen[i], seen[1 - i])}"
                                         for i, engine in enumerate(ENGINES)) + plans)
        if answers[0].error is not None and not may_fail:
            raise Failure(f"'{sql}' failed with error {answers[0].error}: {answers[0].warnings}")
        return answers[0]

    def _reads_fewer_rows(self, sql):
        """Whether the server comes by fewer rows than all, or stops at a limit among groups that it makes one after the other."""
        plans = self.plans(sql, "InnoDB")
        return not plans.isdisjoint({"range", "index", "index_merge", "ref", "ref_or_null"}) or ("LIMIT" in sql and "GROUP BY" in sql and "Using temporary" not in plans)

    def _has_table(self, sql):
        """Whether the server keeps the rows in a table of its own, of one of the engines."""
        return any("Using temporary" in self.plans(sql, engine) for engine in self.engines)

    def _has_no_rows(self, sql):
        return any(word.startswith("Impossible WHERE") for engine in self.engines for word in self.plans(sql, engine))

    def plans(self, sql, engine=ENGINES[0]):
        """What EXPLAIN says of an engine's access: types of access and remarks."""
        words = set()
        for row in self.run(engine, "EXPLAIN " + sql).rows:
            words.update(word.strip("'") for word in (row[1], row[3]))
            words.update(row[9].strip("'").split("; "))
        return words


def _kept(name, type_code, length, decimals, flags, character_set, nulls):
    """Of a column, what a table that the server makes of the rows leaves as it is. Lengths of numbers are others there, as are types of texts, and most flags."""
    null = flags & NOT_NULL if nulls else None
    if type_code in TEXTS:
        return name, null, character_set
    return (name, type_code, decimals, flags & UNSIGNED, null) if type_code in NUMBERS else (name, type_code, length, decimals, null)


def are_near(rows, others, decimals=()):
    """Whether numbers differ in their last digits only. `decimals`: the columns of that type."""
    def is_near(value, other, is_decimal):
        if value == other:
            return True
        if NONE in (value, other):
            return False
        value, other = value.strip("'"), other.strip("'")
        try:
            if is_decimal:
                return abs(decimal.Decimal(value) - decimal.Decimal(other)) < decimal.Decimal("1e-9")
            one, another = float(value), float(other)
        except (ValueError, decimal.InvalidOperation):
            return False
        if math.isclose(one, another, rel_tol=1e-9, abs_tol=1e-12):
            return True
        # Between two numbers of a few digits, which of them is shown is up to the last digit of many.
        digits = max(len(text.partition(".")[2]) for text in (value, other))
        return "e" not in value + other and digits <= 8 and abs(one - another) < 1.5 * 10 ** -digits
    return len(rows) == len(others) and all(is_near(*pair, number in decimals) for row in zip(rows, others) for number, pair in enumerate(zip(*row)))


def _shown(name, seen, other):
    if name != "rows":
        return seen
    extra = list((collections.Counter(seen) - collections.Counter(other)).elements())
    if extra:
        return f"{len(seen)} rows, only here: {extra[:5]}"
    first = next((i for i, pair in enumerate(zip(seen, other)) if pair[0] != pair[1]), 0)
    return f"{len(seen)} rows, from number {first}: {seen[first:first + 5]}"
