"""Internal values become what users of PySpark see, and theirs become internal ones."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    DayTimeIntervalType,
    MapType,
    Row,
    StructType,
    TimestampNTZType,
    TimestampType,
    _make_type_verifier,
)

Convert = Callable[[Any], Any]

EPOCH = datetime(1970, 1, 1)
EPOCH_UTC = EPOCH.replace(tzinfo=UTC)
EPOCH_DAY = EPOCH.toordinal()
MICROSECOND = timedelta(microseconds=1)


def to_user(kind: DataType, zone: str) -> Convert:
    """From a type's internal values to the user's: timestamps are naive in the session's time zone, structs `Row`s.

    >>> to_user(TimestampType(), "Asia/Tokyo")(0)
    datetime.datetime(1970, 1, 1, 9, 0)
    >>> to_user(StructType().add("day", "date").add("n", "integer"), "UTC")((1, None))
    Row(day=datetime.date(1970, 1, 2), n=None)
    """
    return _reader(kind, ZoneInfo(zone)) or _same


def from_user(kind: DataType, zone: str) -> Convert:
    """From a user's values to internal ones. A value that doesn't fit the type is an error of PySpark's that says so.

    >>> from_user(TimestampType(), "Asia/Tokyo")(datetime(1970, 1, 1, 9))
    0
    >>> from_user(StructType().add("day", "date").add("n", "integer"), "UTC")({"n": 3})
    (None, 3)
    """
    verify = _make_type_verifier(kind)
    convert = _writer(kind, ZoneInfo(zone)) or _same

    def checked(value: Any) -> Any:
        verify(value)
        return convert(value)

    return checked


def _same(value: Any) -> Any:
    return value


def _reader(kind: DataType, zone: tzinfo) -> Convert | None:
    """The converter of a type, or None if its values stay as they are."""
    if isinstance(kind, TimestampType):
        return _unless_null(lambda v: (EPOCH_UTC + timedelta(microseconds=v)).astimezone(zone).replace(tzinfo=None))
    if isinstance(kind, TimestampNTZType):
        return _unless_null(lambda v: EPOCH + timedelta(microseconds=v))
    if isinstance(kind, DateType):
        return _unless_null(lambda v: date.fromordinal(EPOCH_DAY + v))
    if isinstance(kind, DayTimeIntervalType):
        return _unless_null(lambda v: timedelta(microseconds=v))
    if isinstance(kind, StructType):
        make = Row(*kind.names)
        fields = [_reader(f.dataType, zone) or _same for f in kind]
        return _unless_null(lambda v: make(*[convert(x) for convert, x in zip(fields, v)]))
    return _nested(kind, lambda part: _reader(part, zone))


def _writer(kind: DataType, zone: tzinfo) -> Convert | None:
    if isinstance(kind, TimestampType):
        return _unless_null(lambda v: ((v if v.tzinfo else v.replace(tzinfo=zone)) - EPOCH_UTC) // MICROSECOND)
    if isinstance(kind, TimestampNTZType):
        return _unless_null(lambda v: (v - EPOCH) // MICROSECOND)
    if isinstance(kind, DateType):
        return _unless_null(lambda v: v.toordinal() - EPOCH_DAY)
    if isinstance(kind, DayTimeIntervalType):
        return _unless_null(lambda v: v // MICROSECOND)
    if isinstance(kind, StructType):
        names = kind.names
        fields = [_writer(f.dataType, zone) or _same for f in kind]

        def struct(value: Any) -> Any:
            parts = [value.get(name) for name in names] if isinstance(value, dict) else value
            return tuple([convert(x) for convert, x in zip(fields, parts)])

        return _unless_null(struct)
    return _nested(kind, lambda part: _writer(part, zone)) or (_bytes if kind.typeName() == "binary" else None)


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)


def _nested(kind: DataType, of: Callable[[DataType], Convert | None]) -> Convert | None:
    """Arrays and maps, if what is in them is converted at all."""
    if isinstance(kind, ArrayType):
        element = of(kind.elementType) or _same
        return _unless_null(lambda v: [element(x) for x in v])
    if isinstance(kind, MapType):
        key, item = of(kind.keyType) or _same, of(kind.valueType) or _same
        return _unless_null(lambda v: {key(k): item(x) for k, x in v.items()})
    return None


def _unless_null(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)
