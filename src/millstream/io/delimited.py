"""CSV as a stream: a line is a record, cut and converted as Spark does it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import cached_property
from typing import Any

from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from millstream.errors import DataError, InvalidOption
from millstream.io.dialect import BLANK, Dialect
from millstream.io.files import FileSource, Range
from millstream.io.lines import is_packed, lines
from millstream.io.options import Given
from millstream.io.text import OPTIONS, line_separator
from millstream.kernels.batch import Batch, Row
from millstream.kernels.functions.casting import Casting
from millstream.kernels.functions.conversions import converter
from millstream.kernels.functions.floats import float32
from millstream.plan.algebra import Unsupported

Convert = Callable[[str], Any]

OWN = ("sep", "delimiter", "quote", "escape", "header", "nullValue", "mode", "timeZone", "columnNameOfCorruptRecord")
BITS: dict[type[DataType], int] = {ByteType: 8, ShortType: 16, IntegerType: 32, LongType: 64}
WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
FIXED = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,9})?", re.ASCII)
FLOATING = re.compile(r"[+-]?(NaN|Infinity|((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)[fFdD]?)", re.ASCII)
ZONED = re.compile(r"[T ]\s*\d+[\d.:]*\s*[^\d.:\s]")
NAMED = {"NaN": float("nan"), "Inf": float("inf"), "-Inf": float("-inf")}
JAVA = 17
"""No conversion from text depends on Java's version."""


@dataclass(frozen=True)
class CsvFormat:
    """A row for each line that is not blank, except a header."""

    schema: StructType
    dialect: Dialect
    header: bool
    null: str
    mode: str
    corrupt: str
    zone: str
    line_end: bytes | None

    def divisible(self, path: str) -> bool:
        """As text."""
        return not (is_packed(path) or len(self.line_end or b"") > 1)

    def read(self, range: Range) -> Iterator[Batch]:
        path, low, high = range
        skip = self.header and not low
        for array in lines(path, low, high, self.line_end):
            records = [line for line in array.to_pylist() if line.strip(BLANK)]
            if skip and records:
                del records[0]
                skip = False
            yield Batch.of_rows(self.schema, [row for line in records for row in self._rows(line)])

    def _rows(self, line: str) -> list[Row]:
        converts, null = self._converts, self.null
        texts = self.dialect.cut(line)
        fault = len(texts) != len(converts)
        values: list[Any] = []
        for convert, text in zip(converts, texts):
            try:
                values.append(None if text is None or text == null else convert(text))
            except (ValueError, ArithmeticError):
                values.append(None)
                fault = True
        values += [None] * (len(converts) - len(values))
        if fault and self.mode == "dropmalformed":
            return []
        if fault and self.mode == "failfast":
            raise DataError(f"MALFORMED_RECORD_IN_PARSING: the csv source in FAILFAST mode can't read {line[:200]!r}")
        if self.corrupt in self.schema.names:
            values.insert(self.schema.names.index(self.corrupt), line if fault else None)
        return [tuple(values)]

    @cached_property
    def _converts(self) -> list[Convert]:
        return [_convert(f.dataType, self.zone) for f in self.schema if f.name != self.corrupt]

    def __getstate__(self) -> Mapping[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_converts"}


def _convert(kind: DataType, zone: str) -> Convert:  # noqa: PLR0911 (one for each type)
    if isinstance(kind, StringType):
        return str
    if type(kind) in BITS:
        return _whole(BITS[type(kind)])
    if isinstance(kind, DoubleType):
        return _floating
    if isinstance(kind, FloatType):
        return lambda text: float32(_floating(text))
    if isinstance(kind, DecimalType):
        return _fixed(kind.precision, kind.scale)
    if isinstance(kind, BooleanType):
        return _flag
    if isinstance(kind, (DateType, TimestampType, TimestampNTZType)):
        convert = converter(Casting(StringType(), kind, "ANSI", zone, JAVA))
        return (lambda text: convert(_zoneless(text))) if isinstance(kind, TimestampNTZType) else convert
    raise Unsupported(f"csv column of type {kind.simpleString()}", "it is not read natively")


def _refuse(text: str) -> Any:
    raise ValueError(text)


def _flag(text: str) -> bool:
    return text.lower() == "true" if text.lower() in ("true", "false") else bool(_refuse(text))


def _zoneless(text: str) -> str:
    return str(_refuse(text)) if ZONED.search(text.strip(BLANK)) else text


def _whole(bits: int) -> Convert:
    limit = 1 << (bits - 1)

    def convert(text: str) -> int:
        value = int(text) if WHOLE.fullmatch(text) else _refuse(text)
        return value if -limit <= value < limit else int(_refuse(text))

    return convert


def _floating(text: str) -> float:
    if text in NAMED:
        return NAMED[text]
    text = text.strip(BLANK)
    return (
        float(text.rstrip("fFdD") if text[-1:] != "y" else text) if FLOATING.fullmatch(text) else float(_refuse(text))
    )


def _fixed(precision: int, scale: int) -> Convert:
    context = Context(prec=100, rounding=ROUND_HALF_UP)
    limit = Decimal(10) ** (precision - scale)

    def convert(text: str) -> Decimal:
        text = text.replace(",", "")
        if not FIXED.fullmatch(text):
            _refuse(text)
        value = Decimal(text).quantize(Decimal(1).scaleb(-scale), context=context)
        if abs(value) >= limit:
            _refuse(text)
        return value if value else abs(value)

    return convert


def csv_source(options: Given, schema: StructType) -> FileSource:
    """Spark's `csv` source."""
    known = (
        "sep",
        "delimiter",
        "quote",
        "escape",
        "header",
        "nullValue",
        "mode",
        "timeZone",
        "columnNameOfCorruptRecord",
    )
    options.check_supported((*FileSource.OPTIONS, *OPTIONS, *known))
    given = {
        "separator": options.get("sep") or options.text("delimiter", ","),
        "quote": options.text("quote", '"'),
        "escape": options.text("escape", "\\"),
    }
    for name, value in given.items():
        if len(value) != 1 or value == "\0":
            raise Unsupported(f"csv with {name} {value!r}", "only single characters are read natively")
    form = CsvFormat(
        schema,
        Dialect(**given),
        options.flag("header", False),
        options.text("nullValue", ""),
        options.one_of("mode", "permissive", ("permissive", "dropmalformed", "failfast")),
        options.text("columnNameOfCorruptRecord", "_corrupt_record"),
        options.required("timeZone"),
        line_separator(options),
    )
    if form.corrupt in schema.names and not isinstance(schema[form.corrupt].dataType, StringType):
        raise InvalidOption(f"the column {form.corrupt!r} for malformed records must be a string")
    form._converts  # noqa: B018 (types that are not supported are said now)
    return FileSource.of(options, schema, form)
