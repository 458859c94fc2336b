"""The epoch ledger: what the coordinator knows about every epoch that is not yet covered.

Which groups are out and who has reported them, which source ranges have been seen, where the sources
stood at the last covered epoch, and which results have been delivered.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from millstream.core.messages import Group, Offset, Output, Range, Report, Result

Key = tuple[int, int]


class OpenGroup:
    """A dispatched group that some slot has not reported yet."""

    def __init__(self, group: Group, expected: Iterable[int], stage: int | None) -> None:
        self.group = group
        self.stage = stage
        """The stage that runs now, when the driver coordinates stages; otherwise None."""
        self.produced: list[tuple[int, Output]] = []
        self._expect(expected)

    def _expect(self, slots: Iterable[int]) -> None:
        self.expected = set(slots)
        self.waiting_for = set(self.expected)
        self.reports: list[Report] = []

    def next_stage(self) -> None:
        """Every slot has finished the stage: now the next one."""
        assert self.stage is not None
        self.stage += 1
        self.waiting_for = set(self.expected)

    def take(self, slot: int, report: Report) -> bool:
        """Note a report; true when it was the last one that was missing."""
        if slot not in self.waiting_for or report.stages != (None if self.stage is None else (self.stage,)):
            return False
        self.waiting_for.discard(slot)
        self.reports.append(report)
        self.produced.extend((slot, out) for out in report.produced)
        return not self.waiting_for

    def reopen(self, expected: Iterable[int]) -> None:
        """After a loss every slot reports again, for the whole group."""
        self.stage = None
        self._expect(expected)


class Ledger:
    """Groups in order, from the first uncovered epoch on."""

    def __init__(self) -> None:
        self.open: deque[OpenGroup] = deque()
        self.covered = -1
        self.positions: dict[Key, Offset] = {}
        """Per source partition, where the first uncovered epoch starts."""
        self._seen: dict[int, dict[Key, Range]] = {}
        self._delivered: dict[int, set[Key]] = {}

    def find(self, group: int) -> OpenGroup | None:
        return next((entry for entry in self.open if entry.group.id == group), None)

    def see(self, ranges: Iterable[Range]) -> None:
        """Keep ranges that somebody's data depends on: a replay must use the same."""
        for r in ranges:
            if r.epoch > self.covered:
                self._seen.setdefault(r.epoch, {})[r.stage, r.partition] = r

    def first_delivery(self, result: Result) -> bool:
        """Whether this task's result is new; a replay's is not."""
        key = (result.stage, result.partition)
        self.see(result.lineage)
        if result.epoch <= self.covered:
            return False
        delivered = self._delivered.setdefault(result.epoch, set())
        if key in delivered:
            return False
        delivered.add(key)
        return True

    def commit(self) -> OpenGroup:
        """The oldest group is finished everywhere: its epochs are covered."""
        done = self.open.popleft()
        for epoch in range(self.covered + 1, done.group.last + 1):
            self._seen.pop(epoch, None)
            self._delivered.pop(epoch, None)
        self.covered = done.group.last
        for report in done.reports:
            for r in report.ranges:
                self.positions[r.stage, r.partition] = r.end
        return done

    def replay_ranges(self, key: Key) -> Iterator[Range]:
        """The ranges that a source partition must use again, without gaps, from the first uncovered epoch.

        An epoch that nobody has seen ends where the next known one starts: nothing depends on where
        within that gap it is cut.
        """
        known = {epoch: ranges[key] for epoch, ranges in self._seen.items() if key in ranges}
        position = self.positions.get(key)
        later = sorted(known)
        for epoch in range(self.covered + 1, later[-1] + 1 if later else 0):
            if epoch not in known:
                following = next(e for e in later if e > epoch)
                known[epoch] = Range(*key, epoch, position, known[following].start)
            position = known[epoch].end
            yield known[epoch]
