"""What a query costs when nothing happens, and whether it grows when a lot does."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
from pyspark.sql import SparkSession

from millstream.api.query import Query
from millstream.bench.coordination import two_stages
from millstream.bench.wordcount import word_count
from millstream.runtime.resident import ResidentEngine


def _driver_of(query: Query) -> Any:
    assert isinstance(query.body, ResidentEngine)
    return query.body.driver


def _processes(query: Query) -> list[psutil.Process]:
    """This process and the slots'; not the JVM."""
    return [psutil.Process(), *(psutil.Process(pid) for _, pid in _driver_of(query).hosts.values())]


def _cpu_seconds(process: psutil.Process) -> float:
    """CPU time of all threads, in the scheduler's nanoseconds: the usual ticks miscount short wake-ups."""
    try:
        threads = list(Path(f"/proc/{process.pid}/task").iterdir())
        return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9
    except OSError:
        return float(sum(process.cpu_times()[:2]))


def _wait_for(condition: Callable[[], bool], query: Query) -> None:
    while not condition():
        if query.awaitTermination(0.05):
            raise RuntimeError("the query ended before the measurement")


def idle(spark: SparkSession, *, slots: int, interval: float, seconds: float, group_size: int) -> dict[str, Any]:
    """CPU of an idle query, all processes but the JVM, and what the driver says to slots."""
    plan = word_count(0.0, time.time(), readers=slots, counters=2 * slots)
    options = {"slots": slots, "interval": interval, "groupSize": group_size}
    query = Query.start(spark, plan, options)
    try:
        _wait_for(lambda: query.epochs > 0, query)
        time.sleep(2.0)
        courier = _driver_of(query).node.courier
        processes = _processes(query)
        before = [_cpu_seconds(p) for p in processes]
        epochs, out, back, began = query.epochs, courier.messages_out, courier.messages_in, time.perf_counter()
        time.sleep(seconds)
        took = time.perf_counter() - began
        used = [_cpu_seconds(p) - b for p, b in zip(processes, before)]
        groups = (query.epochs - epochs) / group_size
        return {
            "bench": "idle", "slots": slots, "epoch_ms": interval * 1000, "seconds": round(took, 1),
            "cpu_share_of_a_core": round(sum(used) / took, 4),
            "cpu_share": {"driver": round(used[0] / took, 4), "slots": [round(u / took, 4) for u in used[1:]]},
            "epochs_per_s": round((query.epochs - epochs) / took, 2),
            "messages_per_group_and_slot": {
                "out": round((courier.messages_out - out) / max(groups, 1e-9) / slots, 2),
                "back": round((courier.messages_in - back) / max(groups, 1e-9) / slots, 2),
            },
        }  # fmt: skip
    finally:
        query.stop()


def memory(
    spark: SparkSession, *, slots: int, epochs: int, group_size: int, progress: Callable[[str], None]
) -> dict[str, Any]:
    """Resident memory after a tenth of the epochs and after all of them, at full speed."""
    early = epochs // 10
    options = {"slots": slots, "interval": 0, "groupSize": group_size}
    query = Query.start(spark, two_stages(slots), options)
    readings = {}
    try:
        began = time.perf_counter()
        for mark in (early, epochs):
            _wait_for(lambda mark=mark: query.epochs >= mark, query)  # type: ignore[misc]
            sizes = [p.memory_info().rss / 2**20 for p in _processes(query)]
            readings[str(mark)] = {"driver_mb": round(sizes[0], 1), "slots_mb": [round(s, 1) for s in sizes[1:]]}
            progress(f"{query.epochs:,} epochs: {readings[str(mark)]}")
        took = time.perf_counter() - began
    finally:
        query.stop()
    first, last = readings[str(early)], readings[str(epochs)]
    growth = last["driver_mb"] - first["driver_mb"], max(
        b - a for a, b in zip(first["slots_mb"], last["slots_mb"])
    )  # fmt: skip
    return {
        "bench": "memory", "slots": slots, "epochs": epochs, "rss": readings,
        "growth_mb": {"driver": round(growth[0], 1), "slot": round(growth[1], 1)},
        "ms_per_epoch": round(took / epochs * 1000, 3), "host_cores": os.cpu_count(),
    }  # fmt: skip
