"""JSON text becomes Spark's values, by a schema, exactly as Spark's own parser makes them.

A value of the wrong type is a fault of the record, but the fields beside it are still read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    LongType,
    MapType,
    NullType,
    StringType,
    StructType,
)

from millstream.kernels.functions.json_tokens import STRICT, JsonError, Kind, Leniency, Tokens, whole
from millstream.kernels.functions.json_values import RANGES, fixed, from_base64, single
from millstream.kernels.functions.json_writer import copied
from millstream.plan.algebra import Unsupported

Converter = Callable[[Tokens], Any]
FromText = Callable[[str], Any]

_NOT_FINITE = {"NaN": "nan", "+INF": "inf", "+Infinity": "inf", "Infinity": "inf", "-INF": "-inf", "-Infinity": "-inf"}
_SCALARS = frozenset({Kind.STRING, Kind.INT, Kind.FLOAT, Kind.TRUE, Kind.FALSE})


@dataclass(frozen=True)
class Reading:
    """What governs reading beside the schema; `texts` reads strings for types such as dates."""

    leniency: Leniency = STRICT
    texts: Mapping[type[DataType], FromText] = field(default_factory=dict)
    numbers: Mapping[type[DataType], Callable[[int], Any]] = field(default_factory=dict)


class Partial(JsonError):
    """Not all of a value could be read; `value` is the rest."""

    def __init__(self, value: Any) -> None:
        super().__init__("a part of the record does not have the type of the schema")
        self.value = value


Parse = Callable[[str], Any]


def parser(schema: DataType, reading: Reading) -> Parse:
    """A function that reads one text; None if it is blank.

    It raises `Partial` with what could be read, or `JsonError` if nothing could.
    """
    return _Reader(reading).root(schema)


class _Reader:
    """Makes a converter for each type: it stands on a name or a value, and leaves the reader on the value's end."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading

    def root(self, schema: DataType) -> Parse:
        convert = self.root_converter(schema)
        leniency = self.reading.leniency

        def parse(text: str) -> Any:
            tokens = Tokens(text, leniency)
            if tokens.next() is None:
                return None
            value = convert(tokens)
            if value is None:
                raise JsonError("the record is null")
            return value

        return parse

    def root_converter(self, schema: DataType) -> Converter:
        convert = self.converter(schema)
        if not isinstance(schema, ArrayType) or not isinstance(schema.elementType, StructType):
            return convert
        element = self.converter(schema.elementType)

        def one_or_many(tokens: Tokens) -> Any:
            if tokens.kind is not Kind.START_OBJECT:
                return convert(tokens)
            try:
                return [element(tokens)]
            except Partial as partial:
                raise Partial([partial.value]) from partial

        return one_or_many

    def converter(self, kind: DataType) -> Converter:
        if isinstance(kind, StructType):
            return self.struct(kind)
        if isinstance(kind, ArrayType):
            return self.array(kind)
        if isinstance(kind, MapType):
            return self.map(kind)
        if isinstance(kind, StringType):
            return _string
        if isinstance(kind, NullType):
            return lambda tokens: _stand(tokens) and None
        return self.scalar(self.scalar_reader(kind))

    def scalar(self, read: Callable[[Kind, str], Any]) -> Converter:
        def convert(tokens: Tokens) -> Any:
            kind = _stand(tokens)
            if kind is None:
                return None
            if kind not in _SCALARS:
                raise JsonError("a scalar was expected")
            return read(kind, tokens.text())

        return convert

    def scalar_reader(self, kind: DataType) -> Callable[[Kind, str], Any]:  # noqa: PLR0911 (one for each type)
        if isinstance(kind, BooleanType):
            return _boolean
        if type(kind) in RANGES:
            return _whole_number(*RANGES[type(kind)], wrap=isinstance(kind, ByteType))
        if isinstance(kind, DoubleType):
            return self.floating(float)
        if isinstance(kind, FloatType):
            return self.floating(single)
        if isinstance(kind, DecimalType):
            return lambda token, text: fixed(_number_text(token, text), kind.precision, kind.scale)
        if isinstance(kind, BinaryType):
            return _binary
        from_text = self.reading.texts.get(type(kind))
        if from_text is None:
            raise Unsupported("JsonToStructs", f"JSON of type {kind.simpleString()} is not read")
        return _text(from_text, self.reading.numbers.get(type(kind)))

    def floating(self, make: Callable[[str], float]) -> Callable[[Kind, str], float]:
        def read(kind: Kind, text: str) -> float:
            if kind in (Kind.INT, Kind.FLOAT):
                return make("0" if text == "-0" else text)
            if kind is Kind.STRING and text in _NOT_FINITE and self.reading.leniency.non_numeric_numbers:
                return float(_NOT_FINITE[text])
            raise JsonError("a number was expected")

        return read

    def struct(self, kind: StructType) -> Converter:
        places = {f.name: i for i, f in enumerate(kind)}
        converters = [self.converter(f.dataType) for f in kind]

        def convert(tokens: Tokens) -> Any:
            if not _begins(tokens, Kind.START_OBJECT):
                return None
            row: list[Any] = [None] * len(converters)
            faults = False
            while tokens.next() not in (None, Kind.END_OBJECT):
                place = places.get(tokens.name or "") if tokens.name is not None else None
                if place is None:
                    tokens.skip_children()
                    continue
                try:
                    row[place] = converters[place](tokens)
                except Partial as partial:
                    faults = True
                    row[place] = partial.value
                except ValueError:
                    faults = True
                    tokens.skip_children()
            if faults:
                raise Partial(tuple(row))
            return tuple(row)

        return convert

    def map(self, kind: MapType) -> Converter:
        value = self.converter(kind.valueType)

        def convert(tokens: Tokens) -> Any:
            if not _begins(tokens, Kind.START_OBJECT):
                return None
            entries: dict[str, Any] = {}
            faults, fault = False, None
            while tokens.next() not in (None, Kind.END_OBJECT):
                name = whole(tokens.name or "")
                try:
                    entries[name] = value(tokens)
                except Partial as partial:
                    faults = True
                    entries[name] = partial.value
                except ValueError as error:
                    fault = fault or error
                    tokens.skip_children()
            if fault is not None:
                raise fault
            if faults:
                raise Partial(entries)
            return entries

        return convert

    def array(self, kind: ArrayType) -> Converter:
        element = self.converter(kind.elementType)

        def convert(tokens: Tokens) -> Any:
            if not _begins(tokens, Kind.START_ARRAY):
                return None
            values: list[Any] = []
            faults = False
            while tokens.next() not in (None, Kind.END_ARRAY):
                try:
                    values.append(element(tokens))
                except Partial as partial:
                    faults = True
                    values.append(partial.value)
            if faults:
                raise Partial(values)
            return values

        return convert


