"""How many events a second each engine takes from the same files, and whether all come to Spark's answer.

Every trial runs a quarter of the files and then all of them; the difference in events over the
difference in time is the rate once a query runs, whatever it takes to start one.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from millstream.bench.bare import BareKernel
from millstream.bench.engines import Engine, Millstream, Setup, StructuredStreaming, WithoutPartial
from millstream.bench.results import Results, collected
from millstream.bench.stats import ratios
from millstream.bench.workloads import Workload
from millstream.io.events import write_events

ENGINES: dict[str, type[Engine]] = {
    engine.name: engine for engine in (Millstream, WithoutPartial, StructuredStreaming, BareKernel)
}


@dataclass
class Trials:
    """What was measured of one engine."""

    engine: Engine
    few: list[float] = field(default_factory=list)
    """Seconds for a quarter of the files."""
    all: list[float] = field(default_factory=list)
    """Seconds for all of them."""
    rows: int = 0
    equal: bool = True

    def figures(self, few_events: int, events: int) -> dict[str, Any]:
        """Events per second, once the query runs and from its start."""
        more = events - few_events
        few, all_ = statistics.median(self.few), statistics.median(self.all)
        steady = all_ > few  # else the files are so few that starting the query is all that was seen
        return {
            "events_per_s": round(more / (all_ - few) if steady else events / all_),
            "repeats": [round(more / (b - a)) if b > a else None for a, b in zip(self.few, self.all)],
            "steady": steady,
            "events_per_s_from_start": round(events / all_),
            "repeats_from_start": [round(events / seconds) for seconds in self.all],
            "result_rows": self.rows,
            "results_equal": self.equal,
            "settings": self.engine.settings,
        }


def run(
    spark: SparkSession,
    workload: Workload,
    *,
    engines: Sequence[str],
    events: int,
    files: int,
    slots: int,
    repeat: int,
    partial: bool,
    progress: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Trials of all engines, interleaved."""
    with tempfile.TemporaryDirectory(prefix="millstream-bench-") as name, quick_folder() as checkpoints:
        folder = Path(name)
        progress(f"writing {events:,} events into {files} files")
        write_events(folder / "all", events, workload.source, files=files)
        few_files = max(1, files // 4)
        _link(folder / "all", folder / "few", few_files)

        def query(reader: Any, part: str) -> Any:
            return workload.over(spark, reader.text(str(folder / part)))

        progress("asking Spark for its own answer, in batch")
        expected = Results(workload, [collected(query(spark.read, "all"))])
        setup = Setup(spark, workload, Path(checkpoints), slots, partial=partial)
        trials = [Trials(ENGINES[engine](setup)) for engine in engines]
        for trial in trials:
            progress(f"warming up {trial.engine.name}")
            trial.engine.drain(query(spark.readStream, "few"))
        for number in range(repeat):
            for trial in trials:
                trial.few.append(trial.engine.drain(query(spark.readStream, "few")).seconds)
                drained = trial.engine.drain(query(spark.readStream, "all"))
                trial.all.append(drained.seconds)
                results = Results(workload, drained.batches)
                trial.rows, trial.equal = len(results), trial.equal and results.match(expected)
                progress(f"trial {number + 1}/{repeat}  {trial.engine.name:22}  {drained.seconds:7.2f} s"
                         f"  {events / drained.seconds:12,.0f} events/s from the start")  # fmt: skip
    few_events = events * few_files // files
    figures = {trial.engine.name: trial.figures(few_events, events) for trial in trials}
    return {
        "bench": workload.name, "mode": "max", "events": events, "files": files, "slots": slots, "repeat": repeat,
        "udf": workload.variant.udf, "window": workload.variant.window, "engines": figures,
        "ratio": ratios({name: f["events_per_s"] for name, f in figures.items()}, "millstream"),
        "ratio_from_start": ratios({name: f["events_per_s_from_start"] for name, f in figures.items()}, "millstream"),
        "results_equal": all(trial.equal for trial in trials),
    }  # fmt: skip


def _link(folder: Path, part: Path, count: int) -> None:
    """A folder with the first files of another."""
    part.mkdir()
    for path in sorted(folder.glob("*.json"))[:count]:
        (part / path.name).hardlink_to(path)


def quick_folder() -> Any:
    """A folder in memory, if there is such a file system: checkpoints then cost no more than they must."""
    memory = Path("/dev/shm")  # noqa: S108 (the folder's name is nobody's to guess)
    return tempfile.TemporaryDirectory(prefix="millstream-bench-", dir=memory if memory.is_dir() else None)
