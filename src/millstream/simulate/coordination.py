"""The papers' scaling figures: milliseconds per epoch on clusters larger than this machine.

The coordinator and local schedulers are the real ones; the time that their work takes is measured on
this machine. What stays a model is the network, taken as this machine's loopback for every pair, and
that a slot has a core of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any

from millstream.core.coordinator import Pace
from millstream.core.events import Begin, Committed, Complete, Run
from millstream.core.graph import Graph, Input, Stage
from millstream.core.node import Product
from millstream.simulate.cluster import Costs, SimCluster

REDUCERS = 16
GROUPS = {"spark": 5, "prescheduled": 10, "grouped": 3}
"""Measured groups (of one epoch, but in grouped mode)."""
WARM_UP = 2


class IdleBody:
    """Kernels that only pass the turn on."""

    def __init__(self, graph: Graph) -> None:
        self.now = 0.0
        self._outputs: list[tuple[dict[int, bytes], ...]] = [tuple({} for _ in edges) for edges in graph.edges]

    def run(self, task: Run) -> Product:
        """Empty blocks."""
        return Product(self._outputs[task.stage], None, task.epoch)

    def kept(self, stage: int, partition: int, epoch: int) -> tuple[dict[int, bytes], ...]:
        """Empty blocks."""
        return self._outputs[stage]

    def host(self, stage: int, partition: int, state: bytes | None) -> None:
        """Nothing to make."""

    def drop(self, stage: int, partition: int) -> None:
        """Nothing to let go."""

    def snapshot(self, stage: int, partition: int) -> bytes | None:
        """No state."""
        return None

    def keep(self, stage: int, partition: int, epoch: int, outputs: tuple[dict[int, bytes], ...]) -> None:
        """Nothing to keep."""

    def release(self, epoch: int) -> None:
        """Nothing to release."""

    def disconnect(self, slot: int) -> None:
        """Nobody is lost here."""


def epoch_ms(graph: Graph, slots: int, mode: str, group_size: int, costs: Costs) -> float:
    """Virtual milliseconds per epoch, after the first groups, which do not count.

    >>> graph = Graph((Stage("sum", 4),))
    >>> epoch_ms(graph, 4, "grouped", 10, Costs()) < epoch_ms(graph, 4, "spark", 10, Costs(dispatch=1e-3))
    True
    """
    size = group_size if mode == "grouped" else 1
    pace = Pace("bsp" if mode == "spark" else mode, 0.0, size, (GROUPS[mode] + WARM_UP) * size)
    commits: list[float] = []
    done: list[Complete] = []

    def on_effect(effect: Any) -> None:
        if isinstance(effect, Committed):
            commits.append(cluster.world.now)
        elif isinstance(effect, Complete):
            done.append(effect)

    cluster = SimCluster(graph, pace, costs, lambda: IdleBody(graph), on_effect=on_effect)
    cluster.driver.node.liveness.limit = inf  # a driver that is busy for long loses nobody here
    for _ in range(slots):
        cluster.join()
    cluster.driver.on(Begin())
    if not cluster.world.run(lambda: bool(done), limit=3600.0):
        raise RuntimeError(f"the simulated cluster of {slots} slots stood still in mode {mode}")
    return (commits[-1] - commits[WARM_UP - 1]) / (GROUPS[mode] * size) * 1000


def run(
    machines: Sequence[int],
    slots_per_machine: int,
    group_size: int,
    measured: dict[str, float],
    progress: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Both jobs on clusters of all sizes; `measured` names the costs in microseconds."""
    ours = Costs(**{name: measured[name] * 1e-6 for name in ("task", "schedule", "receive", "send", "wire")})
    spark = Costs(
        ours.task, 0.0, 0.0, 0.0, measured["spark_job"] * 1e-6, measured["spark_task"] * 1e-6,
        measured["spark_python_task"] * 1e-6, ours.wire,
    )  # fmt: skip
    modes = {"single_stage": ("spark", "grouped"), "two_stage": ("spark", "prescheduled", "grouped")}
    result: dict[str, Any] = {"simulate": "coordination", "machines": list(machines)}
    for job, of_job in modes.items():
        result[job] = {mode: [] for mode in of_job}
        for count in machines:
            slots = count * slots_per_machine
            stages: tuple[Stage, ...] = (Stage("sum", slots),)
            if job == "two_stage":
                stages += (Stage("reduce", REDUCERS, (Input(0),)),)
            for mode in of_job:
                costs = spark if mode == "spark" else ours
                ms = round(epoch_ms(Graph(stages), slots, mode, group_size, costs), 3)
                result[job][mode].append(ms)
                progress(f"{job:12}  {count:4} machines  {mode:12}  {ms:9.3f} ms per epoch")
    result["slots_per_machine"] = slots_per_machine
    result["group_size"] = group_size
    result["costs_us"] = measured
    result["costs_from"] = "measured on this machine; loopback stands for the network, one core for each slot"
    return result
