"""What a workload is: events, a query over them that either engine runs, and how its results are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from millstream.io.events import EventSource


@dataclass(frozen=True)
class Variant:
    """What the command line may change about a query."""

    window: str | None = None
    """The length of its windows, if not the workload's own."""
    udf: bool = False
    """Whether a Python function takes a part in it."""


@dataclass(frozen=True)
class Workload:
    """A query with its events."""

    name: str
    source: type[EventSource]
    """Makes the events: as a stream, or in files of lines."""
    query: Callable[[SparkSession, DataFrame, Variant], DataFrame]
    """The query over the column `value` of lines."""
    variant: Variant
    due: str
    """The column that says when a row's last version could be known at the earliest."""
    keys: tuple[str, ...] = ()
    """What names a row: a later one with the same values replaces it. Without keys every row stays."""
    delay: float = 0.0
    """Seconds that rows are held back after `due`, as the query itself demands."""

    @property
    def mode(self) -> str:
        """The output mode."""
        return "update" if self.keys else "append"

    def over(self, spark: SparkSession, lines: DataFrame) -> DataFrame:
        """The query over a frame of lines, a stream or a batch."""
        return self.query(spark, lines, self.variant)
