"""Arithmetic on whole and binary floating-point numbers, each in the three ways in which Spark treats overflow.

ANSI raises an error, LEGACY wraps around as Java does, TRY gives null. DuckDB always raises an error, which
sends the batch to the Python kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    YearMonthIntervalType,
)

from millstream.errors import DataError
from millstream.kernels.functions import decimals
from millstream.kernels.functions.floats import float32
from millstream.kernels.functions.function import Function, Functions, Python, Template, inline
from millstream.kernels.sqltypes import sql_type
from millstream.plan.algebra import Expr, Unsupported

BITS: dict[type[DataType], int] = {
    ByteType: 8,
    ShortType: 16,
    IntegerType: 32,
    LongType: 64,
    YearMonthIntervalType: 32,
    DayTimeIntervalType: 64,
}
"""How wide whole numbers are."""


def wrapped(x: int, bits: int) -> int:
    """What Java keeps of a whole number that is too wide.

    >>> wrapped(128, 8)
    -128
    """
    half = 1 << (bits - 1)
    return ((x + half) & ((1 << bits) - 1)) - half


def bits_of(kind: DataType) -> int | None:
    """The width of a type of whole numbers, None for the others."""
    return BITS.get(type(kind))


def overflow(kind: DataType) -> Callable[[int], Any]:
    """Raises Spark's error for a result that its type can't hold."""
    name = kind.simpleString()
    error_class = "BINARY_ARITHMETIC_OVERFLOW" if isinstance(kind, (ByteType, ShortType)) else "ARITHMETIC_OVERFLOW"

    def fail(x: int) -> Any:
        raise DataError(f"[{error_class}] {x} is beyond {name}; use the try_ form of the function to get null.")

    return fail


def in_range(text: str, kind: DataType, mode: str) -> Template:
    """A whole number's expression, with what to do when the result is too large."""
    bits = BITS[type(kind)]
    half = 1 << (bits - 1)
    beyond = {
        "ANSI": "{fail}({a})",
        "TRY": "None",
        "LEGACY": f"(({{a}} + {half}) & {(1 << bits) - 1}) - {half}",
    }[mode]
    values = {"fail": overflow(kind)} if mode == "ANSI" else {}
    return Template(f"({{a}} if {-half} <= ({{a}} := {text}) <= {half - 1} else {beyond})", values)


def mode_of(e: Expr) -> str:
    """ANSI, LEGACY or TRY; intervals never wrap around."""
    mode = e.params.get("mode", "ANSI" if e.params["ansi"] else "LEGACY")
    interval = isinstance(e.type, (YearMonthIntervalType, DayTimeIntervalType))
    return "ANSI" if interval and mode == "LEGACY" else str(mode)


def _floating(text: str, kind: DataType) -> Python:
    return text if isinstance(kind, DoubleType) else Template(f"{{single}}({text})", {"single": float32})


def _operation(sign: str) -> Function:
    def python(e: Expr) -> Python:
        if isinstance(e.type, DecimalType):
            return decimals.operation(sign, e)
        text = f"{{0}} {sign} {{1}}"
        if isinstance(e.type, (FloatType, DoubleType)):
            return _floating(f"({text})", e.type)
        if bits_of(e.type) is None:
            raise Unsupported(e.op, f"no kernel for {e.type.simpleString()}")
        return in_range(text, e.type, mode_of(e))

    def sql(e: Expr, args: Sequence[str]) -> str | None:
        if isinstance(e.type, DecimalType):
            return decimals.operation_sql(sign, e, args)
        return f"({args[0]} {sign} {args[1]})"

    return Function(python, sql)


def divided(a: int, b: int) -> int:
    """Division that rounds towards zero.

    >>> divided(-7, 2), divided(7, -2)
    (-3, -3)
    """
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def remainder(a: int, b: int) -> int:
    """What `divided` leaves, with the sign of the dividend."""
    rest = abs(a) % abs(b)
    return -rest if a < 0 else rest


def float_remainder(a: float, b: float) -> float:
    """What Java's `%` says of two floating-point numbers."""
    if math.isinf(a) or b == 0:
        return math.nan
    return math.fmod(a, b)


def by_zero(e: Expr) -> Any:
    """What to do about a divisor that is zero: raise Spark's error, or null."""
    if mode_of(e) != "ANSI":
        return lambda: None
    error_class = "REMAINDER_BY_ZERO" if e.op in ("Remainder", "Pmod") else "DIVIDE_BY_ZERO"

    def fail() -> Any:
        raise DataError(f"[{error_class}] Division by zero; use the try_ form of the function to get null.")

    return fail


def _divide(e: Expr) -> Python:
    zero = by_zero(e)
    if isinstance(e.type, DecimalType):
        return decimals.division(e, zero)
    if isinstance(e.type, DoubleType):
        right = e.args[1]
        if right.op == "Literal" and right.params["value"]:
            return "({0} / {1})"
        return Template("({0} / {1} if {1} else {zero}())", {"zero": zero})
    raise Unsupported(e.op, f"no kernel for {e.type.simpleString()}")


