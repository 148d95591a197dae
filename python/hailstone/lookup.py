"""A row by its primary key, in as few steps of Python as there can be.

hs_get() takes half a microsecond; finding buffers, converting seven arguments and giving the buffers back would take three times
as much. A Lookup keeps all that from one call to the next. It takes keys of whole numbers and short ASCII texts; Transaction.get()
has the way for all others, and for locks.
"""

import ctypes
import functools
import struct

from .library import lib
from .values import RowReader, quick_kind

_TEXT_BYTES = 256  # of each text of a key

# A second function object, which takes ctypes objects as they are.
_hs_get = lib["hs_get"]
_hs_get.restype = ctypes.c_int


class Lookup:
    """One call at a time: pack() the key, find(), then row(). The transaction's handle is to be set before."""

    def __init__(self, handle, columns, key):
        """handle: the table's. columns: the table's. key: those of the primary key, for which possible() holds."""
        reader, text_at = RowReader(columns), 24 * len(key)
        buffer = ctypes.create_string_buffer(text_at + _TEXT_BYTES * len(key))
        self.owner = None  # the transaction's handle that was set last
        self.transaction = ctypes.c_void_p()
        self.find = functools.partial(_hs_get, self.transaction, handle, ctypes.c_void_p(ctypes.addressof(buffer)),
                                      ctypes.c_size_t(len(key)), ctypes.c_int(0), ctypes.c_void_p(reader.address),
                                      ctypes.c_size_t(reader.count))
        self.row = reader.row
        self.pack = _make_pack([quick_kind(column) for column in key], buffer, text_at)

    @staticmethod
    def possible(key):
        return bool(key) and all(quick_kind(column) is not None for column in key)


def _make_pack(kinds, buffer, text_at):
    """A function that puts a key's values into the buffer; False: it cannot. As written out for these columns."""
    names = [f"v{i}" for i in range(len(kinds))]
    tests, fields, copies = [f"len(key) == {len(kinds)}"], [], []
    for i, (name, kind) in enumerate(zip(names, kinds)):
        if kind is int:
            tests.append(f"type(key[{i}]) is int")
            fields.append(f"1, {name}, 0")
        else:
            start = text_at + i * _TEXT_BYTES
            tests.append(f"type(key[{i}]) is str and len(key[{i}]) <= {_TEXT_BYTES} and key[{i}].isascii()")
            fields.append(f"4, {ctypes.addressof(buffer) + start}, len({name})")
            copies.append(f"buffer[{start}:{start} + len({name})] = {name}.encode()")
    lines = ["def pack(key):", f"    if {' and '.join(tests)}:", f"        {', '.join(names)}, = key", "        try:",
             f"            pack_into(buffer, 0, {', '.join(fields)})", "        except error:", "            return False",
             *[f"        {copy}" for copy in copies], "        return True", "    return False"]
    formats = "".join(["i4xqQ" if kind is int else "i4xQQ" for kind in kinds])
    scope = {"buffer": buffer, "pack_into": struct.Struct("=" + formats).pack_into, "error": struct.error}
    exec("\n".join(lines), scope)
    return scope["pack"]
