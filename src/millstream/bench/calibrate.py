"""What the simulator's costs are on this machine: each measured, none assumed."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from millstream.api.session import local_session
from millstream.core.coordinator import Pace
from millstream.core.courier import Envelope
from millstream.core.events import Begin
from millstream.core.graph import Graph, Input, Stage
from millstream.core.messages import Output, Range
from millstream.runtime.transport import Keys, Mailbox
from millstream.simulate.cluster import Costs, SimCluster
from millstream.simulate.coordination import IdleBody

TASK_US = 20.0
JVM_TASKS = (8, 64)
REPEAT = 9
SCHEDULER_THREADS = ("dag-scheduler", "dispatcher-", "task-result-getter", "task-starvation")


def measured(path: Path | None, progress: Callable[[str], None]) -> dict[str, float]:
    """Costs in microseconds: from a file if it is there, otherwise measured (and written to it)."""
    if path is not None and path.exists():
        costs: dict[str, float] = json.loads(path.read_text())
        progress(f"costs from {path}")
        return costs
    progress("measuring what scheduling, messages and Spark's tasks cost on this machine")
    costs = {"task": TASK_US, "schedule": _schedule(), **_messages()}
    spark = local_session(2)
    try:
        costs |= _spark(spark)
    finally:
        spark.stop()
    costs = {name: round(value, 2) for name, value in costs.items()}
    progress(f"costs in µs: {costs}")
    if path is not None:
        path.write_text(json.dumps(costs, indent=2))
    return costs


def _schedule() -> float:
    """Microseconds of Python for a task in the local scheduler: one slot with itself, no-op kernels."""
    epochs = 400
    graph = Graph((Stage("sum", 4), Stage("reduce", 4, (Input(0),))))
    ended: list[Any] = []
    cluster = SimCluster(
        graph, Pace("grouped", 0.0, epochs, epochs), Costs(), lambda: IdleBody(graph), on_effect=ended.append
    )
    cluster.join()
    cluster.driver.on(Begin())
    began = time.process_time()
    cluster.world.run(lambda: cluster.driver.coordinator.state == "ended", limit=60)
    return (time.process_time() - began) / (epochs * 8) * 1e6


def _messages(count: int = 2000) -> dict[str, float]:
    """Microseconds of CPU to send and to receive an envelope, and its time on the way."""
    keys = Keys.new()
    left, right = Mailbox(keys, "127.0.0.1"), Mailbox(keys, "127.0.0.1")
    envelope = Envelope(1, 1, 1, 1, (Output(0, 1, 1, 1, 0, {1: b"12345678"}, None, (Range(0, 1, 1, 1, 2),)),))
    try:
        left.connect(2, right.address)
        right.connect(1, left.address)
        for mailbox in (left, right):
            (left if mailbox is right else right).send(2 if mailbox is right else 1, envelope)
        _take(right, 1, left)
        _take(left, 1, right)
        trips = []
        cpu = time.process_time()
        for _ in range(count):
            began = time.perf_counter()
            left.send(2, envelope)
            _take(right, 1, left)
            right.send(1, envelope)
            _take(left, 1, right)
            trips.append(time.perf_counter() - began)
        each = (time.process_time() - cpu) / (2 * count)
    finally:
        left.close()
        right.close()
    way = statistics.median(trips) / 2
    return {"send": each / 2 * 1e6, "receive": each / 2 * 1e6, "wire": max(way - each, 10e-6) * 1e6}


def _take(mailbox: Mailbox, count: int, other: Mailbox) -> None:
    """Receive so many envelopes; the other mailbox answers its newcomers meanwhile."""
    taken = 0
    while taken < count:
        taken += len(mailbox.receive(0.01 if taken == 0 else 0.05)[0])
        if taken == 0:
            other.receive(0)


def _spark(spark: SparkSession) -> dict[str, float]:
    """Microseconds of the driver for a job and for each task in it, and of an executor to start a Python task.

    In local mode driver and executor share the JVM; the CPU time of the scheduler's own threads tells
    the driver's part.
    """
    few, many = JVM_TASKS
    wall = {tasks: _median(lambda tasks=tasks: _jvm_job(spark, tasks)) for tasks in JVM_TASKS}  # type: ignore[misc]
    before = _scheduler_cpu(spark)
    for _ in range(REPEAT):
        _jvm_job(spark, many)
    task = (_scheduler_cpu(spark) - before) / (REPEAT * many)
    job = max(wall[few] - few * (wall[many] - wall[few]) / (many - few), 0.0)
    python = _median(lambda: spark.sparkContext.parallelize(range(2), 2).foreach(lambda _: None))
    return {
        "spark_job": job * 1e6,
        "spark_task": task * 1e6,
        "spark_python_task": max(python - job - 2 * task, 0) * 1e6,
    }


def _scheduler_cpu(spark: SparkSession) -> float:
    """Seconds of CPU that the driver's scheduling threads have used."""
    beans = spark.sparkContext._jvm.java.lang.management.ManagementFactory.getThreadMXBean()
    total = 0
    for number in beans.getAllThreadIds():
        info = beans.getThreadInfo(number)
        if info is not None and info.getThreadName().startswith(SCHEDULER_THREADS):
            total += beans.getThreadCpuTime(number)
    return float(total) / 1e9


def _jvm_job(spark: SparkSession, tasks: int) -> None:
    """A job of no-op tasks without Python."""
    numbers = spark.sparkContext._jvm.java.util.ArrayList()
    for number in range(tasks):
        numbers.add(number)
    spark.sparkContext._jsc.parallelize(numbers, tasks).count()


def _median(job: Callable[[], Any], repeat: int = REPEAT) -> float:
    job()
    job()
    times = []
    for _ in range(repeat):
        began = time.perf_counter()
        job()
        times.append(time.perf_counter() - began)
    return statistics.median(times)
