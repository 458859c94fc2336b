"""What a source looks like to the slots that read it: partitions that are replayable by offset."""

from __future__ import annotations

from typing import Any, Protocol

from pyspark.sql.types import StructType

from millstream.kernels.batch import Batch

Offset = Any
"""Opaque to everybody but the reader; numbers, strings, and lists and dicts of those (it travels as MessagePack)."""


class Reader(Protocol):
    """One partition of a source, on the slot that owns it.

    A range `[start, end)` must give the same rows each time, also from another reader on another slot.
    """

    def initial(self) -> Offset:
        """The offset at which a new query starts."""

    def latest(self, start: Offset, now: float) -> Offset:
        """Where the range that starts at `start` ends if it is closed now; `start` itself if there is nothing."""

    def read(self, start: Offset, end: Offset) -> Batch:
        """The rows of a range."""

    def close(self) -> None:
        """Let go of files and connections."""


class StreamSource(Protocol):
    """A source as the driver knows it; it is sent to the slots, so it must be picklable and small."""

    schema: StructType

    def partitions(self, slots: int) -> int:
        """How many partitions to read it with on so many slots."""

    def reader(self, partition: int, partitions: int) -> Reader:
        """The reader of one partition; called on the slot."""
