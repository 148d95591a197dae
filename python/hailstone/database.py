"""Databases, transactions, tables and scans."""

from __future__ import annotations

import ctypes
import dataclasses
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional, Union

from . import library
from .errors import Busy, Error, Invalid, NotFound, Status
from .library import AS_DICTIONARY, Aggregate, ArrowArrayStream, Options, Value, check, get_value, lib, name_bytes
from .lookup import Lookup
from .predicate import make_predicate
from .values import RowBuffers, RowReader

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa

    from .predicate import Predicate
else:
    from .arrow import pyarrow as pa

# What is taken for rows, names of columns, conditions and retentions.
Row = Union[Mapping[str, Any], Sequence[Any]]
Names = Union[str, Iterable[str]]
Where = Union["Predicate", Sequence[Any], None]
Retention = Optional[tuple[str, int, str]]

_DURABILITY = {"second": 0, "commit": 1, "crash": 2}
_ISOLATION = {"read committed": 1, "repeatable read": 2, "serializable": 3}
_LOCKS = {None: 0, "shared": 1, "exclusive": 2}
_UNITS = {"hours": 1, "days": 2, "weeks": 3, "months": 4, "years": 5}
_AGGREGATES = {"rows": 0, "count": 1, "min": 2, "max": 3, "sum": 4}


@dataclasses.dataclass(frozen=True)
class Column:
    name: str
    type: str  # "int8" … "uint64", "float", "double", "string", "bytes", "date", "timestamp", "bool", "datetime"
    nullable: bool = True
    columnar: bool = True
    max_bytes: int = 0  # of string and bytes; 0: no limit


@dataclasses.dataclass(frozen=True)
class Index:
    name: str
    columns: tuple[str, ...]
    descending: tuple[bool, ...]
    unique: bool
    primary: bool


@dataclasses.dataclass(frozen=True)
class TableInfo:
    name: str
    columns: tuple[Column, ...]
    indexes: tuple[Index, ...]  # the primary key first
    rows: int  # estimated
    bytes: int

    @property
    def primary_key(self) -> tuple[str, ...]:
        """Names of its columns; empty when there is none."""
        return next((index.columns for index in self.indexes if index.primary), ())


def open(directory: Union[str, bytes, os.PathLike, None] = None, *, create: bool = True, memory_bytes: Optional[int] = None,
         in_memory_bytes: Optional[int] = None, durability: str = "commit", background_threads: Optional[int] = None,
         lock_wait_ms: Optional[int] = None, open_tables: Optional[int] = None,
         retention_interval_seconds: Optional[int] = None, read_only: bool = False) -> Database:
    """Opens the database in a directory, which one process holds alone (Busy); without one, a new database in memory,
    which has no file anywhere and is gone when it is closed.

    create: makes it when it is not there, else NotFound. memory_bytes: for rows in memory, loads and the cache (512 MiB).
    in_memory_bytes: for the rows of tables in memory, which are all of a database in memory (1 GiB; beyond: TableFull).
    durability: "commit": a commit returns when it is on the disk; "crash": when the system has it; "second": both once a second.
    background_threads: flush, merge, encode loads and help scans (2). lock_wait_ms: how long a transaction waits for a lock
    (50,000). open_tables: tables that nobody uses stay ready in memory up to so many (one for each 16 KiB of memory_bytes,
    at most 32,768); with very many tables a larger number saves opening them anew, a smaller one saves memory.
    retention_interval_seconds: between two looks for rows that have expired (60; 0: only Database.expire() looks).
    read_only: nothing is written to the directory, which may lie on a read-only mount; changes raise an error.
    """
    options = Options()
    lib.hs_options_init_sized(ctypes.byref(options), ctypes.sizeof(options))
    options.must_exist = 0 if create and not read_only else 1
    options.read_only = 1 if read_only else 0
    options.durability = _choice(_DURABILITY, durability, "durability")
    for name, value in (("memory_bytes", memory_bytes), ("in_memory_bytes", in_memory_bytes), ("background_threads", background_threads),
                        ("lock_wait_ms", lock_wait_ms), ("open_tables", open_tables),
                        ("retention_interval_seconds", retention_interval_seconds)):
        if value is not None:
            setattr(options, name, value)
    handle = ctypes.c_void_p()
    status = lib.hs_open(None if directory is None else os.fsencode(directory), ctypes.byref(options), ctypes.byref(handle))
    try:
        check(status, handle)
    except BaseException:
        lib.hs_close(handle)
        raise
    return Database(handle, None if directory is None else os.fsdecode(directory))


def _choice(choices, given, what):
    if given not in choices:
        raise Invalid(Status.INVALID, f"there is no {what} {given!r}; there are {', '.join(map(repr, choices))}")
    return choices[given]


def _names(given):
    """Names of columns, of which one may be given as it is."""
    return [given] if isinstance(given, str) else list(given)


