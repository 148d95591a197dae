"""What one client of the server's crash test does, and what must be there afterwards.

A client has tables of its own, which it creates, drops, renames, rebuilds and empties, and its own rows (id modulo the
number of clients) in a table that all share. It keeps a model of them: tables, a dictionary of name -> Table, which is
{id: Row} with what CREATE and ALTER TABLE have made of it. A
statement is an SQL text together with the model as it must be afterwards; so when the server dies, what must be there
is either the model before the statement that was under way or the one after it, whole, and after a COMMIT that was
under way, the whole transaction or nothing of it.
"""

import dataclasses
import typing
import zlib

SCHEMA = "crash"
SHARED = "shared"

COLUMNS = ("id BIGINT PRIMARY KEY, n INT NOT NULL, u BIGINT, s VARCHAR(300) NOT NULL, t TEXT, "
           "KEY by_n (n), UNIQUE KEY by_u (u), KEY by_s (s(20))")
# The layouts in turn: all columnar but the text, all rows, one columnar column beside rows.
LAYOUTS = (COLUMNS, COLUMNS.replace("NOT NULL,", "NOT NULL COLUMNAR=0,").replace("u BIGINT,", "u BIGINT COLUMNAR=0,"),
           COLUMNS.replace("n INT NOT NULL", "n INT NOT NULL COLUMNAR=1"))
MOST_ROWS = 3000
DUPLICATE_ENTRY = 1062


class Row(typing.NamedTuple):
    n: int
    u: int | None
    s: str
    t: str | None


@dataclasses.dataclass(frozen=True)
class Definition:
    """What ALTER TABLE changes. A table has a definition file only once ALTER TABLE has met it; all others are known to
    the server from the engine alone."""
    comment: str = ""
    extra: bool = False  # has the index of that name
    altered: bool = False
    in_memory: bool = False  # its rows go with the server


class Table(dict):
    def __init__(self, rows=(), definition=Definition()):
        super().__init__(rows)
        self.definition = definition


@dataclasses.dataclass
class Statement:
    sql: str
    after: dict  # the model, when the statement succeeds
    error: int | None = None  # it must fail so, and change nothing
    alters: str | None = None  # the table that ALTER TABLE meets
    load: str | None = None  # the text of the file that LOAD DATA reads, named {file} in the SQL text


def altered(tables, name, **what):
    definition = dataclasses.replace(tables[name].definition, altered=True, **what)
    return {**tables, name: Table(tables[name], definition)}


def restarted(tables):
    """What is there when the server has ended: of tables in memory no rows."""
    return {name: Table(() if table.definition.in_memory else table, table.definition) for name, table in tables.items()}


def literal(value):
    # The texts of this test hold no quote and no backslash.
    return "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)


def values_of(row_id, row):
    return f"({row_id},{row.n},{literal(row.u)},{literal(row.s)},{literal(row.t)})"


