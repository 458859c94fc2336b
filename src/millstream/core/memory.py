"""What a slot remembers of uncovered epochs: the source ranges it has seen, and whose blocks it keeps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from millstream.core.messages import Group, Range

Key = tuple[int, int]


class Kept(NamedTuple):
    """A finished task whose blocks may be asked for again."""

    stage: int
    partition: int
    watermark: int | None
    lineage: tuple[Range, ...]


class Memory:
    """Forgets an epoch once it is covered, and not before."""

    def __init__(self) -> None:
        self.covered = -1
        self._ranges: dict[int, dict[Key, Range]] = {}
        self._kept: dict[int, list[Kept]] = {}

    def see(self, epoch: int, lineage: Iterable[Range]) -> None:
        """Note the ranges that somebody's blocks derive from."""
        known = self._ranges.setdefault(epoch, {})
        for r in lineage:
            known[r.stage, r.partition] = r

    def lineage(self, epoch: int) -> tuple[Range, ...]:
        """All ranges of an epoch that were seen: what this slot's own blocks may derive from."""
        return tuple(self._ranges.get(epoch, {}).values())

    def keep(self, epoch: int, task: Kept) -> None:
        """Note that the store holds a task's blocks."""
        self._kept.setdefault(epoch, []).append(task)

    def kept(self) -> Iterator[tuple[int, list[Kept]]]:
        """All tasks whose blocks are kept, by epoch."""
        return iter(self._kept.items())

    def find(self, stage: int, partition: int, epoch: int) -> Kept | None:
        """A task whose blocks are kept."""
        return next((t for t in self._kept.get(epoch, ()) if t.stage == stage and t.partition == partition), None)

    def seen(self) -> tuple[Range, ...]:
        """Every uncovered range that was seen."""
        return tuple(r for ranges in self._ranges.values() for r in ranges.values())

    def ranges_of(self, group: Group, keys: Iterable[Key]) -> tuple[Range, ...]:
        """For each of some source partitions, its range from the group's first epoch to its last."""
        first, last = self._ranges.get(group.first, {}), self._ranges.get(group.last, {})
        return tuple(
            Range(*key, group.last, first[key].start, last[key].end) for key in keys if key in first and key in last
        )

    def cover(self, epoch: int) -> bool:
        """Forget what is covered; false if it was already."""
        if epoch <= self.covered:
            return False
        for old in range(self.covered + 1, epoch + 1):
            self._ranges.pop(old, None)
            self._kept.pop(old, None)
        self.covered = epoch
        return True
