"""How long after a window's end its last count is at the sink, at a steady rate.

Generator and sink read one clock. Rows are a function of their offset, so Spark's batch over the same
rows tells whether every count came.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from millstream.bench.engines import Millstream, Setup, StreamEngine, StructuredStreaming, WithoutPartial
from millstream.bench.results import Results, collected
from millstream.bench.stats import ratios, tail
from millstream.bench.throughput import quick_folder
from millstream.bench.workloads import Workload
from millstream.kernels.batch import Batch

ENGINES: dict[str, type[StreamEngine]] = {
    engine.name: engine for engine in (Millstream, WithoutPartial, StructuredStreaming)
}

PREPARATION = 3
"""Seconds of a run before the one that counts: compilers and worker processes are warm then."""
PATIENCE = 20.0
"""Seconds after the last row that an engine gets to finish."""
POLL = 0.1
SETTLE = 1.0
"""Seconds for rows that come with the watermark of the last ones."""
MANY = 1000
"""At most so many latencies are written out; queries without windows have one for every instant."""
KEEPS_UP = 0.97
"""An engine that takes a smaller share of the offered rows has fallen behind."""
SECOND = 1_000_000

Arrivals = list[tuple[float, Batch]]
"""What came to the sink, and when."""


@dataclass(frozen=True)
class Live:
    """One engine's run."""

    engine: StreamEngine
    rate: int
    latencies: list[tuple[float, float]]
    """When a result was due, and how much later it had come, in seconds; the warm-up is left out."""
    finished: bool
    rows: int
    equal: bool

    @property
    def achieved_rate(self) -> float:
        """Rows a second that were done with: the offered rate, less what results fall back as the run goes on."""
        if len(self.latencies) < 3:
            return 0.0
        due, late = zip(*self.latencies)
        return self.rate / (1 + max(statistics.linear_regression(due, late).slope, -0.5))

    @property
    def behind(self) -> bool:
        """Whether it could not keep up."""
        return not self.finished or self.achieved_rate < KEEPS_UP * self.rate

    def figures(self) -> dict[str, Any]:
        """As the contract names them; an engine that is behind has no latency."""
        late = [seconds for _, seconds in self.latencies]
        return {
            "final_window_ms": None if self.behind else tail(late, 1000),
            "achieved_rate": round(min(self.achieved_rate, self.rate), 1),
            "windows": len(late),
            "behind": self.behind,
            "latencies_ms": [round(seconds * 1000, 2) for seconds in late[:MANY]],
            "result_rows": self.rows,
            "results_equal": self.equal,
            "settings": self.engine.settings,
        }


def run(
    spark: SparkSession,
    workload: Workload,
    *,
    engines: Sequence[str],
    rate: int,
    seconds: int,
    slots: int,
    interval: float,
    partial: bool,
    progress: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """One engine after the other, each over its own run of the same generator."""
    warm_up = max(2, seconds // 4)
    runs = []
    with quick_folder() as checkpoints:
        setup = Setup(spark, workload, Path(checkpoints), slots, interval, partial)
        for name in engines:
            engine = ENGINES[name](setup)
            progress(f"{name}: preparing")
            ahead = 1.0 + 1.5 * prepared(engine, rate)
            progress(f"{name}: {rate:,} rows/s for {seconds} s, of which the first {warm_up} s do not count")
            live = measure(engine, rate, seconds, warm_up, ahead)
            runs.append(live)
            progress(f"{name:22}  {live.figures()['final_window_ms'] or 'behind'}  at {live.achieved_rate:,.0f} rows/s")
    figures = {live.engine.name: live.figures() for live in runs}
    medians = {name: (f["final_window_ms"] or {}).get("p50") for name, f in figures.items()}
    return {
        "bench": workload.name, "mode": "rate", "rate": rate, "seconds": seconds, "warm_up_s": warm_up,
        "window": workload.variant.window, "udf": workload.variant.udf, "slots": slots, "engines": figures,
        "ratio": ratios(medians, StructuredStreaming.name), "results_equal": all(live.equal for live in runs),
    }  # fmt: skip


def prepared(engine: StreamEngine, rate: int) -> float:
    """Run the query for a moment; returns how long it took from its start to its first result."""
    began = time.time()
    _, arrivals, _ = _run(engine, rate, PREPARATION, began)
    return arrivals[0][0] - began if arrivals else PATIENCE


def measure(engine: StreamEngine, rate: int, seconds: int, warm_up: int, ahead: float) -> Live:
    """One run of one engine, started so many seconds before its first row."""
    start = math.ceil(time.time() + ahead)
    query, arrivals, finished = _run(engine, rate, seconds, start)
    workload = engine.setup.workload
    results = Results(workload, [batch for _, batch in arrivals])
    equal = not finished or results.match(Results(workload, [collected(query(engine.setup.spark.read))]))
    latencies = _latencies(workload, arrivals, start + warm_up, start + seconds)
    return Live(engine, rate, latencies, finished, len(results), equal)


def _run(
    engine: StreamEngine, rate: int, seconds: int, start: float
) -> tuple[Callable[[Any], DataFrame], Arrivals, bool]:
    """The query, what came to its sink, and whether it had done with all rows in time."""
    setup = engine.setup
    options = {"rowsPerSecond": rate, "rows": rate * seconds, "startTime": start, "partitions": setup.slots}

    def query(reader: Any) -> DataFrame:
        lines = reader.format(setup.workload.source.name).options(**options).load()
        return setup.workload.over(setup.spark, lines)

    arrivals: Arrivals = []
    with engine.lines(options) as lines:
        frame = setup.workload.over(setup.spark, lines)
        running = engine.start(frame, lambda batch: arrivals.append((time.time(), batch)))
        try:
            finished = _wait(engine, running, rate * seconds, start + seconds + PATIENCE)
            time.sleep(SETTLE if setup.workload.delay else 0.0)
        finally:
            running.stop()
    return query, arrivals, finished


def _wait(engine: StreamEngine, running: Any, rows: int, until: float) -> bool:
    """Whether all rows were done with in time; raises what the query failed with."""
    while running.isActive and time.time() < until:
        if engine.processed(running) >= rows:
            return True
        time.sleep(POLL)
    running.awaitTermination(0)
    return engine.processed(running) >= rows


def _latencies(workload: Workload, arrivals: Arrivals, low: float, high: float) -> list[tuple[float, float]]:
    """For every instant at which results were due: how long afterwards the last of them had come."""
    last: dict[int, float] = {}
    for at, batch in arrivals:
        place = batch.schema.names.index(workload.due)
        for due in {row[place] for row in batch.rows}:
            last[due] = at
    dues = [(due / SECOND + workload.delay, at) for due, at in sorted(last.items())]
    return [(due, at - due) for due, at in dues if low < due <= high]
