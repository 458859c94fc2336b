"""Mathematical functions: those whose last bit is known.

Trigonometric functions are not here: Java computes them with instructions of its own, one JVM unlike another.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from typing import Any

from pyspark.sql.types import BinaryType, DataType, DecimalType, DoubleType, FloatType, StringType

from millstream.errors import DataError
from millstream.kernels.functions import fdlibm
from millstream.kernels.functions.arithmetic import BITS, wrapped
from millstream.kernels.functions.floats import decimal_of, float32
from millstream.kernels.functions.function import Function, Functions, Python, Template, calls, inline
from millstream.plan.algebra import Expr, Unsupported

_WIDE = 800
"""More digits than any double has before and after the point together."""
_UNSIGNED = (1 << 64) - 1
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _long(x: float) -> int:
    """Java's conversion to a long."""
    if math.isnan(x):
        return 0
    return int(x) if abs(x) < 2.0**63 else (1 << 63) - 1 if x > 0 else -(1 << 63)


def _to_whole(rounding: str, whole: Callable[[float], int]) -> Function:
    """Floor and ceiling."""

    def python(e: Expr) -> Python:
        if isinstance(e.type, DecimalType):
            return _quantized(e.type, 0, rounding)
        if not isinstance(e.args[0].type, DoubleType):
            return "{0}"
        ansi = e.params["ansi"]

        def rounded(x: float) -> int:
            if abs(x) < 2.0**63:
                return whole(x)
            if ansi and not x == -(2.0**63):
                raise DataError(f"[ARITHMETIC_OVERFLOW] {x} is beyond bigint.")
            return _long(x)

        return rounded

    return Function(python)


def _quantized(kind: DecimalType, scale: int, rounding: str) -> Callable[[Decimal], Any]:
    quantize = Context(prec=_WIDE, rounding=rounding).quantize
    unit, zero = Decimal((0, (1,), -scale)), Decimal((0, (0,), -kind.scale))
    exponent = Decimal((0, (1,), -kind.scale))

    def rounded(x: Decimal) -> Any:
        return quantize(quantize(x, unit), exponent) or zero

    return rounded


def _rounded(rounding: str) -> Function:
    """A number rounded to a scale, which is a literal."""

    def python(e: Expr) -> Python:
        if e.args[1].op != "Literal" or e.args[1].params["value"] is None:
            raise Unsupported(e.op, "its scale must be a literal")
        scale = e.args[1].params["value"]
        if isinstance(e.type, DecimalType):
            rounded = _decimal_rounded(e, scale, rounding)
        elif isinstance(e.type, (FloatType, DoubleType)):
            rounded = _float_rounded(e, scale, rounding)
        elif scale < 0:
            rounded = _whole_rounded(e, scale, rounding)
        else:
            return "{0}"
        return Template("{rounded}({0})", {"rounded": rounded})

    return Function(python)


def _decimal_rounded(e: Expr, scale: int, rounding: str) -> Callable[[Any], Any]:
    kind = e.type
    assert isinstance(kind, DecimalType)
    rounded = _quantized(kind, scale, rounding)
    limit = Decimal(10) ** (kind.precision - kind.scale)
    ansi = e.params.get("ansi")

    def checked(x: Decimal) -> Any:
        result = rounded(x)
        if abs(result) < limit:
            return result
        if ansi:
            raise DataError(f"[NUMERIC_VALUE_OUT_OF_RANGE] {result} cannot be represented as {kind.simpleString()}.")
        return None

    return checked


def _float_rounded(e: Expr, scale: int, rounding: str) -> Callable[[Any], Any]:
    quantize = Context(prec=_WIDE, rounding=rounding).quantize
    unit = Decimal((0, (1,), -scale))
    finish: Callable[[float], float] = float32 if isinstance(e.type, FloatType) else float
    java = e.params.get("java", 17)

    def rounded(x: float) -> float:
        if not math.isfinite(x):
            return x
        return finish(float(quantize(decimal_of(x, java), unit))) or 0.0

    return rounded


def _whole_rounded(e: Expr, scale: int, rounding: str) -> Callable[[Any], Any]:
    quantize = Context(prec=_WIDE, rounding=rounding).quantize
    unit = Decimal((0, (1,), -scale))
    bits = BITS[type(e.type)]

    def rounded(x: int) -> int:
        result = int(quantize(Decimal(x), unit))
        if e.params.get("ansi") and wrapped(result, bits) != result:
            raise DataError(f"[ARITHMETIC_OVERFLOW] {result} is beyond {e.type.simpleString()}.")
        return wrapped(result, bits)

    return rounded


def _nearest(x: float) -> float:
    """The nearest whole number, halves to the even one."""
    return math.copysign(float(round(x)), x) if abs(x) < 2.0**52 else x


def _signum(x: float) -> float:
    return x if x == 0 or math.isnan(x) else math.copysign(1.0, x)


