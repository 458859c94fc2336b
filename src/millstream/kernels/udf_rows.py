"""Plain Python functions, called row by row.

Where the internal values are what users see, nothing is converted, and results of just the declared
type are taken as they are. Everything else goes through PySpark's own converters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
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
    DateType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
)
from pyspark.util import PythonEvalType
from pyspark.worker import RunnerConf

from millstream.errors import FunctionFailed
from millstream.kernels.batch import Batch, array_of, arrow_schema, internal_type
from millstream.kernels.udf_code import Result, failing, load
from millstream.kernels.udf_pickled import pickled_result
from millstream.plan.algebra import PythonFunction

BITS: dict[type[DataType], int] = {ByteType: 8, ShortType: 16, IntegerType: 32, LongType: 64}
STRINGS = (StringType, CharType, VarcharType)
SEEN_AS_THEY_ARE = (*BITS, *STRINGS, BooleanType, DoubleType, FloatType)
EPOCH = datetime(1970, 1, 1)
EPOCH_UTC = datetime(1970, 1, 1, tzinfo=UTC)
EPOCH_DAY = EPOCH.toordinal()
TAKEN: dict[type[DataType], tuple[type, Callable[[Any], Any] | None]] = {
    **dict.fromkeys(BITS, (int, None)),
    **dict.fromkeys(STRINGS, (str, None)),
    BooleanType: (bool, None),
    DoubleType: (float, None),
    DateType: (date, lambda day: day.toordinal() - EPOCH_DAY),
}
"""What Python's type a result must have to be an internal value already, or to become one quickly."""
TAKEN_BY_ARROW = TAKEN | {
    TimestampType: (datetime, lambda time: _micros(time.astimezone(UTC) - EPOCH_UTC)),
    TimestampNTZType: (datetime, lambda time: _micros(time - EPOCH)),
}


class RowCall:
    """One function over some columns of a batch."""

    def __init__(
        self, function: PythonFunction, arguments: Sequence[tuple[int, DataType]], kind: int, conf: RunnerConf
    ) -> None:
        self._name = function.name
        self._function, result = load(function)
        self._misfit = f"returned what doesn't fit its declared type {result.simpleString()}"
        self._threads = conf.arrow_concurrency_level if kind == PythonEvalType.SQL_ARROW_BATCHED_UDF else 0
        pickled = kind == PythonEvalType.SQL_BATCHED_UDF
        self._arguments = [(i, _reader(seen, conf, pickled)) for i, seen in arguments]
        self._take = _taker(result, TAKEN if pickled else TAKEN_BY_ARROW)
        if pickled:
            self._convert: Callable[[list[Any]], Result] = partial(_converted, pickled_result(result))
        else:
            self._convert = _arrow_results(result, conf)

    def __call__(self, batch: Batch) -> Result:
        """The results for a batch's rows."""
        count = len(batch)
        with failing(self._name, "failed"):
            arguments = [read(batch, i) for i, read in self._arguments]
            results = self._called(arguments) if arguments else [self._function() for _ in range(count)]
        if len(results) != count:
            raise FunctionFailed(f"Python function {self._name!r} raised StopIteration, which would lose rows")
        with failing(self._name, self._misfit):
            taken = self._take(results)
            return self._convert(results) if taken is None else taken

    def _called(self, arguments: list[Iterable[Any]]) -> list[Any]:
        if self._threads <= 0:
            return list(map(self._function, *arguments))
        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(self._function, *arguments))


def _reader(kind: DataType, conf: RunnerConf, pickled: bool) -> Callable[[Batch, int], Iterable[Any]]:
    """What gives a column's values as users see them."""
    if isinstance(kind, SEEN_AS_THEY_ARE) or (isinstance(kind, BinaryType) and conf.binary_as_bytes):
        return _values
    # The two eval types differ in the hour that comes twice: only pickled values say which one they are.
    seen = kind.fromInternal if pickled and isinstance(kind, TimestampType) else SEEN.get(type(kind))
    if seen is not None:
        return lambda batch, i: [None if v is None else seen(v) for v in _values(batch, i)]
    convert = ArrowTableToRowsConversion._create_converter(
        kind, none_on_identity=True, binary_as_bytes=conf.binary_as_bytes
    )
    arrow = arrow_schema(StructType().add("_0", kind)).field(0).type

    def read(batch: Batch, i: int) -> Iterable[Any]:
        column = batch.arrow.column(i) if batch.is_arrow else array_of([row[i] for row in batch.rows], arrow)
        values: list[Any] = column.to_pylist()
        return values if convert is None else [convert(value) for value in values]

    return read


def _values(batch: Batch, i: int) -> Iterable[Any]:
    """A flat column's internal values."""
    if not batch.is_arrow:
        return map(itemgetter(i), batch.rows)
    column = batch.arrow.column(i)
    values: list[Any] = column.cast(internal_type(column.type)).to_pylist()
    return values


def _local(micros: int) -> datetime:
    """A timestamp as PySpark shows it: in the zone of the Python process."""
    seconds, rest = divmod(micros, 1_000_000)
    return datetime.fromtimestamp(seconds).replace(microsecond=rest, fold=0)


SEEN: dict[type[DataType], Callable[[int], Any]] = {
    DateType: lambda days: date.fromordinal(days + EPOCH_DAY),
    TimestampType: _local,
    TimestampNTZType: lambda micros: EPOCH + timedelta(microseconds=micros),
}
"""Quicker than, and equal to, what PySpark's converters do."""


def _micros(delta: timedelta) -> int:
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def _encodable(texts: list[str | None]) -> bool:
    """Whether UTF-8 can say it all, which lone surrogates it can't."""
    try:
        "".join(filter(None, texts)).encode()
    except UnicodeEncodeError:
        return False
    return True


def _taker(
    kind: DataType, known: Mapping[type[DataType], tuple[type, Callable[[Any], Any] | None]]
) -> Callable[[list[Any]], list[Any] | None]:
    """What takes results over if all of them have just the right type."""
    if type(kind) not in known:
        return lambda results: None
    exact, convert = known[type(kind)]
    allowed = frozenset((exact, type(None)))
    limit = 1 << (BITS.get(type(kind), 64) - 1)

    def take(results: list[Any]) -> list[Any] | None:
        if not allowed.issuperset(map(type, results)):
            return None
        if convert is not None:
            return [None if result is None else convert(result) for result in results]
        if exact is str and not _encodable(results):
            return None
        if exact is int:
            numbers = [number for number in results if number is not None]
            if numbers and not (-limit <= min(numbers) and max(numbers) < limit):
                return None
        return results

    return take


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
