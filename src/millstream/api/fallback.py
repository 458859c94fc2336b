"""Queries that Millstream doesn't run itself, on stock Structured Streaming, behind the same names."""

from __future__ import annotations

from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame

from millstream.api.explain import Explanation
from millstream.api.options import Sorted, Trigger
from millstream.errors import QueryFailed
from millstream.plan.algebra import Unsupported


class FallbackQuery:
    """A query of Structured Streaming with the manners of one of ours."""

    engine = "structured-streaming"

    def __init__(self, query: Any, why: Unsupported | None) -> None:
        self._query = query
        self.explanation = Explanation(self.engine, why=why)

    @property
    def id(self) -> str:
        """Names the query over its restarts."""
        return str(self._query.id)

    @property
    def runId(self) -> str:  # noqa: N802 (Spark's name)
        """Names this run of the query."""
        return str(self._query.runId)

    @property
    def name(self) -> str | None:
        """The name that its user gave it."""
        name: str | None = self._query.name
        return name

    @property
    def isActive(self) -> bool:  # noqa: N802
        """Whether the query still runs."""
        return bool(self._query.isActive)

    @property
    def status(self) -> dict[str, Any]:
        """What the query is doing now."""
        return dict(self._query.status)

    @property
    def lastProgress(self) -> Any:  # noqa: N802
        """The progress of the last batch, or None."""
        return self._query.lastProgress

    @property
    def recentProgress(self) -> list[Any]:  # noqa: N802
        """The progress of the last batches, oldest first."""
        return list(self._query.recentProgress)

    def exception(self) -> QueryFailed | None:
        """Why the query failed, or None."""
        error = self._query.exception()
        return None if error is None else QueryFailed(str(error))

    def explain(self, extended: bool = False) -> None:
        """Print why Spark runs the query, and Spark's plan."""
        print(self.explanation.text())
        self._query.explain(extended)

    def awaitTermination(self, timeout: float | None = None) -> bool:  # noqa: N802
        """Wait for the query's end; false if `timeout` seconds passed first. Raises what the query failed with."""
        try:
            ended = self._query.awaitTermination(timeout)
        except StreamingQueryException as error:
            raise QueryFailed(str(error)) from error
        return True if timeout is None else bool(ended)

    def processAllAvailable(self) -> None:  # noqa: N802
        """Wait until everything that is at the sources now has been processed."""
        self._query.processAllAvailable()

    def stop(self) -> None:
        """End the query."""
        self._query.stop()


def start_on_spark(
    df: DataFrame,
    format: str | None,
    mode: str,
    name: str | None,
    options: Sorted,
    trigger: Trigger,
    function: Any,
    partitioning: tuple[str, ...],
    table: str | None,
    why: Unsupported | None,
) -> FallbackQuery:
    """Start the same query on Structured Streaming."""
    writer = df.writeStream.outputMode(mode)
    if name is not None:
        writer = writer.queryName(name)
    if options.checkpoint is not None:
        writer = writer.option("checkpointLocation", options.checkpoint)
    writer = writer.options(**options.sink)
    if partitioning:
        writer = writer.partitionBy(*partitioning)
    if trigger.available_now:
        writer = writer.trigger(availableNow=True)
    elif trigger.interval is not None:
        writer = writer.trigger(processingTime=f"{round(trigger.interval * 1000)} milliseconds")
    if function is not None:
        writer = writer.foreach(function) if format == "foreach" else writer.foreachBatch(function)
    elif format is not None:
        writer = writer.format(format)
    return FallbackQuery(writer.toTable(table) if table is not None else writer.start(), why)
