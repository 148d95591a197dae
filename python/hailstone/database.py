"""Databases, transactions, tables and scans."""

import ctypes
import dataclasses
import gc
import os
import threading
import weakref

import pyarrow as pa

from . import library
from .errors import Busy, Error, Invalid, NotFound, Status
from .library import AS_DICTIONARY, Aggregate, ArrowArrayStream, Options, Value, check, get_value, lib, make_values, name_bytes
from .predicate import make_predicate

_DURABILITY = {"second": 0, "commit": 1, "crash": 2}
_ISOLATION = {"read committed": 1, "repeatable read": 2, "serializable": 3}
_LOCKS = {None: 0, "shared": 1, "exclusive": 2}
_UNITS = {"hours": 1, "days": 2, "weeks": 3, "months": 4, "years": 5}
_AGGREGATES = {"rows": 0, "count": 1, "min": 2, "max": 3, "sum": 4}


@dataclasses.dataclass(frozen=True)
class Column:
    name: str
    type: str  # "int8" … "uint64", "float", "double", "string", "bytes", "date", "timestamp"
    nullable: bool = True
    columnar: bool = True
    max_bytes: int = 0  # of string and bytes; 0: no limit


@dataclasses.dataclass(frozen=True)
class Index:
    name: str
    columns: tuple  # of names
    descending: tuple  # of bools
    unique: bool
    primary: bool


@dataclasses.dataclass(frozen=True)
class TableInfo:
    name: str
    columns: tuple  # of Column
    indexes: tuple  # of Index; the primary key first
    rows: int  # estimated
    bytes: int

    @property
    def primary_key(self):
        """Names of its columns; empty when there is none."""
        return next((index.columns for index in self.indexes if index.primary), ())


def open(directory=None, *, create=True, memory_bytes=None, in_memory_bytes=None, durability="commit",
         background_threads=None, lock_wait_ms=None, open_tables=None, retention_interval_seconds=None):
    """Opens the database in a directory, which one process holds alone (Busy); without one, a new database in memory,
    which has no file anywhere and is gone when it is closed.

    create: makes it when it is not there, else NotFound. memory_bytes: for rows in memory, loads and the cache (512 MiB).
    in_memory_bytes: for the rows of tables in memory, which are all of a database in memory (1 GiB; beyond: TableFull).
    durability: "commit": a commit returns when it is on the disk; "crash": when the system has it; "second": both once a second.
    background_threads: flush, merge, encode loads and help scans (2). lock_wait_ms: how long a transaction waits for a lock
    (50,000). open_tables: tables that nobody uses stay ready in memory up to so many (one for each 16 KiB of memory_bytes,
    at most 32,768); with very many tables a larger number saves opening them anew, a smaller one saves memory.
    retention_interval_seconds: between two looks for rows that have expired (60; 0: only Database.expire() looks).
    """
    options = Options()
    lib.hs_options_init_sized(ctypes.byref(options), ctypes.sizeof(options))
    options.must_exist = 0 if create else 1
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
    return Database(handle)


