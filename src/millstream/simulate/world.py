"""Virtual time: events happen in order, and hours pass in milliseconds."""

from __future__ import annotations

import heapq
from collections.abc import Callable


class World:
    """A clock and what is going to happen."""

    def __init__(self) -> None:
        self.now = 0.0
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0

    def at(self, time: float, action: Callable[[], None]) -> None:
        """Have something happen at a time (or now, if that is past)."""
        self._count += 1
        heapq.heappush(self._agenda, (max(time, self.now), self._count, action))

    def run(self, until: Callable[[], bool], limit: float) -> bool:
        """Let time pass until a condition holds; false if the limit or the end of all events came first."""
        while not until():
            if not self._agenda or self._agenda[0][0] > limit:
                return False
            self.now, _, action = heapq.heappop(self._agenda)
            action()
        return True
