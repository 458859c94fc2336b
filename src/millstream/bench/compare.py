"""What the command line asks for, checked, and the measurement that answers it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from millstream.bench import latency, throughput
from millstream.bench.workloads import WORKLOADS, Variant
from millstream.errors import InvalidOption
from millstream.io.options import seconds
from millstream.io.registry import register


@dataclass(frozen=True)
class Wanted:
    """The options of `millstream bench ysb` and its like."""

    workload: str
    maximum: bool
    rate: int | None
    events: int
    files: int
    repeat: int
    seconds: int
    interval: float
    """In milliseconds."""
    engines: list[str]
    slots: int
    window: str | None
    udf: bool
    partial: str

    def __post_init__(self) -> None:
        if self.maximum is (self.rate is not None):
            raise InvalidOption("say what to measure: --max (events per second) or --rate N (latency)")
        known = throughput.ENGINES if self.maximum else latency.ENGINES
        unknown = [name for name in self.engines if name not in known]
        if unknown:
            raise InvalidOption(f"engines are {', '.join(known)} here, not {', '.join(unknown)}")
        object.__setattr__(self, "window", duration(self.window) if self.window else None)


def duration(text: str) -> str:
    """A duration as Spark reads it.

    >>> duration("1s"), duration("10 seconds"), duration("500ms")
    ('1000000 microseconds', '10000000 microseconds', '500000 microseconds')
    """
    try:
        return f"{round(seconds(text) * 1_000_000)} microseconds"
    except ValueError:
        raise InvalidOption(f"a window's length is a duration such as 1s or '10 seconds', not {text!r}") from None


def run(spark: SparkSession, wanted: Wanted, progress: Callable[[str], None]) -> dict[str, Any]:
    """Measure."""
    spark.sparkContext.setLogLevel("ERROR")
    register(spark)
    workload, partial = WORKLOADS[wanted.workload](Variant(wanted.window, wanted.udf)), wanted.partial == "on"
    if wanted.rate is None:
        return throughput.run(
            spark, workload, engines=wanted.engines, events=wanted.events, files=wanted.files,
            slots=wanted.slots, repeat=wanted.repeat, partial=partial, progress=progress,
        )  # fmt: skip
    return latency.run(
        spark, workload, engines=wanted.engines, rate=wanted.rate, seconds=wanted.seconds,
        slots=wanted.slots, interval=wanted.interval / 1000, partial=partial, progress=progress,
    )  # fmt: skip
