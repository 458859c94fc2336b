"""The bare kernel: the map stage's kernel in a loop over the files, in one process per slot, without any engine.

Reader and kernel are the very ones that the slots run. Nothing is exchanged, scheduled or kept: this
is the limit of what an engine can reach with them.
"""

from __future__ import annotations

import multiprocessing
import pickle
import time
from multiprocessing.connection import Connection
from typing import Any, ClassVar

from pyspark import cloudpickle
from pyspark.sql import DataFrame

from millstream.bench.engines import Drained, Engine
from millstream.errors import MillstreamError
from millstream.io.collected import HandOver
from millstream.kernels.batch import Batch
from millstream.kernels.kernel import Task
from millstream.kernels.stage import KeepState, ReadSplits, Split
from millstream.plan.stages import Settings, Stages
from millstream.plan.translate import translate

END_OF_TIME = 1 << 62


class BareKernel(Engine):
    """The kernel without an engine."""

    name: ClassVar[str] = "kernel"

    @property
    def settings(self) -> dict[str, str]:
        return {
            "processes": str(self.setup.slots),
            "exchange": "none; the partial results are merged after the clock has stopped, to compare them",
        }

    def drain(self, frame: DataFrame) -> Drained:
        """From the moment when all processes are ready to the moment when the last one is done."""
        settings = Settings(
            self.setup.slots, self.setup.workload.mode, partitions=1, partial=self.setup.partial, drain=True
        )
        plan = Stages(settings).plan(translate(frame), HandOver)
        split, read, *rest = plan.kernels
        if not (isinstance(split, Split) and isinstance(read, ReadSplits) and len(rest) <= 1):
            raise MillstreamError("the bare kernel runs queries of one map stage over files, with one exchange at most")
        seconds, blocks = _run(read, _dealt(split, self.setup.slots))
        if not rest:
            return Drained(seconds, [Batch.from_bytes(frame.schema, block) for block in blocks])
        assert isinstance(rest[0], KeepState)
        return Drained(seconds, [Batch.from_bytes(frame.schema, block) for block in _merged(rest[0], blocks)])


def _dealt(split: Split, processes: int) -> list[list[Any]]:
    """All splits of the source, for each process its share."""
    splitter = split.source.splitter()
    start = splitter.initial()
    splitter.freeze(start, time.time())
    dealt: list[list[Any]] = [[] for _ in range(processes)]
    while (end := splitter.latest(start, time.time())) != start:
        for i, piece in enumerate(splitter.splits(start, end, processes)):
            dealt[i % processes].append(piece)
        start = end
    return dealt


def _run(read: ReadSplits, dealt: list[list[Any]]) -> tuple[float, list[bytes]]:
    context = multiprocessing.get_context("spawn")
    code = cloudpickle.dumps(read)
    ends: list[Connection] = []
    processes = []
    try:
        for _ in dealt:
            mine, theirs = context.Pipe()
            with theirs:  # only the process keeps it: its death then ends the waiting here
                process = context.Process(target=_loop, args=(theirs, code), daemon=True)
                process.start()
            processes.append(process)
            ends.append(mine)
        for end in ends:
            end.recv()
        began = time.perf_counter()
        for end, pieces in zip(ends, dealt):
            end.send(pieces)
        for end in ends:
            end.recv()
        seconds = time.perf_counter() - began
        return seconds, [block for end in ends for block in end.recv()]
    finally:
        for process in processes:
            process.kill()
            process.join()


def _loop(end: Connection, code: bytes) -> None:
    """What a process does: read, run the kernel, again."""
    read: ReadSplits = pickle.loads(code)
    steps = [spec.start() for spec in read.body.steps]
    end.send("ready")
    outputs = []
    for piece in end.recv():
        for batch in read.source.read(piece):
            for step in steps:
                batch, _ = step.run(batch)  # noqa: PLW2901 (the batch goes through the steps)
            outputs.append(batch)
    end.send("done")
    end.send([batch.to_bytes() for batch in outputs])


def _merged(keep: KeepState, blocks: list[bytes]) -> list[bytes]:
    """The results, from all partial ones: first what comes at once, then what waits for the watermark."""
    kernel = keep(0)
    products = [kernel.run(Task(0, 0, (blocks,), None)), kernel.run(Task(0, 1, ([],), END_OF_TIME))]
    return [product.result for product in products if product.result]
