"""Aggregation by session windows: rows of a key whose sessions touch share a group, which grows with them."""

from __future__ import annotations

import pickle
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from millstream.kernels.batch import Row
from millstream.kernels.groups import Group, Groups
from millstream.kernels.state import NEVER, Clock, Deadlines, Keyed, KeyedFactory, Tally, checked
from millstream.plan.algebra import Aggregate, Unsupported

Session = tuple[int, int, Group]
"""Start, end and buffers."""


def sessions(node: Aggregate, mode: str) -> KeyedFactory:
    """The factory of partitions of an aggregation by session windows.

    Its rows are partial aggregates, the session as it would be for one row among their keys.
    """
    if mode == "append" and node.event_time is None:
        raise Unsupported("Aggregate", "append mode needs a watermark on the session's time")
    if mode == "update":
        raise Unsupported("Aggregate", "Spark has no update mode for session windows: sessions that grew would stay")
    assert node.session is not None
    position = [column for column, _ in node.keys].index(node.session)
    return checked(SessionsFactory(Groups.of(node, endless=mode == "complete"), position, mode))


@dataclass(frozen=True)
class SessionsFactory:
    """Makes the partitions."""

    groups: Groups
    position: int
    """Of the session among the keys."""
    mode: str

    @property
    def source(self) -> str:
        """The generated functions."""
        return self.groups.source

    def __call__(self) -> Keyed:
        """A partition without sessions."""
        return Sessions(self.groups, self.position, self.mode)


class Sessions:
    """The sessions of one partition: for each key they are in order, and no two touch."""

    def __init__(self, code: Groups, position: int, mode: str) -> None:
        self._code = code
        self._position = position
        self._mode = mode
        self._sessions: dict[Row, list[Session]] = {}
        self._total = 0
        self._ends = Deadlines()
        self._clock = Clock()
        self._tally = Tally()

    def update(self, rows: Iterable[Row], watermark: int | None, now: int) -> list[Row]:
        """The sessions that ended (append), or all if any changed (complete)."""
        changed = self._fold(rows)
        self._tally.updated += changed
        if self._mode == "complete":
            return self._code.emit(self._keyed(self._sessions.items())) if changed else []
        return self._code.emit(self._keyed(self._evict(self._clock.advance(watermark))))

    def _fold(self, rows: Iterable[Row]) -> int:
        """Add rows to sessions in the order of their times, as Spark does; returns how many were not late."""
        code, at = self._code, self._position
        keys = len(code.keys)
        late = self._clock.late if code.event_time is not None else NEVER
        changed = 0
        for row in sorted(rows, key=lambda row: row[at][0]):
            start, end = row[at]
            if end <= late:
                self._tally.late += 1
                continue
            key = code.key(row)
            group = code.new()
            code.merge(group, row[keys:])
            self._join(key[:at] + key[at + 1 :], (start, end, group))
            changed += 1
        return changed

    def _join(self, key: Row, session: Session) -> None:
        """Put a session among those of its key, as one with all that it touches."""
        known = self._sessions.setdefault(key, [])
        start, end, _ = session
        first = bisect_left(known, start, key=lambda s: s[1])
        after = first
        while after < len(known) and known[after][0] <= end:
            after += 1
        touching = sorted([*known[first:after], session], key=lambda s: s[0])
        group = touching[0][2]
        for _, _, more in touching[1:]:
            self._code.merge(group, more)
        end = max(s[1] for s in touching)
        known[first:after] = [(touching[0][0], end, group)]
        self._total += 2 - len(touching)
        if self._code.event_time is not None:
            self._ends.add(end, key)

    def _evict(self, watermark: int) -> list[tuple[Row, list[Session]]]:
        """The sessions that end by the watermark. A deadline may be an old one, of a session that grew."""
        ended = []
        for key in self._ends.due(watermark):
            known = self._sessions.get(key, [])
            count = bisect_right(known, watermark, key=lambda s: s[1])
            if count:
                ended.append((key, known[:count]))
                del known[:count]
            if not known:
                self._sessions.pop(key, None)
        count = sum(len(gone) for _, gone in ended)
        self._total -= count
        self._tally.removed += count
        return ended

    def _keyed(self, of: Iterable[tuple[Row, list[Session]]]) -> Iterable[tuple[Row, Group]]:
        """Sessions as groups: the session takes its place in the key again."""
        at = self._position
        for key, known in of:
            for start, end, group in known:
                yield (*key[:at], (start, end), *key[at:]), group

    def snapshot(self) -> bytes:
        """The watermark, the sessions, and the deadlines in their order."""
        return pickle.dumps((self._clock.late, self._sessions, list(self._ends)), 5)

    def restore(self, data: bytes) -> None:
        """Sessions end in the order in which they would have."""
        self._clock.late, self._sessions, ends = pickle.loads(data)
        self._total = sum(len(known) for known in self._sessions.values())
        self._tally.restored(self._total)
        self._ends = Deadlines()
        for end, key in ends:
            self._ends.add(end, key)

    def counts(self) -> dict[str, int]:
        """What happened to the sessions."""
        return self._tally.take(self._total)
