"""Python values as a column of a certain type takes them, and back.

A row crosses over as one buffer of hs_value structures, 24 bytes each, which struct fills at once; texts lie behind them in the
same buffer. That is several times as fast as to set the fields of ctypes structures one by one.
"""

import ctypes
import datetime
import struct

from .errors import Invalid, OutOfRange, Status

_NULL, _INT, _UINT, _DOUBLE, _BYTES = range(5)  # hs_value_kind
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_NAIVE_EPOCH = datetime.datetime(1970, 1, 1)
_FIRST_DAY = datetime.date(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)
_DAY = 86_400_000_000  # microseconds
_VALUE_BYTES = 24

INTEGERS = {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}
NUMBERS = INTEGERS | {"float", "double"}


def _wrong(column, value, what):
    return Invalid(Status.INVALID, f"column '{column.name}' is of type {column.type} and takes no {type(value).__name__}: {what}")


def is_missing(value):
    """pandas' and numpy's ways to say NULL: NaT and NA. A NaN is a number."""
    if value is None:
        return True
    kind = type(value)
    if kind.__name__ in ("NaTType", "NAType") and kind.__module__.startswith("pandas."):
        return True
    return kind.__name__ in ("datetime64", "timedelta64") and kind.__module__ == "numpy" and bool(value != value)


def _plain_time(value, column):
    """numpy's times as datetime's; what has digits below the microsecond is refused, as nothing rounds times unasked."""
    if type(value).__name__ == "datetime64" and type(value).__module__ == "numpy":
        cut = value.astype("datetime64[us]")
        if cut != value:
            raise OutOfRange(Status.OUT_OF_RANGE, f"{value} has digits that column '{column.name}' does not hold: round it first")
        plain = cut.item()
        if not isinstance(plain, datetime.datetime):
            raise OutOfRange(Status.OUT_OF_RANGE, f"Python has no time for {value}")
        return plain
    if getattr(value, "nanosecond", 0):
        raise OutOfRange(Status.OUT_OF_RANGE, f"{value} has digits that column '{column.name}' does not hold: round it first")
    return value


def _microseconds(value):
    return (value - (_NAIVE_EPOCH if value.tzinfo is None else _EPOCH)) // _MICROSECOND


def _timestamp(value, column):
    value = _plain_time(value, column)
    if isinstance(value, datetime.datetime):
        return _INT, _microseconds(value)
    if isinstance(value, datetime.date):
        return _INT, (value - _FIRST_DAY).days * _DAY
    raise _wrong(column, value, "give a datetime.datetime (without a time zone: UTC), or a datetime.date, which is its midnight")


def _datetime(value, column):
    value = _plain_time(value, column)
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        raise Invalid(Status.INVALID, f"column '{column.name}' holds times of no time zone; give {value} without its own, by "
                                      "replace(tzinfo=None)")
    return _timestamp(value, column)


def _date(value, column):
    value = _plain_time(value, column)
    if isinstance(value, datetime.datetime):
        days, rest = divmod(_microseconds(value), _DAY)
        if rest:
            raise Invalid(Status.INVALID, f"column '{column.name}' holds days, and {value} is not a midnight; give its date()")
        return _INT, days
    if isinstance(value, datetime.date):
        return _INT, (value - _FIRST_DAY).days
    raise _wrong(column, value, "give a datetime.date")


def _number(value, column):
    kind = type(value)
    if kind is float:
        return _DOUBLE, value
    if kind is not int:
        if isinstance(value, (str, bytes, bytearray, memoryview, datetime.date, datetime.timedelta)) or \
                kind.__name__ in ("datetime64", "timedelta64"):
            raise _wrong(column, value, "give a number")
        if kind.__name__ in ("bool", "bool_"):  # numpy's has no __index__
            return _INT, int(value)
        try:
            value = value.__index__()
        except (AttributeError, TypeError):
            try:
                return _DOUBLE, float(value)  # numpy's numbers, Decimal
            except (TypeError, ValueError):
                raise _wrong(column, value, "give a number") from None
    if -0x8000000000000000 <= value <= 0x7FFFFFFFFFFFFFFF:
        return _INT, value
    if 0 < value <= 0xFFFFFFFFFFFFFFFF:
        return _UINT, value
    raise OutOfRange(Status.OUT_OF_RANGE, f"column '{column.name}': {value} does not fit into 64 bits")


