"""The shared library through ctypes: hailstone.h as Python needs it.

ctypes, as it comes with Python: nothing is compiled for a Python version, one wheel serves all. Values of many rows go through
Arrow, so the time of a call does not matter. ctypes lets other threads run during each call.
"""

import ctypes
import ctypes.util
import datetime
import os
import pathlib

from .errors import Error, Invalid, OutOfRange, Status, error_of


class ArrowArrayStream(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("get_schema", "get_next", "get_last_error", "release", "private_data")]


class _Bytes(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class _Union(ctypes.Union):
    _fields_ = [("i", ctypes.c_int64), ("u", ctypes.c_uint64), ("d", ctypes.c_double), ("bytes", _Bytes)]


class Value(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("as_", _Union)]


class Aggregate(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("column", ctypes.c_char_p)]


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("memory_bytes", ctypes.c_uint64), ("checkpoint_log_bytes", ctypes.c_uint64),
                ("row_memory_bytes", ctypes.c_uint64), ("durability", ctypes.c_int), ("background_threads", ctypes.c_uint),
                ("lock_wait_ms", ctypes.c_uint), ("must_exist", ctypes.c_int), ("log", ctypes.c_void_p),
                ("log_context", ctypes.c_void_p), ("panic", ctypes.c_void_p), ("panic_context", ctypes.c_void_p),
                ("open_tables", ctypes.c_uint64), ("io_method", ctypes.c_int), ("log_write_timeout_ms", ctypes.c_uint),
                ("open_files", ctypes.c_uint64), ("snapshot_too_old_seconds", ctypes.c_uint),
                ("in_memory_bytes", ctypes.c_uint64), ("retention_interval_seconds", ctypes.c_uint), ("read_only", ctypes.c_int)]


NULL, INT, UINT, DOUBLE, BYTES = range(5)  # hs_value_kind
TYPE_NAMES = {1: "int8", 2: "int16", 3: "int32", 4: "int64", 5: "uint8", 6: "uint16", 7: "uint32", 8: "uint64", 9: "float",
              10: "double", 11: "string", 12: "bytes", 13: "date", 14: "timestamp", 15: "bool", 16: "datetime"}
TYPES = {name: number for number, name in TYPE_NAMES.items()}
NOT_NULL, ROW_WISE, DESCENDING, PRIMARY, UNIQUE = 1, 2, 4, 8, 16
AS_DICTIONARY = 1

_P, _S, _I, _Z = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_size_t
_OUT = ctypes.POINTER(ctypes.c_void_p)
_VALUES = ctypes.POINTER(Value)
_STRINGS = ctypes.POINTER(ctypes.c_char_p)
_FUNCTIONS = {
    "hs_version": (_S, []), "hs_error_message": (_S, [_P]),
    "hs_options_init_sized": (None, [ctypes.POINTER(Options), _Z]),
    "hs_open": (_I, [_S, ctypes.POINTER(Options), _OUT]), "hs_close_within": (_I, [_P, ctypes.c_uint]), "hs_close": (_I, [_P]),
    "hs_checkpoint": (_I, [_P]),
    "hs_expire": (_I, [_P, ctypes.POINTER(ctypes.c_uint64)]), "hs_backup": (_I, [_P, _S]),
    "hs_counter_at": (_I, [_P, _Z, ctypes.POINTER(_S), ctypes.POINTER(_S), ctypes.POINTER(ctypes.c_uint64)]),
    "hs_begin": (_I, [_P, _I, _OUT]), "hs_commit": (_I, [_P]), "hs_rollback": (_I, [_P]), "hs_transaction_close": (None, [_P]),
    "hs_savepoint": (_I, [_P, _S]), "hs_rollback_to": (_I, [_P, _S]), "hs_release": (_I, [_P, _S]),
    "hs_interrupt": (None, [_P, _I]),
    "hs_schema_new": (_I, [_OUT]), "hs_schema_free": (None, [_P]),
    "hs_schema_column": (_I, [_P, _S, _I, ctypes.c_uint32, _I]), "hs_schema_primary_key": (_I, [_P, _STRINGS, _Z]),
    "hs_schema_index": (_I, [_P, _S, _I, _STRINGS, ctypes.POINTER(_I), _Z]),
    "hs_schema_in_memory": (_I, [_P, ctypes.c_uint64]), "hs_schema_retention": (_I, [_P, _S, ctypes.c_uint32, _I]),
    "hs_table_retention": (_I, [_P, _S, _S, ctypes.c_uint32, _I]),
    "hs_table_create": (_I, [_P, _S, _P, _OUT]), "hs_table_drop": (_I, [_P, _S]), "hs_table_rename": (_I, [_P, _S, _S]),
    "hs_table_next": (_I, [_P, _S, _S, ctypes.POINTER(_S)]), "hs_table_open": (_I, [_P, _S, _OUT]),
    "hs_table_close": (None, [_P]), "hs_table_columns": (_Z, [_P]),
    "hs_table_column": (_I, [_P, _Z, ctypes.POINTER(_S), ctypes.POINTER(_I), ctypes.POINTER(_I)]),
    "hs_table_column_limit": (_I, [_P, _Z, ctypes.POINTER(ctypes.c_uint32)]),
    "hs_table_index": (_I, [_P, _Z, ctypes.POINTER(_S), ctypes.POINTER(_I), ctypes.POINTER(_Z)]),
    "hs_table_index_column": (_I, [_P, _Z, _Z, ctypes.POINTER(_Z), ctypes.POINTER(_I)]),
    "hs_table_check": (_I, [_P, _P]),
    "hs_table_size": (_I, [_P, ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(ctypes.c_uint64)]),
    "hs_insert": (_I, [_P, _P, _P, _Z]), "hs_upsert": (_I, [_P, _P, _P, _Z]),
    "hs_update": (_I, [_P, _P, _P, _Z, ctypes.POINTER(ctypes.c_uint32), _P, _Z]),
    "hs_delete": (_I, [_P, _P, _P, _Z]), "hs_get": (_I, [_P, _P, _P, _Z, _I, _P, _Z]),
    "hs_cursor_open": (_I, [_P, _P, _S, _I, _OUT]), "hs_cursor_close": (None, [_P]), "hs_cursor_seek": (_I, [_P, _P, _Z]),
    "hs_cursor_seek_last": (_I, [_P, _P, _Z]), "hs_cursor_until": (_I, [_P, _P, _Z]), "hs_cursor_next": (_I, [_P]), "hs_cursor_previous": (_I, [_P]),
    "hs_cursor_row": (_I, [_P, _P, _Z]), "hs_cursor_rows": (_I, [_P, _I, _P, _Z, _Z, ctypes.POINTER(_Z)]),
    "hs_load_begin": (_I, [_P, _P, _OUT]), "hs_load_stream": (_I, [_P, ctypes.POINTER(ArrowArrayStream)]),
    "hs_load_finish": (_I, [_P]), "hs_load_close": (None, [_P]),
    "hs_compare": (_P, [_S, _I, Value]), "hs_in": (_P, [_S, _VALUES, _Z]), "hs_is_null": (_P, [_S]),
    "hs_like": (_P, [_S, _S, ctypes.c_char]), "hs_and": (_P, [_OUT, _Z]), "hs_or": (_P, [_OUT, _Z]), "hs_not": (_P, [_P]),
    "hs_predicate_free": (None, [_P]),
    "hs_scan_open": (_I, [_P, _P, _OUT]), "hs_scan_close": (None, [_P]), "hs_scan_column": (_I, [_P, _S, _I]),
    "hs_scan_filter": (_I, [_P, _P]), "hs_scan_threads": (_I, [_P, ctypes.c_uint]),
    "hs_scan_stream": (_I, [_P, ctypes.POINTER(ArrowArrayStream)]),
    "hs_scan_aggregate": (_I, [_P, ctypes.POINTER(Aggregate), _VALUES, _Z]),
    "hs_scan_count": (_I, [_P, ctypes.POINTER(ctypes.c_uint64)]),
}


