"""Aggregate functions: what a group keeps (its buffers), how rows and other buffers join it, what it gives.

Each function writes lines of Python for the scalar kernels, and SQL for the vector ones where both
give the same buffers. Names such as `s[2]` stand for buffers; values are Spark's internal ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from millstream.plan.algebra import AggregateCall, Expr, Unsupported

Lines = list[str]
INTEGRAL = (ByteType, ShortType, IntegerType, LongType)
PLAIN_ORDER = (*INTEGRAL, BooleanType, StringType, DateType, TimestampType, TimestampNTZType, DecimalType)
"""Types that Python's `<` orders as Spark does (doubles are not among them: NaN)."""


@dataclass(frozen=True)
class Buffers:
    """What one call keeps for each group, and the code that works on it."""

    types: tuple[DataType, ...]
    initial: tuple[str, ...]
    """Python expressions."""
    update: Callable[[list[str], list[str]], Lines]
    """From the buffers' names and the arguments' names: lines that add a row."""
    merge: Callable[[list[str], list[str]], Lines]
    """From the buffers' names and those of another part's buffers."""
    result: Callable[[list[str]], str]
    """An expression for the function's value."""
    sql: Callable[[list[str]], list[str]] | None = None
    """DuckDB's aggregates that make the same buffers, if they exist."""


def buffers_of(call: AggregateCall) -> Buffers:
    """How a call is computed; raises `Unsupported` for a function that has no entry here."""
    if call.distinct:
        raise Unsupported(call.function.op, "distinct aggregates need all values of a group at once")
    make = FUNCTIONS.get(call.function.op)
    if make is None:
        raise Unsupported(call.function.op, "this aggregate function has no kernel yet")
    return make(call.function)


def _count(f: Expr) -> Buffers:
    nullable = [i for i, arg in enumerate(f.args) if arg.op != "Literal"]

    def update(s: list[str], args: list[str]) -> Lines:
        test = " and ".join(f"{args[i]} is not None" for i in nullable)
        return [f"if {test}:", f"    {s[0]} += 1"] if test else [f"{s[0]} += 1"]

    def sql(args: list[str]) -> list[str]:
        if not nullable:
            return ["count(*)"]
        return [f"count(*) FILTER (WHERE {' AND '.join(f'{args[i]} IS NOT NULL' for i in nullable)})"]

    return Buffers(
        (LongType(),), ("0",), update, lambda s, o: [f"{s[0]} += {o[0]}"], lambda s: s[0], sql,
    )  # fmt: skip


def _add(s: str, o: str) -> Lines:
    return [f"if {o} is not None:", f"    {s} = {o} if {s} is None else {s} + {o}"]


def _sum(f: Expr) -> Buffers:
    kind = f.args[0].type
    if isinstance(kind, INTEGRAL):

        def sql(args: list[str]) -> list[str]:
            return [f"CAST(sum({args[0]}) AS BIGINT)"]

        return Buffers(
            (LongType(),), ("None",), lambda s, a: _add(s[0], a[0]), lambda s, o: _add(s[0], o[0]),
            lambda s: f"checked_sum({s[0]}, {bool(f.params.get('ansi', True))})", sql,
        )  # fmt: skip
    if isinstance(kind, (DoubleType, FloatType)):
        return Buffers(
            (DoubleType(),), ("None",), lambda s, a: _add(s[0], a[0]), lambda s, o: _add(s[0], o[0]), lambda s: s[0],
            lambda args: [f"sum(CAST({args[0]} AS DOUBLE))"],
        )  # fmt: skip
    if isinstance(kind, DecimalType):
        assert isinstance(f.type, DecimalType)
        limits = f"{f.type.precision}, {f.type.scale}, {bool(f.params.get('ansi', True))}"
        return Buffers(
            (f.type,), ("None",), lambda s, a: _add(s[0], a[0]), lambda s, o: _add(s[0], o[0]),
            lambda s: f"checked_decimal({s[0]}, {limits})",
        )  # fmt: skip
    raise Unsupported("Sum", f"of {kind.simpleString()}")


def _average(f: Expr) -> Buffers:
    kind = f.args[0].type
    if not isinstance(kind, (*INTEGRAL, DoubleType, FloatType)):
        raise Unsupported("Average", f"of {kind.simpleString()}")

    def update(s: list[str], a: list[str]) -> Lines:
        return [f"if {a[0]} is not None:", f"    {s[0]} += {a[0]}", f"    {s[1]} += 1"]

    return Buffers(
        (DoubleType(), LongType()), ("0.0", "0"), update,
        lambda s, o: [f"{s[0]} += {o[0]}", f"{s[1]} += {o[1]}"],
        lambda s: f"({s[0]} / {s[1]} if {s[1]} else None)",
        lambda args: [f"coalesce(sum(CAST({args[0]} AS DOUBLE)), 0.0)", f"count({args[0]})"],
    )  # fmt: skip


def _extreme(sign: str, sql_name: str) -> Callable[[Expr], Buffers]:
    def make(f: Expr) -> Buffers:
        kind = f.args[0].type
        plain = isinstance(kind, PLAIN_ORDER)
        if not plain and not isinstance(kind, (DoubleType, FloatType)):
            raise Unsupported(f.op, f"of {kind.simpleString()}")

        def take(s: str, o: str) -> Lines:
            better = f"{o} {sign} {s}" if plain else f"order({o}) {sign} order({s})"
            return [f"if {o} is not None and ({s} is None or {better}):", f"    {s} = {o}"]

        def sql(args: list[str]) -> list[str]:
            return [f"{sql_name}({args[0]})"]

        return Buffers(
            (kind,), ("None",), lambda s, a: take(s[0], a[0]), lambda s, o: take(s[0], o[0]), lambda s: s[0],
            sql if plain else None,
        )  # fmt: skip

    return make


FUNCTIONS: dict[str, Callable[[Expr], Buffers]] = {
    "Count": _count,
    "Sum": _sum,
    "Average": _average,
    "Min": _extreme("<", "min"),
    "Max": _extreme(">", "max"),
}


INT64 = 1 << 63


def checked_sum(value: int | None, ansi: bool) -> int | None:
    """A sum of whole numbers as Spark gives it: an error beyond 64 bits, or the wrapped number without ANSI."""
    if value is None or -INT64 <= value < INT64:
        return value
    if ansi:
        raise ArithmeticError("[ARITHMETIC_OVERFLOW] long overflow. Use try_sum, or cast to a decimal first")
    return (value + INT64) % (2 * INT64) - INT64


def checked_decimal(value: Any, precision: int, scale: int, ansi: bool) -> Any:
    """A decimal if its type can hold it; otherwise an error, or null without ANSI."""
    if value is None or abs(value.scaleb(scale)) < 10**precision:
        return value
    if ansi:
        raise ArithmeticError(f"[NUMERIC_VALUE_OUT_OF_RANGE] {value} does not fit decimal({precision},{scale})")
    return None


def order(value: float) -> tuple[bool, float]:
    """The order of floating-point numbers in Spark: NaN is the greatest."""
    return (value != value, value)  # noqa: PLR0124 (that is what NaN is)


HELPERS: dict[str, Any] = {"checked_sum": checked_sum, "checked_decimal": checked_decimal, "order": order}
"""What the code of results and updates calls."""
