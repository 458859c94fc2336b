"""Values become JSON text by their types: what `to_json` does."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
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
    IntegralType,
    MapType,
    NullType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from millstream.kernels.functions.calendar_text import date_text, timestamp_text
from millstream.kernels.functions.json_writer import number, quoted
from millstream.kernels.functions.timezones import zone
from millstream.plan.algebra import Unsupported

Write = Callable[[Any], str]
REFUSED = (
    "pretty",
    "timestampformat",
    "timestampntzformat",
    "dateformat",
    "locale",
    "writenonasciicharacterascodepoint",
)


def writer(kind: DataType, options: Mapping[str, str], timezone: str | None) -> Write:
    """A function that writes a value that is not null; the options' names are in lower case."""
    for name in REFUSED:
        if name in options:
            raise Unsupported("StructsToJson", f"the option {name} is not supported")
    nulls = options.get("ignorenullfields", "true").lower() == "false"
    return _Writer(nulls, options.get("timezone", timezone or "UTC")).of(kind)


class _Writer:
    """Makes a function for each type."""

    def __init__(self, nulls: bool, timezone: str) -> None:
        self.nulls = nulls
        self.zone = zone(timezone)

    def of(self, kind: DataType) -> Write:  # noqa: PLR0911 (one for each kind)
        if isinstance(kind, StructType):
            return self.struct(kind)
        if isinstance(kind, ArrayType):
            element = self.of(kind.elementType)
            return lambda values: f"[{','.join(['null' if v is None else element(v) for v in values])}]"
        if isinstance(kind, MapType):
            return self.map(kind)
        if isinstance(kind, StringType):
            return quoted
        if isinstance(kind, BooleanType):
            return lambda value: "true" if value else "false"
        if isinstance(kind, (IntegralType, NullType)):
            return str
        if isinstance(kind, DecimalType):
            return lambda value: f"{value:f}"
        if isinstance(kind, (DoubleType, FloatType)):
            single = isinstance(kind, FloatType)
            return lambda value: number(value, single=single)
        if isinstance(kind, BinaryType):
            return lambda value: f'"{b64encode(value).decode()}"'
        if isinstance(kind, DateType):
            return lambda days: f'"{date_text(days)}"'
        if isinstance(kind, TimestampNTZType):
            return lambda local: f'"{_clock(local)}"'
        if isinstance(kind, TimestampType):
            return self.timestamp
        raise Unsupported("StructsToJson", f"{kind.simpleString()} is not written")

    def struct(self, kind: StructType) -> Write:
        fields = [(quoted(f.name) + ":", self.of(f.dataType)) for f in kind]

        def write(values: Any) -> str:
            written = [
                name + ("null" if v is None else one(v))
                for (name, one), v in zip(fields, values)
                if v is not None or self.nulls
            ]
            return f"{{{','.join(written)}}}"

        return write

    def map(self, kind: MapType) -> Write:
        if not isinstance(kind.keyType, (StringType, IntegralType)):
            raise Unsupported("StructsToJson", f"a map with keys of type {kind.keyType.simpleString()} is not written")
        value = self.of(kind.valueType)

        def write(entries: Any) -> str:
            written = [f"{quoted(str(k))}:{'null' if v is None else value(v)}" for k, v in entries.items()]
            return f"{{{','.join(written)}}}"

        return write

    def timestamp(self, instant: int) -> str:
        local = self.zone.to_local(instant)
        minutes = abs(offset := (local - instant) // 1_000_000) // 60
        sign = "-" if offset < 0 else "+"
        return f'"{_clock(local)}{f"{sign}{minutes // 60:02}:{minutes % 60:02}" if offset else "Z"}"'


def _clock(local: int) -> str:
    """A time of a wall clock in ISO 8601, with milliseconds."""
    text = timestamp_text(local - local % 1_000_000).replace(" ", "T")
    return f"{text}.{local % 1_000_000 // 1000:03}"
