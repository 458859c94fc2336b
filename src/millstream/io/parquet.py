"""Parquet files as a stream; a range of a file's bytes stands for the row groups that start in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.types import StructType

from millstream.errors import MillstreamError
from millstream.io.files import FileSource, Range
from millstream.io.options import Given
from millstream.kernels.batch import Batch, arrow_schema

ROWS = 65_536


@dataclass(frozen=True)
class ParquetFormat:
    """Columns by name, in any case; one that a file doesn't have is null there."""

    schema: StructType

    def divisible(self, path: str) -> bool:
        """Every row group starts somewhere."""
        return True

    def read(self, range: Range) -> Iterator[Batch]:
        path = range[0]
        try:
            yield from self._read(*range)
        except pa.ArrowInvalid as error:
            raise MillstreamError(
                f"{path} can't be read as Parquet ({error}): remove it, and let files appear when they are complete"
            ) from error

    def _read(self, path: str, low: int, high: int) -> Iterator[Batch]:
        with pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
            groups = [i for i, start in enumerate(_starts(file.metadata)) if low <= start < high]
            by_name = {name.lower(): name for name in file.schema_arrow.names}
            found = [by_name.get(name.lower()) for name in self.schema.names]
            columns = list(dict.fromkeys(name for name in found if name is not None))
            for batch in file.iter_batches(ROWS, groups, columns) if groups else ():
                yield self._batch(path, batch, found)

    def _batch(self, path: str, batch: pa.RecordBatch, found: list[str | None]) -> Batch:
        schema = arrow_schema(self.schema)
        arrays = []
        for name, field in zip(found, schema):
            array = pa.nulls(batch.num_rows, field.type) if name is None else batch.column(name)
            arrays.append(array if array.type.equals(field.type) else _cast(array, field, path))
        return Batch.of_arrow(self.schema, pa.Table.from_arrays(arrays, schema=schema))


def _starts(metadata: Any) -> Iterator[int]:
    for i in range(metadata.num_row_groups):
        column = metadata.row_group(i).column(0)
        dictionary = column.dictionary_page_offset
        yield column.data_page_offset if dictionary is None else min(dictionary, column.data_page_offset)


def _cast(array: pa.Array, field: pa.Field, path: str) -> pa.Array:
    """What Spark widens too, and what differs in Arrow's representation only."""
    if _kind(array.type) == _kind(field.type):
        try:
            return array.cast(field.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            pass
    raise MillstreamError(
        f"column {field.name!r} of {path} is {array.type}, which can't be read as {field.type}: "
        "give the type that the file has, and cast in the query"
    )


def _kind(kind: pa.DataType) -> Any:  # noqa: PLR0911 (one for each kind)
    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_floating(kind):
        return "floating"
    if pa.types.is_decimal(kind):
        return kind.scale
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind):
        return "text"
    if pa.types.is_dictionary(kind):
        return _kind(kind.value_type)
    if pa.types.is_timestamp(kind):
        return "timestamp"
    return kind.id


def parquet_source(options: Given, schema: StructType) -> FileSource:
    """Spark's `parquet` source."""
    options.check_supported(FileSource.OPTIONS)
    return FileSource.of(options, schema, ParquetFormat(schema))
