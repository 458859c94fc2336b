"""Word count over a generated stream: the demo's query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random

from millstream.core.graph import Input, Stage
from millstream.kernels.python import MergeCounts, ReadAndCount
from millstream.plan.plan import Plan

WORDS = [
    "river",
    "mill",
    "stream",
    "wheel",
    "stone",
    "grain",
    "flour",
    "water",
    "spark",
    "epoch",
    "group",
    "slot",
    "stage",
    "block",
    "task",
    "key",
    "window",
    "state",
    "latency",
    "batch",
    "record",
    "source",
    "sink",
    "driver",
    "shuffle",
    "reduce",
    "map",
    "count",
    "time",
    "burst",
    "lease",
    "ledger",
    "quorum",
    "replay",
    "offset",
    "commit",
    "barrier",
    "marker",
    "plan",
    "graph",
    "edge",
    "node",
    "thread",
    "socket",
    "frame",
    "packet",
    "queue",
    "credit",
    "pressure",
]
WORDS_PER_LINE = 6


class Lines:
    """A source partition that makes lines of common and rare words at a steady rate; replayable by offset.

    >>> lines = Lines(partition=0, rate=100.0, origin=0.0)
    >>> lines.latest(0, now=1.5), list(lines.read(5, 8)) == list(lines.read(5, 8))
    (150, True)
    """

    MOST_AT_ONCE = 50_000

    def __init__(self, partition: int, rate: float, origin: float) -> None:
        self.partition = partition
        self.rate = rate
        self.origin = origin
        chance = Random(partition)
        weights = [1 / (rank + 1) for rank in range(len(WORDS))]
        self._pool = [" ".join(chance.choices(WORDS, weights, k=WORDS_PER_LINE)) for _ in range(1009)]

    def initial(self) -> int:
        """The first line."""
        return 0

    def latest(self, start: int, now: float) -> int:
        """Line `i` is there `i / rate` seconds after the origin; an epoch takes a bounded number."""
        return max(start, min(int((now - self.origin) * self.rate), start + self.MOST_AT_ONCE))

    def read(self, start: int, end: int) -> Iterator[str]:
        """The lines of a range."""
        pool = self._pool
        return (pool[offset % len(pool)] for offset in range(start, end))


def split(lines: Iterable[str]) -> Iterator[str]:
    """The words of lines."""
    return (word for line in lines for word in line.split())


def word_count(rate: float, origin: float, *, readers: int = 2, counters: int = 8) -> Plan:
    """Read and split, count per epoch, exchange by word, add up."""
    return Plan(
        (Stage("read, split, count", readers), Stage("add up", counters, (Input(0),), stateful=True)),
        (
            lambda partition: ReadAndCount(Lines(partition, rate / readers, origin), split, counters),
            lambda partition: MergeCounts(),
        ),
    )