def _stand(tokens: Tokens) -> Kind | None:
    """The token of the value at hand; None for null."""
    while tokens.kind is Kind.NAME:
        tokens.next()
    return None if tokens.kind is Kind.NULL else tokens.kind


def _begins(tokens: Tokens, start: Kind) -> bool:
    kind = _stand(tokens)
    if kind is Kind.STRING:
        tokens.text()
    if kind is not None and kind is not start:
        raise JsonError("an object or an array was expected")
    return kind is not None


def _string(tokens: Tokens) -> Any:
    kind = _stand(tokens)
    if kind is None:
        return None
    return whole(tokens.text()) if kind is Kind.STRING else copied(tokens)


def _boolean(kind: Kind, text: str) -> bool:
    if kind not in (Kind.TRUE, Kind.FALSE):
        raise JsonError("true or false was expected")
    return kind is Kind.TRUE


def _whole_number(low: int, high: int, *, wrap: bool) -> Callable[[Kind, str], int]:
    def read(kind: Kind, text: str) -> int:
        if kind is not Kind.INT:
            raise JsonError("a whole number was expected")
        value = int(text)
        if not low <= value <= high:
            raise JsonError("the number is too large")
        return (value + 128) % 256 - 128 if wrap else value

    return read


def _binary(kind: Kind, text: str) -> bytes:
    if kind is not Kind.STRING:
        raise JsonError("a string was expected")
    return from_base64(text)


def _number_text(kind: Kind, text: str) -> str:
    if kind is Kind.STRING:
        return text.replace(",", "")
    if kind not in (Kind.INT, Kind.FLOAT):
        raise JsonError("a number was expected")
    return text


def _text(read: FromText, number: Callable[[int], Any] | None) -> Callable[[Kind, str], Any]:
    def convert(kind: Kind, text: str) -> Any:
        if kind is Kind.STRING and text:
            return read(text)
        if kind is Kind.INT and number is not None:
            value = int(text)
            if RANGES[LongType][0] <= value <= RANGES[LongType][1]:
                return number(value)
        raise JsonError("a string was expected")

    return convert