def _bool(value, column):
    kind = type(value)
    if kind.__name__ in ("bool", "bool_") or kind is int and value in (0, 1):
        return _INT, int(value)
    raise _wrong(column, value, "give True or False")


def _string(value, column):
    if isinstance(value, str):
        try:
            return _BYTES, value.encode()
        except UnicodeEncodeError:
            raise Invalid(Status.INVALID, f"column '{column.name}': a string with half of a surrogate pair is no text") from None
    if isinstance(value, (bytes, bytearray, memoryview)):
        text = bytes(value)
        try:
            text.decode()
        except UnicodeDecodeError:
            raise Invalid(Status.INVALID, f"column '{column.name}' holds text, and these bytes are not UTF-8; a column of type "
                                          "bytes takes them") from None
        return _BYTES, text
    raise _wrong(column, value, "give a str")


def _bytes(value, column):
    if isinstance(value, str):
        return _BYTES, value.encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _BYTES, bytes(value)
    raise _wrong(column, value, "give bytes")


_CONVERTERS = {**{name: _number for name in NUMBERS}, "string": _string, "bytes": _bytes, "date": _date, "timestamp": _timestamp,
               "datetime": _datetime, "bool": _bool}
# How the number of a column's value lies in the buffer. Of texts it is an address.
_FORMATS = {**{name: "q" for name in INTEGERS}, "uint64": "Q", "float": "d", "double": "d", "string": "Q", "bytes": "Q", "date": "q",
            "timestamp": "q", "datetime": "q", "bool": "q"}
_INTEGER, _REAL, _TEXT, _OTHER = range(4)  # columns that take Python's own types as they are
_QUICK = {**{name: _INTEGER for name in INTEGERS - {"uint64"}}, "float": _REAL, "double": _REAL, "string": _TEXT}


def quick_kind(column):
    """int or str, when the column takes such values of 64 bits, or of ASCII, as they are; else None."""
    return {_INTEGER: int, _TEXT: str}.get(_QUICK.get(column.type))


def convert(value, column):
    """The kind and the number or bytes of a value for a column; raises Invalid and OutOfRange."""
    if value is None or is_missing(value):
        return _NULL, None
    return _CONVERTERS[column.type](value, column)


class RowBuffers:
    """Buffers of rows of some columns, each used by one call at a time."""

    def __init__(self, columns):
        self._columns = [(_QUICK.get(column.type, _OTHER), column) for column in columns]
        self._pack_into = struct.Struct("=" + "".join([f"i4x{_FORMATS[column.type]}Q" for column in columns])).pack_into
        self._text_at = max(1, len(columns)) * _VALUE_BYTES
        self._free = []

    def _take(self, text_bytes):
        try:
            packed = self._free.pop()
            if packed[1] >= text_bytes:
                return packed
        except IndexError:
            pass
        text_bytes = max(1024, text_bytes)
        buffer = ctypes.create_string_buffer(self._text_at + text_bytes)
        return buffer, text_bytes, ctypes.addressof(buffer)

    def pack(self, values, room=0):
        """A buffer with the values, one for each of the first columns; its address is [2]. To be given back by release()."""
        packed = self._take(room)
        end = start = packed[2] + self._text_at
        parts, texts = [], []
        for value, (quick, column) in zip(values, self._columns):
            kind = type(value)
            if kind is int and quick == _INTEGER:
                parts += (_INT, value, 0)
            elif kind is float and quick == _REAL:
                parts += (_DOUBLE, value, 0)
            elif value is None:
                parts += (_NULL, 0, 0)
            else:
                kind, given = (_BYTES, value.encode()) if kind is str and quick == _TEXT and value.isascii() else convert(value, column)
                if kind == _BYTES:
                    parts += (_BYTES, end, len(given))
                    texts.append(given)
                    end += len(given)
                else:
                    parts += self._number(kind, given, column)
        missing = len(self._columns) - len(values)
        if missing:
            if missing < 0:
                raise Invalid(Status.INVALID, f"{len(self._columns)} values are wanted, but {len(values)} were given")
            parts += (0,) * (3 * missing)
        if end - start > packed[1]:
            return self.pack(values, end - start)
        try:
            self._pack_into(packed[0], 0, *parts)
        except struct.error:
            raise OutOfRange(Status.OUT_OF_RANGE, f"a number does not fit into the 64 bits of its column: {list(values)!r:.200}") from None
        if texts:
            packed[0][self._text_at:self._text_at + end - start] = b"".join(texts)
        return packed

    @staticmethod
    def _number(kind, given, column):
        """The same value as its column's place in the buffer has it."""
        wanted = _FORMATS[column.type]
        if kind == _NULL:
            return _NULL, 0, 0
        if wanted == "d":
            return _DOUBLE, float(given), 0
        if kind == _DOUBLE:
            raise _wrong(column, given, "give an int")
        if kind == _UINT and wanted == "q" or given < 0 and wanted == "Q":
            raise OutOfRange(Status.OUT_OF_RANGE, f"column '{column.name}': {given} does not fit")
        return (_UINT if wanted == "Q" else _INT), given, 0

    def release(self, packed):
        if len(self._free) < 4:
            self._free.append(packed)


