"""Decimal numbers: exact, or rounded half up to the type's scale; too many digits are an error or null."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal, InvalidOperation
from functools import cache
from typing import Any

from pyspark.sql.types import DataType, DecimalType

from millstream.errors import DataError
from millstream.kernels.functions.function import Function, Functions, Python
from millstream.plan.algebra import Expr

Zero = Callable[[], Any]

EXACT = Context(prec=200, rounding=ROUND_DOWN)
"""Wide enough for any sum or product of Spark's decimals."""
TRUNCATED = Context(prec=39, rounding=ROUND_DOWN)
"""Spark multiplies with one digit more than its decimals can have, and cuts off the rest."""
NEGATED = Context(prec=34, rounding=ROUND_HALF_EVEN)
"""Spark negates decimals in the format that Scala calls DECIMAL128."""
QUOTIENT_SCALE = Decimal((0, (1,), -39))
"""Spark divides to so many digits after the point, and cuts off the rest."""

Fit = Callable[[Decimal], Any]


@cache
def fit(precision: int, scale: int, ansi: bool) -> Fit:
    """Rounds half up to a type's scale; a number with too many digits is an error (ANSI) or null.

    >>> fit(4, 1, False)(Decimal("12.25")), fit(2, 1, False)(Decimal("12.25"))
    (Decimal('12.3'), None)
    """
    quantize = Context(prec=precision, rounding=ROUND_HALF_UP).quantize
    unit = Decimal((0, (1,), -scale))
    zero = Decimal((0, (0,), -scale))

    def rounded(x: Decimal) -> Any:
        try:
            return quantize(x, unit) or zero
        except InvalidOperation:
            if not ansi:
                return None
        raise DataError(
            f"[NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION] {x} cannot be represented as Decimal({precision}, {scale})."
        )

    return rounded


def fit_type(kind: DataType, ansi: bool) -> Fit:
    """The same for a decimal type."""
    assert isinstance(kind, DecimalType)
    return fit(kind.precision, kind.scale, ansi)


def operation(sign: str, e: Expr) -> Python:
    """Addition, subtraction and multiplication."""
    compute = {"+": EXACT.add, "-": EXACT.subtract, "*": TRUNCATED.multiply}[sign]
    rounded = fit_type(e.type, e.params["ansi"])
    return lambda a, b: rounded(compute(a, b))


def operation_sql(sign: str, e: Expr, args: Sequence[str]) -> str | None:
    """DuckDB's own, where the result's type has room for every digit."""
    (p1, s1), (p2, s2) = ((_decimal(arg.type).precision, _decimal(arg.type).scale) for arg in e.args)
    scale = s1 + s2 if sign == "*" else max(s1, s2)
    precision = p1 + p2 if sign == "*" else max(p1 - s1, p2 - s2) + scale + 1
    kind = _decimal(e.type)
    if precision > 38 or kind.scale != scale or kind.precision < precision:
        return None
    if sign == "*":
        return f"CAST({args[0]} * {args[1]} AS DECIMAL({kind.precision},{kind.scale}))"
    wide = f"DECIMAL({kind.precision},{kind.scale})"
    return f"CAST(CAST({args[0]} AS {wide}) {sign} CAST({args[1]} AS {wide}) AS {wide})"


def _decimal(kind: DataType) -> DecimalType:
    assert isinstance(kind, DecimalType)
    return kind


def quotient(a: Decimal, b: Decimal) -> Decimal:
    """Division as Spark does it, before the result is rounded to its type."""
    return EXACT.quantize(EXACT.divide(a, b), QUOTIENT_SCALE)


def division(e: Expr, zero: Zero) -> Python:
    """Division; `zero` says what to do if the divisor is zero."""
    rounded = fit_type(e.type, e.params["ansi"])
    return lambda a, b: rounded(quotient(a, b)) if b else zero()


def integral_division(e: Expr, zero: Zero) -> Python:
    """The whole part of a quotient, as a long."""
    ansi = e.params["ansi"]
    mode = e.params["mode"]

    def divide(a: Decimal, b: Decimal) -> Any:
        if not b:
            return zero()
        whole = int(EXACT.divide_int(a, b))
        if -(1 << 63) <= whole < 1 << 63:
            return whole
        if ansi:
            raise DataError(f"[ARITHMETIC_OVERFLOW] {whole} is beyond bigint; use try_divide to get null.")
        return None if mode == "TRY" else ((whole + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)

    return divide


def remainder(e: Expr, zero: Zero) -> Python:
    """What the whole quotient leaves, with the sign of the dividend."""
    rounded = fit_type(e.type, e.params["ansi"])
    return lambda a, b: rounded(EXACT.remainder(a, b)) if b else zero()


def positive_remainder(e: Expr, zero: Zero) -> Python:
    """The remainder, never negative if the divisor is positive."""
    rounded = fit_type(e.type, e.params["ansi"])

    def compute(a: Decimal, b: Decimal) -> Any:
        if not b:
            return zero()
        rest = EXACT.remainder(a, b)
        return rounded(EXACT.remainder(EXACT.add(rest, b), b) if rest < 0 else rest)

    return compute


def negated(e: Expr) -> Python:
    """A number with the other sign; Spark keeps no more than 34 digits of it, and there is only one zero."""
    rounded = fit_type(e.type, bool(e.params["ansi"]))
    return lambda x: rounded(NEGATED.minus(x))


def absolute(e: Expr) -> Python:
    """A number without its sign, which for a negative one is `negated`."""
    rounded = fit_type(e.type, bool(e.params["ansi"]))
    return lambda x: rounded(NEGATED.minus(x)) if x < 0 else x


def unscaled(x: Decimal) -> int:
    """The digits without the point.

    >>> unscaled(Decimal("-1.20"))
    -120
    """
    sign, digits, _ = x.as_tuple()
    number = int("".join(map(str, digits)))
    return -number if sign else number


def _make(e: Expr) -> Python:
    """A decimal from its digits without the point."""
    rounded = fit_type(e.type, not e.params["null_on_overflow"])
    exponent = -_decimal(e.type).scale
    return lambda x: rounded(Decimal(x).scaleb(exponent, EXACT))


def _check(e: Expr) -> Python:
    return fit_type(e.type, not e.params["null_on_overflow"])


FUNCTIONS: Functions = {
    "CheckOverflow": Function(_check),
    "CheckOverflowInSum": Function(_check),
    "MakeDecimal": Function(_make),
    "UnscaledValue": Function(lambda e: unscaled),
}