def _load():
    """The library beside this file, as wheels have it; or that of HAILSTONE_LIBRARY; or the system's."""
    beside = pathlib.Path(__file__).parent / "libhailstone.so"
    path = os.environ.get("HAILSTONE_LIBRARY") or (str(beside) if beside.exists() else "libhailstone.so.0")
    library = ctypes.CDLL(path)
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


lib = _load()


def version():
    return lib.hs_version().decode()


def check(status, handle):
    """Raises what a call that returned `status` says."""
    if status != 0:
        raise error_of(status, lib.hs_error_message(handle).decode(errors="replace") if handle else "")


def name_bytes(name):
    """A name as the library takes it."""
    if not isinstance(name, str) or "\0" in name:
        raise Invalid(Status.INVALID, f"{name!r} is no name")
    return name.encode()


def set_value(target, kind, given):
    """Fills a Value with what values.convert() has made; returns what must live as long as it."""
    target.kind = kind
    if kind == BYTES:
        target.as_.bytes.data = ctypes.cast(ctypes.c_char_p(given), ctypes.c_void_p).value
        target.as_.bytes.size = len(given)
    elif kind == DOUBLE:
        target.as_.d = given
    elif kind == INT:
        target.as_.i = given
    elif kind == UINT:
        target.as_.u = given
    return given


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_NAIVE_EPOCH = _EPOCH.replace(tzinfo=None)
_FIRST_DAY = _EPOCH.date()


def get_value(value, type_name):
    """The Python value of a column of that type."""
    if value.kind == NULL:
        return None
    if value.kind == BYTES:
        text = ctypes.string_at(value.as_.bytes.data, value.as_.bytes.size) if value.as_.bytes.size else b""
        return text.decode(errors="surrogateescape") if type_name == "string" else text
    if value.kind == DOUBLE:
        return value.as_.d
    number = value.as_.i if value.kind == INT else value.as_.u
    try:
        if type_name == "date":
            return _FIRST_DAY + datetime.timedelta(days=number)
        if type_name == "timestamp":
            return _EPOCH + datetime.timedelta(microseconds=number)
        if type_name == "datetime":
            return _NAIVE_EPOCH + datetime.timedelta(microseconds=number)
        if type_name == "bool":
            return bool(number)
    except OverflowError:
        raise OutOfRange(Status.OUT_OF_RANGE, f"Python has no {type_name} for {number}") from None
    return number


__all__ = ["Error", "lib", "check"]