def _to_date(number):
    try:
        return _FIRST_DAY + datetime.timedelta(days=number)
    except OverflowError:
        raise OutOfRange(Status.OUT_OF_RANGE, f"Python has no date for {number}") from None


def _since(epoch):
    """What makes a datetime of microseconds since an epoch."""
    def to_datetime(number):
        try:
            return epoch + datetime.timedelta(microseconds=number)
        except OverflowError:
            raise OutOfRange(Status.OUT_OF_RANGE, f"Python has no timestamp for {number}") from None
    return to_datetime


_to_timestamp, _to_datetime = _since(_EPOCH), _since(_NAIVE_EPOCH)


def _letters(column):
    """What of a column's hs_value is read, as struct has it: the kind and the number; of texts the size, too."""
    return f"i4x{_FORMATS[column.type]}" + ("Q" if column.type in ("string", "bytes") else "8x")


def _expression(column, at):
    """Python's own expression for a column's value out of the fields f of a row, which struct has made."""
    value = f"f[{at + 1}]"
    if column.type in ("string", "bytes"):
        value = f"string_at({value}, f[{at + 2}])" + (".decode(errors='surrogateescape')" if column.type == "string" else "")
    elif column.type == "bool":
        value += " != 0"
    elif column.type in ("date", "timestamp", "datetime"):
        value = f"to_{column.type}({value})"
    return f"{column.name!r}: {value} if f[{at}] else None"


class RowReader:
    """Reads rows of some columns out of a buffer that the library has filled."""

    def __init__(self, columns, rows=1):
        self.count, self.rows = len(columns), rows
        self.buffer = ctypes.create_string_buffer(max(1, len(columns)) * rows * _VALUE_BYTES)
        self.address = ctypes.addressof(self.buffer)
        self._struct = struct.Struct("=" + "".join([_letters(column) for column in columns]))
        # As written out for these columns it takes a third of the time of a loop over them.
        parts, at = [], 0
        for column in columns:
            parts.append(_expression(column, at))
            at += 3 if column.type in ("string", "bytes") else 2
        row_of = "lambda f: {" + ", ".join(parts) + "}"
        self._row_of = eval(row_of, {"string_at": ctypes.string_at, "to_date": _to_date, "to_timestamp": _to_timestamp,
                                     "to_datetime": _to_datetime})
        self._unpack = self._struct.unpack_from

    def row(self):
        return self._row_of(self._unpack(self.buffer))

    def all(self, count):
        """The first rows, one by one."""
        return map(self._row_of, self._struct.iter_unpack(memoryview(self.buffer).cast("B")[:count * self._struct.size]))
