"""Which values are the same to Spark, and which comes first, where Python itself would say otherwise.

NaN equals itself and is greater than any other number, zero has no sign, nulls inside arrays and structs come first.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isnan
from typing import Any

from pyspark.sql.types import ArrayType, DataType, DoubleType, FloatType, MapType, StructType

from millstream.plan.algebra import Unsupported

Key = Callable[[Any], Any]


def itself(value: Any) -> Any:
    """The key of a value that needs none."""
    return value


def identity(kind: DataType) -> Key:
    """Something hashable for each value (null too), equal where Spark finds the values the same; else `itself`.

    >>> same = identity(ArrayType(DoubleType()))
    >>> same([float("nan"), 0.0]) == same([float("nan"), -0.0])
    True
    """
    if isinstance(kind, (DoubleType, FloatType)):
        return lambda x: "NaN" if x is not None and isnan(x) else x
    if isinstance(kind, ArrayType):
        element = identity(kind.elementType)
        return lambda x: None if x is None else tuple([element(e) for e in x])
    if isinstance(kind, StructType):
        fields = [identity(f.dataType) for f in kind]
        if all(f is itself for f in fields):
            return itself
        return lambda x: None if x is None else tuple([f(e) for f, e in zip(fields, x)])
    if isinstance(kind, MapType):
        raise Unsupported(kind.simpleString(), "maps have no equality")
    return itself


def rank(kind: DataType) -> Key:
    """What to sort values by that are not null; `itself` where Python's order is Spark's.

    >>> sorted([float("nan"), 1.0, float("inf")], key=rank(DoubleType()))
    [1.0, inf, nan]
    """
    if isinstance(kind, (DoubleType, FloatType)):
        return lambda x: (True, 0.0) if isnan(x) else (False, x)
    if isinstance(kind, ArrayType):
        element = _nulls_first(kind.elementType)
        return lambda x: [element(e) for e in x]
    if isinstance(kind, StructType):
        fields = [_nulls_first(f.dataType) for f in kind]
        return lambda x: [f(e) for f, e in zip(fields, x)]
    return itself


def _nulls_first(kind: DataType) -> Key:
    inner = rank(kind)
    return lambda x: (False,) if x is None else (True, inner(x))


def unsigned(kind: DataType) -> Key:
    """A value (or null) with no negative zero in it; `itself` where there can be none."""
    if isinstance(kind, (DoubleType, FloatType)):
        return lambda x: None if x is None else x + 0.0
    if isinstance(kind, ArrayType):
        element = unsigned(kind.elementType)
        return itself if element is itself else lambda x: None if x is None else [element(e) for e in x]
    if isinstance(kind, StructType):
        fields = [unsigned(f.dataType) for f in kind]
        if all(f is itself for f in fields):
            return itself
        return lambda x: None if x is None else tuple([f(e) for f, e in zip(fields, x)])
    return itself
