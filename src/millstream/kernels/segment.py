"""Operators that run as one call, with both of their kernels: which one takes a batch is decided by measured cost."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import Protocol

from millstream.kernels.batch import Batch
from millstream.kernels.scalar import Scalar, ScalarCode
from millstream.kernels.vector import Refusal, Vector, VectorCode
from millstream.plan.algebra import Columns, Filter, Node, Unsupported, schema_of

log = logging.getLogger("millstream")

CHOICES = ("auto", "vector", "scalar")


class Step(Protocol):
    """A part of a stage, as the slot runs it."""

    def run(self, batch: Batch) -> tuple[Batch, int | None]:
        """The rows that come out, and the event time that the rows have reached if this step says so."""


@dataclass(frozen=True)
class Segment:
    """Some operators between two points at which rows must stand as a batch."""

    columns: Columns
    nodes: tuple[Node, ...]
    kernel: str = "auto"
    """`auto`, or one of `vector` and `scalar` for comparisons and debugging."""

    @property
    def output(self) -> Columns:
        """The columns that come out."""
        return self.nodes[-1].output if self.nodes else self.columns

    def start(self) -> Step:
        """Compile it, on the slot."""
        return SegmentStep(self)

    def scalar_source(self) -> str:
        """The scalar kernel as Python source."""
        return ScalarCode(self.columns, self.nodes).source

    def vector_source(self) -> str:
        """The vector kernel as SQL; raises `Unsupported` if there is none."""
        return ";\n".join(VectorCode(self.columns, self.nodes).statements)

    def why_not_vector(self) -> Unsupported | None:
        """What has no SQL, if something hasn't."""
        try:
            VectorCode(self.columns, self.nodes)
        except Unsupported as error:
            return error
        return None


class Cost:
    """What a kernel's calls have cost: a fixed part and a part for each row, fitted as calls are seen.

    >>> cost = Cost(fixed=1.0, row=0.5)
    >>> round(cost.of(10), 6)
    6.0
    """

    FORGET = 0.98
    """The weight of older calls, so that the estimate follows the machine and the data."""

    def __init__(self, fixed: float, row: float) -> None:
        self.fixed = fixed
        self.row = row
        # Two invented calls stand for the first guess until measured ones outweigh them.
        self._n = self._x = self._y = self._xx = self._xy = 0.0
        self.calls = 0
        """How many have been seen."""
        for rows in (0, 4000):
            self.saw(rows, fixed + row * rows)
        self.calls = 0

    def of(self, rows: int) -> float:
        """Seconds that a call should take."""
        return self.fixed + self.row * rows

    def saw(self, rows: int, seconds: float) -> None:
        """Learn from a call (weighted least squares)."""
        keep = self.FORGET
        self.calls += 1
        self._n = self._n * keep + 1
        self._x = self._x * keep + rows
        self._y = self._y * keep + seconds
        self._xx = self._xx * keep + rows * rows
        self._xy = self._xy * keep + rows * seconds
        spread = self._n * self._xx - self._x * self._x
        if spread > 1e-3 * self._n * self._xx:
            self.row = max((self._n * self._xy - self._x * self._y) / spread, 0.0)
        else:
            self.row = max(self._y - self._n * self.fixed, 0.0) / max(self._x, 1.0)
        self.fixed = max((self._y - self.row * self._x) / self._n, 1e-6)


class SegmentStep:
    """A segment on a slot."""

    PROBE = 64
    """One call in so many goes to the kernel that seems the slower one, if it seems at most three times as slow."""
    FIRST = 4
    """Large batches that each kernel gets before the estimates are believed."""
    LARGE = 1000

    def __init__(self, segment: Segment) -> None:
        self.schema = schema_of(segment.output)
        self.columns = segment.columns
        self.scalar: Scalar = ScalarCode(segment.columns, segment.nodes).function()
        self.vector: Vector | None = None
        self.refused = 0
        self._letters = _letters(segment)
        self._scalar_cost = Cost(20e-6, 1e-6)
        self._vector_cost = Cost(0.6e-3, 0.3e-6)
        self._calls = 0
        self._always: str | None = None if segment.kernel == "auto" else segment.kernel
        if segment.kernel != "scalar":
            try:
                self.vector = Vector(segment.columns, segment.nodes)
            except (Unsupported, Refusal) as error:
                log.debug("no vector kernel: %s", error)
                if segment.kernel == "vector":
                    raise

    def run(self, batch: Batch) -> tuple[Batch, int | None]:
        """Run a batch on the kernel that should be the quicker one."""
        about = batch.about
        if not about:
            return Batch.of_rows(self.schema, []), None
        if self.vector is not None and self._prefers_vector(about):
            began = time.perf_counter()
            try:
                table, mark = self.vector(batch.arrow)
            except Refusal as error:
                self.refused += 1
                log.debug("the vector kernel leaves a batch of %d rows to the scalar one: %s", about, error)
            else:
                self._vector_cost.saw(len(batch), time.perf_counter() - began)
                return Batch.of_arrow(self.schema, table), mark
            self._vector_cost.saw(about, time.perf_counter() - began + self._scalar_cost.of(about))
        began = time.perf_counter()
        result, mark = self.scalar(batch.candidates(self._letters) if self._letters else batch.stream)
        self._scalar_cost.saw(len(batch), time.perf_counter() - began)
        return Batch.of_rows(self.schema, result), mark

    def _prefers_vector(self, rows: int) -> bool:
        if self._always is not None:
            return self._always == "vector"
        self._calls += 1
        seen = self._vector_cost.calls, self._scalar_cost.calls
        if rows >= self.LARGE and min(seen) < self.FIRST:
            return seen[0] < seen[1]
        vector, scalar = self._vector_cost.of(rows), self._scalar_cost.of(rows)
        better = vector < scalar
        if self._calls % self.PROBE == 0 and max(vector, scalar) < 3 * min(vector, scalar):
            return not better
        return better


def _letters(segment: Segment) -> tuple[str, ...]:
    """The letters one of which the only column's text must hold to pass the first filter, backslashes apart."""
    first = segment.nodes[0] if segment.nodes else None
    if not isinstance(first, Filter) or len(segment.columns) != 1:
        return ()
    tests = first.condition.alternatives()
    if any(test.op != "Contains" or test.args[0].op != "Column" or test.args[1].op != "Literal" for test in tests):
        return ()
    letters = [test.args[1].params["value"] for test in tests]
    return tuple(text for text in letters if text != "\\") if "\\" in letters else ()
