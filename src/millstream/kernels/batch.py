"""A batch of rows in either of two forms, Arrow or Python, and converted to the other on demand.

In Python's form a row is a tuple in Spark's internal values: timestamps are microseconds since the
epoch, dates are days, structs are tuples, maps are dicts, the rest is what anybody would expect.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain, pairwise
from json import loads
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

Row = tuple[Any, ...]

AT_ONCE = 1500
"""Rows of a table that exist as Python's objects at a time: as many as the processor's caches hold."""


class Batch:
    """Rows of one schema.

    >>> from pyspark.sql.types import StructType
    >>> schema = StructType().add("t", "timestamp").add("x", "integer")
    >>> batch = Batch.of_rows(schema, [(1_000_000, 7)])
    >>> batch.arrow["t"][0].as_py().isoformat(), Batch.of_arrow(schema, batch.arrow).rows
    ('1970-01-01T00:00:01+00:00', [(1000000, 7)])
    """

    __slots__ = ("_arrow", "_rows", "schema")

    def __init__(self, schema: StructType, rows: Sequence[Row] | None, arrow: pa.Table | None) -> None:
        self.schema = schema
        self._rows = rows
        self._arrow = arrow

    @staticmethod
    def of_rows(schema: StructType, rows: Sequence[Row]) -> Batch:
        """A batch of Python rows."""
        return Batch(schema, rows, None)

    @staticmethod
    def of_arrow(schema: StructType, table: pa.Table) -> Batch:
        """A batch that is an Arrow table, with the types that `arrow_schema` gives."""
        return Batch(schema, None, table)

    @property
    def is_arrow(self) -> bool:
        """Whether the Arrow form is there already."""
        return self._arrow is not None

    def candidates(self, letters: Sequence[str]) -> Iterable[Row]:
        """The same for whoever is not interested in rows whose text holds none of some letters."""
        return self.stream

    @property
    def about(self) -> int:
        """How many rows there are, more or less, if counting them would cost something."""
        return len(self)

    @property
    def weight(self) -> int:
        """About how many bytes the rows take."""
        return int(self._arrow.nbytes) if self._arrow is not None else 100 * len(self)

    def __len__(self) -> int:
        return self._arrow.num_rows if self._arrow is not None else len(self._rows or ())

    @property
    def rows(self) -> Sequence[Row]:
        """The rows as tuples."""
        if self._rows is None:
            self._rows = rows_of(self._arrow)
        return self._rows

    @property
    def stream(self) -> Iterable[Row]:
        """The rows for going through once. Those of an Arrow table are made as they are needed and not kept."""
        table = self._arrow
        if self._rows is not None or table is None or not table.num_columns:
            return self.rows
        return chain.from_iterable(zip(*_lists(table.slice(i, AT_ONCE))) for i in range(0, len(table), AT_ONCE))

    @property
    def arrow(self) -> pa.Table:
        """The rows as an Arrow table."""
        if self._arrow is None:
            assert self._rows is not None
            self._arrow = table_of(arrow_schema(self.schema), self._rows)
        return self._arrow

    def to_bytes(self) -> bytes:
        """For a block or a result, in the form that is there; empty for no rows."""
        if not len(self):
            return b""
        if self._rows is not None:
            return b"P" + pickle.dumps(self._rows, 5)
        sink = pa.BufferOutputStream()
        sink.write(b"A")
        with pa.ipc.new_stream(sink, self.arrow.schema) as writer:
            writer.write_table(self.arrow)
        return bytes(sink.getvalue())

    @staticmethod
    def from_bytes(schema: StructType, data: bytes) -> Batch:
        """The batch that `to_bytes` wrote."""
        if not data:
            return Batch.of_rows(schema, [])
        if data[:1] == b"P":
            return Batch.of_rows(schema, pickle.loads(memoryview(data)[1:]))
        return Batch.of_arrow(schema, pa.ipc.open_stream(pa.py_buffer(data)[1:]).read_all())

    @staticmethod
    def concat(schema: StructType, batches: Sequence[Batch]) -> Batch:
        """All rows of several batches, in order."""
        filled = [batch for batch in batches if len(batch)]
        if len(filled) == 1:
            return filled[0]
        if any(batch.is_arrow for batch in filled):
            return Batch.of_arrow(schema, pa.concat_tables([batch.arrow for batch in filled]))
        return Batch.of_rows(schema, [row for batch in filled for row in batch.rows])


def arrow_schema(schema: StructType) -> pa.Schema:
    """Arrow's types for Spark's: timestamps are UTC, everything as Spark itself converts it."""
    return _arrow_schema(schema.json())


@cache
def _arrow_schema(json: str) -> pa.Schema:
    return to_arrow_schema(StructType.fromJson(loads(json)), timezone="UTC")


def table_of(schema: pa.Schema, rows: Sequence[Row]) -> pa.Table:
    """An Arrow table from rows in internal form."""
    columns = list(zip(*rows)) if rows else [()] * len(schema)
    return pa.Table.from_arrays([array_of(column, f.type) for column, f in zip(columns, schema)], schema=schema)


def array_of(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """An Arrow array from internal values."""
    internal = internal_type(kind)
    array = pa.array(_for_arrow(values, kind) if pa.types.is_nested(kind) else values, internal)
    return array if internal.equals(kind) else array.cast(kind)


def _for_arrow(values: Sequence[Any], kind: pa.DataType) -> list[Any]:
    """Nested values as `pa.array` wants them: structs as dicts by position, maps as pairs."""
    convert = _converter(kind)
    return [convert(value) for value in values]


def _converter(kind: pa.DataType) -> Any:
    if pa.types.is_struct(kind):
        names = [kind.field(i).name for i in range(kind.num_fields)]
        inner = [_converter(kind.field(i).type) for i in range(kind.num_fields)]
        return lambda v: None if v is None else {n: c(x) for n, c, x in zip(names, inner, v)}
    if pa.types.is_map(kind):
        key, item = _converter(kind.key_type), _converter(kind.item_type)
        return lambda v: None if v is None else [(key(k), item(x)) for k, x in v.items()]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        element = _converter(kind.value_type)
        return lambda v: None if v is None else [element(x) for x in v]
    return lambda v: v


def rows_of(table: pa.Table) -> list[Row]:
    """The rows of an Arrow table in internal form."""
    return list(zip(*_lists(table))) if table.num_columns else [()] * table.num_rows


def _lists(table: pa.Table) -> list[list[Any]]:
    """The columns of an Arrow table in internal form."""
    columns = []
    for column, f in zip(table.columns, table.schema):
        if pa.types.is_string(f.type) and column.num_chunks == 1 and not column.null_count:
            columns.append(_texts(column.chunk(0)))
            continue
        internal = internal_type(f.type)
        values = (column if internal.equals(f.type) else column.cast(internal)).to_pylist(maps_as_pydicts=None)
        if pa.types.is_nested(f.type):
            convert = _reverter(f.type)
            values = [convert(value) for value in values]
        columns.append(values)
    return columns


def _texts(array: pa.StringArray) -> list[str]:
    """Strings none of which is null. Slices of one text take a third of the time of decoding each, if it is ASCII."""
    if not len(array):
        return []
    _, offsets, data = array.buffers()
    bounds = memoryview(offsets).cast("i")[array.offset : array.offset + len(array) + 1].tolist()
    low = bounds[0]
    text = str(memoryview(data)[low : bounds[-1]], "latin-1") if data is not None else ""
    if not text.isascii():
        texts: list[str] = array.to_pylist()
        return texts
    return [text[i - low : j - low] for i, j in pairwise(bounds)]


def _reverter(kind: pa.DataType) -> Any:
    if pa.types.is_struct(kind):
        names = [kind.field(i).name for i in range(kind.num_fields)]
        inner = [_reverter(kind.field(i).type) for i in range(kind.num_fields)]
        return lambda v: None if v is None else tuple([c(v[n]) for n, c in zip(names, inner)])
    if pa.types.is_map(kind):
        key, item = _reverter(kind.key_type), _reverter(kind.item_type)
        return lambda v: None if v is None else {key(k): item(x) for k, x in v}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        element = _reverter(kind.value_type)
        return lambda v: None if v is None else [element(x) for x in v]
    return lambda v: v


def internal_table(table: pa.Table) -> pa.Table:
    """A table with the same values as `rows_of` gives, for engines that should not reinterpret times."""
    fields = [f.with_type(internal_type(f.type)) for f in table.schema]
    return table.cast(pa.schema(fields))


@cache
def internal_type(kind: pa.DataType) -> pa.DataType:  # noqa: PLR0911 (one for each kind)
    """The Arrow type that a type's internal values have: whole numbers for times and dates."""
    if pa.types.is_timestamp(kind) or pa.types.is_time64(kind) or pa.types.is_duration(kind):
        return pa.int64()
    if pa.types.is_date32(kind):
        return pa.int32()
    if pa.types.is_struct(kind):
        return pa.struct([f.with_type(internal_type(f.type)) for f in kind])
    if pa.types.is_map(kind):
        return pa.map_(internal_type(kind.key_type), kind.item_field.with_type(internal_type(kind.item_type)))
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(internal_type(kind.value_type)))
    if pa.types.is_large_list(kind):
        return pa.large_list(kind.value_field.with_type(internal_type(kind.value_type)))
    return kind
