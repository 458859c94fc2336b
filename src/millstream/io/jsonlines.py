"""JSON lines as a stream, as `spark.readStream.json` reads them: one parser with `from_json`, record by record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyspark.sql.types import ArrayType, DataType, StringType, StructType

from millstream.errors import DataError
from millstream.io.files import FileSource, Range
from millstream.io.lines import is_packed, lines
from millstream.io.options import Given
from millstream.io.text import line_separator
from millstream.kernels.batch import Batch, Row
from millstream.kernels.expressions import function_of
from millstream.plan.algebra import Expr, Unsupported

FILES = ("path", "lineSep", "encoding", "charset")
MODES = ("permissive", "dropmalformed", "failfast")
FAULT = "\0fault"
"""The name of a column for faulty records that no schema has."""

Parse = Callable[[str], Any]


@dataclass(frozen=True)
class JsonFormat:
    """A row for each record; a line is a record, or an array of them."""

    schema: StructType
    options: tuple[tuple[str, str], ...]
    separator: bytes | None
    mode: str
    corrupt: str

    def divisible(self, path: str) -> bool:
        """As text."""
        return not (is_packed(path) or len(self.separator or b"") > 1)

    def read(self, range: Range) -> Iterator[Batch]:
        path, low, high = range
        for array in lines(path, low, high, self.separator):
            rows = [row for line in array.to_pylist() if not line.isspace() and line for row in self._rows(line)]
            yield Batch.of_rows(self.schema, rows)

    def _rows(self, line: str) -> list[Row]:
        if line.lstrip()[0] == "[":
            return self._array(line)
        row: Row = self._record(line)
        if self.mode == "permissive":
            return [row]
        return [self._whole(row[:-1], None)] if row[-1] is None else self._faulty(line)

    def _array(self, line: str) -> list[Row]:
        try:
            return [self._whole(row, None) for row in self._flawless(line) or ()]
        except DataError:
            rows = self._records(line)
        if self.mode == "permissive" and rows is not None:
            return [self._whole(row, line) for row in rows]
        return self._faulty(line)

    def _faulty(self, line: str) -> list[Row]:
        if self.mode == "dropmalformed":
            return []
        if self.mode == "failfast":
            raise DataError(f"MALFORMED_RECORD_IN_PARSING: the json source in FAILFAST mode can't read {line[:200]!r}")
        return [self._whole(None, line)]

    def _whole(self, row: Row | None, fault: str | None) -> Row:
        """A record with the place for faults among its values."""
        values = iter(row or [None] * len(self._kept))
        return tuple(fault if name == self.corrupt else next(values) for name in self.schema.names)

    @cached_property
    def _record(self) -> Parse:
        if self.mode == "permissive":
            return parser(self.schema, self.options, self.corrupt)
        return parser(StructType([*self._kept, *StructType().add(FAULT, "string")]), self.options, FAULT)

    @cached_property
    def _records(self) -> Parse:
        return parser(ArrayType(self._kept), self.options, FAULT)

    @cached_property
    def _flawless(self) -> Parse:
        return parser(ArrayType(self._kept), (*self.options, ("mode", "failfast")), FAULT)

    @property
    def _kept(self) -> StructType:
        return StructType([f for f in self.schema if f.name != self.corrupt])

    def __getstate__(self) -> Mapping[str, Any]:
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_")}


def parser(kind: DataType, options: tuple[tuple[str, str], ...], corrupt: str) -> Parse:
    """The function that `from_json` calls for each text."""
    given = dict(options)
    text = Expr("Column", StringType(), (), {"id": 0, "name": "value"})
    params = {"schema": kind, "options": given, "timezone": given.get("timezone"), "corrupt": corrupt}
    made = function_of(e := Expr("JsonToStructs", kind, (text,), params)).python(e)
    assert callable(made)
    return made


def json_source(options: Given, schema: StructType) -> FileSource:
    """Spark's `json` source."""
    given = {name.lower(): value for name, value in options.items()}
    files = {name.lower() for name in (*FILES, *FileSource.OPTIONS)}
    if given.pop("multiline", "false").lower() == "true":
        raise Unsupported("json", "records of several lines are not read natively")
    mode = given.pop("mode", "permissive").lower()
    corrupt = given.pop("columnnameofcorruptrecord")
    parsing = tuple(sorted((name, value) for name, value in given.items() if name not in files))
    form = JsonFormat(schema, parsing, line_separator(options), mode if mode in MODES else "permissive", corrupt)
    form._record, form._records, form._flawless  # noqa: B018 (what the parser doesn't support is said now)
    return FileSource.of(options, schema, form)
