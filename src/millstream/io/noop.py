"""The sink that forgets: for measuring, and for queries whose functions do all there is to do."""

from __future__ import annotations

from millstream.io.sink import ALL_MODES, SlotSinkFactory
from millstream.kernels.batch import Batch


class NoopSlot:
    """Drops every batch."""

    def __init__(self, partition: int) -> None:
        pass

    def write(self, epoch: int, batch: Batch) -> bytes | None:
        """Nothing goes to the driver."""
        return None

    def close(self) -> None:
        """Nothing is held."""


class NoopSink:
    """The driver's half: there is nothing to do."""

    name = "noop"
    modes = ALL_MODES

    def slot_half(self) -> SlotSinkFactory:
        return NoopSlot

    def take(self, partition: int, epoch: int, payload: bytes) -> None:
        """Nothing comes."""

    def commit(self, epoch: int) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """Nothing is held."""
