"""Slots on Spark: one job for each, so that one can die alone, and new ones as long as some are missing.

Offers stand at the driver, not in Spark's queue: a task that waits there would take every core that
comes free, also the one that is left for the user's own jobs.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from pyspark import InheritableThread, SparkContext

from millstream.errors import NotEnoughCores
from millstream.runtime.slot import Offer, slot_task

log = logging.getLogger("millstream")

POLL = 0.25
QUICK = 5.0
GIVE_UP_AFTER = 4


def total_cores(context: SparkContext) -> int:
    """The cores that the application has now."""
    scala = context._jsc.sc()
    backend = getattr(scala, "schedulerBackend")()  # noqa: B009 (a Java member)
    if scala.isLocal():
        return int(backend.totalCores())
    return int(backend.totalCoreCount())


class Offers:
    """Starts slots and starts them again when they end, within what the cluster has."""

    _taken: dict[str, int] = {}
    _lock = threading.Lock()

    def __init__(self, context: SparkContext, offer: Offer, wanted: int, tag: str, on_failure: Callable[[str], None]):
        self.context = context
        self.offer = offer
        self.wanted = wanted
        self.tag = tag
        self.on_failure = on_failure
        self.started = 0
        self._application = context.applicationId
        self._threads: set[threading.Thread] = set()
        self._stopping = threading.Event()
        self._failures = 0
        self._short = False
        self._keeper: threading.Thread | None = None

    def start(self) -> int:
        """Start as many slots as there is room for; returns how many."""
        room = self._room()
        if room < 1:
            raise NotEnoughCores(
                f"no core is free for a slot: the cluster has {total_cores(self.context)} and one stays free for your "
                "own jobs. Give Spark more cores (for example master local[4], or millstream.local_session), "
                "or stop another query"
            )
        self._fill()
        self._keeper = InheritableThread(target=self._keep, name="millstream-offers", daemon=True)
        self._keeper.start()
        return self.started

    def _room(self) -> int:
        taken = Offers._taken.get(self._application, 0)
        return total_cores(self.context) - 1 - taken

    def _fill(self) -> None:
        with Offers._lock:
            missing = self.wanted - len(self._threads)
            room = self._room()
            if missing > room and not self._short:
                log.warning(
                    "asked for %d slots, but the cluster has room for %d (one core stays free for your own jobs); "
                    "the others start when cores are added", self.wanted, len(self._threads) + max(room, 0),
                )  # fmt: skip
            self._short = missing > room
            for _ in range(min(missing, room)):
                self._launch()

    def _launch(self) -> None:
        Offers._taken[self._application] = Offers._taken.get(self._application, 0) + 1
        self.started += 1
        thread = InheritableThread(target=self._hold, name=f"millstream-slot-{self.started}", daemon=True)
        self._threads.add(thread)
        thread.start()

    def _hold(self) -> None:
        """Run one slot's job; this thread lasts as long as the slot."""
        began = time.monotonic()
        problem = None
        try:
            self.context.addJobTag(self.tag)
            self.context.setJobDescription(f"millstream slot of {self.tag}")
            self.context.setLocalProperty("spark.scheduler.pool", "millstream")
            self.context.parallelize([0], 1).mapPartitions(slot_task(self.offer)).collect()
        except Exception as error:  # Spark wraps whatever ended the task
            problem = str(error)
        finally:
            with Offers._lock:
                Offers._taken[self._application] -= 1
                self._threads.discard(threading.current_thread())
        if problem is not None and not self._stopping.is_set() and not self._spark_stopped():
            self._judge(problem, time.monotonic() - began)

    def _judge(self, problem: str, lasted: float) -> None:
        self._failures = self._failures + 1 if lasted < QUICK else 1
        log.warning("a slot's Spark task ended after %.1fs: %s", lasted, problem.splitlines()[0])
        if self._failures >= GIVE_UP_AFTER:
            self.on_failure(f"Spark's tasks for slots end again and again. The last one said:\n{problem}")

    def _keep(self) -> None:
        while not self._stopping.wait(POLL):
            if self._spark_stopped():
                self.on_failure("the Spark session was stopped while the query was running: stop the query first")
                return
            self._fill()

    def _spark_stopped(self) -> bool:
        java = self.context._jsc
        return java is None or bool(java.sc().isStopped())

    def stop(self, patience: float = 2.0) -> None:
        """Start no more; wait for the slots to leave, then have Spark end those that do not."""
        self._stopping.set()
        if self._keeper is not None:
            self._keeper.join()
        if not self._join(patience) and not self._spark_stopped():
            self.context.cancelJobsWithTag(self.tag)
            self._join(patience)

    def _join(self, patience: float) -> bool:
        deadline = time.monotonic() + patience
        for thread in list(self._threads):
            thread.join(max(0.0, deadline - time.monotonic()))
        return not self._threads


def loopback(context: SparkContext) -> bool:
    """Whether all executors are on this machine by Spark's own account."""
    return bool(context.master.startswith("local"))


def driver_host(context: SparkContext) -> Any:
    """The address at which executors reach the driver."""
    return "127.0.0.1" if loopback(context) else context.getConf().get("spark.driver.host")
