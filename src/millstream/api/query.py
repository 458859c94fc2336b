"""A running query, as its user sees it: the names of Spark's StreamingQuery, and the same manners."""

from __future__ import annotations

import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession

from millstream.core.events import Committed, Complete, Deliver, Fail, Note
from millstream.errors import QueryFailed, SlotsUnavailable, StateLost
from millstream.plan.plan import Plan
from millstream.runtime.options import Options
from millstream.runtime.resident import ResidentEngine
from millstream.runtime.sparkjob import SparkJobEngine

Sink = Callable[[Deliver], None]

_ERRORS: dict[str, type[QueryFailed]] = {"state": StateLost, "slots": SlotsUnavailable}


class Query:
    """A query from its start to its end.

    >>> from millstream.api.session import local_session
    >>> from millstream.bench.coordination import single_stage
    >>> query = Query.start(local_session(2), single_stage(2), {"slots": 2, "interval": 0, "epochs": 100})
    >>> query.awaitTermination(60), query.exception(), query.isActive
    (True, None, False)
    >>> query.epochs
    100
    """

    HISTORY = 100

    def __init__(
        self,
        plan: Plan,
        name: str | None = None,
        sink: Sink | None = None,
        on_commit: Callable[[Committed], None] | None = None,
    ) -> None:
        self.plan = plan
        self.id = str(uuid.uuid4())
        self.name = name
        self.epochs = 0
        self.rows = 0
        self.events: deque[Note] = deque(maxlen=self.HISTORY)
        self.engine = "millstream"
        self._sink = sink
        self._on_commit = on_commit
        self._progress: deque[dict[str, Any]] = deque(maxlen=self.HISTORY)
        self._error: QueryFailed | None = None
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._closing = False
        self._last_commit = time.time()
        self.body: ResidentEngine | SparkJobEngine | None = None

    @staticmethod
    def start(
        spark: SparkSession,
        plan: Plan,
        options: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        sink: Sink | None = None,
        on_commit: Callable[[Committed], None] | None = None,
    ) -> Query:
        """Start a plan on a session.

        `sink` is called on the driver with each task's result, once; `on_commit` with each finished group.
        """
        parsed = Options.parse(options or {})
        query = Query(plan, name, sink, on_commit)
        engine = SparkJobEngine if parsed.mode == "spark" else ResidentEngine
        query.body = engine(spark, plan, parsed, f"millstream-{query.id}", query._on_effect)
        query.body.start()
        return query

    @property
    def isActive(self) -> bool:  # noqa: N802 (Spark's name)
        """Whether the query still runs."""
        return not self._ended.is_set()

    @property
    def status(self) -> dict[str, Any]:
        """What the query is doing now, in Spark's shape."""
        active = self.isActive
        message = "Stopped" if not active else "Running epochs" if self.epochs else "Waiting for slots"
        return {"message": message, "isDataAvailable": active and self.epochs > 0, "isTriggerActive": active}

    @property
    def lastProgress(self) -> dict[str, Any] | None:  # noqa: N802 (Spark's name)
        """The progress of the last group, or None before the first has ended."""
        return self._progress[-1] if self._progress else None

    @property
    def recentProgress(self) -> list[dict[str, Any]]:  # noqa: N802 (Spark's name)
        """The progress of the last groups, oldest first."""
        return list(self._progress)

    def exception(self) -> QueryFailed | None:
        """Why the query failed, or None."""
        return self._error

    def awaitTermination(self, timeout: float | None = None) -> bool:  # noqa: N802 (Spark's name)
        """Wait for the query's end; false if `timeout` seconds passed first. Raises what the query failed with."""
        ended = self._ended.wait(timeout)
        if ended and self._error is not None:
            raise self._error
        return ended

    def stop(self) -> None:
        """End the query; returns when none of its tasks, threads and ports is left."""
        self._close()
        self._ended.wait()

    def _on_effect(self, effect: Any) -> None:
        if isinstance(effect, Deliver):
            if self._sink is not None:
                try:
                    self._sink(effect)
                except Exception as error:
                    self._fail(QueryFailed(f"the sink failed in epoch {effect.epoch}: {error!r}"))
        elif isinstance(effect, Committed):
            self._commit(effect)
        elif isinstance(effect, Note):
            self.events.append(effect)
        elif isinstance(effect, Fail):
            self._fail(_ERRORS.get(effect.kind, QueryFailed)(effect.text))
        elif isinstance(effect, Complete):
            self._close_soon()

    def _fail(self, error: QueryFailed) -> None:
        if self._error is None and not self._closing:
            self._error = error
        self._close_soon()

    def _close_soon(self) -> None:
        threading.Thread(target=self._close, name="millstream-close", daemon=True).start()

    def _close(self) -> None:
        with self._lock:
            if self._closing:
                return
            self._closing = True
        try:
            if self.body is not None:
                self.body.stop()
        finally:
            self._ended.set()

    def _commit(self, done: Committed) -> None:
        now = time.time()
        self.epochs = done.group.last + 1
        self.rows += done.rows
        seconds = max(now - self._last_commit, 1e-9)
        self._last_commit = now
        if self._on_commit is not None:
            self._on_commit(done)
        self._progress.append({
            "id": self.id,
            "name": self.name,
            "timestamp": datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "batchId": done.group.last,
            "numInputRows": done.rows,
            "inputRowsPerSecond": done.rows / seconds,
            "processedRowsPerSecond": done.rows / seconds,
            "durationMs": {"triggerExecution": seconds * 1000},
            "millstream": {
                "epoch": done.group.last,
                "group": done.group.id,
                "groupSize": done.group.epochs,
                "tasks": done.tasks,
                "taskSeconds": done.busy,
            },
        })  # fmt: skip
