"""The sink's thread: results reach the sink in order, and a slow sink slows the sources instead of filling memory."""

from __future__ import annotations

import queue
import threading
import traceback
from collections.abc import Callable
from typing import Any

from millstream.core.events import Committed, Deliver
from millstream.io.sink import StreamSink

HIGH = 3
"""Groups that may wait for the sink before no more are dispatched."""


class Delivery:
    """Feeds one sink from a thread of its own."""

    def __init__(self, sink: StreamSink, hold: Callable[[bool], None], fail: Callable[[str], None]) -> None:
        self.sink = sink
        self.committed = -1
        """The last group that the sink has committed."""
        self._hold = hold
        self._fail = fail
        self._events: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._waiting = 0
        self._held = False
        self._lock = threading.Lock()
        self._moved = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="millstream-sink", daemon=True)

    def start(self) -> None:
        """Begin to take results."""
        self._thread.start()

    def put(self, event: Deliver | Committed) -> None:
        """Take a result, or learn that a group is finished."""
        if isinstance(event, Committed):
            self._count(1)
        self._events.put(event)

    def finish(self, timeout: float | None) -> bool:
        """Let the sink take everything that has come, then close it; false if it takes too long."""
        self._events.put(None)
        if self._thread.is_alive():
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def wait(self, until: Callable[[], bool], timeout: float) -> None:
        """Wait until something holds that a commit may change."""
        with self._moved:
            self._moved.wait_for(until, timeout)

    def _count(self, change: int) -> None:
        with self._lock:
            self._waiting += change
            held = self._waiting >= HIGH if change > 0 else self._waiting >= HIGH - 1
            if held is not self._held:
                self._held = held
                self._hold(held)

    def _run(self) -> None:
        try:
            while (event := self._events.get()) is not None:
                if isinstance(event, Deliver):
                    self.sink.take(event.partition, event.epoch, event.payload)
                else:
                    self.sink.commit(event.group.last)
                    self._count(-1)
                    with self._moved:
                        self.committed = event.group.id
                        self._moved.notify_all()
        except Exception:
            self._fail(f"the sink {self.sink.name} failed:\n{traceback.format_exc()}")
            while self._events.get() is not None:
                pass  # what still comes has nowhere to go
        finally:
            self.sink.close()
