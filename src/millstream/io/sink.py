"""What a sink looks like: a half on every slot that the last stage runs on, and a half at the driver."""

from __future__ import annotations

from typing import Protocol

from millstream.kernels.batch import Batch

ALL_MODES = frozenset({"append", "update", "complete"})


class SlotSink(Protocol):
    """One partition's half, on the slot that owns the partition."""

    def write(self, epoch: int, batch: Batch) -> bytes | None:
        """Take the rows of one epoch (called only if there are any); what it returns goes to the driver's half.

        The same epoch may come twice after a failure, with the same rows. In output mode `complete` the
        batch is the partition's whole result.
        """

    def close(self) -> None:
        """Let go of files and connections."""


class SlotSinkFactory(Protocol):
    """Makes the halves on the slots; it is sent there, so it must be picklable and small."""

    def __call__(self, partition: int) -> SlotSink:
        """The half of one partition."""


class StreamSink(Protocol):
    """The driver's half. Its methods are called one at a time, on a thread of the query's own."""

    name: str
    """As `lastProgress` shows it."""
    modes: frozenset[str]
    """The output modes that it can take: of append, update, complete."""

    def slot_half(self) -> SlotSinkFactory:
        """What the slots do with rows."""

    def take(self, partition: int, epoch: int, payload: bytes) -> None:
        """What a slot's half returned for one partition and epoch; each comes once, epochs of a partition in order."""

    def commit(self, epoch: int) -> None:
        """All epochs up to this one are finished on all slots, and everything of theirs has been taken."""

    def close(self) -> None:
        """The query has ended."""
