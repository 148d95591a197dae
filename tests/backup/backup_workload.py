"""What the clients of the backup loop do to a server, and what must hold in any copy of it that is of one moment.

- Transfers: rows of an InnoDB and of a Hailstone table whose amounts have the sum 0 over both, with a row of the client's next number
  in a table of each engine, in one transaction.
- Loads: many rows in a Hailstone table, by INSERT … SELECT or LOAD DATA, with their count in an InnoDB table, in one transaction.
- Expiry: rows that a table with RETAIN loses within seconds.
- Definitions: tables of both engines, with and without partitions, are made, renamed, altered, emptied and dropped; views of them.
- XA: transactions over both engines that stay prepared for a while, without their session."""

import os
import random
import threading
import time

import program
from checked_connection import CheckedConnection, Lost, Problem, Refused

SCHEMA = "work"
ACCOUNTS = 20
CONFLICTS = (1205, 1213)  # lock wait timeout, deadlock
UNKNOWN_XID = 1397
NOT_COMPARED = {"expiring"}  # each server expires its own rows
OPTIONS = ["--hailstone-memory-budget=128M", "--hailstone-checkpoint-log-size=2M", "--hailstone-retention-interval=1",
           "--innodb-buffer-pool-size=32M", "--innodb-log-file-size=64M", "--max-binlog-size=16M", "--local-infile=1",
           "--innodb-lock-wait-timeout=20", "--hailstone-lock-wait-timeout=20"]


def prepare(connection):
    connection.execute(f"CREATE DATABASE {SCHEMA} CHARACTER SET utf8mb4")
    for table, columns, more in (
            ("accounts", "id INT PRIMARY KEY, amount BIGINT NOT NULL", ""),
            ("steps", "client INT, number INT, pad VARCHAR(200) NOT NULL, PRIMARY KEY (client, number)", ""),
            ("decided", "id INT PRIMARY KEY, note VARCHAR(40) NOT NULL", "")):
        for engine, letter in (("InnoDB", "n"), ("HAILSTONE", "h")):
            connection.execute(f"CREATE TABLE {SCHEMA}.{table}_{letter} ({columns}) ENGINE={engine} {more}")
    for letter in "nh":
        values = ",".join(f"({i},0)" for i in range(ACCOUNTS))
        connection.execute(f"INSERT INTO {SCHEMA}.accounts_{letter} VALUES {values}")
    connection.execute(f"CREATE TABLE {SCHEMA}.loads_n (batch INT PRIMARY KEY, count INT NOT NULL) ENGINE=InnoDB")
    connection.execute(f"CREATE TABLE {SCHEMA}.loads_h (batch INT, i INT, v INT NOT NULL, s VARCHAR(40) NOT NULL, "
                       "PRIMARY KEY (batch, i), KEY (v)) ENGINE=HAILSTONE")
    connection.execute(f"CREATE TABLE {SCHEMA}.expiring (id BIGINT PRIMARY KEY, at DATETIME NOT NULL) ENGINE=HAILSTONE "
                       "RETAIN='1 HOUR' RETAIN_BY=at")


class Client(threading.Thread):
    """Works until it is told to stop; a server that goes is waited for."""

    def __init__(self, server, seed):
        super().__init__(daemon=True)
        self.server = server
        self.chance = random.Random(seed)
        self.problem = None
        self.ending = threading.Event()
        self.commits = 0
        self.longest = 0.0  # seconds of a commit, since it was last set to 0

    def run(self):
        while not self.ending.is_set():
            try:
                connection = CheckedConnection(self.server, SCHEMA)
                self.begin(connection)
                while not self.ending.is_set():
                    self.step(connection)
                connection.close()
            except Lost:
                time.sleep(0.1)
            except Exception as problem:  # pylint: disable=broad-except
                # A thread's own failure must not end in silence either.
                self.problem = f"{type(self).__name__}: {problem if isinstance(problem, Problem) else repr(problem)}"
                return

    def begin(self, connection):
        """On a new connection, as after a crash."""

    def step(self, connection):
        raise NotImplementedError

    def commit(self, connection):
        begun = time.monotonic()
        connection.execute("COMMIT")
        self.longest = max(self.longest, time.monotonic() - begun)
        self.commits += 1

    def whole(self, connection, statements):
        """All of them in one transaction; whether it has committed."""
        try:
            connection.execute("BEGIN")
            for statement in statements:
                connection.execute(statement, may_fail=CONFLICTS)
        except Refused:
            connection.execute("ROLLBACK")
            return False
        self.commit(connection)
        return True