def _choice(choices, given, what):
    if given not in choices:
        raise Invalid(Status.INVALID, f"there is no {what} {given!r}; there are {', '.join(map(repr, choices))}")
    return choices[given]


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

    def __init__(self, handle):
        self._handle = handle
        self._children = weakref.WeakSet()  # transactions and streams
        self._lock = threading.Lock()

    def _open_handle(self):
        if self._handle is None:
            raise Invalid(Status.INVALID, "the database is closed")
        return self._handle

    def close(self):
        """Closes what is open of the database, rolling transactions back, and the database."""
        with self._lock:
            if self._handle is None:
                return
            for child in list(self._children):
                child.close()
            status = lib.hs_close(self._handle)
            if status == Status.BUSY:
                gc.collect()  # what nobody can reach any more may still hold a table
                status = lib.hs_close(self._handle)
            if status == Status.BUSY:
                check(status, self._handle)
            self._handle = None
        if status:
            raise Error(Status(status), "closing the database failed; what was committed is safe, the next open() recovers it")

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def __del__(self):
        try:
            self.close()
        except Exception:  # nobody could be told
            pass

    def begin(self, isolation="repeatable read"):
        """A transaction: as a context manager it commits at the end, or rolls back on an exception.

        isolation: "read committed", "repeatable read" or "serializable"."""
        return Transaction(self, isolation)

    # Each of these is one transaction.

    def tables(self, prefix=""):
        """Names of the tables that begin so."""
        with self.begin() as tx:
            return tx.tables(prefix)

    def describe(self, table):
        with self.begin() as tx:
            return tx.describe(table)

    def create_table(self, name, columns, **more):
        with self.begin() as tx:
            tx.create_table(name, columns, **more)

    def drop_table(self, name):
        with self.begin() as tx:
            tx.drop_table(name)

    def rename_table(self, name, new_name):
        with self.begin() as tx:
            tx.rename_table(name, new_name)

    def set_retention(self, table, retention):
        with self.begin() as tx:
            tx.set_retention(table, retention)

    def load(self, table, data, **more):
        with self.begin() as tx:
            return tx.load(table, data, **more)

    def get(self, table, *key):
        with self.begin() as tx:
            return tx.get(table, *key)

    def scan(self, table, columns=None, where=None, dictionary=(), threads=None):
        """As Transaction.scan(); each use of the scan is a transaction of its own."""
        return Scan(self, None, table, columns, where, dictionary, threads)

    def check(self, *tables):
        """Reads every byte of the tables (none given: all); raises Corrupt for the first that is damaged."""
        with self.begin() as tx:
            for name in tables or tx.tables():
                tx.check(name)

    def backup(self, directory):
        """Makes the directory a copy of the database as it is now, while writers go on. Not of one in memory (Unsupported)."""
        handle = self._open_handle()
        check(lib.hs_backup(handle, os.fsencode(directory)), handle)

    def checkpoint(self):
        handle = self._open_handle()
        check(lib.hs_checkpoint(handle), handle)

    def expire(self):
        """Ends the rows whose retention is over now; how many. It happens by itself as well (retention_interval_seconds)."""
        handle, rows = self._open_handle(), ctypes.c_uint64()
        check(lib.hs_expire(handle, ctypes.byref(rows)), handle)
        return rows.value

    def counters(self):
        """Status counters by name."""
        handle, name, value, result = self._open_handle(), ctypes.c_char_p(), ctypes.c_uint64(), {}
        while lib.hs_counter_at(handle, len(result), ctypes.byref(name), None, ctypes.byref(value)) == 0:
            result[name.value.decode()] = value.value
        return result


class _Table:
    """A table's handle and what it is like, kept by a transaction."""

    def __init__(self, name, handle):
        self.name, self.handle = name, handle
        text, number, flags = ctypes.c_char_p(), ctypes.c_int(), ctypes.c_int()
        limit, count, part = ctypes.c_uint32(), ctypes.c_size_t(), ctypes.c_size_t()
        self.columns, self.indexes = [], []
        for i in range(lib.hs_table_columns(handle)):
            lib.hs_table_column(handle, i, ctypes.byref(text), ctypes.byref(number), ctypes.byref(flags))
            lib.hs_table_column_limit(handle, i, ctypes.byref(limit))
            self.columns.append(Column(text.value.decode(), library.TYPE_NAMES[number.value], not flags.value & library.NOT_NULL,
                                       not flags.value & library.ROW_WISE, limit.value))
        while lib.hs_table_index(handle, len(self.indexes), ctypes.byref(text), ctypes.byref(number), ctypes.byref(count)) == 0:
            names, descending = [], []
            for i in range(count.value):
                lib.hs_table_index_column(handle, len(self.indexes), i, ctypes.byref(part), ctypes.byref(flags))
                names.append(self.columns[part.value].name)
                descending.append(bool(flags.value & library.DESCENDING))
            self.indexes.append(Index(text.value.decode(), tuple(names), tuple(descending),
                                      bool(number.value & library.UNIQUE), bool(number.value & library.PRIMARY)))
        self.places = {column.name: i for i, column in enumerate(self.columns)}

    def place(self, name):
        if name not in self.places:
            raise NotFound(Status.NOT_FOUND, f"table '{self.name}' has no column '{name}'")
        return self.places[name]

    def row_values(self, row):
        """Values of a mapping (columns that are not in it become NULL) or of a sequence of all columns."""
        if hasattr(row, "keys"):
            values = [None] * len(self.columns)
            for name in row.keys():
                values[self.place(name)] = row[name]
            return make_values(values), len(values)
        row = list(row)
        return make_values(row), len(row)

    def row(self, values):
        return {column.name: get_value(values[i], column.type) for i, column in enumerate(self.columns)}


