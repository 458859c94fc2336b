"""A slot's hands: it makes kernels, runs tasks on them, and keeps their blocks."""

from __future__ import annotations

import logging
import time

from millstream.core.events import Run
from millstream.core.graph import Graph
from millstream.core.node import Product
from millstream.kernels.kernel import Kernel, SourceKernel, Task
from millstream.plan.plan import Plan
from millstream.runtime.blocks import BlockStore, Outputs
from millstream.runtime.transport import Mailbox

log = logging.getLogger("millstream")


class SlotBody:
    """Kernels and blocks of the partitions that are placed on a slot."""

    def __init__(self, plan: Plan, store: BlockStore, mailbox: Mailbox) -> None:
        self.plan = plan
        self.store = store
        self.mailbox = mailbox
        self.kernels: dict[tuple[int, int], Kernel] = {}

    def host(self, stage: int, partition: int, state: bytes | None) -> None:
        """Make the kernel of a partition."""
        kernel = self.kernels[stage, partition] = self.plan.kernels[stage](partition)
        if state is not None:
            kernel.restore(state)

    def drop(self, stage: int, partition: int) -> None:
        """Let the kernel of a partition go, with the files and connections that it holds."""
        kernel = self.kernels.pop((stage, partition))
        close = getattr(kernel, "close", None)  # a kernel that holds nothing needs none
        if close is not None:
            try:
                close()
            except Exception:
                log.exception("stage %d, partition %d could not be closed", stage, partition)

    def close(self) -> None:
        """Let all kernels go."""
        for key in list(self.kernels):
            self.drop(*key)

    def snapshot(self, stage: int, partition: int) -> bytes | None:
        """The state of a partition."""
        return self.kernels[stage, partition].snapshot()

    def run(self, task: Run) -> Product:
        """Run a task; a source without a decided range closes its epoch now."""
        began = time.perf_counter()
        product = run_task(self.kernels[task.stage, task.partition], task, self.plan.graph)
        return product._replace(seconds=time.perf_counter() - began)

    def keep(self, stage: int, partition: int, epoch: int, outputs: Outputs) -> None:
        """Keep a task's blocks."""
        self.store.put(stage, partition, epoch, outputs)

    def kept(self, stage: int, partition: int, epoch: int) -> Outputs:
        """The blocks of a task."""
        return self.store.get(stage, partition, epoch)

    def release(self, epoch: int) -> None:
        """Blocks up to an epoch are covered."""
        self.store.release(epoch)

    def disconnect(self, slot: int) -> None:
        """A slot is lost."""
        self.mailbox.disconnect(slot)


def run_task(kernel: Kernel, task: Run, graph: Graph) -> Product:
    """Run one task on its kernel, wherever that is."""
    if not graph.stages[task.stage].is_source:
        inputs: tuple[list[bytes], ...] = (task.blocks,)
        if len(graph.stages[task.stage].inputs) > 1:
            positions = graph.block_positions(task.stage, task.partition)
            inputs = tuple([task.blocks[p.start : p.stop] for p in positions])
        return kernel.run(Task(task.partition, task.epoch, inputs, task.watermark))
    source: SourceKernel = kernel  # type: ignore[assignment]
    start, end = task.start, task.end
    if start is None:
        start = source.initial()
    if end is None:
        end = source.latest(start, time.time())
    product = source.run(Task(task.partition, task.epoch, (), task.watermark, start, end))
    return product._replace(end=end)