def _sign(e: Expr) -> Python:
    if not isinstance(e.args[0].type, DoubleType):
        raise Unsupported(e.op, "no kernel for intervals")
    return _signum


def _positive(function: Callable[[float], float]) -> Function:
    """A logarithm: null for zero and below."""
    return calls(lambda x: x if math.isnan(x) else function(x) if x > 0 else None)


def _logarithm(base: float, x: float) -> float | None:
    if base <= 0 or x <= 0:
        return None
    if math.isnan(base) or math.isnan(x):
        return math.nan
    above, below = fdlibm.log(x), fdlibm.log(base)
    if below == 0:
        return math.nan if above == 0 else math.copysign(math.inf, above)
    if math.isinf(above) and math.isinf(below):
        return math.nan
    return above / below


def _hexadecimal(e: Expr) -> Python:
    kind: DataType = e.args[0].type
    if isinstance(kind, StringType):
        return "{0}.encode().hex().upper()"
    return "{0}.hex().upper()" if isinstance(kind, BinaryType) else f"'%X' % ({{0}} & {_UNSIGNED})"


def _unhex(text: str) -> bytes | None:
    try:
        return bytes.fromhex(text if len(text) % 2 == 0 else "0" + text) if text.isalnum() or not text else None
    except ValueError:
        return None


def _convert_base(e: Expr) -> Python:
    """`conv`: 64 bits, unsigned unless the new base is negative; what follows a wrong digit is ignored."""
    ansi = e.params.get("ansi")

    def convert(text: str, old: int, new: int) -> str | None:
        text = text.strip(" ")
        if not (2 <= old <= 36 and 2 <= abs(new) <= 36) or not text:
            return None
        negative = text[0] == "-"
        number = 0
        for sign in text[negative:]:
            digit = _DIGITS.find(sign.upper()) if sign.isascii() else -1
            if not 0 <= digit < old:
                break
            number = number * old + digit
            if number > _UNSIGNED:
                if ansi:
                    raise DataError("[ARITHMETIC_OVERFLOW] Overflow in function conv().")
                number = _UNSIGNED
                break
        return _in_base(number, negative, new)

    return convert


def _in_base(number: int, negative: bool, base: int) -> str:
    """Digits of 64 bits; a minus sign only in a negative base, and then even before zero."""
    if base < 0 and number >= 1 << 63:
        number, negative = (1 << 64) - number, True
    elif base > 0 and negative:
        number = _UNSIGNED if number >= 1 << 63 else -number & _UNSIGNED
    digits = ""
    while number:
        number, digit = divmod(number, abs(base))
        digits = _DIGITS[digit] + digits
    return ("-" if negative and base < 0 else "") + (digits or "0")


def _width_bucket(value: float, least: float, most: float, buckets: int) -> int | None:
    if buckets <= 0 or buckets == (1 << 63) - 1 or math.isnan(value) or least == most:
        return None
    if not (math.isfinite(least) and math.isfinite(most)):
        return None
    low, high = min(least, most), max(least, most)
    if least < most:
        return 0 if value < low else buckets + 1 if value >= high else _long(buckets * (value - low) / (high - low)) + 1
    return 0 if value > high else buckets + 1 if value <= low else _long(buckets * (high - value) / (high - low)) + 1


FUNCTIONS: Functions = {
    "Floor": _to_whole(ROUND_FLOOR, math.floor),
    "Ceil": _to_whole(ROUND_CEILING, math.ceil),
    "Round": _rounded(ROUND_HALF_UP),
    "BRound": _rounded(ROUND_HALF_EVEN),
    "RoundCeil": _rounded(ROUND_CEILING),
    "RoundFloor": _rounded(ROUND_FLOOR),
    "Rint": calls(_nearest),
    "Signum": Function(_sign),
    "Sqrt": calls(lambda x: math.nan if x < 0 else math.sqrt(x), "sqrt({0})"),
    "ToDegrees": inline("({0} * 57.29577951308232)", "({0} * CAST('57.29577951308232' AS DOUBLE))"),
    "ToRadians": inline("({0} * 0.017453292519943295)", "({0} * CAST('0.017453292519943295' AS DOUBLE))"),
    "Exp": calls(fdlibm.exp),
    "Log": _positive(fdlibm.log),
    "Log10": _positive(fdlibm.log10),
    "Log2": _positive(lambda x: fdlibm.log(x) / fdlibm.log(2.0)),
    "Logarithm": calls(_logarithm),
    "Pow": calls(fdlibm.pow),
    "Hex": Function(_hexadecimal),
    "Unhex": calls(_unhex),
    "Bin": inline(f"bin({{0}} & {_UNSIGNED})[2:]"),
    "Conv": Function(_convert_base),
    "Factorial": calls(lambda n: math.factorial(n) if 0 <= n <= 20 else None),
    "WidthBucket": calls(_width_bucket),
}