class Transfers(Client):
    def __init__(self, server, seed, number):
        super().__init__(server, seed)
        self.number = number
        self.next = 0  # all below were acknowledged
        self.begun = 0  # none from here on was begun

    def begin(self, connection):
        ((there,),) = connection.execute(f"SELECT COALESCE(MAX(number)+1,0) FROM steps_n WHERE client={self.number}")
        if there < self.next:
            raise Problem(f"client {self.number} has committed {self.next} transactions, of which {there} are there")
        self.next = self.begun = there

    def step(self, connection):
        amount = self.chance.randrange(1, 100)
        pad = "x" * self.chance.choice((0, 10, 200))
        changes = [f"UPDATE accounts_{letter} SET amount=amount{sign}{amount} WHERE id={self.chance.randrange(ACCOUNTS)}"
                   for letter, sign in zip("nh", self.chance.choice(("+-", "-+")))]
        # In this order always: no engine knows of the other one's locks, so that a deadlock over both ends by a timeout.
        steps = [f"INSERT INTO steps_{letter} VALUES ({self.number},{self.next},'{pad}')" for letter in "nh"]
        changes = steps + changes if self.chance.random() < 0.5 else changes + steps[::-1]
        self.begun = self.next + 1
        if self.whole(connection, changes):
            self.next += 1


class Loads(Client):
    def __init__(self, server, seed, large):
        super().__init__(server, seed)
        self._large = large
        self._batch = 0

    def begin(self, connection):
        ((there,),) = connection.execute("SELECT COALESCE(MAX(batch)+1,0) FROM loads_n")
        self._batch = max(self._batch + 1, there)

    def step(self, connection):
        count = 1_000_000 if self._large else self.chance.choice((300, 2_000, 20_000))
        self._large = False
        if count < 1_000_000 and self.chance.random() < 0.4:
            path = os.path.join(self.server.facts["folder"], "tmp", "load.txt")
            with open(path, "w", encoding="ascii") as file:
                file.writelines(f"{self._batch}\t{i}\t{i * 7 % 1000}\trow {i}\n" for i in range(1, count + 1))
            os.chmod(path, 0o644)
            load = f"LOAD DATA INFILE '{path}' INTO TABLE loads_h"
        else:
            load = f"INSERT INTO loads_h SELECT {self._batch}, seq, seq*7%1000, CONCAT('row ', seq) FROM seq_1_to_{count}"
        changes = [load, f"INSERT INTO loads_n VALUES ({self._batch},{count})"]
        self.chance.shuffle(changes)
        self.whole(connection, changes)
        self._batch += 1
        self.ending.wait(self.chance.choice((0, 0.1, 0.5)))


class Expiry(Client):
    def begin(self, connection):
        connection.execute("SET time_zone='SYSTEM'")
        ((self._next,),) = connection.execute("SELECT COALESCE(MAX(id),0)+1000000 FROM expiring")

    def step(self, connection):
        ages = ",".join(f"({self._next + i}, '{{}}')" for i in range(50))
        ((soon,),) = connection.execute("SELECT CAST(NOW() - INTERVAL 3598 SECOND AS CHAR)")
        connection.execute(f"INSERT INTO expiring VALUES {ages.replace('{}', soon)}")
        self._next += 50
        self.ending.wait(0.1)


