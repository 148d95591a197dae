"""Errors: one class for each code that programs usually tell apart, all of them Error."""

import enum


class Status(enum.IntEnum):
    """The codes of hailstone.h."""
    NOT_FOUND = 1
    ALREADY_EXISTS = 2
    DUPLICATE_KEY = 3
    LOCK_TIMEOUT = 4
    DEADLOCK = 5
    INTERRUPTED = 6
    NO_MEMORY = 7
    DISK_FULL = 8
    IO = 9
    CORRUPT = 10
    INVALID = 11
    TOO_LARGE = 12
    BUSY = 13
    READ_ONLY = 14
    UNSUPPORTED = 15
    OUT_OF_RANGE = 16
    TABLE_CHANGED = 17
    SNAPSHOT_TOO_OLD = 18
    TABLE_FULL = 19


class Error(Exception):
    """What the library said; `code` is its Status."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class NotFound(Error):
    """No such row, table, column, savepoint or file."""


class AlreadyExists(Error):
    """A table or file of that name is there."""


class DuplicateKey(Error):
    """A unique index or the primary key has that key already."""


class LockTimeout(Error):
    """A lock was not granted in time; the transaction lives on."""


class Deadlock(Error):
    """Two transactions waited for each other; this one has been rolled back."""


class Interrupted(Error):
    """Transaction.interrupt()."""


class Corrupt(Error):
    """Stored bytes are damaged; the message names the file."""


class Invalid(Error):
    """The call is wrong, or its object is closed."""


class Busy(Error):
    """In use by another process or transaction."""


class TableFull(Error):
    """The rows of a table in memory would take more than they may."""


class OutOfRange(Error):
    """A number does not fit into its column, or a sum into 64 bits."""


_CLASSES = {Status.NOT_FOUND: NotFound, Status.ALREADY_EXISTS: AlreadyExists, Status.DUPLICATE_KEY: DuplicateKey,
            Status.LOCK_TIMEOUT: LockTimeout, Status.DEADLOCK: Deadlock, Status.INTERRUPTED: Interrupted,
            Status.CORRUPT: Corrupt, Status.INVALID: Invalid, Status.BUSY: Busy, Status.OUT_OF_RANGE: OutOfRange,
            Status.TABLE_FULL: TableFull}


def error_of(code, message):
    if code == Status.NO_MEMORY:
        return MemoryError(message or "the database's memory does not suffice")
    try:
        code = Status(code)
    except ValueError:  # of a newer library
        pass
    return _CLASSES.get(code, Error)(code, message or getattr(code, "name", str(code)).lower().replace("_", " "))
