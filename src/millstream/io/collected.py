"""Sinks whose work is done at the driver: slots only hand their rows over."""

from __future__ import annotations

from abc import ABC, abstractmethod

from pyspark.sql.types import StructType

from millstream.io.sink import ALL_MODES, SlotSinkFactory
from millstream.kernels.batch import Batch


class HandOver:
    """The slots' half: every batch goes to the driver as it is."""

    def __init__(self, partition: int) -> None:
        pass

    def write(self, epoch: int, batch: Batch) -> bytes | None:
        return batch.to_bytes()

    def close(self) -> None:
        """Nothing is held."""


class CollectedSink(ABC):
    """The driver's half: rows wait until their epoch is committed, then they are delivered in order.

    In output mode `complete` what is delivered are the latest results of all partitions.
    """

    name: str
    modes = ALL_MODES
    each_epoch = False
    """Whether every epoch is delivered by itself; else all those that are committed at once come together."""

    def __init__(self, schema: StructType, mode: str) -> None:
        self.schema = schema
        self._complete = mode == "complete"
        self._whole: dict[int, bytes] = {}
        self._waiting: dict[int, dict[int, bytes]] = {}

    def slot_half(self) -> SlotSinkFactory:
        return HandOver

    def take(self, partition: int, epoch: int, payload: bytes) -> None:
        self._waiting.setdefault(epoch, {})[partition] = payload

    def commit(self, epoch: int) -> None:
        ready = sorted(e for e in self._waiting if e <= epoch)
        if not ready:
            return
        for runs in [[e] for e in ready] if self.each_epoch else [ready]:
            payloads: list[bytes] = []
            for e in runs:
                parts = self._waiting.pop(e)
                self._whole.update(parts if self._complete else {})
                payloads += [parts[p] for p in sorted(parts)]
            if self._complete:
                payloads = [self._whole[p] for p in sorted(self._whole)]
            batches = [Batch.from_bytes(self.schema, payload) for payload in payloads]
            self.deliver(runs[-1] if self.each_epoch else epoch, Batch.concat(self.schema, batches))

    @abstractmethod
    def deliver(self, epoch: int, batch: Batch) -> None:
        """Rows that are committed, up to an epoch."""

    def close(self) -> None:  # noqa: B027 (a default, not a hole)
        """Nothing is held."""
