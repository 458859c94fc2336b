"""A stage of a DataFrame's query as the slot runs it: where rows come from, what happens to them, where they go."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from millstream.io.sink import SlotSink, SlotSinkFactory
from millstream.io.source import PartitionedSource, SplitSource
from millstream.kernels.batch import Batch
from millstream.kernels.exchange import scatter
from millstream.kernels.kernel import Product, SourceKernel, Task
from millstream.kernels.python import Stateless
from millstream.kernels.segment import Step
from millstream.kernels.state import Keyed, KeyedFactory
from millstream.plan.algebra import Columns, schema_of


class StepSpec(Protocol):
    """A part of a stage before it is compiled: a segment, or Python functions."""

    @property
    def output(self) -> Columns:
        """The columns that come out."""

    def start(self) -> Step:
        """Compile it, on the slot."""


@dataclass(frozen=True)
class Exchange:
    """Rows go to the next stage's partition of their key."""

    keys: tuple[int, ...]
    """Positions in the row."""
    partitions: int


@dataclass(frozen=True)
class Deliver:
    """Rows go to the sink."""

    sink: SlotSinkFactory


Outlet = Exchange | Deliver


@dataclass(frozen=True)
class Body:
    """What all stages have: steps, then the way out."""

    steps: tuple[StepSpec, ...]
    columns: Columns
    """What comes out of the steps."""
    outlet: Outlet


class Steps:
    """The compiled body of a stage."""

    def __init__(self, body: Body, partition: int) -> None:
        self._steps = [spec.start() for spec in body.steps]
        self._schema = schema_of(body.columns)
        self._outlet = body.outlet
        self._sink: SlotSink | None = body.outlet.sink(partition) if isinstance(body.outlet, Deliver) else None

    def run(self, batches: Iterator[Batch], epoch: int, watermark: int | None) -> Product:
        """Rows through all steps and out. `watermark` is given on unless a step here knows better."""
        done = []
        mark = None
        for batch in batches:
            for step in self._steps:
                batch, reached = step.run(batch)  # noqa: PLW2901 (the batch goes through the steps)
                if reached is not None and (mark is None or reached > mark):
                    mark = reached
            if len(batch):
                done.append(batch)
        rows = Batch.concat(self._schema, done)
        watermark = watermark if mark is None else mark
        if isinstance(self._outlet, Exchange):
            return Product((scatter(rows, self._outlet.keys, self._outlet.partitions),), watermark)
        assert self._sink is not None
        if not len(rows):
            return Product((), watermark)
        return Product((), watermark, None, self._sink.write(epoch, rows), counts={"output": len(rows)})

    def close(self) -> None:
        """Let the sink's half go."""
        if self._sink is not None:
            self._sink.close()


class ReadKernel(Stateless):
    """Reads a partition of a source and runs the steps."""

    def __init__(
        self, source: PartitionedSource, partition: int, partitions: int, body: Body, drain: bool, name: str
    ) -> None:
        self._name = name
        self._reader = source.reader(partition, partitions)
        self._steps = Steps(body, partition)
        self._drain = drain

    def initial(self) -> Any:
        """Where a new query starts."""
        return self._reader.initial()

    def latest(self, start: Any, now: float) -> Any:
        """Close an epoch."""
        if self._drain:
            self._reader.freeze(start, now)
            self._drain = False
        return self._reader.latest(start, now)

    def run(self, task: Task) -> Product:
        """Read a range and run the steps."""
        batch = self._reader.read(task.start, task.end)
        product = self._steps.run(iter((batch,)), task.epoch, None)
        return _counted(product, len(batch), self._name)._replace(more=self._reader.more)

    def close(self) -> None:
        """Let go of the source and the sink."""
        self._reader.close()
        self._steps.close()


class SplitKernel(Stateless):
    """Decides which splits an epoch reads and sends them to those who read."""

    def __init__(self, source: SplitSource, readers: int, drain: bool) -> None:
        self._splitter = source.splitter()
        self._readers = readers
        self._drain = drain

    def initial(self) -> Any:
        """Where a new query starts."""
        return self._splitter.initial()

    def latest(self, start: Any, now: float) -> Any:
        """Close an epoch."""
        if self._drain:
            self._splitter.freeze(start, now)
            self._drain = False
        return self._splitter.latest(start, now)

    def run(self, task: Task) -> Product:
        """Splits of a range, dealt out."""
        dealt: dict[int, list[Any]] = {}
        for i, split in enumerate(self._splitter.splits(task.start, task.end, self._readers)):
            dealt.setdefault((i + task.epoch) % self._readers, []).append(split)
        return Product(({p: pickle.dumps(splits, 5) for p, splits in dealt.items()},), more=self._splitter.more)

    def close(self) -> None:
        """Let go of the source."""
        self._splitter.close()


