"""A stage's partition on the slot that owns it, with its tasks that wait for their inputs."""

from __future__ import annotations

from math import inf

from millstream.core.graph import Graph
from millstream.core.messages import Offset, Range


class Waiting:
    """An inactive task: scheduled before its inputs exist, made active when none is missing."""

    __slots__ = ("blocks", "mark", "missing", "most")

    def __init__(self, width: int) -> None:
        self.blocks: list[bytes | None] = [None] * width
        self.missing = width
        self.mark: int | None = None
        """The least watermark among the inputs that are not idle."""
        self.most: int | None = None
        """The greatest."""


class Hosted:
    """One partition: which epoch is next, what its tasks have received, where its source stands."""

    __slots__ = (
        "active",
        "fixed",
        "idle",
        "is_source",
        "key",
        "marks",
        "next",
        "partition",
        "position",
        "positions",
        "reached",
        "ready",
        "stage",
        "stateful",
        "stop",
        "upstream",
        "waiting",
        "watermark",
        "width",
    )

    def __init__(self, graph: Graph, stage: int, partition: int, first: int, *, ready: bool) -> None:
        self.stage = stage
        self.partition = partition
        self.key = (stage, partition)
        self.next = first
        self.stop: float = inf
        """The last epoch to run here; finite once the partition has been given to another slot."""
        self.ready = ready
        """Not until its last owner has handed it over."""
        self.active = 0
        """The ticket of the task that runs now, if one does."""
        self.is_source = graph.stages[stage].is_source
        self.marks = self.is_source or graph.stages[stage].marks
        self.stateful = graph.stages[stage].stateful
        self.position: Offset = None
        self.fixed: dict[int, Range] = {}
        """Ranges that were decided before a loss, by epoch: a replay must use the same."""
        self.watermark: int | None = None
        self.reached: int | None = None
        """How far any input has come: that is the watermark, once all are idle and none holds it back."""
        self.idle = False
        inputs = range(len(graph.stages[stage].inputs))
        self.upstream = [graph.upstream(stage, i, partition) for i in inputs]
        self.positions = graph.block_positions(stage, partition)
        self.width = sum(map(len, self.upstream))
        self.waiting: dict[int, Waiting] = {}

    def take(self, waiting: Waiting) -> None:
        """Move the watermark on by what a task's inputs say; it never falls."""
        if waiting.most is not None and (self.reached is None or waiting.most > self.reached):
            self.reached = waiting.most
        mark = self.reached if waiting.mark is None else waiting.mark
        advanced = mark is not None and (self.watermark is None or mark > self.watermark)
        if advanced:
            self.watermark = mark
        self.idle = waiting.mark is None and not advanced

    def position_of(self, input: int, upstream: int) -> int:
        return self.positions[input].start + upstream - self.upstream[input].start

    def wants(self, epoch: int, position: int) -> bool:
        """Whether a block is still missing."""
        if epoch < self.next or (epoch == self.next and self.active):
            return False
        waiting = self.waiting.get(epoch)
        return waiting is None or waiting.blocks[position] is None

    def deposit(self, epoch: int, position: int, block: bytes, watermark: int | None) -> bool:
        """Take in a block; true when it was the last that the next task waited for."""
        waiting = self.waiting.get(epoch)
        if waiting is None:
            waiting = self.waiting[epoch] = Waiting(self.width)
        waiting.blocks[position] = block
        waiting.missing -= 1
        if watermark is not None:
            if waiting.mark is None or watermark < waiting.mark:
                waiting.mark = watermark
            if waiting.most is None or watermark > waiting.most:
                waiting.most = watermark
        return not waiting.missing and epoch == self.next
