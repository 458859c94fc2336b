"""`foreach`: every row, as users see it, goes to a function or object of theirs on the slots."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from pyspark.sql.conversion import ArrowTableToRowsConversion
from pyspark.sql.streaming.readwriter import DataStreamWriter

from millstream.io.sink import ALL_MODES, SlotSinkFactory
from millstream.kernels.batch import Batch


def user_rows(batch: Batch) -> list[Any]:
    """The rows as PySpark's `Row`, with the values that `collect` gives."""
    rows: list[Any] = ArrowTableToRowsConversion.convert(batch.arrow, batch.schema)
    return rows


class ForeachSlot:
    """Calls the user's code; an object is opened and closed for each epoch, as Spark does."""

    def __init__(self, user: Any, number: int) -> None:
        self._process: Callable[[Any], Any] = user if callable(user) else user.process
        self._open: Callable[[int, int], Any] = getattr(user, "open", lambda partition, epoch: True)
        self._close: Callable[[Exception | None], Any] = getattr(user, "close", lambda error: None)
        self._number = number

    def write(self, epoch: int, batch: Batch) -> bytes | None:
        """Nothing goes to the driver."""
        wanted = self._open(self._number, epoch)
        error = None
        try:
            if wanted:
                for row in user_rows(batch):
                    self._process(row)
        except Exception as raised:
            error = raised
            raise
        finally:
            self._close(error)
        return None

    def close(self) -> None:
        """What the user has opened is closed by then."""


class ForeachSink:
    """The driver's half: there is nothing to do."""

    name = "ForeachSink"
    modes = ALL_MODES

    def __init__(self, user: Any) -> None:
        DataStreamWriter._construct_foreach_function(user)  # raises Spark's error for what can't be called
        self._user = user

    def slot_half(self) -> SlotSinkFactory:
        return partial(ForeachSlot, self._user)

    def take(self, partition: int, epoch: int, payload: bytes) -> None:
        """Nothing comes."""

    def commit(self, epoch: int) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """Nothing is held."""
