"""A SELECT in every form of statement that may hold one: what becomes of its rows is the same in both engines."""

import collections
import os
import re

from columns import COLUMNS
from engines import ENGINES, Difference
from expressions import Expressions
from program import Failure
from stored import make_target

# Literals of conditions and limits, which may be parameters.
LITERAL = re.compile(r"(?:(?<=[=<>] )|(?<=IN \())(-?\d+(?:\.\d+)?|'[^'\\]*')(?=[ ,)]|$)|(?<=LIMIT )\d+")
VALUES = ["0", "1", "5", "100", "-7", "2.5", "-0.01", "NULL", "'a'", "'2001-02-03'", "'2024-10-27 02:30:00'"]
EQUALITY = re.compile(r"= (\?|p\d)|<=> (\?|p\d)| IN \(")  # with a parameter
FRACTIONS = {"2.5", "-0.01"}  # the server takes a whole number that it finds in an index for equal to one that rounds to it
BYTES_OR_TEXTS, BINARY = {249, 250, 251, 252, 253, 254}, 63  # types of columns that the client is told of (blobs, texts, strings), and a character set
# Of rows that a stored program takes one by one.
MOST_ROWS = 400


def has_filled(sql):
    """Whether it is up to the server's plan if some number has zeros in front."""
    return re.search(r"(MIN|MAX)\(year\)", sql) or ("GROUP BY" in sql and re.search(r"(MIN|MAX)\(utiny\)", sql))


