"""Casts to booleans and numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

from pyspark.sql.types import (
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    StringType,
    TimestampType,
)

from millstream.kernels.functions.calendar_text import BLANKS
from millstream.kernels.functions.casting import WHOLE, Casting, Convert
from millstream.kernels.functions.decimals import EXACT, fit
from millstream.kernels.functions.floats import decimal_of, exact_float32, float32
from millstream.kernels.functions.timezones import MICROS

_TRUE = frozenset(("t", "true", "y", "yes", "1"))
_FALSE = frozenset(("f", "false", "n", "no", "0"))
_SPECIAL = {"nan": math.nan} | {
    sign + name: value
    for name in ("inf", "infinity")
    for sign, value in (("", math.inf), ("+", math.inf), ("-", -math.inf))
}
_JAVA_BLANKS = "".join(map(chr, range(0x21)))
_FLOAT = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[dDfF]?", re.ASCII)
_HEX_FLOAT = re.compile(r"([+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?\d+)[dDfF]?", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,10})?")
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_WHOLE_WITH_FRACTION = re.compile(r"([+-]?\d*)(?:\.\d*)?", re.ASCII)


def to_boolean(c: Casting) -> Convert | None:
    """To a boolean; None if there is no such cast."""
    if isinstance(c.source, StringType):

        def read(text: str) -> Any:
            word = text.strip(BLANKS).lower()
            return True if word in _TRUE else False if word in _FALSE else c.malformed(text)

        return read
    if isinstance(c.source, DateType):
        return lambda x: None
    return lambda x: x != 0


def to_whole(c: Casting) -> Convert | None:  # noqa: PLR0911 (one for each kind)
    """To a whole number; None if there is no such cast."""
    bits = WHOLE[type(c.target)]
    least, most = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    mask = (1 << bits) - 1

    def narrowed(x: int) -> Any:
        if least <= x <= most:
            return x
        return c.overflow(x) if c.ansi else ((x - least) & mask) + least

    if isinstance(c.source, StringType):
        return _reader_of_whole(c, least, most)
    if isinstance(c.source, BooleanType):
        return int
    if type(c.source) in WHOLE:
        return narrowed
    if isinstance(c.source, (FloatType, DoubleType)):
        return _float_to_whole(c, bits, narrowed)
    if isinstance(c.source, DecimalType):
        return lambda x: narrowed(int(x))
    if isinstance(c.source, TimestampType):

        def seconds(t: int) -> Any:
            x = t // MICROS
            return x if least <= x <= most else c.overflow(x) if c.ansi else None

        return seconds
    return (lambda x: None) if isinstance(c.source, DateType) else None


def _reader_of_whole(c: Casting, least: int, most: int) -> Convert:
    def read(text: str) -> Any:
        word = text.strip(BLANKS)
        if not _WHOLE.fullmatch(word):
            found = None if c.ansi else _WHOLE_WITH_FRACTION.fullmatch(word)
            if found is None or not word:
                return c.malformed(text)
            word = found[1]
            if word in ("", "+", "-"):
                return 0 if word == "" and word != text.strip(BLANKS) else c.malformed(text)
        x = int(word)
        return x if least <= x <= most else c.malformed(text)

    return read


def _float_to_whole(c: Casting, bits: int, narrowed: Callable[[int], Any]) -> Convert:
    most = (1 << (bits - 1)) - 1
    least = -most - 1
    if c.ansi:

        def checked(x: float) -> Any:
            if not (math.isfinite(x) and math.floor(x) <= float(most) and math.ceil(x) >= float(least)):
                return c.overflow(x)
            return min(int(x), most)

        return checked
    wide = max(bits, 32)

    def saturated(x: float) -> Any:
        if math.isnan(x):
            return 0
        limit = 1 << (wide - 1)
        return narrowed(int(max(-limit, min(limit - 1, x if abs(x) < limit else math.copysign(limit, x)))))

    return saturated


def to_floating(c: Casting) -> Convert | None:
    """To a floating-point number; None if there is no such cast."""
    single = isinstance(c.target, FloatType)
    exact: Callable[[Any], float] = exact_float32 if single else float
    if isinstance(c.source, StringType):

        def read(text: str) -> Any:
            word = text.strip(_JAVA_BLANKS)
            if _FLOAT.fullmatch(word):
                number = word.rstrip("dDfF")
                return exact_float32(Decimal(number)) if single else float(number)
            hexadecimal = _HEX_FLOAT.fullmatch(word)
            if hexadecimal:
                return _from_hex(hexadecimal[1], single)
            special = _JAVA_SPECIAL.get(word)
            special = _SPECIAL.get(text.strip(BLANKS).lower()) if special is None else special
            return c.malformed(text) if special is None else special

        return read
    if isinstance(c.source, (FloatType, DoubleType)):
        return float32 if single else (lambda x: x)
    if isinstance(c.source, TimestampType):
        return (lambda t: float32(t / 1_000_000)) if single else (lambda t: t / 1_000_000)
    if isinstance(c.source, (BooleanType, DecimalType)) or type(c.source) in WHOLE:
        return exact
    return (lambda x: None) if isinstance(c.source, DateType) else None


_JAVA_SPECIAL = {
    sign + name: value
    for name, number in (("NaN", math.nan), ("Infinity", math.inf))
    for sign, value in (("", number), ("+", number), ("-", -number))
}


def _from_hex(text: str, single: bool) -> float:
    x = float.fromhex(text)
    return float32(x) if single else x


def to_decimal(c: Casting) -> Convert | None:
    """To a decimal; None if there is no such cast."""
    assert isinstance(c.target, DecimalType)
    rounded = fit(c.target.precision, c.target.scale, c.ansi)
    if isinstance(c.source, StringType):

        def read(text: str) -> Any:
            word = text.strip(_JAVA_BLANKS)
            if not _DECIMAL.fullmatch(word):
                return c.malformed(text)
            try:
                return rounded(EXACT.create_decimal(word) if len(word) < 100 else Decimal(word))
            except InvalidOperation:
                return c.malformed(text)

        return read
    if isinstance(c.source, DecimalType):
        return rounded
    if isinstance(c.source, (FloatType, DoubleType)):
        return lambda x: rounded(decimal_of(x, c.java)) if math.isfinite(x) else None
    if isinstance(c.source, TimestampType):
        return lambda t: rounded(Decimal(t).scaleb(-6, EXACT))
    if isinstance(c.source, BooleanType) or type(c.source) in WHOLE:
        return lambda x: rounded(Decimal(x))
    return (lambda x: None) if isinstance(c.source, DateType) else None
