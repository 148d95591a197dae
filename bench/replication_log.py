"""The transactions that ./run bench replication has a replica apply: the same ones for each engine."""

import random

CLIENTS = 8
ROWS = 5_000  # of each client, at the start
HOT_ROWS = 4


def make_tables(connection, schema, engine):
    """The rows before the first transaction."""
    connection.execute(f"CREATE DATABASE IF NOT EXISTS {schema}")
    connection.execute(f"CREATE OR REPLACE TABLE {schema}.orders (id BIGINT PRIMARY KEY, customer INT NOT NULL, "
                       f"amount INT NOT NULL, note VARCHAR(60) NOT NULL, KEY by_customer (customer)) ENGINE={engine}")
    connection.execute(f"CREATE OR REPLACE TABLE {schema}.hot (id INT PRIMARY KEY, n BIGINT NOT NULL) ENGINE={engine}")
    connection.execute(f"INSERT INTO {schema}.orders SELECT seq, seq * 7919 % 1000, seq % 97, CONCAT('note of row ', seq) "
                       f"FROM {schema}.seq_0_to_{CLIENTS * ROWS - 1}")
    connection.execute(f"INSERT INTO {schema}.hot SELECT seq, 0 FROM {schema}.seq_0_to_{HOT_ROWS - 1}")


def contents(connection, schema):
    """What tells one state of the tables from another."""
    return connection.execute(f"SELECT COUNT(*), SUM(CRC32(CONCAT_WS(',', id, customer, amount, note))) FROM {schema}.orders "
                              f"UNION ALL SELECT COUNT(*), SUM(CRC32(CONCAT_WS(',', id, n))) FROM {schema}.hot")


def transactions(client, count):
    """The statements of each transaction of a client. Clients meet each other in the hot rows only, the last that a transaction
    changes: so none waits for another in a circle, and all end with the same rows whoever comes first."""
    return _Client(client).transactions(count)


class _Client:
    def __init__(self, number):
        self._chance = random.Random(f"replication/{number}")
        self._next_id = 10**6 * (number + 1)
        self._ids = list(range(number * ROWS, (number + 1) * ROWS))

    def transactions(self, count):
        for _ in range(count):
            kind = self._chance.random()
            if kind < 0.4:
                yield [self._insert(1)]
            elif kind < 0.6:
                yield [self._update()]
            elif kind < 0.7:
                yield [self._delete()]
            elif kind < 0.9:
                yield [self._insert(3), self._update(), self._update()]
            else:
                yield [self._insert(1), f"UPDATE hot SET n = n + 1 WHERE id = {self._chance.randrange(HOT_ROWS)}"]

    def _insert(self, rows):
        made = range(self._next_id, self._next_id + rows)
        self._next_id += rows
        self._ids.extend(made)
        values = (f"({key}, {self._chance.randrange(1000)}, {self._chance.randrange(1000)}, 'note of row {key}')" for key in made)
        return f"INSERT INTO orders VALUES {', '.join(values)}"

    def _update(self):
        # The amount rises, so that no update leaves the row as it is.
        return (f"UPDATE orders SET customer = {self._chance.randrange(1000)}, amount = amount + 1 "
                f"WHERE id = {self._chance.choice(self._ids)}")

    def _delete(self):
        place = self._chance.randrange(len(self._ids))
        self._ids[place], self._ids[-1] = self._ids[-1], self._ids[place]
        return f"DELETE FROM orders WHERE id = {self._ids.pop()}"
