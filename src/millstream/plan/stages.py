"""Relational algebra becomes stages: operators fused between exchanges, partial aggregation before each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from millstream.core.graph import Input, Stage
from millstream.io.sink import SlotSinkFactory
from millstream.kernels.aggregates import buffers_of
from millstream.kernels.aggregation import aggregation
from millstream.kernels.deduplication import deduplication
from millstream.kernels.kernel import KernelFactory
from millstream.kernels.keyed import FlatMapSpec, processing
from millstream.kernels.segment import Segment
from millstream.kernels.sessions import sessions
from millstream.kernels.stage import Body, Deliver, Exchange, KeepState, Outlet, Read, ReadSplits, Split, StepSpec
from millstream.kernels.state import KeyedFactory
from millstream.kernels.udfs import PythonSegment
from millstream.plan.algebra import (
    Aggregate,
    Column,
    Columns,
    Deduplicate,
    FlatMap,
    Node,
    PartialAggregate,
    Process,
    Project,
    PythonEval,
    PythonMap,
    Source,
    Unary,
    Union,
    Unsupported,
    Watermark,
)
from millstream.plan.plan import Plan
from millstream.plan.rewrite import fresh_column, parse_once


@dataclass(frozen=True)
class Settings:
    """What shapes the stages of a query."""

    slots: int = 2
    mode: str = "append"
    partitions: int = 0
    """Of each stage with keyed state; 0 means twice the slots."""
    kernel: str = "auto"
    partial: bool = True
    """Aggregate before the exchange."""
    drain: bool = False
    """Sources give what is there now, and no more."""
    folder: str | None = None
    """Where sources of files may note which they have taken up."""

    @property
    def reducers(self) -> int:
        """Partitions of a stage with keyed state."""
        return self.partitions or 2 * self.slots


@dataclass(frozen=True)
class Open:
    """A pipeline that still grows: a source, or the state that the last exchange feeds, and operators since."""

    head: Source | Node
    arriving: Columns
    inputs: tuple[int, ...]
    """Of a stage with state: the stages that feed it."""
    nodes: tuple[Node, ...] = ()

    @property
    def output(self) -> Columns:
        """The columns that come out by now."""
        return self.nodes[-1].output if self.nodes else self.head.output

    def then(self, *nodes: Node) -> Open:
        """The pipeline with more operators."""
        return replace(self, nodes=(*self.nodes, *nodes))


class Stages:
    """Builds the stages of one query, sources first."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.stages: list[Stage] = []
        self.factories: list[KernelFactory] = []

    def plan(self, node: Node, sink: SlotSinkFactory) -> Plan:
        """The whole query."""
        for pipeline in self._open(node):
            self._close(pipeline, Deliver(sink), "deliver")
        return Plan(tuple(self.stages), tuple(self.factories))

    def _open(self, node: Node) -> list[Open]:
        """The pipelines whose rows, together, are a relation's."""
        if isinstance(node, Source):
            return [Open(node, node.output, ())]
        if isinstance(node, Union):
            return [self._as(o, node.output) for child in node.inputs for o in self._open(child)]
        if isinstance(node, Aggregate):
            return [self._aggregate(node)]
        if isinstance(node, (Deduplicate, Process)):
            return [self._exchanged(node, node.input, node.keys)]
        assert isinstance(node, Unary)
        return [o.then(node) for o in self._open(node.input)]

    @staticmethod
    def _as(pipeline: Open, output: Columns) -> Open:
        """A pipeline with its columns renamed to a union's."""
        if pipeline.output == output:
            return pipeline
        refs = tuple(c.ref() for c in pipeline.output)
        return pipeline.then(Project(output, Node(pipeline.output), refs))

    def _aggregate(self, node: Aggregate) -> Open:
        """Partial aggregation in the stages below, and a stage that keeps the groups."""
        keys = tuple(column for column, _ in node.keys)
        buffers: list[Column] = []
        for i, call in enumerate(node.calls):
            for j, kind in enumerate(buffers_of(call).types):
                buffers.append(replace(fresh_column(f"buffer{i}_{j}", call.function), type=kind))
        partial = PartialAggregate((*keys, *buffers), node.input, node.keys, node.calls, self.settings.partial)
        # Sessions of a key may grow together, so they must meet.
        meeting = tuple(key for key in keys if key != node.session)
        return self._exchanged(node, node.input, meeting, partial)

    def _exchanged(self, node: Node, input: Node, keys: Columns, partial: Node | None = None) -> Open:
        """Rows go by key to a new stage that keeps a state."""
        feeding = []
        arriving: Columns = partial.output if partial is not None else input.output
        partitions = self.settings.reducers if keys else 1
        for pipeline in self._open(input):
            whole = self._as(pipeline, input.output)
            if partial is not None:
                whole = whole.then(replace(partial, input=Node(whole.output)))  # type: ignore[call-arg]
            positions = tuple([c.id for c in whole.output].index(key.id) for key in keys)
            feeding.append(self._close(whole, Exchange(positions, partitions), "map"))
        return Open(node, arriving, tuple(feeding))

    def _close(self, pipeline: Open, outlet: Outlet, name: str) -> int:
        """Make a pipeline a stage (or two, if its source is read in splits); returns its number."""
        nodes = pipeline.nodes
        if isinstance(pipeline.head, Source):
            nodes = tuple(parse_once(pipeline.head.output, nodes))
        body = Body(self._steps(pipeline.head.output, nodes), pipeline.output, outlet)
        number = len(self.stages)
        if isinstance(pipeline.head, Source):
            return self._read(pipeline.head, body, name)
        keyed = operator_of(pipeline.head, self.settings.mode)
        what = type(pipeline.head).__name__.lower()
        partitions = self._partitions_of(pipeline.inputs)
        marks = any(isinstance(n, Watermark) for n in nodes)
        self.stages.append(
            Stage(f"{what}, {name}", partitions, tuple(Input(i) for i in pipeline.inputs), stateful=True, marks=marks)
        )
        self.factories.append(KeepState(keyed, pipeline.arriving, pipeline.head.output, body, f"state{number}"))
        return number

    def _partitions_of(self, inputs: Sequence[int]) -> int:
        outlet: Any = self.factories[inputs[0]]
        return int(outlet.body.outlet.partitions)

    def _read(self, source: Source, body: Body, name: str) -> int:
        made = source.detail
        drain, slots, folder = self.settings.drain, self.settings.slots, self.settings.folder
        if hasattr(made, "splitter"):
            self.stages.append(Stage(f"split {made.name}", 1))
            number = len(self.stages) - 1
            if folder is not None and hasattr(made, "with_log"):
                made = made.with_log(f"{folder}/{number}")
            self.factories.append(Split(made, slots, drain))
            self.stages.append(Stage(f"read {made.name}, {name}", slots, (Input(number),), marks=True))
            self.factories.append(ReadSplits(made, body, f"rows{number}"))
        else:
            partitions = made.partitions(slots)
            self.stages.append(Stage(f"read {made.name}, {name}", partitions))
            self.factories.append(Read(made, partitions, body, drain, f"rows{len(self.stages) - 1}"))
        return len(self.stages) - 1

    def _steps(self, columns: Columns, nodes: Sequence[Node]) -> tuple[StepSpec, ...]:
        """Operators as steps: Python functions need whole batches, everything between two of them is fused."""
        steps: list[StepSpec] = []
        fused: list[Node] = []
        for node in nodes:
            if isinstance(node, (PythonEval, PythonMap, FlatMap)):
                steps += self._segment(columns, fused)
                alone = replace(node, input=Node(node.input.output))
                steps.append(FlatMapSpec(alone) if isinstance(alone, FlatMap) else PythonSegment(alone))
                columns, fused = node.output, []
            else:
                fused.append(node)
        return (*steps, *self._segment(columns, fused))

    def _segment(self, columns: Columns, nodes: list[Node]) -> list[StepSpec]:
        bare = tuple(replace(n, input=Node(n.input.output)) for n in nodes)  # type: ignore[call-arg, attr-defined]
        if not nodes:
            return []
        segment = Segment(columns, bare, self.settings.kernel)
        segment.scalar_source()  # what has no kernel is to be said now, not on a slot
        return [segment]


def operator_of(node: Node, mode: str) -> KeyedFactory:
    """What keeps the state of a stateful node."""
    if isinstance(node, Aggregate):
        return aggregation(node, mode) if node.session is None else sessions(node, mode)
    if isinstance(node, Deduplicate):
        return deduplication(node)
    if isinstance(node, Process):
        return processing(node)
    raise Unsupported(type(node).__name__, "it keeps no state that is known here")