class Definitions(Client):
    """Its names are never used again: after a crash InnoDB may have left a file of a table that it has dropped."""

    def __init__(self, server, seed, number):
        super().__init__(server, seed)
        self.number = number
        self.changes = 0
        self._token = 0
        self._tables = {}  # by name: whether it has partitions

    def begin(self, connection):
        for (name,) in connection.execute(f"SHOW TABLES LIKE 'made{self.number}\\_%'"):
            connection.execute(f"DROP TABLE IF EXISTS {name}")
        self._tables = {}

    def _new_name(self):
        self._token += 1
        return f"made{self.number}_{self._token}"

    def step(self, connection):
        self._change(connection)
        self.changes += 1
        self.ending.wait(self.chance.choice((0, 0, 0.05)))

    def _change(self, connection):
        if len(self._tables) < 2 or (len(self._tables) < 6 and self.chance.random() < 0.3):
            name, partitions = self._new_name(), self.chance.random() < 0.3
            connection.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY, v VARCHAR(50)) ENGINE={self._engine()}"
                               f"{' PARTITION BY HASH(id) PARTITIONS 3' if partitions else ''}")
            self._tables[name] = partitions
            connection.execute(f"INSERT INTO {name} SELECT seq, CONCAT('v ', seq) FROM seq_1_to_{self.chance.choice((1, 50, 1500))}")
            return
        name = self.chance.choice(sorted(self._tables))
        self.chance.choice((self._drop, self._rename, self._swap, self._alter, self._alter, self._alter, self._truncate, self._view))(
            connection, name)

    def _engine(self):
        return self.chance.choice(("InnoDB", "HAILSTONE"))

    def _drop(self, connection, name):
        connection.execute(f"DROP TABLE {name}")
        del self._tables[name]

    def _rename(self, connection, name):
        to = self._new_name()
        connection.execute(f"RENAME TABLE {name} TO {to}")
        self._tables[to] = self._tables.pop(name)

    def _swap(self, connection, name):
        other = self.chance.choice(sorted(self._tables))
        if other == name:
            return
        between = self._new_name()
        connection.execute(f"RENAME TABLE {name} TO {between}, {other} TO {name}, {between} TO {other}")
        self._tables[name], self._tables[other] = self._tables[other], self._tables[name]

    def _truncate(self, connection, name):
        connection.execute(f"TRUNCATE TABLE {name}")

    def _view(self, connection, name):
        connection.execute(f"CREATE OR REPLACE VIEW view{self.number} AS SELECT id FROM {name}")

    def _alter(self, connection, name):
        self._token += 1
        changes = [f"ADD COLUMN c{self._token} INT DEFAULT {self._token}", f"ADD KEY k{self._token} (v)", f"ENGINE={self._engine()}",
                   f"COMMENT='{self._token}'", "FORCE"]
        if self._tables[name]:
            changes.append(self.chance.choice(("REMOVE PARTITIONING", "ADD PARTITION PARTITIONS 1")))
        change = self.chance.choice(changes)
        connection.execute(f"ALTER TABLE {name} {change}")
        if change == "REMOVE PARTITIONING":
            self._tables[name] = False


class Prepared(Client):
    """Leaves transactions prepared, and ends them from another session. What it has decided and not heard of it repeats, as each
    coordinator must: a crash may have come when one engine had committed and the other not."""

    def __init__(self, server, seed):
        super().__init__(server, seed)
        self._token = 0
        self._open = []
        self._decisions = {}  # by name, of what has not been heard of

    def begin(self, connection):
        self._open = []
        for row in connection.execute("XA RECOVER"):
            if (name := row[3].decode()).startswith("client "):
                end_prepared(connection, self._decisions.get(name, "ROLLBACK"), name)
        self._decisions = {}

    def step(self, connection):
        self._token += 1
        self._open.append(prepare_transaction(self.server, f"client {self._token}", self._token))
        if len(self._open) > 3:
            name = self._open.pop(self.chance.randrange(len(self._open)))
            self._decisions[name] = self.chance.choice(("COMMIT", "COMMIT", "ROLLBACK"))
            end_prepared(connection, self._decisions[name], name)
            del self._decisions[name]
            self.commits += 1
        self.ending.wait(self.chance.choice((0, 0.05, 0.2)))


def prepare_transaction(server, name, row_id):
    """A transaction of both engines that is prepared, and whose session has ended."""
    connection = CheckedConnection(server, SCHEMA)
    connection.execute(f"XA START '{name}'")
    for letter in "nh":
        connection.execute(f"INSERT INTO decided_{letter} VALUES ({row_id},'{name}')")
    connection.execute(f"XA END '{name}'")
    connection.execute(f"XA PREPARE '{name}'")
    ((session,),) = connection.execute("SELECT CONNECTION_ID()")
    connection.close()
    wait_until_left(server, session)
    return name


def wait_until_left(server, session):
    """Until InnoDB has seen the session's end. The server lets others end what the session has prepared some moments earlier: an
    XA COMMIT then succeeds, and is logged, while InnoDB knows of no such transaction and keeps it prepared (MariaDB 10.11.18)."""
    observer = CheckedConnection(server)
    deadline = time.monotonic() + 10
    while f"thread id {session}," in observer.execute("SHOW ENGINE INNODB STATUS")[0][2]:
        if time.monotonic() > deadline:
            raise Problem(f"InnoDB still has a transaction of session {session}, which has ended")
        time.sleep(0.005)
    observer.close()


def end_prepared(connection, decision, name):
    try:
        connection.execute(f"XA {decision} '{name}'", may_fail=(UNKNOWN_XID,))
    except Refused:
        raise Problem(f"the prepared transaction '{name}' is gone: there are {prepared_names(connection)}") from None


def prepared_names(connection):
    return sorted(row[3].decode() for row in connection.execute("XA RECOVER"))


# --- what must hold in a copy


def tables_of(connection, kind="BASE TABLE"):
    return sorted(name for (name,) in connection.execute(
        f"SELECT table_name FROM information_schema.tables WHERE table_schema='{SCHEMA}' AND table_type='{kind}'"))


