"""Grouped aggregation: partial aggregates join their groups, and the output mode says which groups are emitted."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from dataclasses import dataclass

from millstream.kernels.batch import Row
from millstream.kernels.groups import Group, Groups
from millstream.kernels.state import Clock, Deadlines, Keyed, KeyedFactory, Tally, checked
from millstream.plan.algebra import Aggregate, Unsupported


def aggregation(node: Aggregate, mode: str) -> KeyedFactory:
    """The factory of an aggregation's partitions, for output mode append, update or complete.

    Its rows are partial aggregates: the keys' values, then the buffers of all calls.
    """
    if mode == "append" and node.event_time is None:
        raise Unsupported("Aggregate", "append mode needs a watermark on one of the keys")
    return checked(AggregationFactory(Groups.of(node, endless=mode == "complete"), mode))


@dataclass(frozen=True)
class AggregationFactory:
    """Makes the partitions of an aggregation."""

    groups: Groups
    mode: str

    @property
    def source(self) -> str:
        """The generated functions."""
        return self.groups.source

    def __call__(self) -> Keyed:
        """A partition without groups."""
        return Aggregation(self.groups, self.mode)


class Aggregation:
    """The groups of one partition."""

    def __init__(self, code: Groups, mode: str) -> None:
        self._code = code
        self._mode = mode
        self._groups: dict[Row, Group] = {}
        self._ends = Deadlines()
        self._clock = Clock()
        self._tally = Tally()

    def update(self, rows: Iterable[Row], watermark: int | None, now: int) -> list[Row]:
        """Groups that changed (update), that ended (append), or all if any changed (complete)."""
        code, groups = self._code, self._groups
        changed: dict[Row, Group] = {}
        self._tally.late += code.fold(rows, groups, changed, self._ends, self._clock.late)
        self._tally.updated += len(changed)
        if self._mode == "complete":
            return code.emit(groups.items()) if changed else []
        out = code.emit(changed.items()) if self._mode == "update" else []
        ended = [(key, groups.pop(key)) for key in self._ends.due(self._clock.advance(watermark))]
        self._tally.removed += len(ended)
        return code.emit(ended) if self._mode == "append" else out

    def snapshot(self) -> bytes:
        """The watermark and the groups."""
        return pickle.dumps((self._clock.late, self._groups), 5)

    def restore(self, data: bytes) -> None:
        """Groups end in the order in which they would have."""
        self._clock.late, self._groups = pickle.loads(data)
        self._tally.restored(len(self._groups))
        self._ends = Deadlines()
        for key in self._groups:
            end = self._code.end(key)
            if end is not None:
                self._ends.add(end, key)

    def counts(self) -> dict[str, int]:
        """What happened to the groups."""
        return self._tally.take(len(self._groups))
