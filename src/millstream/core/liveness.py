"""Who is alive: a slot that has not been heard of for several heartbeats is lost."""

from __future__ import annotations


class Liveness:
    """Heartbeats of slots, and which of them have stopped.

    >>> alive = Liveness(every=0.05, missed=8)
    >>> alive.heard(1, now=0.0)
    >>> [alive.expired(now) for now in (0.15, 0.3, 0.45)]
    [[], [], [1]]
    """

    def __init__(self, *, every: float = 0.05, missed: int = 8) -> None:
        self.limit = every * missed
        self._last: dict[int, float] = {}
        self._checked = 0.0

    def heard(self, slot: int, now: float) -> None:
        self._last[slot] = now

    def forget(self, slot: int) -> None:
        self._last.pop(slot, None)

    def expired(self, now: float) -> list[int]:
        """Slots that have been silent for too long; each is named once.

        If the watcher itself was held up, silence proves nothing: everyone is given the time again.
        """
        held_up = now - self._checked > self.limit / 2
        self._checked = now
        if held_up:
            self._last = {slot: max(last, now - self.limit / 2) for slot, last in self._last.items()}
        silent = [slot for slot, last in self._last.items() if now - last > self.limit]
        for slot in silent:
            del self._last[slot]
        return silent
