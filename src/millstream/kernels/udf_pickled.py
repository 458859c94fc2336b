"""Results of pickled Python functions as Spark reads them: by Java's type, and null where that doesn't fit."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
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
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    TimeType,
    UserDefinedType,
)

from millstream.errors import DataError
from millstream.kernels.functions.floats import float32, text_of

Convert = Callable[[Any], Any]

LONGS = range(-(1 << 63), 1 << 63)
INTS = range(-(1 << 31), 1 << 31)
WHOLE: dict[type[DataType], int] = {ByteType: 8, ShortType: 16, IntegerType: 32, LongType: 64}
COUNTS = (TimestampType, TimestampNTZType, DayTimeIntervalType, TimeType)
READABLE = (bool, int, float, str, bytes, bytearray, Decimal, list, tuple, dict, set, array)
READABLE_TIMES = (date, datetime, time, timedelta)
WIDE = Context(prec=200)
SURROGATE = re.compile("[\ud800-\udfff]")


def pickled_result(kind: DataType) -> Convert:
    """What a value that a function returned becomes.

    >>> from pyspark.sql.types import StructType
    >>> convert = pickled_result(StructType().add("day", "date").add("count", "byte").add("text", "string"))
    >>> convert({"day": date(1970, 1, 3), "count": 257, "text": True}), convert((None, "1", 1.5))
    ((2, 1, 'true'), (None, None, '1.5'))
    """
    read = _reader(kind)
    if not kind.needConversion():
        return read
    internal = kind.toInternal
    return lambda value: read(internal(value))


def _reader(kind: DataType) -> Convert:
    """What Spark makes of an unpickled value; the value is checked to be one that it can unpickle."""
    if isinstance(kind, UserDefinedType):
        return _reader(kind.sqlType())
    read = _nested(kind) or _flat(kind)

    def convert(value: Any) -> Any:
        if value is None:
            return None
        if type(value) not in READABLE and type(value) not in READABLE_TIMES:
            raise TypeError(f"{type(value).__name__} is none of the plain types that Spark can read")
        return read(value)

    return convert


def _nested(kind: DataType) -> Convert | None:
    match kind:
        case ArrayType(elementType=element):
            each = _reader(element)
            return lambda v: [each(x) for x in v] if isinstance(v, (list, tuple, array)) else None
        case MapType(keyType=key, valueType=item):
            read_key, read_item = _reader(key), _reader(item)
            return lambda v: {read_key(k): read_item(x) for k, x in v.items()} if isinstance(v, dict) else None
        case StructType():
            return _struct([_reader(f.dataType) for f in kind.fields])
    return None


def _struct(readers: list[Convert]) -> Convert:
    def read(value: Any) -> Any:
        if not isinstance(value, tuple):
            return None
        if len(value) != len(readers):
            raise DataError(
                f"[STRUCT_ARRAY_LENGTH_MISMATCH] Input row doesn't have expected number of values required by the "
                f"schema. {len(readers)} fields are required while {len(value)} values are provided."
            )
        return tuple([each(x) for each, x in zip(readers, value)])

    return read


def _flat(kind: DataType) -> Convert:  # noqa: PLR0911 (one for each kind)
    match kind:
        case BooleanType():
            return lambda v: v if type(v) is bool else None
        case ByteType() | ShortType() | IntegerType() | LongType():
            half = 1 << (WHOLE[type(kind)] - 1)
            return lambda v: (v + half) % (2 * half) - half if type(v) is int and v in LONGS else None
        case DateType():
            return lambda v: v if type(v) is int and v in INTS else None
        case FloatType():
            return lambda v: float32(v) if type(v) is float else None
        case DoubleType():
            return lambda v: v if type(v) is float else None
        case DecimalType(precision=precision, scale=scale):
            return _decimal(precision, Decimal(1).scaleb(-scale))
        case StringType():
            return _text
        case BinaryType():
            return _binary
    if isinstance(kind, COUNTS):
        return lambda v: v if type(v) is int and v in LONGS else None
    return lambda v: None


def _decimal(precision: int, unit: Decimal) -> Convert:
    def read(value: Any) -> Any:
        if not isinstance(value, Decimal) or not value.is_finite():
            return None
        try:
            rounded = value.quantize(unit, ROUND_HALF_UP, WIDE)
        except InvalidOperation:
            rounded = None
        if rounded is None or len(rounded.as_tuple().digits) > precision:
            raise DataError(
                f"[NUMERIC_VALUE_OUT_OF_RANGE.WITHOUT_SUGGESTION] {value} is no number of {precision} digits"
            )
        return rounded

    return read


def _binary(value: Any) -> Any:
    if isinstance(value, str):
        return _text(value).encode()
    return bytes(value) if isinstance(value, (bytes, bytearray)) else None


def _text(value: Any) -> str:  # noqa: PLR0911 (one for each kind)
    """What Java's `toString` says."""
    match value:
        case None:
            return "null"
        case str():
            return SURROGATE.sub("\ufffd", value)
        case bool():
            return "true" if value else "false"
        case float():
            return text_of(value)
        case int() | Decimal():
            return str(value)
        case list():
            return f"[{', '.join(map(_text, value))}]"
        case dict():
            return f"{{{', '.join(f'{_text(k)}={_text(v)}' for k, v in value.items())}}}"
    raise TypeError(f"{type(value).__name__} has no text of its own in Java; return str(...) of it")
