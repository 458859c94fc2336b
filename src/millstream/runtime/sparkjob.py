"""Mode `spark`: one ordinary Spark job for each epoch, as a baseline and for debugging.

The driver decides the ranges, Spark schedules every task and shuffles the blocks; the kernels are
the same. State rides along with the jobs, so only a stage without consumers may keep any.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pyspark import RDD, Accumulator, SparkContext
from pyspark.sql import SparkSession

from millstream.core.events import Committed, Complete, Deliver, Fail, Run
from millstream.core.graph import ALL_TO_ALL
from millstream.core.messages import Group, Range
from millstream.errors import InvalidOption
from millstream.kernels.kernel import SourceKernel
from millstream.plan.plan import Plan
from millstream.runtime.body import run_task
from millstream.runtime.options import Options

Row = tuple[int, int, int, Any, Any]
"""What a stage's RDD holds: its edge (-1 for a result), the target partition, the upstream one, block, watermark."""


class SparkJobEngine:
    """Runs a plan as one Spark job for each epoch."""

    def __init__(
        self, spark: SparkSession, plan: Plan, options: Options, tag: str, on_effect: Callable[[Any], None]
    ) -> None:
        for stage, edges in zip(plan.stages, plan.graph.edges):
            if stage.stateful and edges:
                raise InvalidOption(f"mode 'spark' can't keep the state of stage {stage.name!r}, which feeds others")
        plan.ship()
        self.context: SparkContext = spark.sparkContext
        self.plan = plan
        self.options = options
        self.tag = tag
        self.on_effect = on_effect
        self.epoch_seconds: list[float] = []
        self._sources: dict[tuple[int, int], SourceKernel] = {
            (stage, p): plan.kernels[stage](p)  # type: ignore[misc]
            for stage in plan.graph.sources
            for p in range(plan.stages[stage].partitions)
        }
        self._positions: dict[tuple[int, int], Any] = {key: s.initial() for key, s in self._sources.items()}
        self._states: dict[tuple[int, int], bytes | None] = {}
        self._rows: Accumulator[int] = self.context.accumulator(0)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="millstream-spark-mode", daemon=True)

    @property
    def dispatched(self) -> int:
        """The number of the next epoch."""
        return len(self.epoch_seconds) + 1

    def start(self) -> None:
        """Start with the first epoch."""
        self._thread.start()

    def stop(self) -> None:
        """End after cancelling the job that runs."""
        self._stopping.set()
        self.context.cancelJobsWithTag(self.tag)
        if threading.current_thread() is not self._thread:
            self._thread.join(5.0)

    def _run(self) -> None:
        self.context.addJobTag(self.tag)
        starts_at = time.time()
        epoch = 0
        try:
            while not self._stopping.is_set() and epoch != self.options.epochs:
                closes = starts_at + (epoch + 1) * self.options.interval
                if self._stopping.wait(max(0.0, closes - time.time())):
                    return
                rows = self._epoch(epoch, closes)
                epoch += 1
                if self.options.drain and not rows:
                    break
            self.on_effect(Complete())
        except Exception:
            if not self._stopping.is_set():
                self.on_effect(Fail("task", f"epoch {epoch} failed:\n{traceback.format_exc()}"))

    def _epoch(self, epoch: int, closes: float) -> int:
        """Run one epoch; returns how many rows its sources gave."""
        began = time.perf_counter()
        ranges = {}
        for key, source in self._sources.items():
            start = self._positions[key]
            ranges[key] = Range(*key, epoch, start, source.latest(start, time.time()))
            self._positions[key] = ranges[key].end
        before = self._rows.value
        for stage, p, result, watermark, state in self._job(epoch, ranges):
            self._states[stage, p] = state
            if result is not None:
                self.on_effect(Deliver(stage, p, epoch, result, watermark, tuple(ranges.values())))
        seconds = time.perf_counter() - began
        self.epoch_seconds.append(seconds)
        group = Group(epoch, epoch, 1, closes, self.options.interval)
        tasks = sum(stage.partitions for stage in self.plan.stages)
        rows: int = self._rows.value - before
        self.on_effect(Committed(group, tuple(ranges.values()), None, rows, tasks, seconds, not rows, {}))
        return rows

    def _job(self, epoch: int, ranges: dict[tuple[int, int], Range]) -> list[Any]:
        """One epoch as RDDs, stage by stage; the action collects what the sinks emit."""
        plan = self.plan
        outputs: list[RDD[Any]] = []
        for stage, spec in enumerate(plan.stages):
            if spec.is_source:
                own = [[ranges[stage, p]] for p in range(spec.partitions)]
                rdd = self.context.parallelize(own, spec.partitions)
            else:
                arriving = [_arrive(outputs[read.stage], plan, stage, i) for i, read in enumerate(spec.inputs)]
                rdd = self.context.union(arriving).partitionBy(spec.partitions, int)
            states = {p: self._states.get((stage, p)) for p in range(spec.partitions)} if spec.stateful else {}
            rdd = rdd.mapPartitionsWithIndex(_stage_function(plan, stage, epoch, states, self._rows))
            outputs.append(rdd.cache() if len(plan.graph.edges[stage]) > 1 else rdd)
        sinks = [outputs[s].map(_sink_row(s)) for s in range(len(plan.stages)) if not plan.graph.edges[s]]
        rows: list[Any] = (sinks[0] if len(sinks) == 1 else self.context.union(sinks)).collect()
        for rdd in outputs:
            if rdd.is_cached:
                rdd.unpersist()
        return rows


def _sink_row(stage: int) -> Callable[[Any], Any]:
    return lambda row: (stage, *row[1:])


def _arrive(upstream: RDD[Any], plan: Plan, stage: int, input: int) -> RDD[Any]:
    """An upstream stage's blocks on one edge, keyed by the partition that they are for."""
    edges = plan.graph.edges[plan.stages[stage].inputs[input].stage]
    wanted = next(i for i, e in enumerate(edges) if (e.consumer, e.input) == (stage, input))
    return upstream.filter(lambda row: row[0] == wanted).map(lambda row: (row[1], (input, *row[2:])))


def _stage_function(
    plan: Plan, stage: int, epoch: int, states: dict[int, bytes | None], rows_read: Accumulator[int]
) -> Callable[[int, Iterable[Any]], Iterator[Any]]:
    def run(partition: int, rows: Iterable[Any]) -> Iterator[Any]:
        graph = plan.graph
        kernel = plan.kernels[stage](partition)
        state = states.get(partition)
        if state is not None:
            kernel.restore(state)
        start = end = watermark = None
        blocks: list[bytes] = []
        if graph.stages[stage].is_source:
            for (own,) in rows:
                start, end = own.start, own.end
        else:
            positions = graph.block_positions(stage, partition)
            blocks = [b""] * sum(map(len, positions))
            marks = []
            for _, (position, upstream, block, mark) in rows:
                first = graph.upstream(stage, position, partition).start
                blocks[positions[position].start + upstream - first] = block
                marks.append(mark)
            watermark = min((mark for mark in marks if mark is not None), default=None)
        product = run_task(kernel, Run(0, stage, partition, epoch, blocks, watermark, start, end), graph)
        rows_read.add(product.rows)
        if not graph.edges[stage]:
            kept = kernel.snapshot() if graph.stages[stage].stateful else None
            yield -1, partition, product.result, product.watermark, kept
        for number, (edge, made) in enumerate(zip(graph.edges[stage], product.outputs)):
            targets = graph.downstream(stage, edge, partition)
            for target in targets if edge.structure in ALL_TO_ALL else targets[:1]:
                yield number, target, partition, made.get(target, b""), product.watermark

    return run
