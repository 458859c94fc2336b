"""Sinks at the driver that deliver committed rows as Spark DataFrames: `foreachBatch` and `console`."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from millstream.errors import FunctionFailed, InvalidOption
from millstream.io.collected import CollectedSink
from millstream.io.options import Given
from millstream.kernels.batch import Batch


def frame_of(spark: Any, batch: Batch) -> DataFrame:
    """A batch as a DataFrame that has its schema to the last detail."""
    frame: DataFrame = spark.createDataFrame(batch.arrow, batch.schema)
    return frame


class ForeachBatchSink(CollectedSink):
    """Calls the user's function with the rows of all epochs that were committed together, or of each."""

    name = "ForeachBatchSink"

    def __init__(self, spark: Any, schema: StructType, mode: str, options: Mapping[str, Any]) -> None:
        super().__init__(schema, mode)
        function = options.get("function")
        if not callable(function):
            raise InvalidOption(f"foreachBatch takes a function of a DataFrame and a number, not {function!r}")
        self._spark = spark
        self._function: Callable[[DataFrame, int], Any] = function
        per = Given("foreachBatch", options).one_of("foreachBatch.per", "group", ("group", "epoch"))
        self.each_epoch = per == "epoch"

    def deliver(self, epoch: int, batch: Batch) -> None:
        frame = frame_of(self._spark, batch)
        try:
            self._function(frame, epoch)
        except Exception as error:
            story = "".join(traceback.format_exception(error))
            raise FunctionFailed(f"the function of foreachBatch has failed at epoch {epoch}:\n{story}") from error


class ConsoleSink(CollectedSink):
    """Prints rows as Spark's console sink does."""

    name = "ConsoleTable"

    def __init__(self, spark: Any, schema: StructType, mode: str, options: Mapping[str, Any]) -> None:
        super().__init__(schema, mode)
        given = Given("console", options)
        given.check_names(("numRows", "truncate"))
        self._spark = spark
        self._rows = given.whole("numRows", 20)
        self._truncate = given.flag("truncate", True)
        self._number = 0

    def deliver(self, epoch: int, batch: Batch) -> None:
        line = "-" * 43
        table = frame_of(self._spark, batch)._show_string(self._rows, self._truncate)
        print(f"{line}\nBatch: {self._number}\n{line}\n{table}", flush=True)
        self._number += 1
