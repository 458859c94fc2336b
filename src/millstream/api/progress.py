"""What a query tells of its progress, in the shape that Structured Streaming's has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from millstream.core.events import Committed


def iso(seconds: float) -> str:
    """An instant as Spark writes it.

    >>> iso(1_600_000_000.25)
    '2020-09-13T12:26:40.250Z'
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True)
class About:
    """What stays the same in every report of one query."""

    id: str
    run: str
    name: str | None
    sources: Mapping[tuple[int, ...], str] = field(default_factory=dict)
    """Descriptions of sources, by the stages that position them."""
    sink: str = ""
    states: Mapping[str, str] = field(default_factory=dict)
    """Names of the operators that keep state, by the prefix of their counts."""
    slots: int = 0
    interval: float = 0.0


class Progress:
    """Makes a report of every group."""

    def __init__(self, about: About, began: float) -> None:
        self._about = about
        self._last = began
        self._offsets: dict[tuple[int, int], Any] = {}
        self._state_rows: Counter[str] = Counter()

    def report(self, done: Committed, now: float) -> dict[str, Any]:
        """The progress of a group that has ended."""
        about = self._about
        seconds = max(now - self._last, 1e-9)
        self._last = now
        millis = round(seconds * 1000)
        rate = done.rows / seconds
        return {
            "id": about.id,
            "runId": about.run,
            "name": about.name,
            "timestamp": iso(now - seconds),
            "batchId": done.group.last,
            "batchDuration": millis,
            "numInputRows": done.rows,
            "inputRowsPerSecond": rate,
            "processedRowsPerSecond": rate,
            "durationMs": {"triggerExecution": millis},
            "eventTime": {} if done.watermark is None else {"watermark": iso(done.watermark / 1e6)},
            "stateOperators": self._states(done.counts),
            "sources": self._sources(done, rate),
            "sink": {"description": about.sink, "numOutputRows": done.counts.get("output", -1)},
            "millstream": {
                "epoch": done.group.last,
                "group": done.group.id,
                "groupSize": done.group.epochs,
                "epochMs": about.interval * 1000,
                "slots": about.slots,
                "tasks": done.tasks,
                "taskSeconds": done.busy,
            },
        }

    def _states(self, counts: Mapping[str, int]) -> list[dict[str, Any]]:
        shown = []
        for prefix, operator in self._about.states.items():
            self._state_rows[prefix] += counts.get(f"{prefix}.rows_total", 0)
            shown.append({
                "operatorName": operator,
                "numRowsTotal": self._state_rows[prefix],
                "numRowsUpdated": counts.get(f"{prefix}.rows_updated", 0),
                "numRowsRemoved": counts.get(f"{prefix}.rows_removed", 0),
                "numRowsDroppedByWatermark": counts.get(f"{prefix}.rows_dropped_by_watermark", 0),
            })  # fmt: skip
        return shown

    def _sources(self, done: Committed, rate: float) -> list[dict[str, Any]]:
        shown = []
        for stages, description in self._about.sources.items():
            begin = {k: v for k, v in self._offsets.items() if k[0] in stages}
            for r in done.ranges:
                if r.stage in stages:
                    begin.setdefault((r.stage, r.partition), r.start)
                    self._offsets[r.stage, r.partition] = r.end
            end = {k: v for k, v in self._offsets.items() if k[0] in stages}
            rows = done.rows if len(self._about.sources) == 1 else sum(done.counts.get(f"rows{s}", 0) for s in stages)
            shown.append({
                "description": description,
                "startOffset": _by_partition(begin),
                "endOffset": _by_partition(end),
                "numInputRows": rows,
                "inputRowsPerSecond": rate * rows / max(done.rows, 1),
                "processedRowsPerSecond": rate * rows / max(done.rows, 1),
            })  # fmt: skip
        return shown


def _by_partition(offsets: Mapping[tuple[int, int], Any]) -> Sequence[Any]:
    return [offsets[key] for key in sorted(offsets)]
