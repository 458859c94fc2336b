"""Any PySpark Python Data Source that reads streams: planned on one slot, read on all."""

from __future__ import annotations

import inspect
import json
import pickle
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource
from pyspark.sql.datasource_internal import _SimpleStreamReaderWrapper, _streamReader
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
from pyspark.sql.types import StructType
from pyspark.sql.worker.plan_data_source_read import records_to_arrow_batches

from millstream.kernels.batch import Batch

PIECE = 10_000
"""Rows in a batch when the source gives them one by one."""


class PythonSource:
    """A source by its pickled `DataSource`; an offset is the reader's own, as JSON text."""

    def __init__(self, format: str, pickled: bytes, schema: StructType) -> None:
        self.name = f"PythonDataSource[{format}]"
        self.schema = schema
        self.pickled = pickled
        self._made: tuple[DataSource, Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_made": None}

    def splitter(self) -> PythonSplitter:
        """The reader that plans."""
        return PythonSplitter(self)

    def read(self, split: Any) -> Iterable[Batch]:
        """The rows of one of the reader's partitions, or rows that its planning half has read already."""
        source, reader = self.instance()
        rows = iter(split) if isinstance(split, list) else reader.read(split)
        for batch in records_to_arrow_batches(rows, PIECE, self.schema, source):
            yield Batch.of_arrow(self.schema, pa.Table.from_batches([batch]))

    def instance(self) -> tuple[DataSource, Any]:
        """The data source and a reader of it, made once in a process."""
        if self._made is None:
            source = pickle.loads(self.pickled)
            self._made = source, _streamReader(source, self.schema)
        return self._made


class PythonSplitter:
    """The planning half of the reader."""

    def __init__(self, source: PythonSource) -> None:
        self.more = False
        self._reader = source.instance()[1]
        self._simple = self._reader.simple_reader if isinstance(self._reader, _SimpleStreamReaderWrapper) else None
        self._limited = bool(inspect.signature(self._reader.latestOffset).parameters)
        self._last: str | None = None
        self._read: tuple[str, str, list[Any]] | None = None

    def initial(self) -> str:
        """Where the reader begins."""
        return json.dumps(self._reader.initialOffset())

    def latest(self, start: str, now: float) -> str:
        """As far as the reader goes in one step."""
        if self._last is not None:
            self.more = False
            return self._last
        end = self._step(start)
        self.more = end != start and self._goes_on(end)
        return end

    def freeze(self, start: str, now: float) -> None:
        """Ask the reader to stop where it is; if it can't, take one step and no more."""
        reader = self._simple or self._reader
        if isinstance(reader, SupportsTriggerAvailableNow):
            reader.prepareForTriggerAvailableNow()
        else:
            self._last = self._step(start)

    def splits(self, start: str, end: str, wanted: int) -> list[Any]:
        """The reader's partitions; what a simple reader has just read is not read twice."""
        if start == end:
            return []
        if self._read and self._read[:2] == (start, end):
            return [self._read[2]]
        return list(self._reader.partitions(json.loads(start), json.loads(end)))

    def close(self) -> None:
        """Stop the reader, if it can be stopped."""
        if self._simple is None:
            self._reader.stop()

    def _step(self, start: str) -> str:
        if self._simple is not None:
            rows, end = self._simple.read(json.loads(start))
            self._read = start, json.dumps(end), list(rows)
            return self._read[1]
        if self._limited:
            return json.dumps(self._reader.latestOffset(json.loads(start), self._reader.getDefaultReadLimit()))
        return json.dumps(self._reader.latestOffset())

    def _goes_on(self, end: str) -> bool:
        """Whether to ask again at once: only a reader that goes in steps may have more."""
        if self._simple is None and not self._limited:
            return False
        reported = self._reader.reportLatestOffset()
        return reported is None or json.dumps(reported) != end
