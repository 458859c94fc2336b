"""What a compiled stage looks like to the slot that runs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from millstream.core.node import Product

__all__ = ["Kernel", "KernelFactory", "Product", "SourceKernel", "Task"]


class Task(NamedTuple):
    """One task's input."""

    partition: int
    epoch: int
    inputs: tuple[list[bytes], ...]
    """Per input of the stage, the blocks in the order of its upstream partitions."""
    watermark: int | None
    start: Any = None
    end: Any = None
    """Of a source's task: the range to read."""


class Kernel(Protocol):
    """One partition of a stage; it lives as long as the partition stays on its slot."""

    def run(self, task: Task) -> Product:
        """Make a task's blocks (or result) from its input."""

    def snapshot(self) -> bytes | None:
        """The state, if the stage keeps any."""

    def restore(self, state: bytes) -> None:
        """Go on from a state that `snapshot` returned."""


class SourceKernel(Kernel, Protocol):
    """A kernel that reads a source."""

    def initial(self) -> Any:
        """The offset at which a new query starts."""

    def latest(self, start: Any, now: float) -> Any:
        """Close an epoch: the offset at which the range that starts at `start` ends."""


KernelFactory = Callable[[int], Kernel]
"""Makes the kernel of a partition."""