class Transaction:
    """Reads and changes that take effect together; made by Database.begin()."""

    def __init__(self, database, isolation="repeatable read"):
        self._database = database
        self._handle = None
        self._tables = {}
        self._children = weakref.WeakSet()  # streams and cursors
        handle, owner = ctypes.c_void_p(), database._open_handle()
        check(lib.hs_begin(owner, _choice(_ISOLATION, isolation, "isolation"), ctypes.byref(handle)), owner)
        self._handle = handle
        database._children.add(self)

    def _open_handle(self):
        if self._handle is None:
            raise Invalid(Status.INVALID, "the transaction has ended")
        return self._handle

    def _call(self, function, *arguments):
        handle = self._open_handle()
        check(function(handle, *arguments), handle)

    def _forget_tables(self):
        for table in self._tables.values():
            lib.hs_table_close(table.handle)
        self._tables = {}

    def _table(self, name):
        table = self._tables.get(name)
        if table is None:
            handle = ctypes.c_void_p()
            self._call(lib.hs_table_open, name_bytes(name), ctypes.byref(handle))
            table = self._tables[name] = _Table(name, handle)
        return table

    def commit(self):
        """Makes the changes permanent and visible, and ends the transaction."""
        try:
            self._call(lib.hs_commit)
        finally:
            self.close()

    def rollback(self):
        self.close()

    def close(self):
        """Ends the transaction; rolls it back when it has not ended."""
        for child in list(self._children):
            child.close()
        self._forget_tables()
        handle, self._handle = self._handle, None
        if handle is not None:
            lib.hs_transaction_close(handle)

    def __enter__(self):
        return self

    def __exit__(self, kind, *exception):
        if kind is None and self._handle is not None:
            self.commit()
        else:
            self.close()

    def __del__(self):
        try:
            self.close()
        except Exception:  # nobody could be told
            pass

    def interrupt(self, on=True):
        """The one method for other threads: what the transaction does ends with Interrupted."""
        lib.hs_interrupt(self._open_handle(), 1 if on else 0)

    def savepoint(self, name):
        self._call(lib.hs_savepoint, name_bytes(name))

    def rollback_to(self, name):
        self._call(lib.hs_rollback_to, name_bytes(name))
        self._forget_tables()

    def release(self, name):
        self._call(lib.hs_release, name_bytes(name))

    # Tables

    def tables(self, prefix=""):
        names, after, name = [], None, ctypes.c_char_p()
        while True:
            try:
                self._call(lib.hs_table_next, name_bytes(prefix), after, ctypes.byref(name))
            except NotFound:
                return names
            after = name.value
            names.append(after.decode(errors="surrogateescape"))

    def describe(self, table):
        known, rows, size = self._table(table), ctypes.c_uint64(), ctypes.c_uint64()
        lib.hs_table_size(known.handle, ctypes.byref(rows), ctypes.byref(size))
        return TableInfo(table, tuple(known.columns), tuple(known.indexes), rows.value, size.value)

    def create_table(self, name, columns, primary_key=(), indexes=None, unique=None, row_wise=(), not_null=(),
                     in_memory=False, retention=None):
        """columns: a pyarrow.Schema, or a mapping of names to types ("int64", "string" …).

        indexes, unique: mappings of an index's name to names of columns; "-price" is descending.
        row_wise: columns that are stored together as rows. not_null: columns without NULLs, as the primary key's are.
        in_memory: the rows are gone when the database is closed, the table stays.
        retention: (column, amount, unit): rows whose time in the column is so many "hours", "days", "weeks", "months" or
        "years" back expire; the column: "timestamp", "date", or integers, which are seconds since 1970. Rows with NULL stay."""
        if isinstance(columns, pa.Schema):
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
            for is_unique, given in ((0, indexes or {}), (1, unique or {})):
                for index, parts in given.items():
                    names = (ctypes.c_char_p * len(parts))(*[name_bytes(part.removeprefix("-")) for part in parts])
                    flags = (ctypes.c_int * len(parts))(*[library.DESCENDING if part.startswith("-") else 0 for part in parts])
                    check(lib.hs_schema_index(schema, name_bytes(index), is_unique, names, flags, len(parts)), schema)
            if in_memory:
                check(lib.hs_schema_in_memory(schema, 0), schema)
            check(lib.hs_schema_retention(schema, *_retention(retention)), schema)
            self._call(lib.hs_table_create, name_bytes(name), schema, None)
        finally:
            lib.hs_schema_free(schema)

    def drop_table(self, name):
        self._forget_tables()
        self._call(lib.hs_table_drop, name_bytes(name))

    def rename_table(self, name, new_name):
        self._forget_tables()
        self._call(lib.hs_table_rename, name_bytes(name), name_bytes(new_name))

    def set_retention(self, table, retention):
        """As create_table() has it; None: rows stay."""
        self._forget_tables()
        self._call(lib.hs_table_retention, name_bytes(table), *_retention(retention))

    def check(self, table):
        self._call(lib.hs_table_check, self._table(table).handle)

    # Rows

    def insert(self, table, row):
        """row: a mapping, or a sequence of all columns."""
        known = self._table(table)
        values, count = known.row_values(row)
        self._call(lib.hs_insert, known.handle, values, count)

    def update(self, table, key, changes):
        """Changes some columns of the row; key: the primary key's value, or a tuple of its columns' values."""
        known = self._table(table)
        key = key if isinstance(key, (tuple, list)) else (key,)
        columns = (ctypes.c_uint32 * max(1, len(changes)))(*[known.place(name) for name in changes])
        self._call(lib.hs_update, known.handle, make_values(key), len(key), columns, make_values(list(changes.values())),
                   len(changes))

    def delete(self, table, *key):
        self._call(lib.hs_delete, self._table(table).handle, make_values(key), len(key))

    def get(self, table, *key, lock=None):
        """The row of a primary key as a dictionary; None: there is none. lock: None, "shared", "exclusive"."""
        known = self._table(table)
        values = (Value * len(known.columns))()
        try:
            self._call(lib.hs_get, known.handle, make_values(key), len(key), _choice(_LOCKS, lock, "lock"), values, len(values))
        except NotFound:
            return None
        return known.row(values)

    def rows(self, table, index=None, start=(), descending=False, lock=None):
        """Rows as dictionaries, one by one in the order of an index (None: the primary key), from the first columns'
        values `start` on."""
        known = self._table(table)
        cursor = _Cursor(self, known, index, lock)
        start = start if isinstance(start, (tuple, list)) else (start,)
        return cursor.rows(start, descending)

    def scan(self, table, columns=None, where=None, dictionary=(), threads=None):
        """All rows, or those of a condition, by columns, in no particular order.

        columns: names; None: all. where: see hailstone.column(); or [("price", ">", 9.5), …]. dictionary: columns that come as
        Arrow dictionaries. threads: for aggregates (2)."""
        return Scan(self._database, self, table, columns, where, dictionary, threads)

    def load(self, table, data, create=False, primary_key=(), row_wise=()):
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
            check(lib.hs_load_finish(load), load)
        finally:
            lib.hs_load_close(load)


