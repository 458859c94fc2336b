"""How values change their type: the functions behind Spark's casts.

In ANSI mode what can't be converted is an error; otherwise it is null, or wraps around, as Spark has it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from millstream.errors import DataError
from millstream.kernels.functions.calendar_text import BLANKS, date_text, read_date, timestamp_reader, timestamp_text
from millstream.kernels.functions.decimals import EXACT, fit
from millstream.kernels.functions.floats import decimal_of, exact_float32, float32, text_of
from millstream.kernels.functions.timezones import DAY_MICROS, MICROS, zone
from millstream.plan.algebra import Unsupported

Convert = Callable[[Any], Any]
WHOLE: dict[type[DataType], int] = {ByteType: 8, ShortType: 16, IntegerType: 32, LongType: 64}
_LONG = 1 << 63
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


@dataclass(frozen=True)
class Casting:
    """From which type to which, and what decides about the rest."""

    source: DataType
    target: DataType
    mode: str
    timezone: str | None
    java: int

    @property
    def ansi(self) -> bool:
        """Whether what can't be converted is an error, if only to become null where somebody tries."""
        return self.mode != "LEGACY"

    def inside(self, source: DataType, target: DataType) -> Convert:
        """The conversion of what a nested value consists of; null stays null."""
        convert = converter(Casting(source, target, self.mode, self.timezone, self.java))
        return lambda x: None if x is None else convert(x)

    def malformed(self, text: str) -> None:
        """What to do about text that says nothing of the target's type."""
        if self.ansi:
            raise DataError(
                f"[CAST_INVALID_INPUT] The value '{text}' cannot be cast to {self.target.simpleString()}; "
                "use try_cast to get null."
            )

    def overflow(self, x: Any) -> NoReturn:
        """Raises the error for a number that the target's type can't hold."""
        raise DataError(
            f"[CAST_OVERFLOW] The value {x} cannot be cast to {self.target.simpleString()}; use try_cast to get null."
        )


def converter(c: Casting) -> Convert:
    """The function that converts values that are not null."""
    if c.source == c.target:
        return lambda x: x
    if isinstance(c.source, NullType):
        return lambda x: None
    make = _MAKERS.get(type(c.target))
    convert = make(c) if make else None
    if convert is None:
        raise Unsupported("Cast", f"no kernel from {c.source.simpleString()} to {c.target.simpleString()}")
    return _attempt(convert) if c.mode == "TRY" else convert


def _attempt(convert: Convert) -> Convert:
    def attempt(x: Any) -> Any:
        try:
            return convert(x)
        except DataError:
            return None

    return attempt


def _to_boolean(c: Casting) -> Convert | None:
    if isinstance(c.source, StringType):

        def read(text: str) -> Any:
            word = text.strip(BLANKS).lower()
            return True if word in _TRUE else False if word in _FALSE else c.malformed(text)

        return read
    if isinstance(c.source, DateType):
        return lambda x: None
    return lambda x: x != 0


def _to_whole(c: Casting) -> Convert | None:  # noqa: PLR0911 (one for each kind)
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


def _to_floating(c: Casting) -> Convert | None:
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


def _to_decimal(c: Casting) -> Convert | None:
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


def _to_string(c: Casting) -> Convert | None:  # noqa: PLR0911 (one for each kind)
    if isinstance(c.source, BooleanType):
        return lambda x: "true" if x else "false"
    if type(c.source) in WHOLE:
        return str
    if isinstance(c.source, (FloatType, DoubleType)):
        single = isinstance(c.source, FloatType)
        return lambda x: text_of(x, single=single, java=c.java)
    if isinstance(c.source, DecimalType):
        return (lambda x: format(x, "f")) if c.ansi else str
    if isinstance(c.source, BinaryType):
        return _decoded
    if isinstance(c.source, DateType):
        return date_text
    if isinstance(c.source, TimestampNTZType):
        return timestamp_text
    if isinstance(c.source, TimestampType):
        to_local = zone(c.timezone or "UTC").to_local
        return lambda t: timestamp_text(to_local(t))
    return _nested_to_string(c)


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise DataError(
            "[INVALID_UTF8_STRING] Binary data that is not valid UTF-8 can't become a string here; "
            "use decode or make_valid_utf8, or encode it with hex or base64."
        ) from error


def _nested_to_string(c: Casting) -> Convert | None:
    text = StringType()

    def inside(source: DataType) -> Convert:
        convert = c.inside(source, text)
        return lambda x: "null" if x is None else convert(x)

    if isinstance(c.source, ArrayType):
        element = inside(c.source.elementType)
        return lambda x: "[" + ", ".join([element(e) for e in x]) + "]"
    if isinstance(c.source, MapType):
        key, value = c.inside(c.source.keyType, text), c.inside(c.source.valueType, text)
        return lambda x: (
            "{" + ", ".join([f"{key(k)} -> {'null' if v is None else value(v)}" for k, v in x.items()]) + "}"
        )
    if isinstance(c.source, StructType):
        fields = [inside(f.dataType) for f in c.source]
        return lambda x: "{" + ", ".join([f(e) for f, e in zip(fields, x)]) + "}"
    return None


