"""Deduplication: the first row of each key passes."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from dataclasses import dataclass

from millstream.kernels.batch import Row
from millstream.kernels.expressions import Code
from millstream.kernels.generated import Generated
from millstream.kernels.keys import key_part, time_part
from millstream.kernels.state import Clock, Deadlines, Keyed, KeyedFactory, Tally, checked
from millstream.plan.algebra import Column, Columns, Deduplicate


def deduplication(node: Deduplicate) -> KeyedFactory:
    """The factory of a deduplication's partitions; its rows are the input's."""
    delay = node.delay if node.within_watermark else None
    return checked(DeduplicationFactory(node.input.output, node.keys, node.event_time, delay))


@dataclass(frozen=True)
class DeduplicationFactory(Generated):
    """Makes the partitions of a deduplication, and holds their code.

    A key is forgotten at its event time if that is a part of it, or, if there is a `delay`, that much
    later than its first row; otherwise never.
    """

    columns: Columns
    keys: Columns
    event_time: Column | None
    delay: int | None

    def __call__(self) -> Keyed:
        """A partition that has seen nothing."""
        return Deduplication(self)

    def write(self, code: Code) -> list[list[str]]:
        """The function that folds rows into the keys that were seen."""
        place = {column.id: i for i, column in enumerate(self.columns)}
        parts = [key_part(c.type, f"row[{place[c.id]}]", code) for c in self.keys]
        timed = self.event_time
        time = "None" if timed is None else time_part(timed.type, f"row[{place[timed.id]}]")
        end = "time" if timed in self.keys else "None"
        if self.delay is not None:
            end = f"(time or 0) + {self.delay}"
        fold = [
            "def fold(rows, seen, ends, late, out):",
            "    dropped = 0",
            "    for row in rows:",
            f"        time = {time}",
            "        if time is not None and time <= late:",
            "            dropped += 1",
            "            continue",
            f"        key = ({''.join(f'{part}, ' for part in parts)})",
            "        if key not in seen:",
            f"            seen[key] = end = {end}",
            "            if end is not None:",
            "                ends.add(end, key)",
            "            out.append(row)",
            "    return dropped",
        ]
        return [fold]


class Deduplication:
    """The keys that one partition has seen, and when each is forgotten."""

    def __init__(self, code: DeduplicationFactory) -> None:
        self._fold = code.function("fold")
        self._seen: dict[Row, int | None] = {}
        self._ends = Deadlines()
        self._clock = Clock()
        self._tally = Tally()

    def update(self, rows: Iterable[Row], watermark: int | None, now: int) -> list[Row]:
        """The rows whose keys are new, in order."""
        out: list[Row] = []
        self._tally.late += self._fold(rows, self._seen, self._ends, self._clock.late, out)
        self._tally.updated += len(out)
        for key in self._ends.due(self._clock.advance(watermark)):
            del self._seen[key]
            self._tally.removed += 1
        return out

    def snapshot(self) -> bytes:
        """The watermark and the keys."""
        return pickle.dumps((self._clock.late, self._seen), 5)

    def restore(self, data: bytes) -> None:
        """Keys are forgotten when they would have been."""
        self._clock.late, self._seen = pickle.loads(data)
        self._tally.restored(len(self._seen))
        self._ends = Deadlines()
        for key, end in self._seen.items():
            if end is not None:
                self._ends.add(end, key)

    def counts(self) -> dict[str, int]:
        """What happened to the keys."""
        return self._tally.take(len(self._seen))