def _noted(reader, failure):
    """The batches; what goes wrong in reading them is kept, so that it can be raised as it is."""
    try:
        yield from reader
    except GeneratorExit:  # the library wants no more of them, and says why
        raise
    except BaseException as error:
        failure.append(error)
        raise


_ARROW_TYPES = [(pa.types.is_int8, "int8"), (pa.types.is_int16, "int16"), (pa.types.is_int32, "int32"), (pa.types.is_int64, "int64"),
                (pa.types.is_uint8, "uint8"), (pa.types.is_uint16, "uint16"), (pa.types.is_uint32, "uint32"),
                (pa.types.is_uint64, "uint64"), (pa.types.is_float32, "float"), (pa.types.is_float64, "double"),
                (pa.types.is_string, "string"), (pa.types.is_large_string, "string"), (pa.types.is_binary, "bytes"),
                (pa.types.is_large_binary, "bytes"), (pa.types.is_fixed_size_binary, "bytes"), (pa.types.is_date32, "date"),
                (pa.types.is_timestamp, "timestamp"), (pa.types.is_boolean, "uint8"), (pa.types.is_null, "string")]


def _type_name(arrow_type, name):
    if pa.types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    for is_type, type_name in _ARROW_TYPES:
        if is_type(arrow_type):
            return type_name
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
        transaction._children.add(self)

    def rows(self, start, descending):
        seek, step = (lib.hs_cursor_seek_last, lib.hs_cursor_previous) if descending else (lib.hs_cursor_seek, lib.hs_cursor_next)
        values, key = (Value * len(self._table.columns))(), make_values(start)
        try:
            status = seek(self._handle, key, len(start))
            while status != Status.NOT_FOUND:
                check(status, self._handle)
                check(lib.hs_cursor_row(self._handle, values, len(values)), self._handle)
                yield self._table.row(values)
                if self._handle is None:
                    raise Invalid(Status.INVALID, "the transaction has ended")
                status = step(self._handle)
        finally:
            self.close()

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
        transaction._children.add(self)
        transaction._database._children.add(self)

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
                        raise Error(Status.IO, str(error)) from None
                yield batch
        finally:
            self.close()

    def close(self):
        with self._lock:
            reader, self._reader = self._reader, None
            if reader is None:
                return
            del reader  # releases the stream
        if self._owned:
            self._transaction._children.discard(self)
            self._transaction.close()


class Scan:
    """Rows to be read, by columns; made by scan(). Can be used any number of times."""

    def __init__(self, database, transaction, table, columns, where, dictionary, threads):
        self._database, self._transaction, self._table = database, transaction, table
        self._columns = None if columns is None else list(columns)
        self._where = make_predicate(where)
        self._dictionary, self._threads = set(dictionary), threads

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
                predicate = self._where.make()
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

    def to_reader(self):
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

    def __iter__(self):
        return iter(self.to_reader())

    def to_arrow(self):
        return self.to_reader().read_all()

    def to_pandas(self, **more):
        return self.to_arrow().to_pandas(**more)

    def to_polars(self):
        import polars
        return polars.from_arrow(self.to_arrow())

    def aggregate(self, **wanted):
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

    def count(self, column=None):
        """Rows; or values of a column that are not NULL."""
        return self.aggregate(result="rows" if column is None else ("count", column))["result"]

    def min(self, column):
        return self.aggregate(result=("min", column))["result"]

    def max(self, column):
        return self.aggregate(result=("max", column))["result"]

    def sum(self, column):
        return self.aggregate(result=("sum", column))["result"]


__all__ = ["Busy", "Column", "Database", "Index", "Scan", "TableInfo", "Transaction", "open"]