def _to_binary(c: Casting) -> Convert | None:
    if isinstance(c.source, StringType):
        return str.encode
    bits = WHOLE.get(type(c.source))
    return None if bits is None else lambda x: x.to_bytes(bits // 8, "big", signed=True)


def _to_date(c: Casting) -> Convert | None:
    if isinstance(c.source, StringType):

        def read(text: str) -> Any:
            days = read_date(text)
            return c.malformed(text) if days is None else days

        return read
    if isinstance(c.source, TimestampNTZType):
        return lambda t: t // DAY_MICROS
    if isinstance(c.source, TimestampType):
        to_local = zone(c.timezone or "UTC").to_local
        return lambda t: to_local(t) // DAY_MICROS
    return None if isinstance(c.source, (ArrayType, MapType, StructType, BinaryType)) else lambda x: None


def _to_timestamp(c: Casting) -> Convert | None:  # noqa: PLR0911 (one for each kind)
    where = zone(c.timezone or "UTC")
    if isinstance(c.source, StringType):
        return _reader_of_timestamps(c, timestamp_reader(where))
    if isinstance(c.source, DateType):
        return lambda days: _long(where.to_utc(days * DAY_MICROS))
    if isinstance(c.source, TimestampNTZType):
        return where.to_utc
    if isinstance(c.source, BooleanType):
        return int
    if type(c.source) in WHOLE:
        return lambda x: max(-_LONG, min(_LONG - 1, x * MICROS))
    if isinstance(c.source, DecimalType):
        return lambda x: _wrapped_long(int(EXACT.multiply(x, Decimal(MICROS))), c)
    if isinstance(c.source, (FloatType, DoubleType)):

        def seconds(x: float) -> Any:
            micros = x * 1_000_000.0
            if not math.isfinite(x):
                return c.malformed(str(x))
            if -_LONG <= micros < _LONG:
                return int(micros)
            return c.overflow(x) if c.ansi else _LONG - 1 if micros > 0 else -_LONG

        return seconds
    return None


def _to_local_timestamp(c: Casting) -> Convert | None:
    if isinstance(c.source, StringType):
        return _reader_of_timestamps(c, timestamp_reader(None))
    if isinstance(c.source, DateType):
        return lambda days: _long(days * DAY_MICROS)
    if isinstance(c.source, TimestampType):
        return zone(c.timezone or "UTC").to_local
    return None


def _reader_of_timestamps(c: Casting, read: Callable[[str], int | None]) -> Convert:
    def reader(text: str) -> Any:
        t = read(text)
        return c.malformed(text) if t is None else t

    return reader


def _long(x: int) -> int:
    if -_LONG <= x < _LONG:
        return x
    raise DataError("[ARITHMETIC_OVERFLOW] long overflow: the timestamp is out of range.")


def _wrapped_long(x: int, c: Casting) -> int:
    if -_LONG <= x < _LONG:
        return x
    return c.overflow(x) if c.ansi else ((x + _LONG) & ((1 << 64) - 1)) - _LONG


def _to_array(c: Casting) -> Convert | None:
    assert isinstance(c.target, ArrayType)
    if not isinstance(c.source, ArrayType):
        return None
    element = c.inside(c.source.elementType, c.target.elementType)
    return lambda x: [element(e) for e in x]


def _to_map(c: Casting) -> Convert | None:
    assert isinstance(c.target, MapType)
    if not isinstance(c.source, MapType) or c.source.keyType != c.target.keyType:
        return None
    value = c.inside(c.source.valueType, c.target.valueType)
    return lambda x: {k: value(v) for k, v in x.items()}


def _to_struct(c: Casting) -> Convert | None:
    assert isinstance(c.target, StructType)
    if not isinstance(c.source, StructType):
        return None
    fields = [c.inside(f.dataType, g.dataType) for f, g in zip(c.source, c.target)]
    return lambda x: tuple([f(e) for f, e in zip(fields, x)])


_MAKERS: dict[type[DataType], Callable[[Casting], Convert | None]] = {
    BooleanType: _to_boolean,
    **dict.fromkeys(WHOLE, _to_whole),
    FloatType: _to_floating,
    DoubleType: _to_floating,
    DecimalType: _to_decimal,
    StringType: _to_string,
    BinaryType: _to_binary,
    DateType: _to_date,
    TimestampType: _to_timestamp,
    TimestampNTZType: _to_local_timestamp,
    ArrayType: _to_array,
    MapType: _to_map,
    StructType: _to_struct,
}
