"""`millstream demo`: word count on a local Spark session, with a live table and a latency summary."""

from __future__ import annotations

import pickle
import statistics
import threading
import time
from collections import Counter, deque
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from millstream.api.query import Query
from millstream.api.session import local_session
from millstream.bench.wordcount import WORDS_PER_LINE, word_count
from millstream.core.events import Deliver

SAMPLES_PER_RANGE = 4
WARM_UP = 2.0
"""Lines made within so many seconds of the first result do not count: those before it waited for slots to start."""


class Board:
    """What the demo shows: the counts so far, and how late each line's words were counted."""

    def __init__(self, rate: float, readers: int) -> None:
        self.rate = rate
        self.readers = readers
        self.origin = 0.0
        self.began: float | None = None
        self.counts: Counter[str] = Counter()
        self.latencies: deque[float] = deque(maxlen=200_000)
        self.recent: deque[float] = deque(maxlen=4_000)
        self._read: dict[int, int] = {}
        self._lock = threading.Lock()

    @property
    def lines(self) -> int:
        """Lines whose words are counted."""
        return sum(self._read.values())

    def take(self, result: Deliver) -> None:
        """A task's new counts, and the lines that they count."""
        now = time.time()
        with self._lock:
            self.began = self.began or now
            self.counts.update({word: n - self.counts[word] for word, n in pickle.loads(result.payload).items()})
            for source in result.lineage:
                self._read[source.partition] = max(self._read.get(source.partition, 0), source.end)
                self._measure(source.start or 0, source.end, now, self.began + WARM_UP)

    def _measure(self, start: int, end: int, now: float, warm: float) -> None:
        for offset in range(start, end, max(1, (end - start) // SAMPLES_PER_RANGE)):
            made = self.origin + offset * self.readers / self.rate
            if made > warm:
                self.latencies.append(now - made)
                self.recent.append(now - made)

    def view(self, query: Query, left: float) -> Group:
        """The live table."""
        with self._lock:
            top = self.counts.most_common(10)
            recent = sorted(self.recent)
        table = Table(title="words so far", title_justify="left", min_width=44)
        table.add_column("word")
        table.add_column("count", justify="right")
        for word, count in top:
            table.add_row(word, f"{count:,}")
        line = f"epoch {query.epochs:,}   {self.lines:,} lines   {left:.0f} s left"
        if recent:
            line += f"   latency p50 {_at(recent, 50):.1f} ms  p99 {_at(recent, 99):.1f} ms"
        elif not query.epochs:
            line += f"   {query.status['message'].lower()}"
        return Group(Text(line, style="bold"), table)

    def summary(self) -> Table:
        """The closing table."""
        latencies = sorted(self.latencies)
        table = Table(title="from a line's creation to its words' counts at the sink", title_justify="left")
        for column in ("lines", "words", "p50 ms", "p95 ms", "p99 ms", "max ms"):
            table.add_column(column, justify="right")
        figures = [f"{_at(latencies, q):.1f}" for q in (50, 95, 99)] if latencies else ["-"] * 3
        most = f"{latencies[-1] * 1000:.1f}" if latencies else "-"
        table.add_row(f"{self.lines:,}", f"{self.lines * WORDS_PER_LINE:,}", *figures, most)
        return table


def _at(ordered: list[float], percent: int) -> float:
    """A percentile in milliseconds."""
    if len(ordered) < 2:
        return ordered[0] * 1000
    return statistics.quantiles(ordered, n=100, method="inclusive")[percent - 1] * 1000


def run(seconds: float, rate: float, slots: int, interval: float, console: Console) -> Any:
    """Run the demo; returns the board."""
    readers, counters = slots, 4 * slots
    with console.status(f"starting Spark with room for {slots} slots"):
        spark = local_session(slots)
    try:
        board = Board(rate, readers)
        board.origin = time.time()
        plan = word_count(rate, board.origin, readers=readers, counters=counters)
        query = Query.start(spark, plan, {"slots": slots, "interval": interval}, name="demo", sink=board.take)
        try:
            _watch(query, board, seconds, console)
        finally:
            query.stop()
        error = query.exception()
        if error is not None:
            raise error
        console.print(board.summary())
        console.print(
            f"{query.epochs:,} epochs of {interval * 1000:g} ms on {slots} slots; "
            f"the first {WARM_UP:g} s are not counted"
        )
        return board
    finally:
        spark.stop()


def _watch(query: Query, board: Board, seconds: float, console: Console) -> None:
    end = time.time() + seconds
    if console.is_terminal:
        with Live(console=console, refresh_per_second=5, get_renderable=lambda: board.view(query, end - time.time())):
            query.awaitTermination(seconds)
        return
    while not query.awaitTermination(min(5.0, max(0.0, end - time.time()))) and time.time() < end:
        console.print(f"epoch {query.epochs:,}  {board.lines:,} lines  {board.counts.total():,} words")
