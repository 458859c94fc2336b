"""The generated sources as PySpark Python Data Sources, so that Spark itself can read them, in a stream or in batch."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from millstream.errors import InvalidOption
from millstream.io.clicks import ClickSource
from millstream.io.events import EventSource
from millstream.io.generated import NO_END
from millstream.io.rate import RateSource
from millstream.io.tweets import TweetSource
from millstream.io.video import VideoSource
from millstream.io.ysb import YsbSource

PIECE = 32_768
"""Rows in one Arrow batch on their way to the JVM."""

Generated = RateSource | EventSource


@dataclass
class Rows(InputPartition):
    """Some rows of one partition."""

    partition: int
    partitions: int
    origin: int
    first: int
    stop: int


def pieces(source: Generated, rows: Rows) -> Iterator[pa.RecordBatch]:
    """The rows as Arrow batches."""
    reader = source.reader(rows.partition, rows.partitions)
    for first in range(rows.first, rows.stop, PIECE):
        batch = reader.rows(rows.origin, first, min(first + PIECE, rows.stop))
        yield from batch.arrow.to_batches()


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Takes all rows that are due in every micro-batch; an offset holds each partition's next row."""

    def __init__(self, source: Generated) -> None:
        count = source.partitions(os.cpu_count() or 1)
        self.source = source
        self.readers = [source.reader(p, count) for p in range(count)]

    def __reduce__(self) -> tuple[Any, ...]:
        return StreamReader, (self.source,)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 (PySpark's name)
        return {"origin": self.source.start, "rows": [0] * len(self.readers)}

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        now, origin = time.time(), start["origin"]
        return {"origin": origin, "rows": [r.latest([origin, n], now)[1] for r, n in zip(self.readers, start["rows"])]}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        now = time.time()
        for reader in self.readers:
            reader.freeze(reader.initial(), now)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        ranges = enumerate(zip(start["rows"], end["rows"]))
        return [Rows(p, len(end["rows"]), end["origin"], first, stop) for p, (first, stop) in ranges if stop > first]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Rows)
        return pieces(self.source, partition)


class BatchReader(DataSourceReader):
    """All rows of a stream that ends."""

    def __init__(self, source: Generated) -> None:
        if source.limit == NO_END:
            raise InvalidOption(f"{source.name} never ends; a batch of it needs the option 'rows'")
        self.source = source

    def partitions(self) -> Sequence[InputPartition]:
        source = self.source
        count = source.partitions(os.cpu_count() or 1)
        return [Rows(p, count, source.start, 0, (source.limit - p + count - 1) // count) for p in range(count)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Rows)
        return pieces(self.source, partition)


class GeneratedDataSource(DataSource):
    """What Spark asks for when it meets the format's name."""

    source: ClassVar[type[Generated]]

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self.source(options)  # a wrong option is said where the frame is made

    @classmethod
    def name(cls) -> str:
        return cls.source.name

    def schema(self) -> StructType:
        return self.source.schema

    def reader(self, schema: StructType) -> BatchReader:
        return BatchReader(self.source(self.options))

    def streamReader(self, schema: StructType) -> StreamReader:  # noqa: N802
        return StreamReader(self.source({"maxrowsperepoch": NO_END, **self.options}))


class RateDataSource(GeneratedDataSource):
    """`millstream-rate`."""

    source = RateSource


class YsbDataSource(GeneratedDataSource):
    """`millstream-ysb`."""

    source = YsbSource


class VideoDataSource(GeneratedDataSource):
    """`millstream-video`."""

    source = VideoSource


class TweetDataSource(GeneratedDataSource):
    """`millstream-tweets`."""

    source = TweetSource


class ClickDataSource(GeneratedDataSource):
    """`millstream-clicks`."""

    source = ClickSource


GENERATED = (RateDataSource, YsbDataSource, VideoDataSource, TweetDataSource, ClickDataSource)
"""What a session can be given."""
