"""The shape of a query: stages and the exchanges between them.

A graph says who depends on whom. It is fixed for the life of a plan, so everything that can be
derived from it (which partitions feed which) is derived once and reused for every epoch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum


class Structure(Enum):
    """The communication structure of an exchange: which upstream tasks a task waits for."""

    SHUFFLE = "shuffle"
    """Every upstream partition sends each downstream partition its own block."""
    BROADCAST = "broadcast"
    """Every upstream partition sends all downstream partitions the same block."""
    ONE_TO_ONE = "one-to-one"
    """Partition *i* feeds partition *i* and nobody else."""
    TREE = "tree"
    """Neighbouring upstream partitions feed one downstream partition (a tree reduction's level)."""


ALL_TO_ALL = frozenset({Structure.SHUFFLE, Structure.BROADCAST})
"""Structures in which every upstream partition feeds every downstream partition."""


class GraphError(ValueError):
    """The stages do not form a graph that can run."""


@dataclass(frozen=True, slots=True)
class Input:
    """An exchange as its consumer sees it: where blocks come from, and from which partitions."""

    stage: int
    structure: Structure = Structure.SHUFFLE


@dataclass(frozen=True, slots=True)
class Stage:
    """Operators that run together between two exchanges; without inputs it reads a source."""

    name: str
    partitions: int
    inputs: tuple[Input, ...] = ()
    stateful: bool = False
    marks: bool = False
    """Its tasks say by their own rows how far event time has come, as those of a source do."""

    @property
    def is_source(self) -> bool:
        return not self.inputs


@dataclass(frozen=True, slots=True)
class Edge:
    """An exchange as its producer sees it: one input of one consumer."""

    consumer: int
    input: int
    structure: Structure


@dataclass(frozen=True)
class Graph:
    """Stages in an order in which every input comes before its consumer.

    >>> graph = Graph((Stage("read", 4), Stage("sum", 2, (Input(0, Structure.TREE),))))
    >>> list(graph.upstream(1, 0, 1))
    [2, 3]
    """

    stages: tuple[Stage, ...]
    edges: tuple[tuple[Edge, ...], ...] = field(init=False)
    sources: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        if not self.stages:
            raise GraphError("a query needs at least one stage")
        edges: list[list[Edge]] = [[] for _ in self.stages]
        for index, stage in enumerate(self.stages):
            if stage.partitions < 1:
                raise GraphError(f"stage {stage.name!r} needs at least one partition")
            for position, read in enumerate(stage.inputs):
                if not 0 <= read.stage < index:
                    raise GraphError(f"stage {stage.name!r} reads stage {read.stage}, which does not precede it")
                self._check(self.stages[read.stage], stage, read.structure)
                edges[read.stage].append(Edge(index, position, read.structure))
        object.__setattr__(self, "edges", tuple(map(tuple, edges)))
        object.__setattr__(self, "sources", tuple(i for i, s in enumerate(self.stages) if s.is_source))

    @staticmethod
    def _check(up: Stage, down: Stage, structure: Structure) -> None:
        if structure is Structure.ONE_TO_ONE and up.partitions != down.partitions:
            raise GraphError(f"one-to-one needs equal partitions: {up.name!r} and {down.name!r}")
        if structure is Structure.TREE:
            arity = -(-up.partitions // down.partitions)
            if -(-up.partitions // arity) != down.partitions:
                raise GraphError(f"{up.partitions} partitions do not reduce to {down.partitions} of equal arity")

    def upstream(self, stage: int, input: int, partition: int) -> range:
        """The upstream partitions whose blocks a task waits for on one of its inputs."""
        read = self.stages[stage].inputs[input]
        width = self.stages[read.stage].partitions
        if read.structure is Structure.ONE_TO_ONE:
            return range(partition, partition + 1)
        if read.structure is Structure.TREE:
            arity = -(-width // self.stages[stage].partitions)
            return range(partition * arity, min(width, (partition + 1) * arity))
        return range(width)

    def downstream(self, stage: int, edge: Edge, partition: int) -> range:
        """The consumer partitions that one task's block (or blocks) on an edge go to."""
        width = self.stages[edge.consumer].partitions
        if edge.structure is Structure.ONE_TO_ONE:
            return range(partition, partition + 1)
        if edge.structure is Structure.TREE:
            target = partition // -(-self.stages[stage].partitions // width)
            return range(target, target + 1)
        return range(width)

    def block_positions(self, stage: int, partition: int) -> Sequence[range]:
        """Per input, the positions that its blocks take in a task's ordered list of blocks."""
        positions, start = [], 0
        for input in range(len(self.stages[stage].inputs)):
            size = len(self.upstream(stage, input, partition))
            positions.append(range(start, start + size))
            start += size
        return positions
