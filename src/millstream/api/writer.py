"""`write_stream`: a DataFrame's streaming query, set up with the names of Spark's `DataStreamWriter`."""

from __future__ import annotations

import logging
import tempfile
import threading
import uuid
import warnings
from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from millstream.api.explain import Explanation
from millstream.api.fallback import FallbackQuery, start_on_spark
from millstream.api.options import Sorted, Trigger, output_mode
from millstream.api.process import Processed
from millstream.api.progress import About
from millstream.api.query import Query
from millstream.errors import InvalidOption, MillstreamError, UnsupportedQuery
from millstream.io.registry import find_sink
from millstream.io.sink import StreamSink
from millstream.kernels.stage import KeepState, Read, Split
from millstream.plan.algebra import Node, Unsupported
from millstream.plan.plan import Plan
from millstream.plan.stages import Settings, Stages
from millstream.plan.translate import translate
from millstream.runtime.offers import loopback, total_cores

log = logging.getLogger("millstream")

_active: dict[str, Query | FallbackQuery] = {}
_active_lock = threading.Lock()


class StreamWriter:
    """Collects what a query needs, then starts it."""

    def __init__(self, df: Any) -> None:
        self._frame = check_frame(df)
        self._df = self._frame.root if isinstance(self._frame, Processed) else self._frame
        self._format: str | None = None
        self._mode = "append"
        self._name: str | None = None
        self._options: dict[str, Any] = {}
        self._trigger = Trigger()
        self._function: Any = None
        self._partitioning: tuple[str, ...] = ()

    def format(self, source: str) -> StreamWriter:
        """The kind of sink: memory, console, noop, parquet, json, text, a Python Data Source's name, or Spark's."""
        self._format = source
        return self

    def outputMode(self, outputMode: str) -> StreamWriter:  # noqa: N802, N803 (Spark's name)
        """`append`, `update` or `complete`, with Spark's rules."""
        self._mode = output_mode(outputMode)
        return self

    def queryName(self, queryName: str) -> StreamWriter:  # noqa: N802, N803
        """A name for the query; the memory sink's table has it too."""
        if not isinstance(queryName, str) or not queryName.strip():
            raise InvalidOption(f"a query's name is a text that is not empty, not {queryName!r}")
        self._name = queryName
        return self

    def option(self, key: str, value: Any) -> StreamWriter:
        """An option of the engine or of the sink."""
        self._options[key] = value
        return self

    def options(self, **options: Any) -> StreamWriter:
        """Several options."""
        self._options |= options
        return self

    def partitionBy(self, *cols: Any) -> StreamWriter:  # noqa: N802
        """Columns by which files are laid out in folders."""
        names = cols[0] if len(cols) == 1 and isinstance(cols[0], (list, tuple)) else cols
        self._partitioning = tuple(names)
        return self

    def trigger(
        self,
        *,
        interval: str | float | None = None,
        processingTime: str | None = None,  # noqa: N803
        availableNow: bool | None = None,  # noqa: N803
        once: bool | None = None,
    ) -> StreamWriter:
        """When epochs close: `interval="20 milliseconds"` (or `processingTime`), or `availableNow=True`."""
        self._trigger = Trigger.parse(
            interval=interval, processingTime=processingTime, availableNow=availableNow, once=once
        )
        return self

    def foreach(self, f: Any) -> StreamWriter:
        """Give every row to a function, or to an object with `open`, `process` and `close`, on the slots."""
        self._format, self._function = "foreach", f
        return self

    def foreachBatch(self, func: Callable[[DataFrame, int], None]) -> StreamWriter:  # noqa: N802
        """Give the rows of each group (or epoch: option `foreachBatch.per`) to a function as a Spark DataFrame."""
        self._format, self._function = "foreachBatch", func
        return self

    def toTable(self, tableName: str) -> Any:  # noqa: N802, N803
        """Write into a table; that is Spark's own work."""
        return self._fall_back(Unsupported("toTable", "tables are written by Spark"), tableName)

    def start(
        self,
        path: str | None = None,
        format: str | None = None,
        outputMode: str | None = None,  # noqa: N803
        partitionBy: str | list[str] | None = None,  # noqa: N803
        queryName: str | None = None,  # noqa: N803
        **options: Any,
    ) -> Any:
        """Start the query; its engine is Millstream, or Structured Streaming for what Millstream doesn't run."""
        if format is not None:
            self.format(format)
        if outputMode is not None:
            self.outputMode(outputMode)
        if partitionBy is not None:
            self.partitionBy(partitionBy)
        if queryName is not None:
            self.queryName(queryName)
        self.options(**options)
        if path is not None:
            self.option("path", path)
        chosen = Sorted.of(self._options)
        if chosen.engine == "structured-streaming":
            return self._start_on_spark(None)
        try:
            return self._start(chosen)
        except Unsupported as why:
            return self._fall_back(why)

    def _start(self, chosen: Sorted) -> Query:
        spark = self._df.sparkSession
        # Spark looks some things up in whatever session its thread used last.
        SparkSession._get_j_spark_session_class(spark._jvm).setActiveSession(spark._jsparkSession)
        self._check_name()  # before the sink takes what belongs to the query that has the name
        if isinstance(self._frame, DataFrame):
            check_rules(self._frame, self._mode)
        options = chosen.engine_options(self._trigger, total_cores(spark.sparkContext))
        node = relation(self._frame)
        sink = self._sink(chosen)
        notes = _folder_for_notes(spark)
        try:
            if self._mode not in sink.modes:
                raise InvalidOption(f"the sink {sink.name} does not take output mode {self._mode!r}")
            settings = Settings(
                options.slots, self._mode, chosen.partitions, chosen.kernel, chosen.partial,
                self._trigger.available_now, notes.name if notes else None,
            )  # fmt: skip
            plan = Stages(settings).plan(node, sink.slot_half())
        except Exception:
            sink.close()
            _remove(notes)
            raise
        if chosen.checkpoint is not None:
            log.warning(
                "checkpoints are not written yet: the query starts at its sources' beginnings each time; "
                "option('engine', 'structured-streaming') keeps one"
            )
        about = _about(plan, self._name, sink)

        def forget() -> None:
            _active.pop(about.run, None)
            _remove(notes)

        with _active_lock:
            try:
                self._check_name()
                query = Query.start(spark, plan, options, about=about, sink=sink, on_end=forget)
            except Exception:
                _remove(notes)
                raise
            _active[about.run] = query
        query.explanation = Explanation("millstream", plan, self._mode)
        return query

    def _sink(self, chosen: Sorted) -> StreamSink:
        if self._format is None:
            raise InvalidOption("say where the rows go: .format('memory'), .format('parquet').start(path), ...")
        given: dict[str, Any] = dict(chosen.sink)
        if self._function is not None:
            given["function"] = self._function
        if self._partitioning:
            given["partitionBy"] = self._partitioning
        return find_sink(self._format, given, self._frame.schema, self._mode, self._df.sparkSession, self._name)

    def _check_name(self) -> None:
        if self._name is not None and any(q.name == self._name and q.isActive for q in _active.values()):
            raise InvalidOption(
                f"a query named {self._name!r} is running already: stop it first, or choose another name"
            )

    def _fall_back(self, why: Unsupported, table: str | None = None) -> FallbackQuery:
        if str(self._options.get("engine", "auto")).lower() == "millstream":
            raise UnsupportedQuery(
                f"{why}. Without option('engine', 'millstream') the query would run on Structured Streaming"
            ) from why
        warnings.warn(
            f"this query runs on Structured Streaming, because of {why} (millstream.explain(df) tells beforehand)",
            stacklevel=4,
        )
        return self._start_on_spark(why, table)

    def _start_on_spark(self, why: Unsupported | None, table: str | None = None) -> FallbackQuery:
        if isinstance(self._frame, Processed):
            raise UnsupportedQuery(f"{why or 'this frame'}: a processed frame runs on Millstream only") from why
        return start_on_spark(
            self._df, self._format, self._mode, self._name, Sorted.of(self._options), self._trigger,
            self._function, self._partitioning, table, why,
        )  # fmt: skip


