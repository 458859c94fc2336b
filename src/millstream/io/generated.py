"""What the generated sources share: row `i` of partition `p` of `P` is row `i * P + p` of a schedule."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import Protocol

from millstream.io.options import Given
from millstream.io.schedule import SECOND, Schedule
from millstream.kernels.batch import Batch

MAX_ROWS = 65_536
"""Rows of one partition and epoch: enough for three million a second at 50 epochs, and a few milliseconds' work."""

NO_END = 1 << 62

GeneratedOffset = list[int]
"""When row 0 was made, in microseconds, and the partition's next row; so a restart goes on with the same stream."""


def schedule_of(given: Given, rows_per_second: int) -> Schedule:
    """The schedule that the options `schedule` or `rowsPerSecond` name."""
    text = given.get("schedule")
    if text is not None:
        return Schedule.parse(text)
    return Schedule([(given.whole("rowsPerSecond", rows_per_second), 0.0)])


def start_of(given: Given) -> int:
    """When row 0 is made, in microseconds: the option `startTime` (seconds), or now."""
    return round(given.number("startTime", time.time()) * SECOND)


def limit_of(given: Given) -> int:
    """How many rows there ever are: the option `rows`, or no end."""
    return given.whole("rows", NO_END)


class GeneratedSource(Protocol):
    """What a generated source shares with its readers."""

    schedule: Schedule
    start: int
    limit: int
    max_rows: int


class GeneratedReader(ABC):
    """Rows that become available at the instants of a schedule."""

    def __init__(self, source: GeneratedSource, partition: int, partitions: int) -> None:
        self.schedule = source.schedule
        self.start = source.start
        self.partition = partition
        self.partitions = partitions
        self.max_rows = source.max_rows
        self.limit = source.limit
        self.more = False

    def initial(self) -> GeneratedOffset:
        """From row 0."""
        return [self.start, 0]

    def latest(self, start: GeneratedOffset, now: float) -> GeneratedOffset:
        """All rows that are due, up to the limit."""
        origin, first = start
        due = self._due(self._made(origin, now))
        end = min(due, first + self.max_rows)
        self.more = due > end
        return [origin, end] if end > first else start

    def freeze(self, start: GeneratedOffset, now: float) -> None:
        """The rows that are made by now are all that there ever are."""
        self.limit = self._made(start[0], now)

    def _made(self, origin: int, now: float) -> int:
        return min(self.schedule.count(int(now * SECOND) - origin), self.limit)

    def _due(self, made: int) -> int:
        """The partition's share of all rows."""
        return (made - self.partition + self.partitions - 1) // self.partitions

    def read(self, start: GeneratedOffset, end: GeneratedOffset) -> Batch:
        """The rows of a range."""
        return self.rows(start[0], start[1], end[1])

    @abstractmethod
    def rows(self, origin: int, first: int, stop: int) -> Batch:
        """The partition's rows from one number to another, when row 0 was made at `origin`."""

    def close(self) -> None:  # noqa: B027 (a default, not a hole)
        """Nothing is held."""
