"""Stages written as Python functions over records: read, transform, exchange by key, fold into state."""

from __future__ import annotations

import pickle
import time
import zlib
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from millstream.kernels.kernel import Product, Task

Transform = Callable[[Iterable[Any]], Iterable[Any]]


class Reader(Protocol):
    """A replayable source partition with whole numbers as offsets."""

    def initial(self) -> int:
        """The first offset."""

    def latest(self, start: int, now: float) -> int:
        """The offset after the last record that is there by `now`."""

    def read(self, start: int, end: int) -> Iterable[Any]:
        """The records of a range: the same ones each time."""


def bucket(key: Any, buckets: int) -> int:
    """The partition of a key; the same in every process.

    >>> bucket("millstream", 16)
    3
    """
    return zlib.crc32(key.encode() if isinstance(key, str) else repr(key).encode()) % buckets


class Stateless:
    """A kernel's part in moving between slots when it keeps no state."""

    def snapshot(self) -> bytes | None:
        """Nothing."""
        return None

    def restore(self, state: bytes) -> None:
        """Nothing."""


class ReadAndCount(Stateless):
    """Read, transform, and count records by key before the exchange (partial aggregation)."""

    def __init__(self, reader: Reader, transform: Transform, targets: int) -> None:
        self.reader = reader
        self.transform = transform
        self.targets = targets

    def initial(self) -> int:
        """Where the reader starts."""
        return self.reader.initial()

    def latest(self, start: int, now: float) -> int:
        """What the reader has by now."""
        return self.reader.latest(start, now)

    def run(self, task: Task) -> Product:
        """Counts by key, one block for each partition that has any."""
        counts: dict[Any, int] = {}
        for record in self.transform(self.reader.read(task.start, task.end)):
            counts[record] = counts.get(record, 0) + 1
        parts: dict[int, dict[Any, int]] = {}
        for key, count in counts.items():
            parts.setdefault(bucket(key, self.targets), {})[key] = count
        blocks = {target: pickle.dumps(part, 5) for target, part in parts.items()}
        rows = task.end - task.start
        return Product((blocks,), int(time.time() * 1e6) if rows else None, task.end, None, rows)


class MergeCounts:
    """Add up counts by key and emit those that changed in this epoch."""

    def __init__(self) -> None:
        self.counts: dict[Any, int] = {}

    def run(self, task: Task) -> Product:
        """The new counts of the epoch's keys."""
        counts = self.counts
        changed: dict[Any, int] = {}
        for block in task.inputs[0]:
            if block:
                for key, count in pickle.loads(block).items():
                    changed[key] = counts[key] = counts.get(key, 0) + count
        return Product((), task.watermark, None, pickle.dumps(changed, 5) if changed else None)

    def snapshot(self) -> bytes | None:
        """All counts."""
        return pickle.dumps(self.counts, 5)

    def restore(self, state: bytes) -> None:
        """All counts."""
        self.counts = pickle.loads(state)