def write_stream(df: Any) -> StreamWriter:
    """The writer of a streaming DataFrame: use it where you would write `df.writeStream`.

    >>> import millstream
    >>> spark = millstream.local_session(slots=2)
    >>> millstream.register(spark)
    >>> df = spark.readStream.format("millstream-rate").option("rowsPerSecond", 1000).load()
    >>> query = millstream.write_stream(df.groupBy().count()).format("noop").outputMode("update").start()
    >>> query.engine, query.isActive
    ('millstream', True)
    >>> query.stop()
    """
    return StreamWriter(df)


def explain(df: Any, mode: str = "simple", *, outputMode: str = "append") -> Explanation:  # noqa: N803 (Spark's name)
    """Print which engine would run a streaming DataFrame, its stages, kernels and exchanges; and why.

    `mode="code"` adds the code of the kernels. `outputMode` matters to aggregations; update is assumed
    where append isn't allowed.

    >>> import millstream
    >>> spark = millstream.local_session(slots=2)
    >>> millstream.register(spark)
    >>> df = spark.readStream.format("millstream-rate").load().where("value % 2 = 0")
    >>> millstream.explain(df).engine
    engine: millstream   output mode: append
    stage 0: read millstream-rate, deliver   2 partitions   source
        filter   kernels: vector and scalar
        to the sink: timestamp, value
    'millstream'
    """
    if mode not in ("simple", "code"):
        raise InvalidOption(f"explain's mode is simple or code, not {mode!r}")
    frame = check_frame(df)
    explanation = None
    for attempt in dict.fromkeys((output_mode(outputMode), "update")):
        try:
            plan = Stages(Settings(mode=attempt)).plan(relation(frame, collect=False), _Nowhere())
            explanation = Explanation("millstream", plan, attempt)
            break
        except Unsupported as why:
            explanation = explanation or Explanation("structured-streaming", why=why)
    assert explanation is not None
    print(explanation.text(code=mode == "code"))
    return explanation


