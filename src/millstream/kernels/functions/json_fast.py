"""Well-formed JSON of the right types becomes Spark's values in one call of msgspec's.

Its grammar is stricter than Jackson's, so what it takes, Jackson takes too. What it refuses, and what it might read
differently, is left to the careful reader.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from ctypes import c_float
from decimal import Decimal
from typing import Annotated, Any

import msgspec
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    MapType,
    NullType,
    StructType,
)

from millstream.kernels.functions.json_reader import Parse, Reading
from millstream.kernels.functions.json_tokens import MAX_NUMBER, JsonError
from millstream.kernels.functions.json_values import RANGES, between, fixed, from_base64

Finish = Callable[[Any], Any]

_LONG_NUMBER = re.compile(rf"[-+.\deE]{{{MAX_NUMBER}}}", re.ASCII)
_NUMBER = frozenset("-+.0123456789eE")


def fast_parser(schema: DataType, reading: Reading, otherwise: Parse, gap: int | None = None) -> Parse | None:
    """A function that reads a record without any fault; it leaves all others, and some rare ones, to `otherwise`.

    `gap` is the place of one more column, which is null.
    """
    try:
        decode = msgspec.json.Decoder(_decoded(schema)).decode
    except (ValueError, NotImplementedError):
        return None
    finish = _finish(schema, reading) or (lambda value: value)
    if gap is not None:
        whole_row = finish
        finish = lambda record: (*(row := whole_row(record))[:gap], None, *row[gap:])  # noqa: E731 (one of three)

    def parse(text: str) -> Any:
        try:
            if len(text) > MAX_NUMBER and not _NUMBER.isdisjoint(text[::MAX_NUMBER]) and _LONG_NUMBER.search(text):
                return otherwise(text)
            return finish(decode(text))
        except (ValueError, RecursionError):
            return otherwise(text)

    return parse


def _decoded(kind: DataType) -> Any:  # noqa: PLR0911 (one for each type)
    """The type of msgspec's that takes what a type takes, or less."""
    if isinstance(kind, StructType):
        names = [f.name for f in kind]
        if len(set(names)) < len(names):
            raise NotImplementedError
        fields = [(f"f{i}", _nullable(f.dataType), None) for i, f in enumerate(kind)]
        return msgspec.defstruct("Record", fields, rename={f"f{i}": name for i, name in enumerate(names)}, gc=False)
    if isinstance(kind, ArrayType):
        return list[_nullable(kind.elementType)]  # type: ignore[misc]
    if isinstance(kind, MapType):
        return dict[str, _nullable(kind.valueType)]  # type: ignore[misc]
    if isinstance(kind, NullType):
        raise NotImplementedError
    if type(kind) in RANGES:
        low, high = RANGES[type(kind)]
        return Annotated[int, msgspec.Meta(ge=low, le=min(high, -low - 1))]
    if isinstance(kind, BooleanType):
        return bool
    if isinstance(kind, (DoubleType, FloatType)):
        return float
    return str


def _nullable(kind: DataType) -> Any:
    return msgspec.Raw if isinstance(kind, DecimalType) else _decoded(kind) | None


def _finish(kind: DataType, reading: Reading) -> Finish | None:  # noqa: PLR0911 (one for each type)
    """What is left to do with a value that msgspec has decoded; it is not None."""
    if isinstance(kind, StructType):
        return _finish_struct([_finish(f.dataType, reading) for f in kind])
    if isinstance(kind, ArrayType):
        element = _finish(kind.elementType, reading)
        return element and (lambda values: [v if v is None else element(v) for v in values])
    if isinstance(kind, MapType):
        value = _finish(kind.valueType, reading)
        return value and (lambda entries: {k: v if v is None else value(v) for k, v in entries.items()})
    if isinstance(kind, FloatType):
        return _narrow
    if isinstance(kind, DecimalType):
        return lambda raw: _fixed_raw(bytes(raw).decode(), kind.precision, kind.scale)
    if isinstance(kind, BinaryType):
        return from_base64
    from_text = reading.texts.get(type(kind))
    return from_text and (lambda text: from_text(text) if text else _no_text())


def _finish_struct(each: list[Finish | None]) -> Finish:
    astuple = msgspec.structs.astuple
    if not any(each):
        return astuple

    def finish(record: Any) -> Any:
        return tuple([v if v is None or f is None else f(v) for f, v in zip(each, astuple(record))])

    return finish


def _narrow(double: Any) -> float:
    if between(double):
        raise JsonError("rounding needs the text")
    return c_float(double).value


def _fixed_raw(raw: str, precision: int, scale: int) -> Decimal | None:
    if raw == "null":
        return None
    if raw[:1] in "{[tf" or "\\" in raw:
        raise JsonError("not a number")
    return fixed(raw[1:-1].replace(",", "") if raw[0] == '"' else raw, precision, scale)


def _no_text() -> Any:
    raise JsonError("an empty string is no value of this type")