class Places:
    """`met` counts the SELECTs that have been asked in each form, `pushed` those of them that the engine answered."""

    def __init__(self, random_source, pair, data_folder):
        self.random = random_source
        self.pair = pair
        self.data_folder = data_folder
        self.forms = {"EXECUTE": self.execute, "EXECUTE … USING": self.execute_using, "CREATE and INSERT … SELECT": self.create_and_insert,
                      "INTO @variables": self.into_variables, "INTO OUTFILE": self.into_outfile, "cursor": self.cursor, "procedure": self.procedure,
                      "view": self.view}
        self.met = collections.Counter()
        self.pushed = collections.Counter()

    def place(self, select, answer):
        """Asks a SELECT once more, in another form; `answer`: that of the SELECT itself."""
        # The others are met less often, as some do not fit or fail.
        form = self.random.choices([*self.forms], [4, 6, 4, 7, 4, 4, 4, 4])[0]
        if "SQL_CALC_FOUND_ROWS" in select.sql:
            select = select._replace(sql=select.sql.replace("SQL_CALC_FOUND_ROWS ", ""))
        before = self._pushed()
        try:
            done = self.forms[form](select, answer)
        except Failure as failure:
            raise Failure(f"as {form}: {select.sql}\n{failure}") from failure
        if done:
            self.met[form] += 1
            self.pushed[form] += self._pushed() > before

    def _pushed(self):
        return int(self.pair.run("HAILSTONE", "SHOW GLOBAL STATUS LIKE 'hailstone_selects_pushed'").rows[0][1].strip("'"))

    def _ask(self, sql, select, **how):
        """Whether it has not failed."""
        return self.pair.both(sql, may_fail=True, plan_of=select.sql, **how).error is None

    def create_and_insert(self, select, _):
        if not make_target(self.pair, select.sql, near=select.near):
            return False
        verb = self.random.choice(["INSERT", "INSERT IGNORE", "REPLACE"])
        self._ask(f"{verb} INTO target {select.sql}", select)
        return self._ask("SELECT * FROM target", select, near=select.near)

    def _prepare(self, sql, select):
        # Within quotes, where a backslash would be one of two.
        quoted = sql.replace("\\", "\\\\").replace("'", "''")
        return self._ask(f"PREPARE s FROM '{quoted}'", select)

    def execute(self, select, _):
        """The same prepared statement, by the engine and by the server."""
        if not self._prepare(select.sql, select):
            return False
        for mode in self.random.sample(["ON", "ON", "OFF", "AUTO"], 4):
            self.pair.set(f"SET hailstone_select_pushdown = {mode}")
            done = self._ask("EXECUTE s", select, ordered=select.ordered, near=select.near)
        self.pair.set("SET hailstone_select_pushdown = ON")
        return done

    def _parameters(self, sql, mark):
        """The statement with a mark for some of the literals of its conditions and limits, and these literals."""
        start = sql.find(" WHERE ")
        literals = []

        def take(match):
            if match.start() < start or self.random.random() < 0.3:
                return match.group()
            literals.append(match.group())
            return mark(len(literals) - 1)

        return (LITERAL.sub(take, sql) if start >= 0 else sql), literals

    def _other(self, sql, literals):
        """As many values, in the same order; what was a limit may have become one again."""
        values = [value for value in VALUES if value not in FRACTIONS] if EQUALITY.search(sql) else VALUES
        return [literal if self.random.random() < 0.4 else self.random.choice(values) for literal in literals]

    def execute_using(self, select, _):
        sql, literals = self._parameters(select.sql, lambda number: "?")
        if not literals or not self._prepare(sql, select):
            return False
        done = self._ask(f"EXECUTE s USING {', '.join(literals)}", select, ordered=select.ordered, near=select.near)
        for _ in range(2):
            self._ask(f"EXECUTE s USING {', '.join(self._other(sql, literals))}", select, ordered=select.ordered, near=select.near)
        return done

    def procedure(self, select, _):
        sql, literals = self._parameters(select.sql, lambda number: f"p{number}")
        kinds = ["VARCHAR(100)" if literal.startswith("'") else "BIGINT" if "." not in literal else "DECIMAL(20,3)" for literal in literals]
        parameters = ", ".join(f"p{number} {kind}" for number, kind in enumerate(kinds))
        self.pair.both("DROP PROCEDURE IF EXISTS p")
        if not self._ask(f"CREATE PROCEDURE p({parameters}) {sql}", select):
            return False
        done = self._ask(f"CALL p({', '.join(literals)})", select, ordered=select.ordered, near=select.near)
        for _ in range(2):
            self._ask(f"CALL p({', '.join(self._other(sql, literals))})", select, ordered=select.ordered, near=select.near)
        return done

    def into_variables(self, select, answer):
        sql = select.sql
        if has_filled(sql):
            return False
        if len(answer.rows) > 1:
            if not select.ordered or "LIMIT" in sql:
                return False
            sql += f" LIMIT {self.random.choice(['1', '1', '1', '2'])}"
        # Of groups that the server makes one after the other it stores columns of the next row, and with NULL whatever is in memory.
        if "GROUP BY" in sql or "DISTINCT" in sql:
            sql = f"SELECT * FROM ({sql}) d"
        variables = [f"@v{number}" for number in range(len(answer.columns))]
        names = ", ".join(variables)
        self.pair.both(f"SET {' = NULL, '.join(variables)} = NULL")
        # Whether a decimal has the digits behind the point that its type tells of is up to the server's plan, as is whether a value of bytes that a
        # text was chosen for, as by COALESCE(), is one of bytes.
        shown = ", ".join(f"CONVERT({name} USING binary)" if type_code in BYTES_OR_TEXTS and character_set == BINARY else name
                          for name, (_, type_code, _, _, _, character_set) in zip(variables, answer.columns))
        return self._ask(f"{sql} INTO {names}", select) and self._ask(f"SELECT {shown}", select, near=True)

    def into_outfile(self, select, _):
        if select.near or has_filled(select.sql):
            return False
        paths = [os.path.join(self.data_folder, f"in_{engine.lower()}", "rows.txt") for engine in ENGINES]
        try:
            if not self._ask(f"{select.sql} INTO OUTFILE 'rows.txt'", select):
                return False
            contents = []
            for path in paths:
                with open(path, "rb") as file:
                    contents.append(file.read())
        finally:
            for path in paths:
                if os.path.exists(path):
                    os.remove(path)
        if contents[0] != contents[1] and (select.ordered or sorted(contents[0].split(b"\n")) != sorted(contents[1].split(b"\n"))):
            raise Difference(f"other files of: {select.sql} INTO OUTFILE\n{contents[0][:500]}\n{contents[1][:500]}")
        return True

    def cursor(self, select, answer):
        """It keeps its rows in a table that the server makes of the same items."""
        if len(answer.rows) > MOST_ROWS or has_filled(select.sql):
            return False
        self.pair.both("CREATE OR REPLACE TABLE sink (line LONGBLOB) ENGINE=MyISAM")
        names = [f"v{number}" for number in range(len(answer.columns))]
        texts = ", ".join(f"IFNULL({name}, 'none')" for name in names)
        block = (f"BEGIN NOT ATOMIC DECLARE done INT DEFAULT 0; DECLARE {', '.join(names)} LONGBLOB; DECLARE c CURSOR FOR {select.sql}; "
                 f"DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = 1; OPEN c; FETCH c INTO {', '.join(names)}; "
                 f"WHILE NOT done DO INSERT INTO sink VALUES (CONCAT_WS('|', {texts})); FETCH c INTO {', '.join(names)}; END WHILE; CLOSE c; END")
        if not self._ask(block, select):
            return False
        return select.near or self._ask("SELECT line FROM sink", select, ordered=select.ordered)

    def view(self, select, _):
        # The server takes such an order for one by something else, and gives a row of each of several that it may choose among.
        merges = " v " in f"{select.sql} " or "FROM (" in select.sql
        if "DISTINCT" in select.sql and " ORDER BY " in select.sql and (merges or "INTERVAL" in select.sql):
            return False
        # The server answers it, by a table that has no room for the NULL of a key that is never NULL where it is rolled up: what
        # was there before stays, and that depends on the order of rows.
        if "WITH ROLLUP" in select.sql:
            return False
        if not self._ask(f"CREATE OR REPLACE VIEW w AS {select.sql}", select):
            return False
        self._ask("SELECT COUNT(*) FROM w", select)
        return self._ask("SELECT * FROM w", select, near=select.near)

    def store(self, table):
        """Rows in no order that are stored: warnings name them by their number among all that the server reads."""
        some = Expressions(self.random, table.names)
        names = self.random.sample(table.stored, 3)
        if not {"wide", "precise", "single"}.isdisjoint(names):
            self.pair.set("SET sql_mode = ''")
        types = ["INT" if self.random.random() < 0.1 else "VARCHAR(2)" if self.random.random() < 0.1 else COLUMNS[name][0].replace(" COLUMNAR=0", "")
                 for name in names]
        key = self.random.choice(["", "PRIMARY KEY"])
        columns = ", ".join(f"{name} {text}" for name, text in zip(names, types))
        values = [some.number() if self.random.random() < 0.2 else name for name in names]
        condition = self.random.choice(["1", table.condition(), some.condition()])
        verb = self.random.choice(["INSERT", "INSERT", "REPLACE", "INSERT IGNORE"])
        make = f"CREATE OR REPLACE TABLE target (id INT {key}, {columns}, number BIGINT)"
        store = f"{verb} INTO target SELECT id, {', '.join(values)}, id + 1 FROM t USE INDEX () WHERE {condition}"
        self.pair.both(make)
        self.pair.both(store, may_fail=True)
        self.pair.both("SELECT * FROM target")
        # Rows lie in another order in InnoDB.
        warnings = {}
        for mode in ("OFF", "ON"):
            for sql in (f"SET hailstone_select_pushdown = {mode}", make, store):
                warnings[mode] = self.pair.run("HAILSTONE", sql).warnings
        if warnings["ON"] != warnings["OFF"]:
            raise Difference(f"other warnings without the engine of: {store}\n{warnings}")
