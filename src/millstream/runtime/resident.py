"""The engine proper: a driver thread here, slots resident on Spark's executors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

from millstream.core.events import Fail
from millstream.plan.plan import Plan
from millstream.runtime.driver import Driver
from millstream.runtime.offers import Offers, driver_host, loopback
from millstream.runtime.options import Options
from millstream.runtime.slot import Offer


class ResidentEngine:
    """Runs a plan among resident slots."""

    def __init__(
        self, spark: SparkSession, plan: Plan, options: Options, tag: str, on_effect: Callable[[Any], None]
    ) -> None:
        context = spark.sparkContext
        self.driver = Driver(plan, options, driver_host(context), on_effect)
        offer = Offer(self.driver.mailbox.address, self.driver.keys, options, loopback(context))
        self.offers = Offers(context, offer, options.slots, tag, self._no_slots)

    @property
    def dispatched(self) -> int:
        """The number of the next group to be dispatched: no source has decided anything for it yet."""
        return self.driver.coordinator.groups

    def start(self) -> None:
        """Start slots; epochs begin when they have joined."""
        try:
            started = self.offers.start()
        except Exception:
            self.driver.mailbox.close()
            raise
        self.driver.start(started)

    def stop(self) -> None:
        """End everything: returns when no task, thread or port is left."""
        self.driver.stop()
        self.offers.stop()

    def _no_slots(self, problem: str) -> None:
        self.driver.submit(Fail("slots", problem))