class Workload:
    """The statements of one client. Which ones they are depends on `chance` and on the model only."""

    def __init__(self, number, clients):
        self.number = number
        self.clients = clients
        self.chance = None  # a random.Random, set anew for each life of the server
        self._token = 0

    # --- values

    def _own(self, low, high):
        """An id of this client's in [low, high)."""
        return self.chance.randrange(low, high) * self.clients + self.number

    def next_token(self):
        self._token += 1
        return self._token * self.clients + self.number

    def _row(self):
        token = self.next_token()
        length = self.chance.choice((0, 5, 20, 20, 120))
        text = f"{self.chance.choice(('hail', 'sleet', 'snow', 'Regen'))} {token} " + "x" * length
        long = f"text {token} " * 150 if self.chance.random() < 0.02 else None
        return Row(self.chance.randrange(100), token if self.chance.random() < 0.8 else None, text.rstrip(), long)

    def _new_rows(self, rows, count):
        """So many rows with ids that are not in use, spread over all or one after the other."""
        first = self._own(0, 1_000_000)
        step = self.clients * self.chance.choice((1, 1, 37))
        made = {}
        while len(made) < count:
            if first not in rows:
                made[first] = self._row()
            first += step
        return made

    def table_name(self, which):
        return f"client{self.number}_{which}"

    def _pick_table(self, tables):
        return self.chance.choice(sorted(tables))

    def _pick_id(self, rows):
        """One that is there, if any is."""
        if not rows:
            return self._own(0, 1_000_000)
        # The dictionary's order is that of insertion and so a function of the seed.
        index = self.chance.randrange(min(len(rows), 500))
        for row_id in rows:
            if index == 0:
                return row_id
            index -= 1

    @staticmethod
    def _changed(tables, name, rows):
        """The same definition with other rows."""
        return {**tables, name: Table(rows, tables[name].definition)}

    # --- changes of rows, which may stand alone or in a transaction

    def change(self, tables):
        name = self._pick_table(tables)
        rows = tables[name]
        if len(rows) > MOST_ROWS:
            return self._delete_many(tables, name)
        kinds = [(self._insert, 30), (self._insert_duplicate, 4), (self._update_one, 20), (self._delete_one, 12),
                 (self._replace, 8), (self._insert_or_update, 8), (self._load, 6)]
        # Others' rows are in the shared table: what takes a range of it would wait for their locks.
        if name != SHARED:
            kinds += [(self._update_range, 10), (self._delete_by_n, 4), (self._insert_select, 4), (self._swap_u, 4)]
        functions, weights = zip(*kinds)
        return self.chance.choices(functions, weights)[0](tables, name)

    def _insert(self, tables, name):
        rows = tables[name]
        made = self._new_rows(rows, self.chance.choice((1, 1, 1, 3, 50, 400)))
        values = ",".join(values_of(*item) for item in made.items())
        return Statement(f"INSERT INTO {name} VALUES {values}", self._changed(tables, name, {**rows, **made}))

    def _insert_duplicate(self, tables, name):
        """Rows of which the last one is there already, or has a unique value that is."""
        rows = tables[name]
        if not rows:
            return self._insert(tables, name)
        made = self._new_rows(rows, self.chance.choice((1, 30)))
        twin = self._pick_id(rows)
        if rows[twin].u is not None and self.chance.random() < 0.5:
            other = next(iter(self._new_rows({**rows, **made}, 1)))
            made[other] = rows[twin]
        else:
            made[twin] = self._row()
        values = ",".join(values_of(*item) for item in made.items())
        return Statement(f"INSERT INTO {name} VALUES {values}", tables, error=DUPLICATE_ENTRY)

    def _update_one(self, tables, name):
        rows = tables[name]
        row_id = self._pick_id(rows)
        row = self._row()
        after = {**rows, row_id: row} if row_id in rows else rows
        return Statement(
            f"UPDATE {name} SET n={row.n},u={literal(row.u)},s={literal(row.s)},t={literal(row.t)} WHERE id={row_id}",
            self._changed(tables, name, after))

    def _update_range(self, tables, name):
        rows = tables[name]
        low = self._pick_id(rows)
        high = low + self.chance.choice((10, 1000, 100_000)) * self.clients
        after = {row_id: row._replace(n=(row.n + 7) % 100, s=row.s[:100] + "+") if low <= row_id <= high else row
                 for row_id, row in rows.items()}
        return Statement(
            f"UPDATE {name} SET n=(n+7)%100, s=CONCAT(LEFT(s,100),'+') WHERE id BETWEEN {low} AND {high}",
            self._changed(tables, name, after))

    def _swap_u(self, tables, name):
        """Values of a unique index change places, with an interim state that must never be seen."""
        rows = tables[name]
        one, other = self._pick_id(rows), self._pick_id(rows)
        if one == other or one not in rows or other not in rows:
            return self._update_one(tables, name)
        after = dict(rows)
        for row_id in (one, other):
            after[row_id] = rows[row_id]._replace(u=None if rows[row_id].u is None else -rows[row_id].u)
        return Statement(f"UPDATE {name} SET u=-u WHERE id IN ({one},{other})", self._changed(tables, name, after))

    def _delete_one(self, tables, name):
        rows = tables[name]
        row_id = self._pick_id(rows)
        after = dict(rows)
        after.pop(row_id, None)
        return Statement(f"DELETE FROM {name} WHERE id={row_id}", self._changed(tables, name, after))

    def _delete_by_n(self, tables, name):
        n = self.chance.randrange(100)
        after = {row_id: row for row_id, row in tables[name].items() if row.n != n}
        return Statement(f"DELETE FROM {name} WHERE n={n}", self._changed(tables, name, after))

    def _delete_many(self, tables, name):
        if name != SHARED and self.chance.random() < 0.3:
            return Statement(f"DELETE FROM {name}", self._changed(tables, name, {}))
        # By single keys, as the shared table holds others' rows between them.
        gone = set(list(tables[name])[:1000])
        after = {row_id: row for row_id, row in tables[name].items() if row_id not in gone}
        return Statement(f"DELETE FROM {name} WHERE id IN ({','.join(map(str, sorted(gone)))})",
                         self._changed(tables, name, after))

    def _replace(self, tables, name):
        rows = tables[name]
        row_id, row = self._pick_id(rows), self._row()
        after = {key: value for key, value in rows.items() if key != row_id}
        after[row_id] = row
        return Statement(f"REPLACE INTO {name} VALUES {values_of(row_id, row)}", self._changed(tables, name, after))

    def _insert_or_update(self, tables, name):
        rows = tables[name]
        row_id, row = self._pick_id(rows), self._row()
        after = rows[row_id]._replace(n=(rows[row_id].n + 1) % 100) if row_id in rows else row
        return Statement(f"INSERT INTO {name} VALUES {values_of(row_id, row)} ON DUPLICATE KEY UPDATE n=(n+1)%100",
                         self._changed(tables, name, {**rows, row_id: after}))

    def _insert_select(self, tables, name):
        rows = tables[name]
        source = self._pick_table({key: 0 for key in tables if key != SHARED})
        low = self.chance.randrange(100)
        copied = {row_id: row for row_id, row in tables[source].items() if low <= row.n < low + 20}
        # Of copies no copies are made: each id is that of a first row and one shift, and so in use once only.
        first_ids = 10_000_000 * self.clients
        copied = {row_id: row for row_id, row in copied.items() if row_id < first_ids}
        shift = self.next_token() * first_ids
        after = dict(rows)
        for row_id, row in copied.items():
            after[row_id + shift] = Row(row.n, None, row.s, row.t)
        return Statement(
            f"INSERT INTO {name} SELECT id+{shift},n,NULL,s,t FROM {source} WHERE n>={low} AND n<{low + 20} "
            f"AND id<{first_ids}",
            self._changed(tables, name, after))

    def _load(self, tables, name):
        """Also one that fails at its end, when all other rows are written already."""
        rows = tables[name]
        made = self._new_rows(rows, self.chance.choice((10, 1000, 1500)))
        fails = bool(rows) and self.chance.random() < 0.2
        loaded = {**made, self._pick_id(rows): self._row()} if fails else made
        text = "".join("\t".join("\\N" if value is None else str(value) for value in (row_id, *row)) + "\n"
                       for row_id, row in loaded.items())
        after = tables if fails else self._changed(tables, name, {**rows, **made})
        # LOCAL would skip duplicates; the file is where the server can read it.
        return Statement(f"LOAD DATA INFILE {{file}} INTO TABLE {name} CHARACTER SET utf8mb4", after,
                         error=DUPLICATE_ENTRY if fails else None, load=text)

    # --- changes of tables

    def change_tables(self, tables):
        own = sorted(name for name in tables if name != SHARED)
        if not own:
            return self._create(tables, own)
        functions = [self._create, self._drop, self._truncate, self._rename, self._rebuild, self._create_select,
                     self._swap_names, self._index, self._comment, self._convert]
        return self.chance.choice(functions)(tables, own)

    def _free_name(self, own):
        return next(name for which in range(100) if (name := self.table_name(which)) not in own)

    def _create(self, tables, own):
        if len(own) > 3:
            return self._drop(tables, own)
        name, in_memory = self._free_name(own), self.chance.random() < 0.3
        comment = f"made {self.next_token()}"
        return Statement(f"CREATE TABLE {name} ({self.chance.choice(LAYOUTS)}) ENGINE=HAILSTONE IN_MEMORY={int(in_memory)} "
                         f"COMMENT='{comment}'", {**tables, name: Table(definition=Definition(comment, in_memory=in_memory))})

    def _create_select(self, tables, own):
        if len(own) > 3:
            return self._drop(tables, own)
        name, source, in_memory = self._free_name(own), self.chance.choice(own), self.chance.random() < 0.3
        return Statement(
            f"CREATE TABLE {name} ({self.chance.choice(LAYOUTS)}) ENGINE=HAILSTONE IN_MEMORY={int(in_memory)} AS SELECT * FROM {source}",
            {**tables, name: Table(tables[source], Definition(in_memory=in_memory))})

    def _drop(self, tables, own):
        if len(own) < 3:
            return self._create(tables, own)
        name = self.chance.choice(own)
        return Statement(f"DROP TABLE {name}", {key: rows for key, rows in tables.items() if key != name})

    def _truncate(self, tables, own):
        name = self.chance.choice(own)
        return Statement(f"TRUNCATE TABLE {name}", self._changed(tables, name, {}))

    def _rename(self, tables, own):
        name, to = self.chance.choice(own), self._free_name(own)
        after = {to if key == name else key: rows for key, rows in tables.items()}
        return Statement(f"RENAME TABLE {name} TO {to}", after)

    def _swap_names(self, tables, own):
        if len(own) < 2:
            return self._create(tables, own)
        one, other = self.chance.sample(own, 2)
        after = dict(tables)
        after[one], after[other] = tables[other], tables[one]
        between = self._free_name(own)
        return Statement(f"RENAME TABLE {one} TO {between}, {other} TO {one}, {between} TO {other}", after)

    @staticmethod
    def _alter(tables, name, how, **what):
        return Statement(f"ALTER TABLE {name} {how}", altered(tables, name, **what), alters=name)

    def _rebuild(self, tables, own):
        name = self.chance.choice(own)
        if self.chance.random() < 0.5:
            return Statement(f"OPTIMIZE TABLE {name}", tables)
        return self._alter(tables, name, "FORCE")

    def _index(self, tables, own):
        """By copying."""
        name = self.chance.choice(own)
        if self.chance.random() < 0.5:
            return self._alter(tables, name, "DROP KEY IF EXISTS extra", extra=False)
        return self._alter(tables, name, "ADD KEY IF NOT EXISTS extra (n, id)", extra=True)

    def _convert(self, tables, own):
        """Into memory, or to files."""
        name = self.chance.choice(own)
        in_memory = not tables[name].definition.in_memory
        return self._alter(tables, name, f"IN_MEMORY={int(in_memory)}", in_memory=in_memory)

    def _comment(self, tables, own):
        """In place."""
        name, comment = self.chance.choice(own), f"altered {self.next_token()}"
        return self._alter(tables, name, f"COMMENT='{comment}', ALGORITHM=INSTANT", comment=comment)


