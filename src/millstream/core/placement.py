"""Who runs what: partitions on slots, computed once and reused until membership changes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from millstream.core.graph import ALL_TO_ALL, Edge, Graph

Owners = tuple[tuple[int, ...], ...]
"""Per stage, per partition: the slot that owns it."""


class Route(NamedTuple):
    """Where a task's blocks on one edge go: each slot with the consumer partitions it owns."""

    edge: Edge
    by_slot: tuple[tuple[int, tuple[int, ...]], ...]


class Placement:
    """An assignment of every partition to a slot, from one epoch on; routes are derived lazily."""

    def __init__(self, graph: Graph, first_epoch: int, owners: Owners) -> None:
        self.graph = graph
        self.first_epoch = first_epoch
        self.owners = owners
        self.slots = frozenset(slot for stage in owners for slot in stage)
        self._routes: dict[tuple[int, int], tuple[Route, ...]] = {}

    def owner(self, stage: int, partition: int) -> int:
        return self.owners[stage][partition]

    def owned_by(self, slot: int) -> list[tuple[int, int]]:
        return [(s, p) for s, stage in enumerate(self.owners) for p, owner in enumerate(stage) if owner == slot]

    def routes(self, stage: int, partition: int) -> tuple[Route, ...]:
        key = (stage, partition)
        found = self._routes.get(key)
        if found is None:
            found = self._routes[key] = tuple(self._route(stage, edge, partition) for edge in self.graph.edges[stage])
        return found

    def watched_by(self, slot: int) -> frozenset[int]:
        """The other slots that use, directly or not, what this slot's source partitions produce."""
        reached: list[set[int]] = [set() for _ in self.owners]
        for stage, partition in self.owned_by(slot):
            if self.graph.stages[stage].is_source:
                reached[stage].add(partition)
        for stage, edges in enumerate(self.graph.edges):
            for edge in edges:
                for partition in reached[stage]:
                    reached[edge.consumer].update(self.graph.downstream(stage, edge, partition))
                    if edge.structure in ALL_TO_ALL:
                        break
        return self._owners(reached, sources=False) - {slot}

    def watching(self, slot: int) -> frozenset[int]:
        """The other slots whose source partitions this slot's tasks depend on: the reverse."""
        reached: list[set[int]] = [set() for _ in self.owners]
        for stage, partition in self.owned_by(slot):
            reached[stage].add(partition)
        for stage in reversed(range(len(self.owners))):
            for position, read in enumerate(self.graph.stages[stage].inputs):
                for partition in reached[stage]:
                    reached[read.stage].update(self.graph.upstream(stage, position, partition))
                    if read.structure in ALL_TO_ALL:
                        break
        return self._owners(reached, sources=True) - {slot}

    def _owners(self, partitions: list[set[int]], sources: bool) -> frozenset[int]:
        return frozenset(
            self.owners[stage][partition]
            for stage, chosen in enumerate(partitions)
            if self.graph.stages[stage].is_source is sources
            for partition in chosen
        )

    def _route(self, stage: int, edge: Edge, partition: int) -> Route:
        by_slot: dict[int, list[int]] = {}
        for target in self.graph.downstream(stage, edge, partition):
            by_slot.setdefault(self.owners[edge.consumer][target], []).append(target)
        return Route(edge, tuple((slot, tuple(targets)) for slot, targets in by_slot.items()))


def place(graph: Graph, slots: Iterable[int]) -> Owners:
    """Spread every stage evenly; equal partition numbers share a slot, so one-to-one stays local."""
    members = sorted(slots)
    return tuple(tuple(members[p % len(members)] for p in range(stage.partitions)) for stage in graph.stages)


def rebalance(owners: Owners, slots: Collection[int], *, spread: bool = True) -> Owners:
    """The nearest assignment over `slots`, moving as few partitions as evenness allows.

    Partitions of slots that are gone move first, to the least loaded; then the fullest slots give
    one partition at a time to the emptiest (not if `spread` is false).

    >>> rebalance(((1, 2, 1, 2),), {1, 3})
    ((1, 3, 1, 3),)
    """
    members = sorted(slots)
    result = []
    totals = dict.fromkeys(members, 0)
    for stage_owners in owners:
        load = dict.fromkeys(members, 0)
        for owner in stage_owners:
            if owner in load:
                load[owner] += 1

        new = list(stage_owners)
        for partition, owner in enumerate(new):
            if owner not in totals:
                new[partition] = target = _lightest(load, totals)
                load[target] += 1
        while spread:
            source, target = max(load, key=lambda slot: (load[slot], slot)), _lightest(load, totals)
            if load[source] <= load[target] + 1:
                break
            given = max(partition for partition, owner in enumerate(new) if owner == source)
            new[given] = target
            load[source] -= 1
            load[target] += 1
        for slot, count in load.items():
            totals[slot] += count
        result.append(tuple(new))
    return tuple(result)


def _lightest(load: dict[int, int], totals: dict[int, int]) -> int:
    """The slot with the fewest partitions of a stage, then of all stages."""
    return min(load, key=lambda slot: (load[slot], totals[slot], slot))
