"""What a workload is: events, a query over them that either engine runs, and how its results are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession


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
    format: str
    """The generated source of its events, as a stream; its one column is `value`."""
    write_events: Callable[[Path, int, int], Any]
    """Writes so many of the same events into so many files of a folder."""
    query: Callable[[SparkSession, DataFrame, Variant], DataFrame]
    """The query over the column `value`."""
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
