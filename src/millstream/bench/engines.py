"""The engines that are compared, each with the settings that serve it best on one machine."""

from __future__ import annotations

import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from millstream.api.options import Sorted, Trigger
from millstream.api.query import Query
from millstream.api.writer import write_stream
from millstream.bench.feed import Feed
from millstream.bench.results import collected
from millstream.bench.workloads import Workload
from millstream.io.collected import HandOver
from millstream.io.sink import ALL_MODES, SlotSinkFactory
from millstream.kernels.batch import Batch
from millstream.plan.stages import Settings, Stages
from millstream.plan.translate import translate

TABLE = "millstream_bench"

Take = Callable[[Batch], None]
"""What is done with rows as soon as they are at the driver."""


@dataclass(frozen=True)
class Setup:
    """What the engines of one run share."""

    spark: SparkSession
    workload: Workload
    folder: Path
    """For checkpoints."""
    slots: int
    interval: float = 0.01
    partial: bool = True


class Drained(NamedTuple):
    """A run over everything that was there."""

    seconds: float
    batches: list[Batch]


class Engine(ABC):
    """One way to run a query."""

    name: ClassVar[str]

    def __init__(self, setup: Setup) -> None:
        self.setup = setup

    @property
    @abstractmethod
    def settings(self) -> dict[str, str]:
        """What was set, and why."""

    @abstractmethod
    def drain(self, frame: DataFrame) -> Drained:
        """Run a query over everything that is there."""


class StreamEngine(Engine):
    """An engine that also runs on as rows come."""

    def drain(self, frame: DataFrame) -> Drained:
        """From the query's start to its end; its rows go to the memory sink."""
        began = time.perf_counter()
        writer = self.writer(frame).format("memory").queryName(TABLE)
        writer.trigger(availableNow=True).start().awaitTermination()
        seconds = time.perf_counter() - began
        return Drained(seconds, [collected(self.setup.spark.table(TABLE))])

    @abstractmethod
    def writer(self, frame: DataFrame) -> Any:
        """The frame's writer with the engine's settings."""

    @contextmanager
    def lines(self, options: Mapping[str, Any]) -> Iterator[DataFrame]:
        """The generated lines as a stream, by the source that serves the engine best."""
        source = self.setup.workload.source
        yield self.setup.spark.readStream.format(source.name).options(**options).load()

    @abstractmethod
    def start(self, frame: DataFrame, take: Take) -> Any:
        """Start a query that goes on, with its results going to `take`."""

    @abstractmethod
    def processed(self, query: Any) -> int:
        """How many rows of its source the query has done with."""


class Millstream(StreamEngine):
    """The engine that this package is."""

    name = "millstream"

    @property
    def settings(self) -> dict[str, str]:
        return {
            "slots": str(self.setup.slots),
            "epoch": f"{self.setup.interval * 1000:g} ms; from files back to back",
            "partialAggregation": "on" if self.setup.partial else "off",
            "sink": "memory from files; at a rate a sink at the driver, timed when the rows are there",
        }

    def writer(self, frame: DataFrame) -> Any:
        writer = write_stream(frame).outputMode(self.setup.workload.mode).option("slots", self.setup.slots)
        return writer.options(engine="millstream", partialAggregation=self.setup.partial)

    def start(self, frame: DataFrame, take: Take) -> Any:
        setup = self.setup
        settings = Settings(setup.slots, setup.workload.mode, partial=setup.partial)
        plan = Stages(settings).plan(translate(frame), HandOver)
        options = Sorted.of({"slots": setup.slots}).engine_options(Trigger(setup.interval), setup.slots)
        return Query.start(setup.spark, plan, options, sink=TakingSink(frame.schema, take))

    def processed(self, query: Any) -> int:
        return int(query.rows)


class WithoutPartial(Millstream):
    """The same without partial aggregation before the exchange, as in the figures of the paper."""

    name = "millstream-no-partial"

    def __init__(self, setup: Setup) -> None:
        super().__init__(replace(setup, partial=False))


class TakingSink:
    """The driver's half of a sink that gives rows to a function as they come."""

    name = "take"
    modes = ALL_MODES

    def __init__(self, schema: StructType, take: Take) -> None:
        self._schema = schema
        self._take = take

    def slot_half(self) -> SlotSinkFactory:
        return HandOver

    def take(self, partition: int, epoch: int, payload: bytes) -> None:
        self._take(Batch.from_bytes(self._schema, payload))

    def commit(self, epoch: int) -> None:
        """What is taken has arrived."""

    def close(self) -> None:
        """Nothing is held."""


class StructuredStreaming(StreamEngine):
    """Spark's own engine."""

    name = "structured-streaming"
    CONFIGURATION: ClassVar = {
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.streaming.numRecentProgressUpdates": "1000000",
    }

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        for name, value in self.CONFIGURATION.items():
            setup.spark.conf.set(name, value)
        setup.spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", str(self._waits).lower())

    @property
    def _waits(self) -> bool:
        """Whether rows wait for a watermark."""
        return self.setup.workload.delay > 0

    @property
    def settings(self) -> dict[str, str]:
        return {
            "spark.sql.shuffle.partitions": "2: a task for each core, and no more to schedule",
            "spark.sql.adaptive.enabled": "false: there is nothing to adapt in batches as small as these",
            "trigger": "at a rate none: the next batch starts as soon as one ends; from files availableNow",
            "maxFilesPerTrigger": "not limited: one large batch has the least overhead",
            "state store": "Spark's default, in memory: quicker than RocksDB for states of this size",
            "checkpoint": f"in {self.setup.folder}",
            "noDataMicroBatches": "on: they emit what waits" if self._waits else "off: they would only evict state",
            "source": "at a rate its own socket source, fed by a process of its own: a batch costs less than half of "
            "what it does with a Python Data Source, and Spark's rate source gives rows once a second only",
            "sink": "memory from files; at a rate foreachBatch with toArrow, timed when the rows are there",
        }

    def writer(self, frame: DataFrame) -> Any:
        checkpoint = tempfile.mkdtemp(dir=self.setup.folder)
        return frame.writeStream.outputMode(self.setup.workload.mode).option("checkpointLocation", checkpoint)

    @contextmanager
    def lines(self, options: Mapping[str, Any]) -> Iterator[DataFrame]:
        with Feed(self.setup.workload.source, options) as feed:
            yield self.setup.spark.readStream.format("socket").options(host="127.0.0.1", port=feed.port).load()

    def start(self, frame: DataFrame, take: Take) -> Any:
        return self.writer(frame).foreachBatch(lambda batch, number: take(collected(batch))).start()

    def processed(self, query: Any) -> int:
        return sum([progress.numInputRows for progress in query.recentProgress])
