"""Plain Python functions, called row by row.

Where the internal values are what users see, nothing is converted, and results of just the declared
type are taken as they are. Everything else goes through PySpark's own converters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from operator import itemgetter
from typing import Any

import pyarrow as pa
from pyspark.sql.conversion import ArrowTableToRowsConversion, LocalDataToArrowConversion
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    ByteType,
    CharType,
    DataType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructType,
    VarcharType,
)
from pyspark.util import PythonEvalType
from pyspark.worker import RunnerConf

from millstream.errors import FunctionFailed
from millstream.kernels.batch import Batch, arrow_schema, table_of
from millstream.kernels.udf_code import Result, failing, load
from millstream.kernels.udf_pickled import pickled_result
from millstream.plan.algebra import PythonFunction

BITS: dict[type[DataType], int] = {ByteType: 8, ShortType: 16, IntegerType: 32, LongType: 64}
STRINGS = (StringType, CharType, VarcharType)
EXACT: dict[type[DataType], type] = {
    **dict.fromkeys(BITS, int),
    **dict.fromkeys(STRINGS, str),
    BooleanType: bool,
    DoubleType: float,
}
"""Types of results that are internal values already, if Python's type is this one."""
SEEN_AS_THEY_ARE = (*EXACT, FloatType)


class RowCall:
    """One function over some columns of a batch."""

    def __init__(
        self, function: PythonFunction, arguments: Sequence[tuple[int, DataType]], kind: int, conf: RunnerConf
    ) -> None:
        self._name = function.name
        self._function, self._type = load(function)
        self._arguments = [(i, _reader(seen, conf)) for i, seen in arguments]
        self._threads = conf.arrow_concurrency_level if kind == PythonEvalType.SQL_ARROW_BATCHED_UDF else 0
        self._fits = _fits(self._type)
        if kind == PythonEvalType.SQL_BATCHED_UDF:
            self._convert: Callable[[list[Any]], Result] = partial(_converted, pickled_result(self._type))
        else:
            self._convert = _arrow_results(self._type, conf)

    def __call__(self, batch: Batch) -> Result:
        """The results for a batch's rows."""
        count = len(batch)
        arguments = [read(batch, i) for i, read in self._arguments]
        with failing(self._name, "failed"):
            results = self._called(arguments) if arguments else [self._function() for _ in range(count)]
        if len(results) != count:
            raise FunctionFailed(f"Python function {self._name!r} raised StopIteration, which would lose rows")
        if self._fits is not None and self._fits(results):
            return results
        with failing(self._name, f"returned what doesn't fit its declared type {self._type.simpleString()}"):
            return self._convert(results)

    def _called(self, arguments: list[Iterable[Any]]) -> list[Any]:
        if self._threads <= 0:
            return list(map(self._function, *arguments))
        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(self._function, *arguments))


def _reader(kind: DataType, conf: RunnerConf) -> Callable[[Batch, int], Iterable[Any]]:
    """What gives a column's values as users see them."""
    if isinstance(kind, SEEN_AS_THEY_ARE) or (isinstance(kind, BinaryType) and conf.binary_as_bytes):
        return _values
    convert = ArrowTableToRowsConversion._create_converter(
        kind, none_on_identity=True, binary_as_bytes=conf.binary_as_bytes
    )
    schema = arrow_schema(StructType().add("_0", kind))

    def read(batch: Batch, i: int) -> Iterable[Any]:
        column = batch.arrow.column(i) if batch.is_arrow else table_of(schema, [(row[i],) for row in batch.rows])[0]
        values: list[Any] = column.to_pylist()
        return values if convert is None else [convert(value) for value in values]

    return read


def _values(batch: Batch, i: int) -> Iterable[Any]:
    if batch.is_arrow:
        values: list[Any] = batch.arrow.column(i).to_pylist()
        return values
    return map(itemgetter(i), batch.rows)


def _fits(kind: DataType) -> Callable[[list[Any]], bool] | None:
    """Whether all results are internal values already."""
    exact = EXACT.get(type(kind))
    if exact is None:
        return None
    allowed = frozenset((exact, type(None)))
    if exact is not int:
        return lambda results: allowed.issuperset(map(type, results))
    limit = 1 << (BITS[type(kind)] - 1)

    def fits(results: list[Any]) -> bool:
        if not allowed.issuperset(map(type, results)):
            return False
        numbers = [number for number in results if number is not None]
        return not numbers or (min(numbers) >= -limit and max(numbers) < limit)

    return fits


def _converted(convert: Callable[[Any], Any], results: list[Any]) -> Result:
    return list(map(convert, results))


def _arrow_results(kind: DataType, conf: RunnerConf) -> Callable[[list[Any]], Result]:
    """As PySpark converts the results of its Arrow-optimised functions: all of a batch at once."""
    convert = LocalDataToArrowConversion._create_converter(
        kind, none_on_identity=True, int_to_decimal_coercion_enabled=conf.int_to_decimal_coercion_enabled
    )
    target = arrow_schema(StructType().add("_0", kind)).field(0).type

    def converted(results: list[Any]) -> Result:
        values = results if convert is None else [convert(result) for result in results]
        try:
            return pa.array(values, type=target)
        except pa.ArrowInvalid:
            return pa.array(values).cast(target_type=target, safe=conf.safecheck)

    return converted
