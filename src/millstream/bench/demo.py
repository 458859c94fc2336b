"""`millstream demo`: the Yahoo streaming benchmark's query on a local Spark session, live."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

import millstream
from millstream.api.session import local_session
from millstream.bench.engines import Millstream, Setup, StreamEngine, StructuredStreaming
from millstream.bench.latency import prepared
from millstream.bench.stats import tail
from millstream.bench.throughput import quick_folder
from millstream.bench.workloads import Variant
from millstream.bench.workloads.ysb import ysb
from millstream.kernels.batch import Batch

WINDOW = "1 second"
SECOND = 1_000_000
TOP = 10
GRACE = 5.0
"""Seconds that an engine gets for its last rows."""


class Board:
    """What is known of one engine's run: the counts so far, and how late each window's last count came."""

    def __init__(self, engine: StreamEngine, warm_up: float) -> None:
        self.engine = engine
        self.warm_up = warm_up
        self.query: Any = None
        self.counts: Counter[str] = Counter()
        self._began: float | None = None
        self._open: dict[tuple[str, int], int] = {}
        self._last: dict[int, float] = {}
        self._lock = threading.Lock()

    def take(self, batch: Batch) -> None:
        """New counts of some campaigns and windows."""
        now = time.time()
        with self._lock:
            self._began = self._began or now
            for campaign, end, count in batch.rows:
                self.counts[campaign] += count - self._open.get((campaign, end), 0)
                self._open[campaign, end] = count
                if end not in self._last:
                    self._forget(end)
                self._last[end] = now

    def _forget(self, newest: int) -> None:
        """Counts of windows that are long past do not change any more."""
        old = [key for key in self._open if key[1] < newest - 60 * SECOND]
        for key in old:
            del self._open[key]

    def latencies(self) -> list[float]:
        """In seconds, of the windows that have ended after the warm-up."""
        now = time.time()
        with self._lock:
            warm = (self._began or now) + self.warm_up
            return [at - end / SECOND for end, at in self._last.items() if warm < end / SECOND < now]

    def events(self) -> int:
        """How many events were read."""
        return self.engine.processed(self.query) if self.query else 0

    def view(self, left: float) -> Group:
        """The live table."""
        with self._lock:
            top = self.counts.most_common(TOP)
            running = time.time() - self._began if self._began else 0.0
        line = f"{self.engine.name}   {left:.0f} s left   {self.events():,} events"
        if running:
            line += f"   {self.events() / max(running, 1.0):,.0f} a second"
        late = self.latencies()
        if late:
            figures = tail(late, 1000)
            line += f"   final window latency p50 {figures['p50']:.1f} ms  p99 {figures['p99']:.1f} ms"
        table = Table(title="views by campaign", title_justify="left", min_width=52)
        table.add_column("campaign")
        table.add_column("views", justify="right")
        for campaign, count in top:
            table.add_row(campaign, f"{count:,}")
        return Group(Text(line, style="bold"), table)


def run(
    seconds: float, rate: int, slots: int, interval: float, console: Console, *, compare: bool = False
) -> list[Board]:
    """Start Spark, run the query on Millstream (and then on Structured Streaming), print what came of it."""
    with console.status(f"starting Spark with room for {slots} slots"):
        spark = local_session(slots)
    try:
        spark.sparkContext.setLogLevel("ERROR")
        millstream.register(spark)
        engines: list[type[StreamEngine]] = [Millstream, StructuredStreaming] if compare else [Millstream]
        with quick_folder() as folder:
            setup = Setup(spark, ysb(Variant(WINDOW)), Path(folder), slots, interval)
            boards = []
            for engine in [make(setup) for make in engines]:
                if compare:
                    with console.status(f"warming up {engine.name}"):
                        prepared(engine, rate)
                boards.append(_show(engine, rate, seconds, console))
        console.print(summary(boards))
        console.print(f"windows of {WINDOW}; the first {boards[0].warm_up:g} s after the first count are left out")
        return boards
    finally:
        spark.stop()


def _show(engine: StreamEngine, rate: int, seconds: float, console: Console) -> Board:
    spark = engine.setup.spark
    rows = round(rate * seconds)
    options = {"rowsPerSecond": rate, "rows": rows, "partitions": engine.setup.slots}
    workload = engine.setup.workload
    frame = workload.over(spark, spark.readStream.format(workload.source.name).options(**options).load())
    board = Board(engine, warm_up=max(2.0, seconds / 4))
    board.query = engine.start(frame, board.take)
    try:
        _watch(board, seconds, console)
        _finish(board, rows)
    finally:
        board.query.stop()
    error = board.query.exception()
    if error is not None:
        raise error
    return board


def _watch(board: Board, seconds: float, console: Console) -> None:
    end = time.time() + seconds
    view: Callable[[], Group] = lambda: board.view(max(0.0, end - time.time()))  # noqa: E731
    if console.is_terminal:
        with Live(console=console, refresh_per_second=5, get_renderable=view):
            board.query.awaitTermination(seconds)
        return
    while not board.query.awaitTermination(min(5.0, max(0.1, end - time.time()))) and time.time() < end:
        console.print(f"{board.engine.name}: {board.events():,} events  {board.counts.total():,} views")


def _finish(board: Board, rows: int) -> None:
    """Let the engine take the last rows: stopped in the middle of a batch, Spark complains loudly."""
    until = time.time() + GRACE
    while board.query.isActive and board.events() < rows and time.time() < until:
        time.sleep(0.05)


def summary(boards: list[Board]) -> Table:
    """The closing table."""
    table = Table(title="from a window's end to its last count at the sink", title_justify="left")
    table.add_column("engine", no_wrap=True)
    for column in ("events", "windows", "p50 ms", "p95 ms", "p99 ms", "max ms"):
        table.add_column(column, justify="right")
    for board in boards:
        late = board.latencies()
        figures = [f"{value:.1f}" for value in tail(late, 1000).values()] if late else ["-"] * 4
        table.add_row(board.engine.name, f"{board.events():,}", str(len(late)), *figures)
    return table
