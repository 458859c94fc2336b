"""Jobs for the simulator whose right answer is known without running them on it.

Every record is a number; every stage changes it by a fixed function and sends it on. So the multiset
of records that a sink must have received follows from the graph alone, whatever the ranges of the
epochs were, and each epoch's output follows from the ranges that its results name.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from random import Random

from millstream.core.events import Run
from millstream.core.graph import Graph, Input, Stage, Structure
from millstream.core.messages import Range
from millstream.core.node import Product

SHAPES: dict[str, Graph] = {
    "one stage": Graph((Stage("read", 6),)),
    "shuffle": Graph((Stage("read", 4), Stage("sink", 7, (Input(0),)))),
    "two shuffles": Graph((Stage("read", 4), Stage("middle", 5, (Input(0),)), Stage("sink", 3, (Input(1),)))),
    "fan-out and fan-in": Graph((
        Stage("read", 3),
        Stage("other", 2),
        Stage("left", 4, (Input(0), Input(1))),
        Stage("right", 3, (Input(0, Structure.ONE_TO_ONE),)),
        Stage("sink", 5, (Input(2), Input(3))),
    )),
    "tree": Graph((
        Stage("read", 8),
        Stage("pairs", 4, (Input(0, Structure.TREE),)),
        Stage("fours", 2, (Input(1, Structure.TREE),)),
        Stage("sink", 1, (Input(2, Structure.TREE),)),
    )),
    "broadcast": Graph((
        Stage("read", 2),
        Stage("all", 4, (Input(0, Structure.BROADCAST),)),
        Stage("sink", 2, (Input(1),)),
    )),
}  # fmt: skip
"""Every structure of exchange, fan-out, fan-in, and more than one exchange."""

STATEFUL: dict[str, Graph] = {
    "counts": Graph((Stage("read", 4), Stage("sink", 6, (Input(0),), stateful=True))),
    "counts of counts": Graph((
        Stage("read", 3), Stage("first", 4, (Input(0),), stateful=True), Stage("sink", 5, (Input(1),), stateful=True),
    )),
}  # fmt: skip

MODULUS = (1 << 61) - 1


def change(stage: int, record: int) -> int:
    """What a stage makes of a record."""
    return (record * 6364136223846793005 + stage * 1442695040888963407 + 1) % MODULUS


def source_record(stage: int, partition: int, offset: int) -> int:
    """A record that no other offset, partition or stage has."""
    return (stage << 40) + (partition << 24) + offset


def route(graph: Graph, stage: int, partition: int, records: Iterable[int]) -> tuple[dict[int, list[int]], ...]:
    """A task's records by edge and consumer partition."""
    outputs = []
    for edge in graph.edges[stage]:
        blocks: dict[int, list[int]] = {}
        targets = graph.downstream(stage, edge, partition)
        for record in records:
            if edge.structure is Structure.SHUFFLE:
                blocks.setdefault(targets[record % len(targets)], []).append(record)
            else:
                for target in targets:
                    blocks.setdefault(target, []).append(record)
        outputs.append(blocks)
    return tuple(outputs)


def expected(graph: Graph, ranges: Iterable[Range]) -> dict[tuple[int, int], Counter[int]]:
    """What the sinks receive when the sources are read over some ranges: the job without any engine."""
    arriving: dict[tuple[int, int], list[int]] = {}
    for r in ranges:
        records = [source_record(r.stage, r.partition, offset) for offset in range(r.start, r.end)]
        arriving.setdefault((r.stage, r.partition), []).extend(records)
    received: dict[tuple[int, int], Counter[int]] = {}
    for stage, spec in enumerate(graph.stages):
        for partition in range(spec.partitions):
            records = [change(stage, record) for record in arriving.get((stage, partition), [])]
            if not graph.edges[stage]:
                received[stage, partition] = Counter(records)
            for edge, blocks in zip(graph.edges[stage], route(graph, stage, partition, records)):
                for target, block in blocks.items():
                    arriving.setdefault((edge.consumer, target), []).extend(block)
    return received


class JobBody:
    """Kernels of such a job. A source decides its ranges by chance, differently on every slot and try."""

    def __init__(self, graph: Graph, chance: Random, records: int, last_epoch: int) -> None:
        self.now = 0.0
        self._graph = graph
        self._chance = chance
        self._records = records
        self._last_epoch = last_epoch
        self._counts: dict[tuple[int, int], int] = {}
        self._kept: dict[int, dict[tuple[int, int], tuple[dict[int, bytes], ...]]] = {}

    def host(self, stage: int, partition: int, state: bytes | None) -> None:
        self._counts[stage, partition] = int(state) if state else 0

    def drop(self, stage: int, partition: int) -> None:
        del self._counts[stage, partition]

    def snapshot(self, stage: int, partition: int) -> bytes | None:
        return str(self._counts[stage, partition]).encode()

    def run(self, task: Run) -> Product:
        stage, partition = task.stage, task.partition
        if self._graph.stages[stage].is_source:
            start = task.start or 0
            end = task.end
            if end is None:
                left = self._records - start
                end = self._records if task.epoch >= self._last_epoch else start + min(left, self._chance.randint(0, 4))
            records = [source_record(stage, partition, offset) for offset in range(start, end)]
        else:
            end = None
            records = [record for block in task.blocks if block for record in json.loads(block)]
        records = [change(stage, record) for record in records]
        self._counts[stage, partition] += len(records)
        outputs = tuple(
            {target: json.dumps(block).encode() for target, block in blocks.items()}
            for blocks in route(self._graph, stage, partition, records)
        )
        result = None
        if not outputs:
            result = json.dumps([self._counts[stage, partition], records]).encode()
        watermark = task.epoch if self._graph.stages[stage].is_source and records else task.watermark
        return Product(outputs, watermark, end, result, len(records))

    def keep(self, stage: int, partition: int, epoch: int, outputs: tuple[dict[int, bytes], ...]) -> None:
        self._kept.setdefault(epoch, {})[stage, partition] = outputs

    def kept(self, stage: int, partition: int, epoch: int) -> tuple[dict[int, bytes], ...]:
        return self._kept[epoch][stage, partition]

    def release(self, epoch: int) -> None:
        for old in [e for e in self._kept if e <= epoch]:
            del self._kept[old]

    def disconnect(self, slot: int) -> None:
        pass