def _by_nonzero(template: str) -> Any:
    """SQL of a division: an error if the divisor is zero and Spark raises one too, otherwise null."""

    def sql(e: Expr, args: Sequence[str]) -> str | None:
        right = e.args[1]
        if isinstance(right.type, DecimalType):
            return None
        if right.op == "Literal":
            return template.format(*args) if right.params["value"] else None
        if mode_of(e) != "ANSI":
            return template.format(args[0], f"NULLIF({args[1]}, 0)")
        return f"(CASE WHEN {args[1]} = 0 THEN error('division by zero') ELSE {template.format(*args)} END)"

    return sql


def _integral_divide(e: Expr) -> Python:
    zero = by_zero(e)
    if isinstance(e.args[0].type, DecimalType):
        return decimals.integral_division(e, zero)
    mode = mode_of(e)
    finish: Callable[[int], Any] = overflow(e.type) if mode == "ANSI" else lambda x: None
    if mode == "LEGACY":
        finish = partial(wrapped, bits=64)

    def divide(a: int, b: int) -> Any:
        if b == 0:
            return zero()
        quotient = divided(a, b)
        return quotient if quotient < 1 << 63 else finish(quotient)

    return divide


def _remainder(e: Expr) -> Python:
    zero = by_zero(e)
    if isinstance(e.type, DecimalType):
        return decimals.remainder(e, zero)
    rest: Callable[[Any, Any], Any] = float_remainder if isinstance(e.type, (FloatType, DoubleType)) else remainder
    return Template("({rest}({0}, {1}) if {1} else {zero}())", {"rest": rest, "zero": zero})


def _positive_remainder(e: Expr) -> Python:
    zero = by_zero(e)
    if isinstance(e.type, DecimalType):
        return decimals.positive_remainder(e, zero)
    if isinstance(e.type, (FloatType, DoubleType)):
        narrow: Callable[[float], float] = float32 if isinstance(e.type, FloatType) else float

        def floating(a: float, b: float) -> Any:
            if b == 0:
                return zero()
            rest = float_remainder(a, b)
            return float_remainder(narrow(rest + b), b) if rest < 0 else rest

        return floating
    bits = max(BITS[type(e.type)], 32)

    def whole(a: int, b: int) -> Any:
        if b == 0:
            return zero()
        rest = remainder(a, b)
        return remainder(wrapped(rest + b, bits), b) if rest < 0 else rest

    return whole


def _negated(e: Expr) -> Python:
    if isinstance(e.type, DecimalType):
        return decimals.negated(e)
    if isinstance(e.type, (FloatType, DoubleType)):
        return "(-{0})"
    return in_range("-{0}", e.type, mode_of(e))


def _negated_sql(e: Expr, args: Sequence[str]) -> str | None:
    if isinstance(e.type, DecimalType) and e.type.precision > 34:
        return None
    return f"CAST(-{args[0]} AS {sql_type(e.type)})"


def _absolute(e: Expr) -> Python:
    if isinstance(e.type, DecimalType):
        return decimals.absolute(e)
    return "abs({0})" if bits_of(e.type) is None else in_range("abs({0})", e.type, mode_of(e))


def _absolute_sql(e: Expr, args: Sequence[str]) -> str | None:
    return None if isinstance(e.type, DecimalType) and e.type.precision > 34 else f"abs({args[0]})"


def _shift_width(e: Expr) -> int:
    return BITS[type(e.type)] - 1


def _shift_left(e: Expr) -> Python:
    bits = BITS[type(e.type)]
    return lambda x, n: wrapped(x << (n & (bits - 1)), bits)


def _shift_right_unsigned(e: Expr) -> Python:
    bits = BITS[type(e.type)]
    return lambda x, n: wrapped((x & ((1 << bits) - 1)) >> (n & (bits - 1)), bits)


def _bit_count(e: Expr) -> Python:
    return "int({0})" if isinstance(e.args[0].type, BooleanType) else "({0} & 0xFFFFFFFFFFFFFFFF).bit_count()"


def _bit_get(e: Expr) -> Python:
    bits = BITS[type(e.args[0].type)]

    def get(x: int, position: int) -> int:
        if not 0 <= position < bits:
            raise DataError(
                f"[INVALID_PARAMETER_VALUE.BIT_POSITION_RANGE] The bit's position must be in 0..{bits - 1}."
            )
        return x >> position & 1

    return get


FUNCTIONS: Functions = {
    "Add": _operation("+"),
    "Subtract": _operation("-"),
    "Multiply": _operation("*"),
    "Divide": Function(_divide, _by_nonzero("({0} / {1})")),
    "IntegralDivide": Function(_integral_divide, _by_nonzero("({0} // {1})")),
    "Remainder": Function(_remainder, _by_nonzero("({0} % {1})")),
    "Pmod": Function(_positive_remainder),
    "UnaryMinus": Function(_negated, _negated_sql),
    "UnaryPositive": inline("{0}", "{0}"),
    "Abs": Function(_absolute, _absolute_sql),
    "BitwiseAnd": inline("({0} & {1})", "({0} & {1})"),
    "BitwiseOr": inline("({0} | {1})", "({0} | {1})"),
    "BitwiseXor": inline("({0} ^ {1})", "xor({0}, {1})"),
    "BitwiseNot": inline("(~{0})", "(~{0})"),
    "BitwiseCount": Function(_bit_count),
    "BitwiseGet": Function(_bit_get),
    "ShiftLeft": Function(_shift_left),
    "ShiftRight": Function(lambda e: f"({{0}} >> ({{1}} & {_shift_width(e)}))"),
    "ShiftRightUnsigned": Function(_shift_right_unsigned),
}
