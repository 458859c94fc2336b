"""What a source looks like to the slots that read it: replayable by offset, in partitions or in splits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from pyspark.sql.types import StructType

from millstream.kernels.batch import Batch

Offset = Any
"""Opaque to everybody but its source; numbers, strings, and lists and dicts of those (it travels as MessagePack)."""


class Positioned(Protocol):
    """Something that decides how far an epoch reaches; it lives on the one slot that owns its partition."""

    more: bool
    """Whether rows were waiting beyond the offset that `latest` gave last."""

    def initial(self) -> Offset:
        """The offset at which a new query starts."""

    def latest(self, start: Offset, now: float) -> Offset:
        """Where the range that starts at `start` ends if it is closed now; `start` itself if there is nothing."""

    def freeze(self, start: Offset, now: float) -> None:
        """Give nothing from now on but what is there at this moment (`availableNow`)."""

    def close(self) -> None:
        """Let go of files and connections."""


class Reader(Positioned, Protocol):
    """One partition of a source that is read where it is positioned.

    A range `[start, end)` must give the same rows each time, also from another reader on another slot.
    """

    def read(self, start: Offset, end: Offset) -> Batch:
        """The rows of a range."""


class Splitter(Positioned, Protocol):
    """Decides for a whole source which splits an epoch reads; all slots then read them.

    A range must give the same splits each time, also from another splitter on another slot.
    """

    def splits(self, start: Offset, end: Offset, wanted: int) -> list[Any]:
        """The splits of a range, of about equal size, `wanted` of them if that makes sense; small and picklable.

        A range that ends where it starts has none.
        """


class PartitionedSource(Protocol):
    """A source of independent partitions. It is sent to the slots, so it must be picklable and small."""

    name: str
    """As `lastProgress` and `explain` show it."""
    schema: StructType

    def partitions(self, slots: int) -> int:
        """How many partitions to read it with on so many slots."""

    def reader(self, partition: int, partitions: int) -> Reader:
        """The reader of one partition; called on the slot."""


class SplitSource(Protocol):
    """A source that one slot divides into splits and all slots read. Picklable and small too."""

    name: str
    schema: StructType

    def splitter(self) -> Splitter:
        """The one that decides; called on its slot."""

    def read(self, split: Any) -> Iterable[Batch]:
        """The rows of a split, in pieces of moderate size; called on any slot."""


StreamSource = PartitionedSource | SplitSource
