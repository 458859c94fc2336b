"""A running query, as its user sees it: the names of Spark's StreamingQuery, and the same manners."""

from __future__ import annotations

import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession

from millstream.api.delivery import Delivery
from millstream.api.progress import About, Progress
from millstream.core.events import Committed, Complete, Deliver, Fail, Hold, Note
from millstream.errors import QueryFailed, SlotsUnavailable, StateLost
from millstream.io.sink import StreamSink
from millstream.plan.plan import Plan
from millstream.runtime.options import Options
from millstream.runtime.resident import ResidentEngine
from millstream.runtime.sparkjob import SparkJobEngine

OnResult = Callable[[Deliver], None]

_ERRORS: dict[str, type[QueryFailed]] = {"state": StateLost, "slots": SlotsUnavailable}

SINK_PATIENCE = 4.0
"""Seconds that a stopping query gives its sink to take what is already there."""


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
    engine = "millstream"

    def __init__(self, plan: Plan, about: About) -> None:
        self.plan = plan
        self.about = about
        self.epochs = 0
        self.rows = 0
        self.events: deque[Note] = deque(maxlen=self.HISTORY)
        self.body: ResidentEngine | SparkJobEngine | None = None
        self.explanation: Any = None
        """How the query's DataFrame was planned, if it came from one."""
        self._on_result: OnResult | None = None
        self._on_commit: Callable[[Committed], None] | None = None
        self._on_end: Callable[[], None] | None = None
        self._delivery: Delivery | None = None
        self._reports = Progress(about, time.time())
        self._progress: deque[dict[str, Any]] = deque(maxlen=self.HISTORY)
        self._error: QueryFailed | None = None
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._closing = False
        self._drains = False
        self._drained_group = -1
        """The last group that left no rows at any source."""

    @staticmethod
    def start(
        spark: SparkSession,
        plan: Plan,
        options: Options | Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        about: About | None = None,
        sink: OnResult | StreamSink | None = None,
        on_commit: Callable[[Committed], None] | None = None,
        on_end: Callable[[], None] | None = None,
    ) -> Query:
        """Start a plan on a session.

        `sink` is a sink, or a function that is called on the driver with each task's result, once;
        `on_commit` is called with each finished group, `on_end` when the query has ended.
        """
        parsed = options if isinstance(options, Options) else Options.parse(options or {})
        about = about or About(str(uuid.uuid4()), str(uuid.uuid4()), name)
        query = Query(plan, replace(about, slots=parsed.slots, interval=parsed.interval))
        query._on_commit, query._on_end = on_commit, on_end
        query._drains = parsed.drain
        if sink is None or callable(sink):
            query._on_result = sink
        else:
            query._delivery = Delivery(sink, query._hold, query._sink_failed)
            query._delivery.start()
        engine = SparkJobEngine if parsed.mode == "spark" else ResidentEngine
        try:
            query.body = engine(spark, plan, parsed, f"millstream-{query.id}", query._on_effect)
            query.body.start()
        except Exception:
            if query._delivery is not None:
                query._delivery.finish(SINK_PATIENCE)
            raise
        return query

    @property
    def id(self) -> str:
        """Names the query over its restarts."""
        return self.about.id

    @property
    def runId(self) -> str:  # noqa: N802 (Spark's name)
        """Names this run of the query."""
        return self.about.run

    @property
    def name(self) -> str | None:
        """The name that its user gave it."""
        return self.about.name

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

    def explain(self, extended: bool = False) -> None:
        """Print how the query runs; `extended` adds the code of its kernels."""
        if self.explanation is not None:
            print(self.explanation.text(code=extended))
            return
        for stage in self.plan.stages:
            print(stage)

    def awaitTermination(self, timeout: float | None = None) -> bool:  # noqa: N802 (Spark's name)
        """Wait for the query's end; false if `timeout` seconds passed first. Raises what the query failed with."""
        ended = self._ended.wait(timeout)
        if ended and self._error is not None:
            raise self._error
        return ended

    def processAllAvailable(self) -> None:  # noqa: N802 (Spark's name)
        """Wait until everything that is at the sources now has been processed and is at the sink."""
        assert self.body is not None
        after = self.body.dispatched
        while self.isActive:
            drained = self._drained_group
            if drained >= after and (self._delivery is None or self._delivery.committed >= drained):
                return
            if self._delivery is not None and drained >= after:
                self._delivery.wait(lambda: self._delivery.committed >= drained, 0.1)  # type: ignore[union-attr] # noqa: B023
            else:
                self._ended.wait(0.005)
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """End the query; returns when none of its tasks, threads and ports is left."""
        self._close()
        self._ended.wait()

    def _on_effect(self, effect: Any) -> None:
        if isinstance(effect, Deliver):
            self._deliver(effect)
        elif isinstance(effect, Committed):
            self._commit(effect)
        elif isinstance(effect, Note):
            self.events.append(effect)
        elif isinstance(effect, Fail):
            self._fail(_ERRORS.get(effect.kind, QueryFailed)(effect.text))
        elif isinstance(effect, Complete):
            self._close_soon(None)

    def _deliver(self, result: Deliver) -> None:
        if self._delivery is not None:
            self._delivery.put(result)
        elif self._on_result is not None:
            try:
                self._on_result(result)
            except Exception as error:
                self._fail(QueryFailed(f"the sink failed in epoch {result.epoch}: {error!r}"))

    def _hold(self, high: bool) -> None:
        if isinstance(self.body, ResidentEngine):
            self.body.driver.submit(Hold(high))

    def _sink_failed(self, text: str) -> None:
        self._fail(QueryFailed(text))

    def _fail(self, error: QueryFailed) -> None:
        if self._error is None and not self._closing:
            self._error = error
        self._close_soon()

    def _close_soon(self, patience: float | None = SINK_PATIENCE) -> None:
        threading.Thread(target=self._close, args=(patience,), name="millstream-close", daemon=True).start()

    def _close(self, patience: float | None = SINK_PATIENCE) -> None:
        with self._lock:
            if self._closing:
                return
            self._closing = True
        try:
            if self.body is not None:
                self.body.stop()
            if self._delivery is not None:
                self._delivery.finish(patience)
        finally:
            if self._on_end is not None:
                self._on_end()
            self._ended.set()

    def _commit(self, done: Committed) -> None:
        self.epochs = done.group.last + 1
        self.rows += done.rows
        if self._on_commit is not None:
            self._on_commit(done)
        report = self._reports.report(done, time.time())
        if done.rows or not self._drains or not self._progress:  # the end of a drained query is not news
            self._progress.append(report)
        if self._delivery is not None:
            self._delivery.put(done)
        if done.drained:
            self._drained_group = done.group.id
