"""How values change their type: the functions behind Spark's casts.

In ANSI mode what can't be converted is an error; otherwise it is null, or wraps around, as Spark has it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    MapType,
    NullType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from millstream.errors import DataError
from millstream.kernels.functions.calendar_text import date_text, read_date, timestamp_reader, timestamp_text
from millstream.kernels.functions.casting import WHOLE, Casting, Convert
from millstream.kernels.functions.decimals import EXACT
from millstream.kernels.functions.floats import text_of
from millstream.kernels.functions.numbers import to_boolean, to_decimal, to_floating, to_whole
from millstream.kernels.functions.timezones import DAY_MICROS, MICROS, zone
from millstream.plan.algebra import Unsupported

_LONG = 1 << 63


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


def _inside(c: Casting, source: DataType, target: DataType) -> Convert:
    """The conversion of what a nested value consists of; null stays null."""
    convert = converter(replace(c, source=source, target=target))
    return lambda x: None if x is None else convert(x)


def _attempt(convert: Convert) -> Convert:
    def attempt(x: Any) -> Any:
        try:
            return convert(x)
        except DataError:
            return None

    return attempt


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
        convert = _inside(c, source, text)
        return lambda x: "null" if x is None else convert(x)

    if isinstance(c.source, ArrayType):
        element = inside(c.source.elementType)
        return lambda x: "[" + ", ".join([element(e) for e in x]) + "]"
    if isinstance(c.source, MapType):
        key, value = _inside(c, c.source.keyType, text), _inside(c, c.source.valueType, text)
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
    element = _inside(c, c.source.elementType, c.target.elementType)
    return lambda x: [element(e) for e in x]


def _to_map(c: Casting) -> Convert | None:
    assert isinstance(c.target, MapType)
    if not isinstance(c.source, MapType) or c.source.keyType != c.target.keyType:
        return None
    value = _inside(c, c.source.valueType, c.target.valueType)
    return lambda x: {k: value(v) for k, v in x.items()}


def _to_struct(c: Casting) -> Convert | None:
    assert isinstance(c.target, StructType)
    if not isinstance(c.source, StructType):
        return None
    fields = [_inside(c, f.dataType, g.dataType) for f, g in zip(c.source, c.target)]
    return lambda x: tuple([f(e) for f, e in zip(fields, x)])


_MAKERS: dict[type[DataType], Callable[[Casting], Convert | None]] = {
    BooleanType: to_boolean,
    **dict.fromkeys(WHOLE, to_whole),
    FloatType: to_floating,
    DoubleType: to_floating,
    DecimalType: to_decimal,
    StringType: _to_string,
    BinaryType: _to_binary,
    DateType: _to_date,
    TimestampType: _to_timestamp,
    TimestampNTZType: _to_local_timestamp,
    ArrayType: _to_array,
    MapType: _to_map,
    StructType: _to_struct,
}