def verify_moment(connection, acknowledged, begun):
    """The copy is of one moment, after all that was acknowledged when it began and before what was begun when it had ended, by
    client. The number of steps that it has."""
    steps = verify_transfers(connection)
    for client, least in acknowledged.items():
        if not least <= steps.get(client, 0) <= begun[client]:
            raise Problem(f"client {client}: {steps.get(client, 0)} steps are there; {least} were acknowledged when the backup began, "
                          f"and {begun[client]} begun when it had ended")
    wanted = dict(connection.execute(f"SELECT batch, count FROM {SCHEMA}.loads_n"))
    found = dict(connection.execute(f"SELECT batch, COUNT(*) FROM {SCHEMA}.loads_h GROUP BY batch"))
    if wanted != found:
        raise Problem(f"loads: {sorted(set(wanted.items()) ^ set(found.items()))[:6]} differ: batch and rows")
    verify_decided(connection)
    return sum(steps.values())


def verify_transfers(connection):
    """Both engines have the same transfers, as of one moment also where clients are at work: their steps by client."""
    connection.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
    ((total,),) = connection.execute(
        f"SELECT (SELECT SUM(amount) FROM {SCHEMA}.accounts_n) + (SELECT SUM(amount) FROM {SCHEMA}.accounts_h)")
    steps = {letter: {client: (count, last) for client, count, last in connection.execute(
        f"SELECT client, COUNT(*), MAX(number) FROM {SCHEMA}.steps_{letter} GROUP BY client")} for letter in "nh"}
    connection.execute("COMMIT")
    for client in steps["n"].keys() | steps["h"].keys():
        n, h = (steps[letter].get(client, (0, -1)) for letter in "nh")
        if n != h or n[0] != n[1] + 1:
            raise Problem(f"client {client}: InnoDB has {n[0]} steps, the last is {n[1]}; Hailstone has {h[0]}, the last is {h[1]}")
    if total != 0:
        raise Problem(f"the sum over both engines is {total}: half a transaction is there")
    return {client: count for client, (count, _) in steps["n"].items()}


def verify_decided(connection):
    n, h = ({row_id for (row_id,) in connection.execute(f"SELECT id FROM {SCHEMA}.decided_{letter}")} for letter in "nh")
    if n != h:
        raise Problem(f"rows of prepared transactions: {sorted(n ^ h)[:6]} are in one engine only")


def check_tables(connection):
    """CHECK TABLE of all tables; how many."""
    names = tables_of(connection)
    for row in connection.execute(f"CHECK TABLE {','.join(f'{SCHEMA}.{name}' for name in names)}"):
        if row[2:] != ("status", "OK"):
            raise Problem(f"CHECK TABLE says of {row[0]}: {row[3]}")
    return len(names)


def picture(connection):
    """What two servers with the same data have alike: definitions, checksums and row counts by table, views, prepared
    transactions."""
    shown = {}
    for name in tables_of(connection):
        definition = connection.execute(f"SHOW CREATE TABLE {SCHEMA}.{name}")[0][1]
        if name in NOT_COMPARED:
            shown[name] = definition
            continue
        ((_, checksum),) = connection.execute(f"CHECKSUM TABLE {SCHEMA}.{name}")
        shown[name] = (definition, checksum, connection.execute(f"SELECT COUNT(*) FROM {SCHEMA}.{name}")[0][0])
    # Few, so that a difference shows which.
    for letter in "nh":
        shown[f"rows of decided_{letter}"] = sorted(row_id for (row_id,) in connection.execute(f"SELECT id FROM {SCHEMA}.decided_{letter}"))
    for name in tables_of(connection, "VIEW"):
        shown[name] = connection.execute(f"SELECT view_definition FROM information_schema.views WHERE table_schema='{SCHEMA}' AND "
                                         f"table_name='{name}'")[0][0]
    shown["prepared transactions"] = prepared_names(connection)
    return shown


def difference(name, wanted, found):
    """Of tables, only what is not the same."""
    if isinstance(wanted, tuple) and isinstance(found, tuple):
        parts = [f"{part} {is_} instead of {must}" for part, must, is_ in zip(("definition", "checksum", "rows"), wanted, found) if must != is_]
        return f"{name} has {', '.join(parts)}"
    return f"{name} is {found} and must be {wanted}"


def compare_pictures(wanted, found, what):
    """The number of rows that are the same."""
    different = [name for name in sorted(wanted.keys() | found.keys()) if wanted.get(name) != found.get(name)]
    if different:
        raise Problem(f"{what}: " + "; ".join(difference(name, wanted.get(name), found.get(name)) for name in different))
    program.say(f"{what}: {len(wanted) - 1} tables and views are the same")
    return sum(value[2] for value in wanted.values() if isinstance(value, tuple))
