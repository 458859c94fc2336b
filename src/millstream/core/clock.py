"""The epochs' clock: which epochs may close by now, on a grid that every slot computes for itself."""

from __future__ import annotations

from collections import deque
from math import inf

from millstream.core.messages import Group


class EpochClock:
    """Epoch `first + i` of a group closes at `starts_at + (i + 1) * interval`.

    When a source is late, several epochs are due at once and run back to back. An interval of zero
    means back to back always.

    >>> clock = EpochClock()
    >>> clock.add(Group(id=0, first=0, epochs=3, starts_at=10.0, interval=0.5))
    >>> clock.at(11.2), clock.due, clock.next_close
    (True, 1, 11.5)
    """

    def __init__(self, now: float = 0.0) -> None:
        self.now = now
        self.due: float = -1
        self.next_close: float = inf
        """When the next epoch closes; infinite when none is waiting to."""
        self._groups: deque[Group] = deque()

    def add(self, group: Group) -> None:
        """Learn of the next group; its epochs follow those of the one before."""
        if self._groups and self._groups[-1].id == group.id:
            return
        self._groups.append(group)
        self.at(self.now)

    def at(self, now: float) -> bool:
        """Move time on; true if another epoch has become due."""
        self.now = now
        before = self.due
        while self._groups:
            group = self._groups[0]
            closed = group.epochs if group.interval == 0 else int((now - group.starts_at) / group.interval + 1e-9)
            if closed > 0:
                self.due = max(self.due, group.first + min(closed, group.epochs) - 1)
            if closed < group.epochs:
                self.next_close = group.starts_at + (max(closed, 0) + 1) * group.interval
                break
            self._groups.popleft()
        else:
            self.next_close = inf
        return self.due > before
