"""Text files: a row for each line, or for each file (`wholetext`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.types import StringType, StructType

from millstream.errors import InvalidOption
from millstream.io.files import FileSource, Range
from millstream.io.lines import content, is_packed, replaced
from millstream.io.options import Given
from millstream.io.textrange import TextRange
from millstream.kernels.batch import Batch
from millstream.plan.algebra import Unsupported

OPTIONS = ("lineSep", "wholetext", "encoding", "charset")


@dataclass(frozen=True)
class TextFormat:
    """One column of strings."""

    schema: StructType
    separator: bytes | None = None
    wholetext: bool = False

    def divisible(self, path: str) -> bool:
        """Lines can be told apart anywhere if their ends are the usual ones, or one byte."""
        return not (self.wholetext or is_packed(path) or len(self.separator or b"") > 1)

    def read(self, range: Range) -> Iterator[Batch]:
        path, low, high = range
        if self.wholetext:
            array = replaced(pa.array([content(path)]).view(pa.string()))
            yield Batch.of_arrow(self.schema, pa.table([array], names=self.schema.names))
            return
        if high > low:
            yield TextRange(self.schema, path, low, high, self.separator)


def text_source(options: Given, schema: StructType) -> FileSource:
    """Spark's `text` source."""
    options.check_supported((*FileSource.OPTIONS, *OPTIONS))
    if [f.dataType for f in schema] != [StringType()]:
        raise Unsupported("text", "partition columns are not read natively")
    form = TextFormat(schema, line_separator(options), options.flag("wholetext", False))
    return FileSource.of(options, schema, form)


def line_separator(options: Given) -> bytes | None:
    """The option `lineSep`; there is but one encoding."""
    encoding = options.get("encoding") or options.text("charset", "utf-8")
    if encoding.lower() not in ("utf-8", "utf8"):
        raise Unsupported(f"encoding {encoding}", "only UTF-8 is read natively")
    separator = options.get("lineSep")
    if separator == "":
        raise InvalidOption("lineSep must not be empty")
    return separator.encode() if separator is not None else None
