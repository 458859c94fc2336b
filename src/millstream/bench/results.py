"""What a query's result is in the end, and whether two of them are the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pyspark.sql import DataFrame

from millstream.bench.workloads import Workload
from millstream.kernels.batch import Batch, Row


class Results:
    """The rows that remain when later versions have replaced earlier ones."""

    def __init__(self, workload: Workload, batches: Iterable[Batch]) -> None:
        self._workload = workload
        self._last: dict[Row, Row] = {}
        self._all: Counter[Row] = Counter()
        self._due = 0
        for batch in batches:
            self._due = batch.schema.names.index(workload.due)
            places = [batch.schema.names.index(key) for key in workload.keys]
            if places:
                self._last.update({tuple([row[p] for p in places]): row for row in batch.rows})
            else:
                self._all.update(batch.rows)

    def __len__(self) -> int:
        return len(self._last) + self._all.total()

    def match(self, expected: Results) -> bool:
        """Whether these are the expected rows, all of them, to the last bit.

        Of rows that wait for a watermark, those that are due after the last one here may still be waiting.
        """
        if not self._workload.delay:
            return self._last == expected._last and self._all == expected._all
        last = max((row[self._due] for row in self._all), default=None)
        return last is not None and self._all == {r: n for r, n in expected._all.items() if r[self._due] <= last}


def collected(frame: DataFrame) -> Batch:
    """All rows of a frame that is no stream."""
    return Batch.of_arrow(frame.schema, frame.toArrow())
