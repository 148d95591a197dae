"""Connections that change rows, and others that change tables, while somebody reads."""

import contextlib
import decimal
import random
import threading

from columns import literal
from program import Failure
from session import GAVE_UP, Session

ACCOUNTS = 5000
BALANCE = decimal.Decimal("100.25")  # of each account, at first
CHANGED = 1412  # the table has another definition than the statement's snapshot
SETTINGS = ("SET sql_mode = ''", "SET lock_wait_timeout = 1", "SET hailstone_lock_wait_timeout = 1")


class Writers:
    """`committed` counts transactions, `defined` definitions of tables, `gave_up` those of either that waited too long."""

    def __init__(self, seed, server):
        self.seed = seed
        self.server = server
        self.committed = self.defined = self.gave_up = self.checked = 0
        self._mutex = threading.Lock()
        self._failures = []

    def say(self):
        return (f"{self.committed} transactions and {self.defined} definitions of others meanwhile ({self.gave_up} gave up), "
                f"{self.checked} sums that they keep")

    @contextlib.contextmanager
    def _running(self, *works):
        """Each work, a function of a session and a source of random numbers, again and again on a thread of its own."""
        stop = threading.Event()

        def loop(work, number):
            session = Session(self.server, *SETTINGS)
            source = random.Random(self.seed + number)
            try:
                while not stop.is_set():
                    work(session, source)
                    stop.wait(source.uniform(0, 0.02))
            except Failure as failure:
                self._failures.append(failure)
            finally:
                session.close()

        threads = [threading.Thread(target=loop, args=(work, number)) for number, work in enumerate(works)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        if self._failures:
            raise self._failures[0]

    def _transaction(self, session, statements, end):
        """All of them, or none."""
        session.must("BEGIN")
        for sql in statements:
            _, error = session.run(sql)
            if error is None:
                continue
            session.must("ROLLBACK")
            if error not in GAVE_UP:
                raise Failure(f"error {error} of: {sql}")
            with self._mutex:
                self.gave_up += 1
            return
        session.must(end)
        with self._mutex:
            self.committed += end == "COMMIT"

    def _define(self, session, sql):
        rows, error = session.run(sql)
        if error is not None and error not in GAVE_UP:
            raise Failure(f"error {error} of: {sql}")
        # OPTIMIZE has its errors in rows.
        done = error is None and all(row[2] != "Error" for row in rows)
        with self._mutex:
            self.defined += done
            self.gave_up += not done

    def of_table(self, names):
        """Rows of the table t come, change and go, all but those whose `id` is less than 600."""
        names = [name for name in names if name != "id"]

        def change(session, source):
            first = source.randrange(600, 10000)
            name = source.choice(names)
            value = literal(source, name)
            some = f"id BETWEEN {first} AND {first + source.randrange(300)}"
            self._transaction(session, [
                f"UPDATE t SET {name} = {value} WHERE {some}",
                f"DELETE FROM t WHERE id BETWEEN {first + 400} AND {first + 420}",
                f"INSERT INTO t (id, {name}) SELECT {10 ** 7 + source.randrange(10 ** 8)}, {value}"],
                source.choice(["COMMIT", "COMMIT", "ROLLBACK"]))

        def optimise(session, source):
            self._define(session, "OPTIMIZE TABLE t NOWAIT")

        return self._running(change, change, optimise)

    def of_accounts(self):
        """Transfers between accounts keep what all have together; columns and indexes come and go meanwhile."""
        session = Session(self.server, *SETTINGS)
        session.must("CREATE OR REPLACE TABLE accounts (id INT PRIMARY KEY, branch INT, balance DECIMAL(18,2), holder VARCHAR(20)) ENGINE=HAILSTONE")
        session.must(f"INSERT INTO accounts SELECT seq, seq % 37, {BALANCE}, CONCAT('holder ', seq) FROM seq_1_to_{ACCOUNTS}")
        session.close()

        def transfer(session, source):
            one, other = source.sample(range(1, ACCOUNTS + 1), 2)
            amount = source.randrange(10000) / 100
            self._transaction(session, [f"UPDATE accounts SET balance = balance - {amount} WHERE id = {one}",
                                        f"UPDATE accounts SET balance = balance + {amount}, branch = {source.randrange(37)} WHERE id = {other}"],
                              source.choice(["COMMIT", "COMMIT", "COMMIT", "ROLLBACK"]))

        def define(session, source):
            choice = source.randrange(6)
            self._define(session, [
                "ALTER TABLE accounts ADD COLUMN IF NOT EXISTS extra INT DEFAULT 7", "ALTER TABLE accounts DROP COLUMN IF EXISTS extra",
                "CREATE INDEX IF NOT EXISTS by_branch ON accounts (branch)", "DROP INDEX IF EXISTS by_branch ON accounts",
                "OPTIMIZE TABLE accounts", "ALTER TABLE accounts MODIFY holder VARCHAR(30) AFTER branch"][choice])

        return self._running(transfer, transfer, define)

    def check(self, session, source):
        """The sum, by one of several ways, each with a snapshot of its own."""
        sql = source.choice([
            "SELECT COUNT(*), SUM(balance) FROM accounts", "SELECT COUNT(*), SUM(balance + id) - SUM(id) FROM accounts WHERE balance IS NOT NULL",
            "SELECT SUM(c), SUM(s) FROM (SELECT branch, COUNT(*) AS c, SUM(balance) AS s FROM accounts GROUP BY branch) d",
            "SELECT SUM(c), SUM(s) FROM (SELECT balance, COUNT(*) AS c, SUM(balance) AS s FROM accounts GROUP BY balance ORDER BY c DESC, balance) d",
            "SELECT COUNT(*), SUM(balance) FROM (SELECT id, balance FROM accounts ORDER BY balance DESC, id LIMIT 100000) d",
            "SELECT COUNT(*), SUM(b) FROM (SELECT DISTINCT id, branch, balance AS b FROM accounts) d",
            "SELECT SUM(c), SUM(s) FROM (SELECT holder, id, COUNT(*) AS c, SUM(balance) AS s, GROUP_CONCAT(branch) AS g FROM accounts GROUP BY holder, id) d"])
        session.must(f"SET hailstone_select_pushdown = {source.choice(['ON', 'ON', 'ON', 'OFF'])}")
        rows, error = session.run(sql)
        if error == CHANGED:
            return
        if error is not None or [tuple(map(decimal.Decimal, row)) for row in rows] != [(ACCOUNTS, ACCOUNTS * BALANCE)]:
            raise Failure(f"{rows if error is None else f'error {error}'}, and not {ACCOUNTS} and {ACCOUNTS * BALANCE}, of: {sql}")
        self.checked += 1
