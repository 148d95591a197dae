"""Conditions on rows, evaluated inside the engine.

    column("price") > 9.5
    (column("maker") == "Ada") & ~column("name").like("B%") | column("id").isin([1, 2, 3])

Or as pyarrow's and pandas' filters have it: [("price", ">", 9.5), ("maker", "=", "Ada")] for AND, a list of such lists for OR of
ANDs. As in SQL, a comparison with NULL is unknown, and ~ of unknown is unknown, too.
"""

import ctypes

from .errors import Invalid, Status
from .library import Value, lib, make_values, name_bytes, set_value

_COMPARISONS = {"=": 0, "==": 0, "!=": 1, "<>": 1, "<": 2, "<=": 3, ">": 4, ">=": 5}


class Predicate:
    """A condition. Combine with & | ~."""

    def __init__(self, build):
        self._build = build  # makes a handle that the caller owns

    def __and__(self, other):
        return _combined(lib.hs_and, [self, other])

    def __or__(self, other):
        return _combined(lib.hs_or, [self, other])

    def __invert__(self):
        return Predicate(lambda: lib.hs_not(self._build()))

    def __bool__(self):
        raise TypeError("conditions are combined with & | ~, not with and, or, not")

    def make(self):
        """The handle, which the caller frees."""
        handle = self._build()
        if not handle:
            raise Invalid(Status.INVALID, "the condition is wrong")
        return handle


def _combined(combine, parts):
    for part in parts:
        if not isinstance(part, Predicate):
            raise Invalid(Status.INVALID, f"a {type(part).__name__} is no condition")

    def build():
        handles = (ctypes.c_void_p * max(1, len(parts)))(*[part._build() for part in parts])
        return combine(handles, len(parts))
    return Predicate(build)


class ColumnName:
    """A column in a condition."""

    def __init__(self, name):
        self._name = name_bytes(name)

    def _compare(self, comparison, value):
        if value is None:
            raise Invalid(Status.INVALID, "nothing compares with None; there is is_null()")

        def build():
            given = Value()
            kept = set_value(given, value)  # noqa: F841, lives until the library has copied it
            return lib.hs_compare(self._name, comparison, given)
        return Predicate(build)

    def __eq__(self, value):
        return self._compare(0, value)

    def __ne__(self, value):
        return self._compare(1, value)

    def __lt__(self, value):
        return self._compare(2, value)

    def __le__(self, value):
        return self._compare(3, value)

    def __gt__(self, value):
        return self._compare(4, value)

    def __ge__(self, value):
        return self._compare(5, value)

    __hash__ = None

    def isin(self, values):
        values = list(values)
        return Predicate(lambda: lib.hs_in(self._name, make_values(values), len(values)))

    def is_null(self):
        return Predicate(lambda: lib.hs_is_null(self._name))

    def like(self, pattern, escape="\\"):
        """% stands for any characters, _ for one."""
        text = name_bytes(pattern)
        return Predicate(lambda: lib.hs_like(self._name, text, escape.encode() if escape else b"\0"))


def column(name):
    return ColumnName(name)


def _single(condition):
    name, operator, value = condition
    operator = operator.lower() if isinstance(operator, str) else operator
    if operator == "in":
        return column(name).isin(value)
    if operator == "not in":
        return ~column(name).isin(value)
    if operator == "like":
        return column(name).like(value)
    if operator in ("is", "is not"):
        if value is not None:
            raise Invalid(Status.INVALID, f"'{operator}' goes with None only")
        test = column(name).is_null()
        return test if operator == "is" else ~test
    if operator not in _COMPARISONS:
        raise Invalid(Status.INVALID, f"there is no operator {operator!r}; there are {', '.join(_COMPARISONS)}, in, not in, like, is")
    return column(name)._compare(_COMPARISONS[operator], value)


def make_predicate(where):
    """A Predicate of what people give for `where`; None for no condition."""
    if where is None or isinstance(where, Predicate):
        return where
    if not isinstance(where, (list, tuple)):
        raise Invalid(Status.INVALID, f"a {type(where).__name__} is no condition")
    if len(where) == 3 and isinstance(where[0], str):
        return _single(where)
    if where and all(isinstance(part, (list, tuple)) and part and not isinstance(part[0], str) for part in where):
        return _combined(lib.hs_or, [make_predicate(part) for part in where])
    return _combined(lib.hs_and, [part if isinstance(part, Predicate) else _single(part) for part in where])
