"""Counting sources: `millstream-rate`, and Spark's own `rate` and `rate-micro-batch` with the same rows as Spark."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql.types import StructType

from millstream.errors import InvalidOption
from millstream.io.generated import MAX_ROWS, NO_END, GeneratedReader, limit_of, schedule_of, start_of
from millstream.io.options import Given
from millstream.io.schedule import SECOND, Schedule
from millstream.kernels.batch import Batch

SCHEMA = StructType().add("timestamp", "timestamp").add("value", "long")
FEW = 32


class RateSource:
    """Row `n` has value `n`, is made at the schedule's instant for `n`, and its timestamp is that instant."""

    name = "millstream-rate"
    schema = SCHEMA
    OPTIONS = ("rowsPerSecond", "numPartitions", "rows", "schedule", "startTime", "maxRowsPerEpoch")

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        given = Given(self.name, options)
        given.check_names(self.OPTIONS)
        self.schedule = schedule_of(given, 1)
        self.start = start_of(given)
        self.count = given.whole("numPartitions", 0)
        self.limit = limit_of(given)
        self.max_rows = given.whole("maxRowsPerEpoch", MAX_ROWS, least=1)

    def partitions(self, slots: int) -> int:
        """As the option says, else one for each slot."""
        return self.count or slots

    def reader(self, partition: int, partitions: int) -> RateReader:
        """The reader of one partition."""
        return RateReader(self, partition, partitions)


class RateReader(GeneratedReader):
    """One partition's rows."""

    def rows(self, origin: int, first: int, stop: int) -> Batch:
        """As Python's rows if they are few, else as Arrow."""
        p, step = self.partition, self.partitions
        if stop - first <= FEW:
            stamp = self.stamp
            return Batch.of_rows(SCHEMA, [(origin + stamp(n), n) for n in range(first * step + p, stop * step, step)])
        stamps = self.stamps(first * step + p, stop * step, step) + origin
        return _batch(stamps, np.arange(first * step + p, stop * step, step, dtype=np.int64))

    def stamp(self, row: int) -> int:
        """One row's timestamp, in microseconds after row 0's."""
        return self.schedule.time(row)

    def stamps(self, first: int, stop: int, step: int) -> npt.NDArray[np.int64]:
        """Several rows' timestamps."""
        return self.schedule.times(first, stop, step)


def _batch(stamps: npt.NDArray[np.int64], values: npt.NDArray[np.int64]) -> Batch:
    times = pa.array(stamps).cast(pa.timestamp("us", "UTC"))
    return Batch.of_arrow(SCHEMA, pa.table([times, pa.array(values)], names=SCHEMA.names))


class SparkRateSource:
    """Spark's `rate`: the same values and timestamps (whole milliseconds, evenly within each second).

    Spark gives a second's rows when the second is over; here each comes when its own timestamp has.
    """

    schema = SCHEMA

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        given = Given("rate", options)
        rows = given.whole("rowsPerSecond", 1, least=1)
        ramp_up = int(given.seconds("rampUpTime", 0.0))
        values = [value_at(second, rows, ramp_up) for second in range(ramp_up + 2)]
        speeds = [after - before for before, after in itertools.pairwise(values)]
        self.schedule = Schedule([(speed, 1.0) for speed in speeds])
        self.start = int(time.time() * 1000) * 1000
        self.count = given.whole("numPartitions", 0)
        self.limit = NO_END
        self.max_rows = MAX_ROWS
        self.name = f"RateStreamV2[rowsPerSecond={rows}, rampUpTimeSeconds={ramp_up}]"

    def partitions(self, slots: int) -> int:
        """As the option says, else one for each slot."""
        return self.count or slots

    def reader(self, partition: int, partitions: int) -> SparkRateReader:
        """The reader of one partition."""
        return SparkRateReader(self, partition, partitions)


def value_at(second: int, rows: int, ramp_up: int) -> int:
    """How many rows Spark's `rate` has made when so many seconds are over.

    >>> [value_at(second, 10, 4) for second in range(7)]
    [0, 2, 6, 12, 20, 30, 40]
    """
    if second <= ramp_up:
        return rows // (ramp_up + 1) * second * (second + 1) // 2
    return value_at(ramp_up, rows, ramp_up) + (second - ramp_up) * rows


class SparkRateReader(RateReader):
    """As `millstream-rate`, but timestamps are rounded to milliseconds as Spark rounds them."""

    def stamp(self, row: int) -> int:
        return int(self.stamps(row, row + 1, 1)[0])

    def stamps(self, first: int, stop: int, step: int) -> npt.NDArray[np.int64]:
        schedule = self.schedule
        rows = np.arange(first, stop, step, dtype=np.int64)
        phase = np.searchsorted(np.array(schedule.counts), rows, side="right") - 1
        rates = np.array(schedule.rates)[phase]
        second, ahead = np.divmod(rows - np.array(schedule.counts)[phase], rates)
        millis = np.floor(ahead * (1000.0 / rates) + 0.5).astype(np.int64)
        times: npt.NDArray[np.int64] = np.array(schedule.starts)[phase] + second * SECOND + millis * 1000
        return times


class RateMicroBatchSource:
    """Spark's `rate-micro-batch`: every epoch is one batch of so many rows that share a timestamp."""

    schema = SCHEMA

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        given = Given("rate-micro-batch", options)
        given.required("rowsPerBatch")
        self.rows = given.whole("rowsPerBatch", 0, least=1)
        self.start = given.whole("startTimestamp", 0)
        self.advance = given.whole("advanceMillisPerBatch", 1000)
        self.count = given.whole("numPartitions", 0)
        if "numPartitions" in given and not self.count:
            raise InvalidOption("option 'numPartitions' of rate-micro-batch must be at least 1")
        self.name = f"RatePerMicroBatchStream[rowsPerBatch={self.rows}]"

    def partitions(self, slots: int) -> int:
        """As the option says, else one for each slot."""
        return self.count or slots

    def reader(self, partition: int, partitions: int) -> RateMicroBatchReader:
        """The reader of one partition."""
        return RateMicroBatchReader(self, partition, partitions)


class RateMicroBatchReader:
    """Every `partitions`-th row of each batch; an offset counts batches."""

    more = False

    def __init__(self, source: RateMicroBatchSource, partition: int, partitions: int) -> None:
        self.source = source
        self.partition = partition
        self.partitions = partitions
        self.limit = NO_END

    def initial(self) -> int:
        """Before the first batch."""
        return 0

    def latest(self, start: int, now: float) -> int:
        """One batch more, whenever it is asked."""
        return min(start + 1, max(start, self.limit))

    def freeze(self, start: int, now: float) -> None:
        """One batch is what there is, as Spark has it."""
        self.limit = start + 1

    def read(self, start: int, end: int) -> Batch:
        """The rows of some batches."""
        n = self.source.rows
        per_batch = [np.arange(b * n + self.partition, (b + 1) * n, self.partitions) for b in range(start, end)]
        stamps = [(self.source.start + b * self.source.advance) * 1000 for b in range(start, end)]
        if not per_batch:
            return Batch.of_rows(SCHEMA, [])
        times = np.repeat(np.array(stamps, dtype=np.int64), [len(values) for values in per_batch])
        return _batch(times, np.concatenate(per_batch))

    def close(self) -> None:
        """Nothing is held."""
