"""Python functions of the user's in a stage: called in the slot itself, with PySpark's own conversions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import pyarrow as pa
from pyspark.sql.conversion import ArrowBatchTransformer
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StructField, StructType
from pyspark.util import PythonEvalType
from pyspark.worker import RunnerConf

from millstream.errors import FunctionFailed
from millstream.kernels.batch import Batch, array_of, arrow_schema, rows_of, table_of
from millstream.kernels.segment import Segment, Step
from millstream.kernels.udf_code import Result
from millstream.kernels.udf_rows import RowCall
from millstream.kernels.udf_worker import Worker
from millstream.plan.algebra import Column, Columns, Node, Project, PythonEval, PythonMap, schema_of

BY_ROW = (PythonEvalType.SQL_BATCHED_UDF, PythonEvalType.SQL_ARROW_BATCHED_UDF)
Calls = Callable[[Batch], Sequence[Result]]


@dataclass(frozen=True)
class PythonSegment:
    """A part of a stage that is Python functions of the user's."""

    node: PythonEval | PythonMap

    def __post_init__(self) -> None:
        # What has no kernel is to be said now, not on a slot.
        if isinstance(self.node, PythonEval) and (arguments := computed_arguments(self.node)):
            arguments.scalar_source()

    @property
    def output(self) -> Columns:
        """The columns that come out."""
        return self.node.output

    def start(self) -> Step:
        """Unpickle the functions, on the slot."""
        return PythonEvalStep(self.node) if isinstance(self.node, PythonEval) else PythonMapStep(self.node)


def computed_arguments(node: PythonEval) -> Segment | None:
    """What computes all arguments of a node's functions, in order, if they aren't just columns."""
    before = node.input.output
    flat = tuple(e for exprs in node.arguments for e in exprs)
    if all(e.op == "Column" for e in flat):
        return None
    output = tuple(Column(-1 - i, f"_{i}", e.type) for i, e in enumerate(flat))
    return Segment(before, (Project(output, Node(before), flat),))


class PythonEvalStep:
    """Adds the results of functions to each row."""

    def __init__(self, node: PythonEval) -> None:
        self.schema = schema_of(node.output)
        before = node.input.output
        self._arrow = arrow_schema(self.schema)
        self._results = [pa.schema([f]) for f in list(self._arrow)[len(before) :]]
        arguments = computed_arguments(node)
        self._prepare = arguments.start() if arguments else None
        if arguments:
            numbers = count()
            offsets = [[next(numbers) for _ in exprs] for exprs in node.arguments]
        else:
            places = {column.id: i for i, column in enumerate(before)}
            offsets = [[places[e.params["id"]] for e in exprs] for exprs in node.arguments]
        given = arguments.output if arguments else before
        self._call = _calls(node, given, offsets)

    def run(self, batch: Batch) -> tuple[Batch, int | None]:
        """The rows with the results after them."""
        if not len(batch):
            return Batch.of_rows(self.schema, []), None
        arguments = batch if self._prepare is None else self._prepare.run(batch)[0]
        results = self._call(arguments)
        if batch.is_arrow:
            arrays = [_array(schema, result) for schema, result in zip(self._results, results)]
            table = pa.Table.from_arrays([*batch.arrow.columns, *arrays], schema=self._arrow)
            return Batch.of_arrow(self.schema, table), None
        lists = [_list(schema, result) for schema, result in zip(self._results, results)]
        return Batch.of_rows(self.schema, [row + more for row, more in zip(batch.rows, zip(*lists))]), None


def _calls(node: PythonEval, given: Columns, offsets: Sequence[Sequence[int]]) -> Calls:
    """What calls all functions of a node over a batch of the given columns."""
    conf = RunnerConf(dict(node.conf))
    if node.kind in BY_ROW:
        calls = [
            RowCall(function, [(i, given[i].type) for i in places], node.kind, conf)
            for function, places in zip(node.functions, offsets)
        ]
        return lambda batch: [call(batch) for call in calls]
    used = sorted({i for places in offsets for i in places})
    seen = StructType([StructField(f"_{n}", given[i].type) for n, i in enumerate(used)])
    schema = arrow_schema(seen)
    worker = Worker(node.functions, [[used.index(i) for i in places] for places in offsets], seen, node.kind, conf)

    def run(batch: Batch) -> Sequence[Result]:
        if batch.is_arrow:
            table = batch.arrow.select(used)
        else:
            table = table_of(schema, [tuple([row[i] for i in used]) for row in batch.rows])
        return pa.Table.from_batches(worker(table)).columns  # type: ignore[no-any-return]

    return run


def _array(schema: pa.Schema, result: Result) -> Any:
    """A result as the Arrow array that a batch with this column wants."""
    kind = schema.field(0).type
    return array_of(result, kind) if isinstance(result, list) else result.cast(kind)


def _list(schema: pa.Schema, result: Result) -> list[Any]:
    """A result as internal values."""
    if isinstance(result, list):
        return result
    return [value for (value,) in rows_of(pa.Table.from_arrays([_array(schema, result)], schema=schema))]


class PythonMapStep:
    """Gives a function all batches of an epoch; its rows may be any number."""

    def __init__(self, node: PythonMap) -> None:
        self.schema = schema_of(node.output)
        self._arrow = arrow_schema(self.schema)
        self._name = node.function.name
        self._strict = node.kind == PythonEvalType.SQL_MAP_ARROW_ITER_UDF
        seen = StructType([StructField("_0", schema_of(node.input.output))])
        self._worker = Worker([node.function], [[]], seen, node.kind, RunnerConf(dict(node.conf)))

    def run(self, batch: Batch) -> tuple[Batch, int | None]:
        """The rows that the function makes of these."""
        if not len(batch):
            return Batch.of_rows(self.schema, []), None
        rows = pa.table([batch.arrow.combine_chunks().to_struct_array()], ["_0"])
        made = [ArrowBatchTransformer.flatten_struct(b) for b in self._worker(rows)]
        tables = [self._checked(b) for b in made if b.num_rows]
        return Batch.of_arrow(self.schema, pa.concat_tables(tables) if tables else self._arrow.empty_table()), None

    def _checked(self, made: pa.RecordBatch) -> pa.Table:
        if self._strict:
            types = [from_arrow_type(field.type).simpleString() for field in made.schema]
            wanted = [field.dataType.simpleString() for field in self.schema]
            if types != wanted:
                raise FunctionFailed(f"Python function {self._name!r} returned columns of types {types}, not {wanted}")
        return pa.Table.from_arrays([c.cast(f.type) for c, f in zip(made.columns, self._arrow)], schema=self._arrow)