class ReadSplitsKernel(Stateless):
    """Reads the splits that it is given and runs the steps."""

    def __init__(self, source: SplitSource, partition: int, body: Body, name: str) -> None:
        self._name = name
        self._source = source
        self._steps = Steps(body, partition)
        self._rows = 0

    def run(self, task: Task) -> Product:
        """Read and run the steps, piece by piece."""
        self._rows = 0
        product = self._steps.run(self._read(task.inputs[0]), task.epoch, None)
        return _counted(product, self._rows, self._name)

    def _read(self, blocks: Sequence[bytes]) -> Iterator[Batch]:
        for block in blocks:
            for split in pickle.loads(block) if block else ():
                for batch in self._source.read(split):
                    yield batch
                    self._rows += len(batch)  # which is known without counting once it has gone through the steps

    def close(self) -> None:
        """Let the sink's half go."""
        self._steps.close()


def _counted(product: Product, rows: int, name: str) -> Product:
    """A product with the rows that were read for it."""
    return product._replace(rows=rows, counts={**product.counts, name: rows}) if rows else product


class KeyedKernel:
    """Keeps state by key; what that emits goes through the steps."""

    def __init__(
        self, keyed: Keyed, arriving: Columns, emitted: Columns, partition: int, body: Body, name: str
    ) -> None:
        self._keyed = keyed
        self._arriving = schema_of(arriving)
        self._emitted = schema_of(emitted)
        self._steps = Steps(body, partition)
        self._name = name

    def run(self, task: Task) -> Product:
        """Apply an epoch's rows in upstream order, and emit."""
        rows = [
            row for blocks in task.inputs for block in blocks if block
            for row in Batch.from_bytes(self._arriving, block).rows
        ]  # fmt: skip
        emitted = self._keyed.update(rows, task.watermark, int(time.time() * 1e6))
        batches = iter((Batch.of_rows(self._emitted, emitted),) if emitted else ())
        product = self._steps.run(batches, task.epoch, task.watermark)
        counts = {f"{self._name}.{kind}": n for kind, n in self._keyed.counts().items() if n}
        return product._replace(counts=product.counts | counts) if counts else product

    def snapshot(self) -> bytes | None:
        """The state."""
        return self._keyed.snapshot()

    def restore(self, state: bytes) -> None:
        """The state."""
        self._keyed.restore(state)

    def close(self) -> None:
        """Let the sink's half go."""
        self._steps.close()


@dataclass(frozen=True)
class Read:
    """Makes the kernels of a stage that reads a partitioned source."""

    source: PartitionedSource
    partitions: int
    body: Body
    drain: bool
    name: str

    def __call__(self, partition: int) -> SourceKernel:
        """The kernel of one partition."""
        return ReadKernel(self.source, partition, self.partitions, self.body, self.drain, self.name)


@dataclass(frozen=True)
class Split:
    """Makes the kernel of the stage that divides a source into splits."""

    source: SplitSource
    readers: int
    drain: bool

    def __call__(self, partition: int) -> SourceKernel:
        """The kernel of its one partition."""
        return SplitKernel(self.source, self.readers, self.drain)


@dataclass(frozen=True)
class ReadSplits:
    """Makes the kernels of the stage that reads the splits."""

    source: SplitSource
    body: Body
    name: str

    def __call__(self, partition: int) -> ReadSplitsKernel:
        """The kernel of one partition."""
        return ReadSplitsKernel(self.source, partition, self.body, self.name)


@dataclass(frozen=True)
class KeepState:
    """Makes the kernels of a stage that keeps state by key."""

    keyed: KeyedFactory
    arriving: Columns
    emitted: Columns
    body: Body
    name: str

    def __call__(self, partition: int) -> KeyedKernel:
        """The kernel of one partition."""
        return KeyedKernel(self.keyed(), self.arriving, self.emitted, partition, self.body, self.name)