def _retention(given):
    """The arguments of hs_schema_retention() and hs_table_retention()."""
    if given is None:
        return None, 0, _UNITS["days"]
    column, amount, unit = given
    if not 0 < amount < 1 << 32:
        raise Invalid(Status.INVALID, f"rows cannot stay for {amount} {unit}")
    return name_bytes(column), amount, _choice(_UNITS, unit, "unit of time")


class Database:
    """An open database; made by open(). Methods that read or change tables are a transaction each."""

    def __init__(self, handle, directory=None):
        self._handle = handle
        self._directory = directory
        self._process = os.getpid()
        self._schema = 0  # raised as a transaction commits that has changed tables
        self._kept = {}  # _Table objects that no transaction has, by name: to make one takes longer than to read a row

    def _open_handle(self):
        if self._handle is None:
            raise Invalid(Status.INVALID, "the database is closed")
        return self._handle

    def _take_table(self, name):
        """One that was kept; else None."""
        try:
            table = self._kept[name].pop()
        except (KeyError, IndexError):
            return None
        if table.schema == self._schema:
            return table
        lib.hs_table_close(table.handle)
        return None

    def _keep_table(self, table):
        kept = self._kept
        same = kept.get(table.name)
        if same is None and len(kept) < 100:
            same = kept[table.name] = []
        if table.schema == self._schema and same is not None and len(same) < 4:
            same.append(table)
        else:
            lib.hs_table_close(table.handle)

    def _schema_changed(self):
        """Tables may have gone or have other names: those that are kept, or that transactions under way have, are not used
        again."""
        self._schema += 1
        kept, self._kept = self._kept, {}
        for tables in list(kept.values()):
            for table in list(tables):
                lib.hs_table_close(table.handle)

    def close(self) -> None:
        """Closes the database and all that was made from it; open transactions are rolled back.

        Other threads may be using it: their new calls raise Invalid, those under way end with Interrupted or Invalid, and
        close() waits for them. Ctrl-C ends the wait: the database then takes no new calls, and close() may be called again.
        In a child of os.fork() it does nothing, as the database is the parent's."""
        self._close(None)

    def _close(self, seconds):
        handle = self._handle
        if handle is None or self._process != os.getpid():
            self._handle = None
            return
        until = None if seconds is None else time.monotonic() + seconds
        # In pieces: between two of them Python looks for signals.
        while (status := lib.hs_close_within(handle, 100)) == Status.LOCK_TIMEOUT:
            if until is not None and time.monotonic() > until:
                return
        if status == Status.BUSY:
            check(status, handle)  # it is called from within one of its own calls
        if status == Status.INVALID:  # another thread has closed it meanwhile
            status = 0
        text = lib.hs_error_message(handle).decode(errors="replace") if status else ""
        self._handle = None
        if status:
            raise Error(Status(status), f"closing the database failed; what was committed is safe, the next open() recovers it: {text}")

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def __repr__(self):
        where = "in memory" if self._directory is None else f"in {self._directory!r}"
        return f"<hailstone.Database {where}{', closed' if self._handle is None else ''}>"

    def __del__(self):
        try:
            self._close(5)  # a daemon thread in the midst of a call must not keep Python from its end
        except Exception:  # nobody could be told
            pass

    def begin(self, isolation: str = "repeatable read") -> Transaction:
        """A transaction: as a context manager it commits at the end, or rolls back on an exception.

        isolation: "read committed", "repeatable read" or "serializable"."""
        return Transaction(self, isolation)

    # Each of these is one transaction.

    def tables(self, prefix: str = "") -> list[str]:
        """Names of the tables that begin so."""
        with self.begin() as tx:
            return tx.tables(prefix)

    def describe(self, table: str) -> TableInfo:
        with self.begin() as tx:
            return tx.describe(table)

    def create_table(self, name: str, columns: Union[pa.Schema, Mapping[str, str]], **more: Any) -> None:
        with self.begin() as tx:
            tx.create_table(name, columns, **more)

    def drop_table(self, name: str) -> None:
        with self.begin() as tx:
            tx.drop_table(name)

    def rename_table(self, name: str, new_name: str) -> None:
        with self.begin() as tx:
            tx.rename_table(name, new_name)

    def set_retention(self, table: str, retention: Retention) -> None:
        with self.begin() as tx:
            tx.set_retention(table, retention)

    def load(self, table: str, data: Any, **more: Any) -> None:
        with self.begin() as tx:
            return tx.load(table, data, **more)

    def get(self, table: str, *key: Any) -> Optional[dict[str, Any]]:
        tx = Transaction(self)
        try:
            return tx.get(table, *key)
        finally:
            tx.close()

    def upsert(self, table: str, row: Row) -> None:
        with self.begin() as tx:
            tx.upsert(table, row)

    def scan(self, table: str, columns: Optional[Names] = None, where: Where = None, dictionary: Names = (),
             threads: Optional[int] = None) -> Scan:
        """As Transaction.scan(); each use of the scan is a transaction of its own."""
        return Scan(self, None, table, columns, where, dictionary, threads)

    def check(self, *tables: str) -> None:
        """Reads every byte of the tables (none given: all); raises Corrupt for the first that is damaged."""
        with self.begin() as tx:
            for name in tables or tx.tables():
                tx.check(name)

    def backup(self, directory: Union[str, bytes, os.PathLike]) -> None:
        """Makes the directory a copy of the database as it is now, while writers go on. Not of one in memory (Unsupported)."""
        handle = self._open_handle()
        check(lib.hs_backup(handle, os.fsencode(directory)), handle)

    def checkpoint(self) -> None:
        handle = self._open_handle()
        check(lib.hs_checkpoint(handle), handle)

    def expire(self) -> int:
        """Ends the rows whose retention is over now; how many. It happens by itself as well (retention_interval_seconds)."""
        handle, rows = self._open_handle(), ctypes.c_uint64()
        check(lib.hs_expire(handle, ctypes.byref(rows)), handle)
        return rows.value

    def counters(self) -> dict[str, int]:
        """Status counters by name."""
        handle, name, value, result = self._open_handle(), ctypes.c_char_p(), ctypes.c_uint64(), {}
        while (status := lib.hs_counter_at(handle, len(result), ctypes.byref(name), None, ctypes.byref(value))) == 0:
            result[name.value.decode()] = value.value
        if status != Status.NOT_FOUND:
            check(status, handle)
        return result