class _Nowhere:
    """A sink for a plan that does not run."""

    def __call__(self, partition: int) -> Any:
        raise NotImplementedError


def relation(frame: DataFrame | Processed, *, collect: bool = True) -> Node:
    """A frame as algebra."""
    if isinstance(frame, Processed):
        return frame.node(lambda df: translate(df, collect=collect))
    return translate(frame, collect=collect)


def check_frame(df: Any) -> DataFrame | Processed:
    """A streaming DataFrame of classic PySpark, or a processed one; anything else is an error that says what to do."""
    if isinstance(df, Processed):
        check_frame(df.root)
        return df
    module = type(df).__module__
    if ".connect." in module:
        raise MillstreamError(
            "this DataFrame is a Spark Connect one; Millstream reads plans from the driver's own JVM: "
            "use a classic session (SparkSession.builder.master(...), without .remote(...))"
        )
    if not isinstance(df, DataFrame):
        raise InvalidOption(f"write_stream takes a PySpark DataFrame, not {type(df).__name__}")
    if not df.isStreaming:
        raise InvalidOption(
            "this DataFrame is not streaming: make it with spark.readStream, or use df.write for a batch"
        )
    return df


def check_rules(df: DataFrame, mode: str) -> None:
    """Spark's own rules of output modes and stateful operators, with Spark's own error."""
    spark: Any = df.sparkSession
    modes = spark._jvm.org.apache.spark.sql.streaming.OutputMode
    checker = spark._jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
    analyzed = df._jdf.queryExecution().analyzed()
    output = {"append": modes.Append, "update": modes.Update, "complete": modes.Complete}[mode]()
    try:
        checker.checkForStreaming(analyzed, output)
    except Exception as error:
        if "istinct aggregat" in str(error):
            return  # Spark has none in streams, we have
        raise


def _about(plan: Plan, name: str | None, sink: StreamSink) -> About:
    sources: dict[tuple[int, ...], str] = {}
    states: dict[str, str] = {}
    for number, (stage, factory) in enumerate(zip(plan.stages, plan.kernels)):
        if isinstance(factory, (Read, Split)):
            sources[number,] = factory.source.name
        elif isinstance(factory, KeepState):
            states[factory.name] = stage.name
    return About(str(uuid.uuid4()), str(uuid.uuid4()), name, sources, sink.name, states)


def _folder_for_notes(spark: SparkSession) -> tempfile.TemporaryDirectory[str] | None:
    """Where sources of files note what they took up, if all slots are on this machine; gone when the process ends."""
    if not loopback(spark.sparkContext):
        return None
    return tempfile.TemporaryDirectory(prefix="millstream-notes-", ignore_cleanup_errors=True)


def _remove(folder: tempfile.TemporaryDirectory[str] | None) -> None:
    if folder is not None:
        folder.cleanup()


def active() -> list[Query | FallbackQuery]:
    """The queries that run in this process.

    >>> active()
    []
    """
    return [query for query in _active.values() if query.isActive]
