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
        self._last: dict[Row, Row] = {}
        self._all: Counter[Row] = Counter()
        for batch in batches:
            places = [batch.schema.names.index(key) for key in workload.keys]
            if places:
                self._last.update({tuple([row[p] for p in places]): row for row in batch.rows})
            else:
                self._all.update(batch.rows)

    def __len__(self) -> int:
        return len(self._last) + self._all.total()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Results) and self._last == other._last and self._all == other._all

    __hash__ = None  # type: ignore[assignment] # the rows are collected one after another


def collected(frame: DataFrame) -> Batch:
    """All rows of a frame that is no stream."""
    return Batch.of_arrow(frame.schema, frame.toArrow())