_PLAIN = {int, float, str, bytes, bool, type(None)}


class _Table:
    """A table's handle and what it is like, kept by a transaction."""

    def __init__(self, name, handle, schema):
        self.name, self.handle, self.schema = name, handle, schema
        text, number, flags = ctypes.c_char_p(), ctypes.c_int(), ctypes.c_int()
        limit, count, part = ctypes.c_uint32(), ctypes.c_size_t(), ctypes.c_size_t()
        self.columns, self.indexes = [], []
        for i in range(lib.hs_table_columns(handle)):
            if (lib.hs_table_column(handle, i, ctypes.byref(text), ctypes.byref(number), ctypes.byref(flags)) != 0
                    or lib.hs_table_column_limit(handle, i, ctypes.byref(limit)) != 0):
                break
            self.columns.append(Column(text.value.decode(), library.TYPE_NAMES[number.value], not flags.value & library.NOT_NULL,
                                       not flags.value & library.ROW_WISE, limit.value))
        while lib.hs_table_index(handle, len(self.indexes), ctypes.byref(text), ctypes.byref(number), ctypes.byref(count)) == 0:
            names, descending = [], []
            for i in range(count.value):
                if lib.hs_table_index_column(handle, len(self.indexes), i, ctypes.byref(part), ctypes.byref(flags)) != 0:
                    raise Invalid(Status.INVALID, "the database is closed")
                names.append(self.columns[part.value].name)
                descending.append(bool(flags.value & library.DESCENDING))
            self.indexes.append(Index(text.value.decode(), tuple(names), tuple(descending),
                                      bool(number.value & library.UNIQUE), bool(number.value & library.PRIMARY)))
        self.places = {column.name: i for i, column in enumerate(self.columns)}
        self.types = {column.name: column for column in self.columns}
        self._buffers, self.readers = {}, []
        self.all = tuple(range(len(self.columns)))
        self.key = self.index_columns(None)
        key_columns = [self.columns[place] for place in self.key]
        self.lookups = [] if Lookup.possible(key_columns) else None
        if not self.columns or lib.hs_table_columns(handle) != len(self.columns):
            raise Invalid(Status.INVALID, "the database is closed")

    def place(self, name):
        if name not in self.places:
            raise NotFound(Status.NOT_FOUND, f"table '{self.name}' has no column '{name}'")
        return self.places[name]

    def row_values(self, row):
        """Values of a mapping (columns that are not in it become NULL) or of a sequence of all columns."""
        kind = type(row)
        if (kind is tuple or kind is list) and len(row) == len(self.columns) and type(row[0]) in _PLAIN:
            return row
        if hasattr(row, "keys"):
            values = [None] * len(self.columns)
            for name in row.keys():
                values[self.place(name)] = row[name]
            return values
        if isinstance(row, (str, bytes)) or not hasattr(row, "__iter__"):
            raise Invalid(Status.INVALID, f"a {type(row).__name__} is not a row; give a dictionary, or a list of all columns' values")
        row = list(row)
        if row and (isinstance(row[0], (list, tuple)) or hasattr(row[0], "keys")):
            raise Invalid(Status.INVALID, "insert() takes one row; for several call it for each, or load() for many")
        if len(row) != len(self.columns):
            raise Invalid(Status.INVALID, f"table '{self.name}' has {len(self.columns)} columns, but {len(row)} values were given")
        return row

    def take_lookup(self):
        """A Lookup that no other thread has; to be given back by lookups.append()."""
        try:
            return self.lookups.pop()
        except IndexError:
            return Lookup(self.handle, self.columns, [self.columns[place] for place in self.key])

    def buffers(self, columns):
        """The RowBuffers of these columns, which are kept."""
        found = self._buffers.get(columns)
        if found is None:
            if len(self._buffers) > 100:
                self._buffers.clear()
            found = self._buffers[columns] = RowBuffers([self.columns[place] for place in columns])
        return found

    def index_columns(self, index):
        """Places of the columns of an index; None: the primary key."""
        for known in self.indexes:
            if known.primary if index is None else known.name == index:
                return tuple([self.places[name] for name in known.columns])
        return ()


