"""Conditions on rows, evaluated inside the engine.

    column("price") > 9.5
    (column("maker") == "Ada") & ~column("name").like("B%") | column("id").isin([1, 2, 3])

Or as pyarrow's and pandas' filters have it: [("price", ">", 9.5), ("maker", "=", "Ada")] for AND, a list of such lists for OR of
ANDs. As in SQL, a comparison with NULL is unknown, and ~ of unknown is unknown, too.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any

from .errors import Invalid, NotFound, Status
from .library import Value, lib, name_bytes, set_value
from .values import convert

_COMPARISONS = {"=": 0, "==": 0, "!=": 1, "<>": 1, "<": 2, "<=": 3, ">": 4, ">=": 5}


class Predicate:
    """A condition. Combine with & | ~."""

    def __init__(self, build):
        self._build = build  # of a table's columns by name: makes a handle that the caller owns

    def __and__(self, other: Predicate) -> Predicate:
        return _combined(lib.hs_and, [self, other])

    def __or__(self, other: Predicate) -> Predicate:
        return _combined(lib.hs_or, [self, other])

    def __invert__(self) -> Predicate:
        return Predicate(lambda columns: lib.hs_not(self._build(columns)))

    def __bool__(self):
        raise TypeError("conditions are combined with & | ~, not with and, or, not")

    def make(self, columns):
        """The handle, for a table of these columns by name; the caller frees it."""
        handle = self._build(columns)
        if not handle:
            raise Invalid(Status.INVALID, "the condition is wrong")
        return handle


def _combined(combine, parts):
    for part in parts:
        if not isinstance(part, Predicate):
            raise Invalid(Status.INVALID, f"a {type(part).__name__} is no condition")

    def build(columns):
        handles = (ctypes.c_void_p * max(1, len(parts)))(*[part._build(columns) for part in parts])
        return combine(handles, len(parts))
    return Predicate(build)


class ColumnName:
    """A column in a condition."""

    def __init__(self, name: str):
        self._name = name_bytes(name)

    def __repr__(self):
        return f"column({self._name.decode()!r})"

    def _compare(self, comparison, value):
        if value is None:
            raise Invalid(Status.INVALID, "nothing compares with None; there is is_null()")

        def build(columns):
            given = Value()
            kept = set_value(given, *self._convert(columns, value))  # noqa: F841, lives until the library has copied it
            return lib.hs_compare(self._name, comparison, given)
        return Predicate(build)

    def _convert(self, columns, value):
        name = self._name.decode()
        if name not in columns:
            raise NotFound(Status.NOT_FOUND, f"there is no column '{name}'")
        return convert(value, columns[name])

    def __eq__(self, value: Any) -> Predicate:  # type: ignore[override]
        return self._compare(0, value)

    def __ne__(self, value: Any) -> Predicate:  # type: ignore[override]
        return self._compare(1, value)

    def __lt__(self, value: Any) -> Predicate:
        return self._compare(2, value)

    def __le__(self, value: Any) -> Predicate:
        return self._compare(3, value)

    def __gt__(self, value: Any) -> Predicate:
        return self._compare(4, value)

    def __ge__(self, value: Any) -> Predicate:
        return self._compare(5, value)

    __hash__ = None

    def isin(self, values: Iterable[Any]) -> Predicate:
        if isinstance(values, (str, bytes)):
            raise Invalid(Status.INVALID, f"isin() takes several values; for one: column({self._name.decode()!r}) == {values!r}")
        values = list(values)

        def build(columns):
            array = (Value * max(1, len(values)))()
            kept = [set_value(array[i], *self._convert(columns, value)) for i, value in enumerate(values)]  # noqa: F841
            return lib.hs_in(self._name, array, len(values))
        return Predicate(build)

    def is_null(self) -> Predicate:
        return Predicate(lambda columns: lib.hs_is_null(self._name))

    def like(self, pattern: str, escape: str = "\\") -> Predicate:
        """% stands for any characters, _ for one."""
        text = name_bytes(pattern)
        return Predicate(lambda columns: lib.hs_like(self._name, text, escape.encode() if escape else b"\0"))


def column(name: str) -> ColumnName:
    return ColumnName(name)


def _single(condition):
    if not isinstance(condition, (list, tuple)) or len(condition) != 3:
        raise Invalid(Status.INVALID, f"{condition!r} is not a condition; give a column's name, an operator and a value: ('price', '>', 9.5)")
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
        raise Invalid(Status.INVALID, f"{where!r} is not a condition; give column('price') > 9.5, or [('price', '>', 9.5)]")
    if len(where) == 3 and isinstance(where[0], str):
        return _single(where)
    if where and all(isinstance(part, (list, tuple)) and part and not isinstance(part[0], str) for part in where):
        return _combined(lib.hs_or, [make_predicate(part) for part in where])
    return _combined(lib.hs_and, [part if isinstance(part, Predicate) else _single(part) for part in where])
