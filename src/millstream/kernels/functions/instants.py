"""Timestamps and dates as numbers, and numbers as timestamps and dates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal

from pyspark.sql.types import DecimalType, DoubleType, FloatType

from millstream.errors import DataError
from millstream.kernels.functions.function import Function, Functions, Python, Template, inline
from millstream.plan.algebra import Expr

LONG = 1 << 63
"""Beyond the largest of Spark's longs."""


def exact(value: int) -> int:
    """A long, or Spark's error if there is none so large."""
    if -LONG <= value < LONG:
        return value
    raise DataError("[ARITHMETIC_OVERFLOW] long overflow.")


def floor_division(dividend: str, divisor: int) -> str:
    """Division towards negative infinity in DuckDB's SQL, which itself rounds towards zero."""
    return f"(({dividend} - (({dividend} % {divisor} + {divisor}) % {divisor})) // {divisor})"


def floor_remainder(dividend: str, divisor: int) -> str:
    """What `floor_division` leaves, never negative."""
    return f"(({dividend} % {divisor} + {divisor}) % {divisor})"


def _scaled(factor: int) -> Function:
    return Function(
        lambda e: Template(
            f"({{a}} if {-LONG} <= ({{a}} := {{0}} * {factor}) < {LONG} else {{exact}}({{a}}))", {"exact": exact}
        ),
        lambda e, args: f"(CAST({args[0]} AS BIGINT) * {factor})",
    )


def _floored(divisor: int) -> Function:
    return inline(f"({{0}} // {divisor})", floor_division("{0}", divisor))


def _seconds(e: Expr) -> Python:
    kind = e.args[0].type
    if isinstance(kind, (DoubleType, FloatType)):
        return _from_float
    return _from_decimal if isinstance(kind, DecimalType) else lambda x: exact(x * 1_000_000)


def _seconds_sql(e: Expr, args: Sequence[str]) -> str | None:
    if isinstance(e.args[0].type, (DoubleType, FloatType, DecimalType)):
        return None
    return f"(CAST({args[0]} AS BIGINT) * 1000000)"


def _from_float(seconds: float) -> int | None:
    if not math.isfinite(seconds):
        return None
    return max(-LONG, min(LONG - 1, int(seconds * 1_000_000.0)))


def _from_decimal(seconds: Decimal) -> int:
    micros = seconds * 1_000_000
    if micros != int(micros):
        raise DataError("[ARITHMETIC_OVERFLOW] Rounding necessary: a fraction finer than microseconds.")
    return exact(int(micros))


FUNCTIONS: Functions = {
    "MillisToTimestamp": _scaled(1000),
    "MicrosToTimestamp": inline("{0}", "CAST({0} AS BIGINT)"),
    "SecondsToTimestamp": Function(_seconds, _seconds_sql),
    "UnixMicros": inline("{0}", "{0}"),
    "UnixMillis": _floored(1000),
    "UnixSeconds": _floored(1_000_000),
    "UnixDate": inline("{0}", "{0}"),
    "DateFromUnixDate": inline("{0}", "{0}"),
}