class Transaction:
    """Reads and changes that take effect together; made by Database.begin()."""

    def __init__(self, database, isolation="repeatable read"):
        self._database = database
        self._handle = None
        self._tables = {}
        self._changes_schema = False  # it has made, dropped or changed a table
        self._isolation = isolation
        handle, owner = ctypes.c_void_p(), database._open_handle()
        check(lib.hs_begin(owner, _choice(_ISOLATION, isolation, "isolation"), ctypes.byref(handle)), owner)
        self._handle = handle

    def _open_handle(self):
        if self._handle is None:
            raise Invalid(Status.INVALID, "the transaction has ended")
        return self._handle

    def _call(self, function, *arguments):
        handle = self._open_handle()
        check(function(handle, *arguments), handle)

    def _unless_interrupted(self, function, handle, *arguments):
        """Calls what may take long; Ctrl-C ends it as interrupt() does. Signals come to Python's main thread only, which has to be
        free for them."""
        if threading.current_thread() is not threading.main_thread():
            check(function(handle, *arguments), handle)
            return
        outcome = []

        def run():
            try:
                check(function(handle, *arguments), handle)
            except BaseException as error:
                outcome.append(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        try:
            while thread.is_alive():
                thread.join(0.1)
        except BaseException:
            lib.hs_interrupt(self._handle, 1)
            thread.join()
            raise
        if outcome:
            raise outcome[0]

    def _forget_tables(self):
        tables, self._tables = self._tables, {}
        for table in list(tables.values()):
            if self._changes_schema:
                lib.hs_table_close(table.handle)
            else:
                self._database._keep_table(table)

    def _table(self, name):
        table = self._tables.get(name)
        if table is None and self._handle is not None and not self._changes_schema:
            table = self._database._take_table(name)
            if table is not None:
                self._tables[name] = table
        if table is None:
            handle, schema = ctypes.c_void_p(), self._database._schema
            self._call(lib.hs_table_open, name_bytes(name), ctypes.byref(handle))
            table = self._tables[name] = _Table(name, handle, schema)
        return table

    def _change_schema(self, function, *arguments):
        """A call that makes, drops or changes a table. What is known of tables may be so no more, here and, once this is
        committed, elsewhere."""
        self._changes_schema = True
        self._forget_tables()
        self._call(function, *arguments)

    def commit(self) -> None:
        """Makes the changes permanent and visible, and ends the transaction."""
        try:
            self._call(lib.hs_commit)
        finally:
            if self._changes_schema:
                self._database._schema_changed()
            self.close()

    def rollback(self) -> None:
        self.close()

    def close(self) -> None:
        """Ends the transaction; rolls it back when it has not ended."""
        self._forget_tables()
        handle, self._handle = self._handle, None
        if handle is not None:
            lib.hs_transaction_close(handle)

    def __enter__(self) -> Transaction:
        return self

    def __exit__(self, kind: Any, *exception: Any) -> None:
        if kind is None and self._handle is not None:
            self.commit()
        else:
            self.close()

    def __del__(self):
        try:
            self.close()
        except Exception:  # nobody could be told
            pass

    def __repr__(self):
        return f"<hailstone.Transaction of {self._database!r}{', ended' if self._handle is None else ''}>"

    def interrupt(self, on: bool = True) -> None:
        """The one method for other threads: what the transaction does ends with Interrupted."""
        lib.hs_interrupt(self._open_handle(), 1 if on else 0)

    def savepoint(self, name: str) -> None:
        self._call(lib.hs_savepoint, name_bytes(name))

    def rollback_to(self, name: str) -> None:
        self._call(lib.hs_rollback_to, name_bytes(name))
        self._forget_tables()

    def release(self, name: str) -> None:
        self._call(lib.hs_release, name_bytes(name))

    # Tables

    def tables(self, prefix: str = "") -> list[str]:
        names, after, name = [], None, ctypes.c_char_p()
        while True:
            try:
                self._call(lib.hs_table_next, name_bytes(prefix), after, ctypes.byref(name))
            except NotFound:
                return names
            after = name.value
            names.append(after.decode(errors="surrogateescape"))

    def describe(self, table: str) -> TableInfo:
        known, rows, size = self._table(table), ctypes.c_uint64(), ctypes.c_uint64()
        lib.hs_table_size(known.handle, ctypes.byref(rows), ctypes.byref(size))
        return TableInfo(table, tuple(known.columns), tuple(known.indexes), rows.value, size.value)

    def create_table(self, name: str, columns: Union[pa.Schema, Mapping[str, str]], primary_key: Names = (),
                     indexes: Optional[Mapping[str, Names]] = None, unique: Optional[Mapping[str, Names]] = None, row_wise: Names = (),
                     not_null: Names = (), in_memory: bool = False, retention: Retention = None) -> None:
        """columns: a pyarrow.Schema, or a mapping of names to types ("int64", "string" …).

        indexes, unique: mappings of an index's name to names of columns; "-price" is descending.
        row_wise: columns that are stored together as rows. not_null: columns without NULLs, as the primary key's are.
        in_memory: the rows are gone when the database is closed, the table stays.
        retention: (column, amount, unit): rows whose time in the column is so many "hours", "days", "weeks", "months" or
        "years" back expire; the column: "timestamp", "date", or integers, which are seconds since 1970. Rows with NULL stay."""
        primary_key, row_wise, not_null = _names(primary_key), _names(row_wise), _names(not_null)
        indexes = {name: _names(parts) for name, parts in (indexes or {}).items()}
        unique = {name: _names(parts) for name, parts in (unique or {}).items()}
        if not hasattr(columns, "items") and isinstance(columns, pa.Schema):
            columns = {field.name: _type_name(field.type, field.name) for field in columns}
        schema = ctypes.c_void_p()
        check(lib.hs_schema_new(ctypes.byref(schema)), None)
        try:
            for column, type_name in columns.items():
                flags = (library.ROW_WISE if column in row_wise else 0) | (library.NOT_NULL if column in not_null else 0)
                check(lib.hs_schema_column(schema, name_bytes(column), _choice(library.TYPES, type_name, "type"), 0, flags), schema)
            if primary_key:
                key = (ctypes.c_char_p * len(primary_key))(*map(name_bytes, primary_key))
                check(lib.hs_schema_primary_key(schema, key, len(primary_key)), schema)
            for is_unique, given in ((0, indexes), (1, unique)):
                for index, parts in given.items():
                    names = (ctypes.c_char_p * len(parts))(*[name_bytes(part.removeprefix("-")) for part in parts])
                    flags = (ctypes.c_int * len(parts))(*[library.DESCENDING if part.startswith("-") else 0 for part in parts])
                    check(lib.hs_schema_index(schema, name_bytes(index), is_unique, names, flags, len(parts)), schema)
            if in_memory:
                check(lib.hs_schema_in_memory(schema, 0), schema)
            check(lib.hs_schema_retention(schema, *_retention(retention)), schema)
            self._change_schema(lib.hs_table_create, name_bytes(name), schema, None)
        finally:
            lib.hs_schema_free(schema)

    def drop_table(self, name: str) -> None:
        self._change_schema(lib.hs_table_drop, name_bytes(name))

    def rename_table(self, name: str, new_name: str) -> None:
        self._change_schema(lib.hs_table_rename, name_bytes(name), name_bytes(new_name))

    def set_retention(self, table: str, retention: Retention) -> None:
        """As create_table() has it; None: rows stay."""
        self._change_schema(lib.hs_table_retention, name_bytes(table), *_retention(retention))

    def check(self, table: str) -> None:
        """Reads every byte of the table and compares its indexes with its rows; raises Corrupt."""
        self._unless_interrupted(lib.hs_table_check, self._open_handle(), self._table(table).handle)

    # Rows

    def _write(self, function, table, columns, values):
        """Calls a function of one row, or key: values of the first of some columns."""
        buffers, handle = table.buffers(columns), self._open_handle()
        packed = buffers.pack(values)
        try:
            status = function(handle, table.handle, packed[2], len(values))
            if status:
                check(status, handle)
        finally:
            buffers.release(packed)

    def insert(self, table: str, row: Row) -> None:
        """row: a mapping, or a sequence of all columns. One row; see load() for many."""
        known = self._table(table)
        self._write(lib.hs_insert, known, known.all, known.row_values(row))

    def upsert(self, table: str, row: Row) -> None:
        """Inserts the row, or replaces the one that has its primary key. Columns that are not in it become NULL."""
        known = self._table(table)
        self._write(lib.hs_upsert, known, known.all, known.row_values(row))

    def update(self, table: str, key: Any, changes: Mapping[str, Any]) -> None:
        """Changes some columns of the row; key: the primary key's value, or a tuple of its columns' values."""
        known = self._table(table)
        key = key if isinstance(key, (tuple, list)) else (key,)
        places = tuple([known.place(name) for name in changes])
        columns = (ctypes.c_uint32 * max(1, len(changes)))(*places)
        keys, rows = known.buffers(known.key), known.buffers(places)
        packed_key, packed = keys.pack(key), rows.pack(list(changes.values()))
        try:
            self._call(lib.hs_update, known.handle, packed_key[2], len(key), columns, packed[2], len(changes))
        finally:
            keys.release(packed_key)
            rows.release(packed)

    def delete(self, table: str, *key: Any) -> None:
        known = self._table(table)
        self._write(lib.hs_delete, known, known.key, key)

    def get(self, table: str, *key: Any, lock: Optional[str] = None) -> Optional[dict[str, Any]]:
        """The row of a primary key as a dictionary; None: there is none. lock: None, "shared", "exclusive"."""
        known = self._tables.get(table) or self._table(table)
        if lock is None and known.lookups is not None:
            lookup = known.take_lookup()
            try:
                if lookup.pack(key):
                    handle = self._handle
                    if lookup.owner is not handle:
                        lookup.transaction.value, lookup.owner = self._open_handle().value, handle
                    status = lookup.find()
                    if status == 0:
                        return lookup.row()
                    if status == Status.NOT_FOUND:
                        return None
                    check(status, handle)
            finally:
                known.lookups.append(lookup)
        wanted = 0 if lock is None else _choice(_LOCKS, lock, "lock")
        keys = known.buffers(known.key)
        packed = keys.pack(key)
        reader = known.readers.pop() if known.readers else RowReader(known.columns)
        try:
            handle = self._open_handle()
            status = lib.hs_get(handle, known.handle, packed[2], len(key), wanted, reader.address, reader.count)
            if status == Status.NOT_FOUND:
                return None
            if status:
                check(status, handle)
            return reader.row()
        finally:
            keys.release(packed)
            known.readers.append(reader)

    def rows(self, table: str, index: Optional[str] = None, start: Any = (), descending: bool = False,
             lock: Optional[str] = None, end: Any = None) -> Iterator[dict[str, Any]]:
        """Rows as dictionaries, one by one in the order of an index (None: the primary key), from the first columns'
        values `start` on, and up to those of `end`, which belong to them (descending: from `start` down; without `end`)."""
        known = self._table(table)
        cursor = _Cursor(self, known, index, lock)
        start = start if isinstance(start, (tuple, list)) else (start,)
        if end is not None:
            if descending:
                raise Invalid(Status.INVALID, "rows() takes an end in the order of the index only; leave out descending, or the end")
            cursor.set_end(end if isinstance(end, (tuple, list)) else (end,))
        return cursor.rows(start, descending)

    def scan(self, table: str, columns: Optional[Names] = None, where: Where = None, dictionary: Names = (),
             threads: Optional[int] = None) -> Scan:
        """All rows, or those of a condition, by columns, in no particular order.

        columns: names; None: all. where: see hailstone.column(); or [("price", ">", 9.5), …]. dictionary: columns that come as
        Arrow dictionaries. threads: for aggregates (2)."""
        return Scan(self._database, self, table, columns, where, dictionary, threads)

    def load(self, table: str, data: Any, create: bool = False, primary_key: Names = (), row_wise: Names = ()) -> None:
        """Loads rows past the log, all or none: a pyarrow Table, RecordBatch or RecordBatchReader, a pandas or polars data frame,
        or whatever gives an Arrow stream. Columns go by name; those that are not in `data` become NULL.

        create: makes the table, with these columns, if it is not there."""
        reader = _reader_of(data)
        if create:
            try:
                known = self._table(table)
            except NotFound:
                self.create_table(table, reader.schema, primary_key=primary_key, row_wise=row_wise)
                known = self._table(table)
        else:
            known = self._table(table)
        for name in reader.schema.names:
            known.place(name)
        load, stream, failure = ctypes.c_void_p(), ArrowArrayStream(), []
        self._call(lib.hs_load_begin, known.handle, ctypes.byref(load))
        try:
            pa.RecordBatchReader.from_batches(reader.schema, _noted(reader, failure))._export_to_c(ctypes.addressof(stream))
            status = lib.hs_load_stream(load, ctypes.byref(stream))
            if failure:
                raise failure[0]
            check(status, load)
            self._unless_interrupted(lib.hs_load_finish, load)
        finally:
            lib.hs_load_close(load)


_BATCH_ROWS = 65_536


def _noted(reader, failure):
    """The batches; what goes wrong in reading them is kept, so that it can be raised as it is. Long ones come in parts, between
    which Python looks for signals."""
    try:
        for batch in reader:
            for first in range(0, max(1, batch.num_rows), _BATCH_ROWS):
                yield batch.slice(first, _BATCH_ROWS)
    except GeneratorExit:  # the library wants no more of them, and says why
        raise
    except BaseException as error:
        failure.append(error)
        raise


# Tests of pyarrow.types, not all of which every version of it has, and the type of a column that passes one.
_ARROW_TYPES = [("int8", "int8"), ("int16", "int16"), ("int32", "int32"), ("int64", "int64"), ("uint8", "uint8"), ("uint16", "uint16"),
                ("uint32", "uint32"), ("uint64", "uint64"), ("float32", "float"), ("float64", "double"), ("string", "string"),
                ("large_string", "string"), ("binary", "bytes"), ("large_binary", "bytes"), ("fixed_size_binary", "bytes"),
                ("date32", "date"), ("date64", "date"), ("string_view", "string"), ("binary_view", "bytes"),
                ("timestamp", "timestamp"), ("boolean", "bool"), ("null", "string")]


def _type_name(arrow_type, name):
    if pa.types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    for test, type_name in _ARROW_TYPES:
        is_type = getattr(pa.types, f"is_{test}", None)
        if is_type is not None and is_type(arrow_type):
            return "datetime" if test == "timestamp" and arrow_type.tz is None else type_name
    raise Invalid(Status.INVALID, f"column '{name}': there is no column type for Arrow's {arrow_type}; cast it first")


def _reader_of(data):
    if isinstance(data, pa.RecordBatchReader):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(data.schema, [data])
    if not isinstance(data, pa.Table):
        if type(data).__module__.startswith("pandas."):
            data = pa.Table.from_pandas(data, preserve_index=False)
        elif hasattr(data, "to_arrow"):
            data = data.to_arrow()
            return _reader_of(data)
        elif hasattr(data, "__arrow_c_stream__"):
            data = pa.table(data)
        else:
            raise Invalid(Status.INVALID, f"a {type(data).__name__} is no table; give a pyarrow table or reader, or a data frame")
    return data.to_reader()


class _Cursor:
    def __init__(self, transaction, table, index, lock):
        self._transaction, self._table, self._handle = transaction, table, None
        handle = ctypes.c_void_p()
        transaction._call(lib.hs_cursor_open, table.handle, None if index is None else name_bytes(index),
                          _choice(_LOCKS, lock, "lock"), ctypes.byref(handle))
        self._handle = handle
        self._index = table.index_columns(index)
        self._locks = lock is not None or transaction._isolation == "serializable"

    def set_end(self, end):
        buffers = self._table.buffers(self._index)
        packed = buffers.pack(end)
        try:
            check(lib.hs_cursor_until(self._handle, packed[2], len(end)), self._handle)
        finally:
            buffers.release(packed)

    def rows(self, start, descending):
        seek, step = (lib.hs_cursor_seek_last, lib.hs_cursor_previous) if descending else (lib.hs_cursor_seek, lib.hs_cursor_next)
        buffers = self._table.buffers(self._index)
        packed = buffers.pack(start)
        try:
            status = seek(self._handle, packed[2], len(start))
            buffers.release(packed)
            if status == Status.NOT_FOUND:
                return
            check(status, self._handle)
            yield from self._one_by_one(step) if self._locks else self._many(1 if descending else 0)
        finally:
            self.close()

    def _one_by_one(self, step):
        """Rows that are locked as they are read, and no others."""
        reader, status = RowReader(self._table.columns), 0
        while status != Status.NOT_FOUND:
            check(status, self._handle)
            check(lib.hs_cursor_row(self._handle, reader.address, reader.count), self._handle)
            yield reader.row()
            if self._handle is None:
                raise Invalid(Status.INVALID, "the transaction has ended")
            status = step(self._handle)

    def _many(self, backwards):
        """Rows as they come in one call, few at first."""
        most, count = 8, ctypes.c_size_t()
        transaction, database = self._transaction, self._transaction._database
        while True:
            reader = RowReader(self._table.columns, most)
            check(lib.hs_cursor_rows(self._handle, backwards, reader.address, reader.count, most, ctypes.byref(count)), self._handle)
            # Texts are read before the next call with the cursor, and before the transaction may have ended.
            for row in list(reader.all(count.value)):
                yield row
                if transaction._handle is None or database._handle is None:
                    raise Invalid(Status.INVALID, "the transaction has ended, or its database is closed")
            if count.value < most:
                return
            most = min(4 * most, 512)

    def close(self):
        handle, self._handle = self._handle, None
        if handle is not None:
            lib.hs_cursor_close(handle)


class _Stream:
    """A scan's batches, with the transaction that they need."""

    def __init__(self, transaction, owned, stream):
        self._transaction, self._owned = transaction, owned  # whether the transaction ends with the stream
        self._lock = threading.Lock()
        self._reader = pa.RecordBatchReader._import_from_c(ctypes.addressof(stream))
        self.schema = self._reader.schema
        self._process = os.getpid()

    def batches(self):
        try:
            while True:
                with self._lock:
                    if self._reader is None:
                        raise Invalid(Status.INVALID, "the transaction or database of this stream is closed")
                    try:
                        batch = self._reader.read_next_batch()
                    except StopIteration:
                        return
                    except (OSError, pa.ArrowException) as error:
                        closed = "closed" in str(error) or "has ended" in str(error)
                        raise (Invalid(Status.INVALID, str(error)) if closed else Error(Status.IO, str(error))) from None
                yield batch
        finally:
            self.close()

    def close(self):
        if self._process != os.getpid():  # a thread of the parent may have held the lock when this child was forked
            return
        with self._lock:
            reader, self._reader = self._reader, None
            if reader is None:
                return
            del reader  # releases the stream
        if self._owned:
            self._transaction.close()


class Scan:
    """Rows to be read, by columns; made by scan(). Can be used any number of times."""

    def __init__(self, database, transaction, table, columns, where, dictionary, threads):
        self._database, self._transaction, self._table = database, transaction, table
        self._columns = None if columns is None else _names(columns)
        self._where = make_predicate(where)
        self._dictionary, self._threads = set(_names(dictionary)), threads

    def __repr__(self):
        parts = [repr(self._table)]
        if self._columns is not None:
            parts.append(f"columns={self._columns!r}")
        if self._where is not None:
            parts.append("where=…")
        return f"<hailstone.Scan {', '.join(parts)}>"

    def _open(self, transaction):
        table, scan = transaction._table(self._table), ctypes.c_void_p()
        transaction._call(lib.hs_scan_open, table.handle, ctypes.byref(scan))
        try:
            names = self._columns
            if names is None and self._dictionary:
                names = [column.name for column in table.columns]
            for name in names or ():
                check(lib.hs_scan_column(scan, name_bytes(name), AS_DICTIONARY if name in self._dictionary else 0), scan)
            if self._where is not None:
                predicate = self._where.make(table.types)
                try:
                    check(lib.hs_scan_filter(scan, predicate), scan)
                finally:
                    lib.hs_predicate_free(predicate)
            if self._threads is not None:
                check(lib.hs_scan_threads(scan, self._threads), scan)
        except BaseException:
            lib.hs_scan_close(scan)
            raise
        return table, scan

    def to_reader(self) -> pa.RecordBatchReader:
        """A pyarrow.RecordBatchReader: batches of up to 65,536 rows, as they are read."""
        transaction = self._transaction or Transaction(self._database)
        owned = self._transaction is None
        try:
            _, scan = self._open(transaction)
            try:
                stream = ArrowArrayStream()
                check(lib.hs_scan_stream(scan, ctypes.byref(stream)), scan)
            finally:
                lib.hs_scan_close(scan)
            batches = _Stream(transaction, owned, stream)
        except BaseException:
            if owned:
                transaction.close()
            raise
        return pa.RecordBatchReader.from_batches(batches.schema, batches.batches())

    def __arrow_c_stream__(self, requested_schema=None):
        """For polars, DuckDB and whatever else takes Arrow streams."""
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return iter(self.to_reader())

    def __array__(self, *arguments, **more):
        # pandas.DataFrame(scan) and numpy.array(scan) ask for this; a table is no array.
        raise TypeError("a scan is no array: scan.to_pandas() is a data frame, scan.to_arrow()['name'].to_numpy() an array")

    def to_arrow(self) -> pa.Table:
        return self.to_reader().read_all()

    def to_pandas(self, **more: Any) -> pandas.DataFrame:
        return self.to_arrow().to_pandas(**more)

    def to_polars(self) -> polars.DataFrame:
        import polars
        return polars.from_arrow(self.to_arrow())

    def aggregate(self, **wanted: Union[str, tuple[str, str]]) -> dict[str, Any]:
        """Computes inside the engine, in one pass: aggregate(least=("min", "price"), rows="rows") is a dictionary of results.

        There are "rows", and ("count" | "min" | "max" | "sum", column)."""
        transaction = self._transaction or Transaction(self._database)
        try:
            table, scan = self._open(transaction)
            try:
                aggregates, results, types = (Aggregate * max(1, len(wanted)))(), (Value * max(1, len(wanted)))(), []
                for i, what in enumerate(wanted.values()):
                    kind, column = (what, None) if isinstance(what, str) else what
                    aggregates[i].kind = _choice(_AGGREGATES, kind, "aggregate")
                    aggregates[i].column = None if column is None else name_bytes(column)
                    plain = column is None or kind in ("count", "sum")
                    types.append("" if plain else table.columns[table.place(column)].type)
                check(lib.hs_scan_aggregate(scan, aggregates, results, len(wanted)), scan)
                return {name: get_value(results[i], types[i]) for i, name in enumerate(wanted)}
            finally:
                lib.hs_scan_close(scan)
        finally:
            if self._transaction is None:
                transaction.close()

    def count(self, column: Optional[str] = None) -> int:
        """Rows; or values of a column that are not NULL."""
        return self.aggregate(result="rows" if column is None else ("count", column))["result"]

    def min(self, column: str) -> Any:
        return self.aggregate(result=("min", column))["result"]

    def max(self, column: str) -> Any:
        return self.aggregate(result=("max", column))["result"]

    def sum(self, column: str) -> Any:
        return self.aggregate(result=("sum", column))["result"]


__all__ = ["Busy", "Column", "Database", "Index", "Scan", "TableInfo", "Transaction", "open"]