# --- comparing

def differences(connection, name, rows, mine):
    """In words, what the table holds against what it must hold; an empty list when it is right. `mine` is a condition
    for the rows that the model is about."""
    found = connection.execute(f"SELECT id,n,u,s,t FROM {name} WHERE {mine}")
    there = {row[0]: Row(*row[1:]) for row in found}
    said = []
    if len(there) != len(found):
        said.append(f"{name}: a scan gives {len(found)} rows with {len(there)} different keys")
    if there != rows:
        missing, extra = rows.keys() - there.keys(), there.keys() - rows.keys()
        other = [key for key in rows.keys() & there.keys() if rows[key] != there[key]]
        said.append(f"{name}: of {len(rows)} rows {len(missing)} are missing {sorted(missing)[:5]}, {len(extra)} should not "
                    f"be there {sorted(extra)[:5]}, {len(other)} differ "
                    f"{[(key, rows[key], there[key]) for key in sorted(other)[:2]]}")
    return said


def index_differences(connection, name, rows, mine):
    """The same for what reading by each index gives."""
    said = []
    for index, column, condition, of in (("PRIMARY", "n", "id>=0", lambda row: row.n),
                                         ("by_n", "n", "n>=0", lambda row: row.n),
                                         ("by_u", "u", "u IS NOT NULL", lambda row: row.u),
                                         ("by_s", "s", "s>=''", lambda row: row.s)):
        values = [zlib.crc32(f"{row_id},{of(row)}".encode()) for row_id, row in rows.items() if of(row) is not None]
        count, total = connection.execute(
            f"SELECT COUNT(*), COALESCE(SUM(CRC32(CONCAT_WS(',',id,{column}))),0) FROM {name} FORCE INDEX ({index}) "
            f"WHERE {condition} AND {mine}")[0]
        if (count, int(total)) != (len(values), sum(values)):
            said.append(f"{name}: by the index {index} there are {count} rows with checksum {total}; right are "
                        f"{len(values)} with {sum(values)}")
    return said


def definition_differences(connection, number, model):
    """In words, what the server knows of the client's tables against what it must know."""
    indexed = {name for (name,) in connection.execute(
        f"SELECT DISTINCT table_name FROM information_schema.statistics WHERE table_schema='{SCHEMA}' AND index_name='extra'")}
    said = []
    for name, comment, options in connection.execute(
            f"SELECT table_name, table_comment, create_options FROM information_schema.tables WHERE table_schema='{SCHEMA}' "
            f"AND table_name LIKE 'client{number}\\_%'"):
        must = model[name].definition
        if ("`IN_MEMORY`=1" in options) != must.in_memory:
            said.append(f"{name}: its options are '{options}', and it must {'' if must.in_memory else 'not '}be in memory")
        if (comment, name in indexed) != (must.comment, must.extra):
            said.append(f"{name}: its comment is '{comment}' and must be '{must.comment}'; the index 'extra' is "
                        f"{'there' if name in indexed else 'not there'} and must {'' if must.extra else 'not '}be there")
    return said


def tables_of(connection, number):
    prefix = f"client{number}_"
    return {name for (name,) in connection.execute(f"SHOW TABLES FROM {SCHEMA}") if name.startswith(prefix)}
