"""What an aggregate function keeps for each group, and the code that works on it.

Names such as `s[2]` stand for buffers; values are Spark's internal ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    YearMonthIntervalType,
)

from millstream.kernels.expressions import Code
from millstream.plan.algebra import Expr

Lines = list[str]
INTEGRAL = (ByteType, ShortType, IntegerType, LongType)
FLOATING = (DoubleType, FloatType)
PLAIN_ORDER = (
    *INTEGRAL, BooleanType, StringType, BinaryType, DateType, TimestampType, TimestampNTZType, DecimalType,
    DayTimeIntervalType, YearMonthIntervalType,
)  # fmt: skip
"""Types that Python's `<` orders as Spark does (doubles are not among them: NaN)."""


@dataclass(frozen=True)
class Buffers:
    """What one call keeps for each group, and the code that works on it.

    Names of arguments and of results' buffers are identifiers; an argument or buffer may be null.
    """

    types: tuple[DataType, ...]
    initial: tuple[str, ...]
    """Python expressions."""
    update: Callable[[list[str], list[str]], Lines]
    """From the buffers' names and the arguments' names: lines that add a row."""
    merge: Callable[[list[str], list[str]], Lines]
    """From the buffers' names and those of another part's buffers, which stay as they are."""
    result: Callable[[list[str]], str]
    """An expression for the function's value."""
    sql: Callable[[list[str]], list[str]] | None = None
    """DuckDB's aggregates that make the same buffers, if they exist. Buffers without them travel as Python only."""
    filterable: bool = True
    """Whether the SQL may be followed by a `FILTER` clause."""


Maker = Callable[[Expr, Code], Buffers]
"""From a function with its arguments, and the code that the lines will be part of."""


def orderable(kind: DataType) -> bool:
    """Whether `order` knows how Spark orders a type."""
    if isinstance(kind, StructType):
        return all(orderable(f.dataType) for f in kind)
    if isinstance(kind, ArrayType):
        return orderable(kind.elementType)
    if isinstance(kind, StringType):
        return bool(kind.isUTF8BinaryCollation())
    return isinstance(kind, (*PLAIN_ORDER, *FLOATING))


def order(value: Any) -> Any:
    """What Python must compare to order values as Spark does: NaN is the greatest, a null within is the least.

    >>> sorted([(1, 2.0), (1, None), (0, float("nan")), (1, 1.0)], key=order)
    [(0, nan), (1, None), (1, 1.0), (1, 2.0)]
    """
    if isinstance(value, float):
        return (True, 0.0) if value != value else (False, value)  # noqa: PLR0124 (that is what NaN is)
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [(False, 0) if v is None else (True, order(v)) for v in value]
    return value
