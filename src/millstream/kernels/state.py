"""What a stateful operator looks like to the stage that runs it."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import Protocol

from millstream.kernels.batch import Row

NEVER = -(1 << 63)
"""A watermark before all event times."""


class Keyed(Protocol):
    """One partition of a stateful operator; it lives on the slot that owns the partition."""

    def update(self, rows: Iterable[Row], watermark: int | None, now: int) -> list[Row]:
        """Take all rows of an epoch in upstream order, and give the operator's output for it.

        The watermark is the one after this epoch: state up to it is evicted. Rows are late by the
        watermark of the epoch before. `now` is the epoch's time. Both are microseconds.
        """

    def snapshot(self) -> bytes:
        """The whole state."""

    def restore(self, data: bytes) -> None:
        """Go on from a state that `snapshot` returned."""

    def counts(self) -> dict[str, int]:
        """What happened since this was asked the last time: see `Tally`."""


class KeyedFactory(Protocol):
    """Makes the partitions of an operator on the slots; it is sent there, so it must be picklable and small."""

    @property
    def source(self) -> str:
        """The generated Python, as `explain(mode="code")` shows it."""

    def __call__(self) -> Keyed:
        """A partition without state."""


def checked(factory: KeyedFactory) -> KeyedFactory:
    """The factory, if all its code can be written: what has no kernel is to be said now, not on a slot."""
    assert factory.source
    return factory


class Tally:
    """What progress tells of an operator's state.

    All numbers are changes, so that the sum over epochs and partitions is the query's:
    `rows_total` is by how many the rows in the state became more.
    """

    def __init__(self) -> None:
        self.updated = self.removed = self.late = 0
        self._total = 0

    def restored(self, total: int) -> None:
        """Rows that came with a snapshot were counted where they came into being."""
        self._total = total

    def take(self, total: int) -> dict[str, int]:
        """The changes since the last call."""
        changes = {
            "rows_total": total - self._total,
            "rows_updated": self.updated,
            "rows_removed": self.removed,
            "rows_dropped_by_watermark": self.late,
        }
        self.updated = self.removed = self.late = 0
        self._total = total
        return changes


class Clock:
    """The watermarks of an operator: rows are late by the last epoch's, state ends by this epoch's."""

    def __init__(self) -> None:
        self.late = NEVER
        """The watermark before which rows are late."""

    def advance(self, watermark: int | None) -> int:
        """This epoch's watermark; it never goes back."""
        if watermark is not None and watermark > self.late:
            self.late = watermark
        return self.late


class Deadlines:
    """Keys by the event time at which they end, so that eviction looks only at what it evicts.

    >>> deadlines = Deadlines()
    >>> deadlines.add(20, ("b",)), deadlines.add(10, ("a",)), deadlines.add(20, ("c",))
    (None, None, None)
    >>> list(deadlines.due(15)), list(deadlines.due(20))
    ([('a',)], [('b',), ('c',)])
    """

    def __init__(self) -> None:
        self._keys: dict[int, list[Row]] = {}
        self._ends: list[int] = []

    def add(self, end: int, key: Row) -> None:
        """Remember a key until its end."""
        keys = self._keys.get(end)
        if keys is None:
            self._keys[end] = [key]
            heapq.heappush(self._ends, end)
        else:
            keys.append(key)

    def __iter__(self) -> Iterator[tuple[int, Row]]:
        """All ends and keys, in the order in which they will be due."""
        return ((end, key) for end in sorted(self._keys) for key in self._keys[end])

    def due(self, watermark: int) -> Iterator[Row]:
        """Forget and return the keys that end by the watermark, earliest first, then in the order they came."""
        ends = self._ends
        while ends and ends[0] <= watermark:
            yield from self._keys.pop(heapq.heappop(ends))
