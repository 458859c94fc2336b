"""Thousands of unlucky runs: for every seed, the output must be that of a run without faults."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from millstream.core.coordinator import Pace
from millstream.core.events import Begin, Complete, Deliver, Fail
from millstream.core.messages import COORDINATOR, Range
from millstream.simulate.cluster import Costs, SimCluster
from millstream.simulate.job import SHAPES, STATEFUL, JobBody, expected

KINDS = ("delay", "loss", "duplicate", "reorder", "slow", "partition", "crash", "restart", "join")


class FaultyNetwork:
    """Delays, loses, doubles and reorders envelopes, and cuts pairs of nodes off for a while."""

    def __init__(self, chance: Random, count: Counter[str]) -> None:
        self.chance = chance
        self.count = count
        self.wire = chance.choice((20e-6, 200e-6, 2e-3))
        self.loss = chance.choice((0, 0, 0.01, 0.1))
        self.duplicate = chance.choice((0, 0, 0.02, 0.2))
        self.delay = chance.choice((0, 0.02, 0.2))
        self.ordered = chance.random() < 0.5
        self.cuts: list[tuple[float, float, frozenset[int]]] = []
        self._last: dict[tuple[int, int], float] = {}

    def arrivals(self, now: float, sender: int, to: int) -> list[float]:
        """When an envelope arrives: perhaps late, twice or never."""
        chance = self.chance
        if any(start <= now < end and {sender, to} == pair for start, end, pair in self.cuts):
            self.count["partition"] += 1
            return []
        if self.loss and chance.random() < self.loss:
            self.count["loss"] += 1
            return []
        copies = 1
        if self.duplicate and chance.random() < self.duplicate:
            self.count["duplicate"] += 1
            copies = 2
        times = []
        for _ in range(copies):
            time = now + self.wire * (0.5 + chance.random())
            if self.delay and chance.random() < self.delay:
                self.count["delay"] += 1
                time += chance.expovariate(1 / 0.05)
            last = self._last.get((sender, to), 0.0)
            if self.ordered:
                time = max(time, last)
            elif time < last:
                self.count["reorder"] += 1
            self._last[sender, to] = max(time, last)
            times.append(time)
        return times


@dataclass
class Outcome:
    """What came of one seed."""

    seed: int
    problem: str | None = None
    epochs: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    trace: list[str] = field(default_factory=list)


def run_seed(seed: int, keep_trace: bool = False) -> Outcome:
    """Run one seed; the same seed always does the same.

    >>> run_seed(7).problem is None
    True
    """
    chance = Random(seed)
    outcome = Outcome(seed)
    stateful = chance.random() < 0.25
    graph = chance.choice(list((STATEFUL if stateful else SHAPES).values()))
    mode = chance.choices(("grouped", "prescheduled", "bsp"), (6, 1, 1))[0]
    epochs = chance.randint(20, 60)
    pace = Pace(mode, chance.choice((0.0, 0.005, 0.02)), chance.randint(1, 20), epochs)
    records = chance.randint(0, 120)
    network = FaultyNetwork(chance, outcome.faults)
    delivered: dict[tuple[int, int, int], Deliver] = {}
    ended: list[Any] = []

    def on_effect(effect: Any) -> None:
        if keep_trace:
            outcome.trace.append(f"{cluster.world.now:9.4f} {effect}")
        if isinstance(effect, Deliver):
            key = (effect.stage, effect.partition, effect.epoch)
            if key in delivered:
                ended.append(Fail("twice", f"{key} was delivered twice"))
            delivered[key] = effect
        elif isinstance(effect, Complete | Fail):
            ended.append(effect)

    costs = Costs(task=chance.choice((20e-6, 1e-3)), wire=network.wire)
    cluster = SimCluster(
        graph, pace, costs, lambda: JobBody(graph, chance, records, epochs - 1), network,
        in_flight=chance.choice((1, 2, 8)), on_effect=on_effect,
    )  # fmt: skip
    world = cluster.world
    for _ in range(chance.randint(2, 5)):
        slowness = 1.0
        if chance.random() < 0.2:
            outcome.faults["slow"] += 1
            slowness = chance.choice((5.0, 50.0))
        cluster.join(slowness)
    cluster.driver.on(Begin())
    _plan_faults(cluster, network, chance, outcome.faults, stateful)
    finished = world.run(lambda: bool(ended), limit=600.0)
    outcome.epochs = cluster.driver.coordinator.ledger.covered + 1
    if not finished:
        outcome.problem = f"stuck after epoch {outcome.epochs - 1} at {world.now:.3f}s"
    elif isinstance(ended[0], Fail):
        outcome.problem = ended[0].text
    else:
        outcome.problem = check(graph, epochs, records, delivered)
    return outcome


def _plan_faults(
    cluster: SimCluster, network: FaultyNetwork, chance: Random, count: Counter[str], stateful: bool
) -> None:
    world = cluster.world

    def perhaps(probability: float, action: Callable[[], None]) -> None:
        for _ in range(3):
            if chance.random() < probability:
                world.at(chance.uniform(0.0, 0.6), action)

    def crash() -> None:
        living = [number for number, slot in cluster.slots.items() if slot.alive]
        if not living:
            return
        count["crash"] += 1
        number = chance.choice(living)
        cluster.slots[number].crash()
        if chance.random() < 0.5:
            world.at(world.now + 0.001, lambda: cluster.driver.lose(number, "its connection closed"))
        if len(living) == 1 or chance.random() < 0.7:
            world.at(world.now + chance.uniform(0.001, 1.0), restart)

    def restart() -> None:
        count["restart"] += 1
        cluster.join()

    def join() -> None:
        count["join"] += 1
        cluster.join()

    def cut() -> None:
        pair = chance.sample([COORDINATOR, *cluster.slots], 2)
        if stateful and COORDINATOR in pair:
            return
        network.cuts.append((world.now, world.now + chance.uniform(0.01, 1.5), frozenset(pair)))
        if COORDINATOR in pair:
            world.at(world.now + 2.0, restart)

    perhaps(0.3, join)
    perhaps(0.3, cut)
    if not stateful:
        perhaps(0.4, crash)
    else:
        cluster.driver.node.liveness.limit = float("inf")


def check(graph: Any, epochs: int, records: int, delivered: dict[tuple[int, int, int], Deliver]) -> str | None:
    """What is wrong with the output, if anything is."""
    sinks = [(s, p) for s, stage in enumerate(graph.stages) if not graph.edges[s] for p in range(stage.partitions)]
    total: dict[tuple[int, int], Counter[int]] = {sink: Counter() for sink in sinks}
    for epoch in range(epochs):
        ranges: dict[tuple[int, int], Range] = {}
        for sink in sinks:
            result = delivered.get((*sink, epoch))
            if result is None:
                return f"nothing was delivered for {sink} in epoch {epoch}"
            for r in result.lineage:
                if ranges.setdefault((r.stage, r.partition), r) != r:
                    return (
                        f"two ranges for {r.stage, r.partition} in epoch {epoch}: {ranges[r.stage, r.partition]}, {r}"
                    )
        right = expected(graph, [r._replace(start=r.start or 0) for r in ranges.values()])
        for sink in sinks:
            running, got = json.loads(delivered[*sink, epoch].payload)
            if Counter(got) != right[sink]:
                return f"epoch {epoch} at {sink} is not what its ranges give"
            total[sink].update(got)
            if graph.stages[sink[0]].stateful and running != total[sink].total():
                return f"the state of {sink} after epoch {epoch} counts {running} of {total[sink].total()} records"
    everything = [Range(s, p, 0, 0, records) for s in graph.sources for p in range(graph.stages[s].partitions)]
    if total != expected(graph, everything):
        return "the whole output differs from that of a run without faults"
    return None


def run_seeds(
    seeds: int, first: int = 0, workers: int = 2, progress: Callable[[int], None] = lambda done: None
) -> dict[str, Any]:
    """Run many seeds on all cores; the report names those that failed."""
    failed: list[dict[str, Any]] = []
    faults: Counter[str] = Counter(dict.fromkeys(KINDS, 0))
    epochs = 0
    with ProcessPoolExecutor(workers) as pool:
        outcomes = pool.map(partial(run_seed), range(first, first + seeds), chunksize=10)
        for done, outcome in enumerate(outcomes, 1):
            progress(done)
            epochs += outcome.epochs
            faults += outcome.faults
            if outcome.problem:
                failed.append({"seed": outcome.seed, "problem": outcome.problem})
    counts = {kind: faults[kind] for kind in KINDS}
    return {"simulate": "faults", "seeds": seeds, "failed": failed, "epochs": epochs, "faults": counts}
