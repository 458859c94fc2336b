"""What coordination costs: the papers' micro-benchmark, in all modes, in one run.

Each task sums random numbers for about 20 µs; nearly all of the rest is coordination.
"""

from __future__ import annotations

import random
import struct
import time
from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

from millstream.api.query import Query
from millstream.bench.stats import percentiles
from millstream.core.graph import Input, Stage
from millstream.kernels.kernel import Product, Task
from millstream.kernels.python import Stateless
from millstream.plan.plan import Plan
from millstream.runtime.options import MODES

REDUCERS = 16
TASK_SECONDS = 20e-6
_number = struct.Struct("<d")


def sum_of_random_numbers(count: int) -> float:
    """The papers' task."""
    chance = random.random
    return sum([chance() for _ in range(count)])


def calibrate_work() -> int:
    """How many random numbers take about 20 µs on this machine."""
    count = 2000
    best = min(_time(count) for _ in range(50))
    return max(1, round(count * TASK_SECONDS / best))


def _time(count: int) -> float:
    began = time.perf_counter()
    sum_of_random_numbers(count)
    return time.perf_counter() - began


class Summing(Stateless):
    """The first stage: a source that makes its own numbers."""

    def __init__(self, count: int, targets: int) -> None:
        self.count = count
        self.targets = targets

    def initial(self) -> int:
        """Epochs are the offsets."""
        return 0

    def latest(self, start: int, now: float) -> int:
        """One more."""
        return start + 1

    def run(self, task: Task) -> Product:
        """A number for each reducer."""
        block = _number.pack(sum_of_random_numbers(self.count))
        outputs = (dict.fromkeys(range(self.targets), block),) if self.targets else ()
        return Product(outputs, None, task.end, None, 1)


class Reducing(Stateless):
    """The second stage: adds up what arrived, and its own share of work."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.total = 0.0

    def run(self, task: Task) -> Product:
        """Add up."""
        total = sum_of_random_numbers(self.count)
        for block in task.inputs[0]:
            total += _number.unpack(block)[0]
        self.total = total
        return Product((), task.watermark)


def single_stage(slots: int, count: int = 400) -> Plan:
    """One task for each slot, no exchange."""
    return Plan((Stage("sum", slots),), (lambda partition: Summing(count, 0),))


def two_stages(slots: int, count: int = 400) -> Plan:
    """The same and a shuffle to 16 reducers."""
    return Plan(
        (Stage("sum", slots), Stage("reduce", REDUCERS, (Input(0),))),
        (lambda partition: Summing(count, REDUCERS), lambda partition: Reducing(count)),
    )


def run(
    spark: SparkSession,
    *,
    slots: int,
    epochs: int,
    repeat: int,
    group_size: int,
    spark_epochs: int | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Milliseconds per epoch of each mode and job; every repeat is one trial, measured over all of its epochs."""
    count = calibrate_work()
    spark_epochs = spark_epochs or max(10, epochs // 10)
    result: dict[str, Any] = {"bench": "coordination", "slots": slots, "epochs": epochs, "repeat": repeat}
    jobs = {"single_stage": single_stage(slots, count), "two_stage": two_stages(slots, count)}
    trials: dict[tuple[str, str], list[float]] = {(job, mode): [] for job in jobs for mode in MODES}
    for trial in range(repeat):
        for job, plan in jobs.items():
            for mode in MODES:
                number = spark_epochs if mode == "spark" else epochs
                ms = measure(spark, plan, mode, slots=slots, epochs=number, group_size=group_size)
                trials[job, mode].append(ms)
                progress(f"trial {trial + 1}/{repeat}  {job:12}  {mode:12}  {ms:9.3f} ms per epoch")
    for job in jobs:
        result[job] = {mode: percentiles(trials[job, mode]) for mode in MODES}
    result["speedup"] = {job: round(result[job]["spark"]["p50"] / result[job]["grouped"]["p50"], 1) for job in jobs}
    result["numbers_per_task"] = count
    result["group_size"] = group_size
    result["epochs_of_spark"] = spark_epochs
    return result


WARM_UP = 3


def measure(spark: SparkSession, plan: Plan, mode: str, *, slots: int, epochs: int, group_size: int) -> float:
    """Milliseconds per epoch of one run, from the end of the warm-up to the last epoch's."""
    warm = WARM_UP if mode != "grouped" else WARM_UP * group_size
    options = {
        "mode": mode, "slots": slots, "interval": 0, "groupSize": group_size, "epochs": epochs + warm,
    }  # fmt: skip
    marks: list[tuple[int, float]] = []
    query = Query.start(
        spark, plan, options, on_commit=lambda done: marks.append((done.group.last, time.perf_counter()))
    )
    query.awaitTermination()
    begin = next(at for last, at in marks if last >= warm - 1)
    end_epoch, end = marks[-1]
    begin_epoch = next(last for last, at in marks if last >= warm - 1)
    return (end - begin) / (end_epoch - begin_epoch) * 1000
