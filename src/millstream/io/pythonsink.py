"""Any PySpark Python Data Source that writes streams: its writer writes on the slots and commits at the driver."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark import cloudpickle
from pyspark.sql.datasource import CaseInsensitiveDict, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from millstream.errors import FunctionFailed
from millstream.io.foreach import user_rows
from millstream.io.sink import ALL_MODES, SlotSinkFactory
from millstream.kernels.batch import Batch
from millstream.plan.algebra import Unsupported


@dataclass(frozen=True)
class PythonSlots:
    """Makes the slots' halves from the pickled writer."""

    name: str
    pickled: bytes

    def __call__(self, partition: int) -> PythonSlot:
        """The half of one partition."""
        return PythonSlot(self.name, pickle.loads(self.pickled))


class PythonSlot:
    """Gives each epoch's rows to the writer; its message goes to the driver."""

    def __init__(self, name: str, writer: Any) -> None:
        self._name = name
        self._writer = writer

    def write(self, epoch: int, batch: Batch) -> bytes | None:
        rows: Iterator[Any]
        if isinstance(self._writer, DataSourceStreamArrowWriter):
            rows = iter(batch.arrow.to_batches())
        else:
            rows = iter(user_rows(batch))
        message = self._writer.write(rows)
        if not isinstance(message, WriterCommitMessage):
            raise FunctionFailed(
                f"write() of the sink {self._name} returned {type(message).__name__}, not a WriterCommitMessage"
            )
        payload: bytes = cloudpickle.dumps(message)
        return payload

    def close(self) -> None:
        """The writer has no end of its own on a slot."""


class PythonSink:
    """The driver's half: commits each epoch's messages; aborts those that are never committed."""

    modes = ALL_MODES

    def __init__(self, spark: Any, format: str, options: Mapping[str, Any], schema: StructType, mode: str) -> None:
        source = data_source(spark, format)(options=CaseInsensitiveDict({n: str(v) for n, v in options.items()}))
        self.name = f"PythonDataSource[{format}]"
        self._writer = source.streamWriter(schema, overwrite=mode == "complete")
        self._waiting: dict[int, list[Any]] = {}

    def slot_half(self) -> SlotSinkFactory:
        return PythonSlots(self.name, cloudpickle.dumps(self._writer))

    def take(self, partition: int, epoch: int, payload: bytes) -> None:
        self._waiting.setdefault(epoch, []).append(pickle.loads(payload))

    def commit(self, epoch: int) -> None:
        for ready in sorted(e for e in self._waiting if e <= epoch):
            self._writer.commit(self._waiting.pop(ready), ready)

    def close(self) -> None:
        for epoch in sorted(self._waiting):
            self._writer.abort(self._waiting.pop(epoch), epoch)


def data_source(spark: Any, format: str) -> Any:
    """The class that is registered under a name."""
    registered = spark._jsparkSession.sessionState().dataSourceManager()
    if not registered.dataSourceExists(format):
        raise Unsupported(format, "there is no native sink of this format")
    command = registered.lookupDataSource(format).dataSourceCls().command()
    return pickle.loads(bytes(command.unsafeArray()))
