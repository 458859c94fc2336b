"""A user's own stateful processing by key, with windows and timers: init, update, finalize."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType, _parse_datatype_string

from millstream.errors import InvalidOption
from millstream.io.options import seconds
from millstream.plan.aggregates import WATERMARK
from millstream.plan.algebra import Column, Columns, FlatMap, Node, Process
from millstream.plan.expressions import items


class KeyedProcess:
    """What to do with the values of a key.

    A state is whatever `init` returns and can be pickled. Times are `datetime`s in the session's time zone.
    Rows to emit are tuples, dicts or `Row`s that fit the output's schema.
    """

    def init(self, key: Any, window: Any) -> Any:
        """The state of a key that has come for the first time; the window has `start` and `end`, or is None."""
        raise NotImplementedError

    def update(self, key: Any, value: Any, state: Any, time: Any) -> tuple[Any, Iterable[Any] | None]:
        """Take a value: the new state, and rows to emit. Without windows, a state of None forgets the key."""
        raise NotImplementedError

    def finalize(self, key: Any, window: Any, state: Any) -> Iterable[Any] | None:
        """Rows to emit when the window has ended."""
        return None


@dataclass(frozen=True)
class Windows:
    """Windows of a size in microseconds that start at every multiple of the slide."""

    size: int
    slide: int


def sliding(size: str, slide: str) -> Windows:
    """Overlapping windows, such as `sliding("30 seconds", "5 seconds")`.

    >>> sliding("30 seconds", "5 seconds")
    Windows(size=30000000, slide=5000000)
    """
    windows = Windows(_microseconds(size), _microseconds(slide))
    if not 0 < windows.slide <= windows.size:
        raise InvalidOption(f"windows of {size} can't slide by {slide}: give a slide above zero and up to the size")
    return windows


def tumbling(size: str) -> Windows:
    """Windows that follow one another, such as `tumbling("1 minute")`."""
    return sliding(size, size)


def _microseconds(duration: str) -> int:
    try:
        return round(seconds(duration) * 1_000_000)
    except ValueError:
        raise InvalidOption(f"{duration!r} is no duration; write it like '30 seconds' or '500 ms'") from None


@dataclass(frozen=True)
class Processed:
    """A frame whose rows a Python function or a `KeyedProcess` makes; it can be written, or processed again."""

    input: Frame
    schema: StructType
    make: Callable[[Node, Columns], Node]
    """From the relation that the input has become, and the output's columns."""
    output: Columns

    @property
    def root(self) -> DataFrame:
        """The DataFrame from which everything comes."""
        return self.input.root if isinstance(self.input, Processed) else self.input

    @property
    def sparkSession(self) -> SparkSession:  # noqa: N802 (as a DataFrame has it)
        """The session of the DataFrame."""
        return self.root.sparkSession

    def node(self, translate: Callable[[DataFrame], Node]) -> Node:
        """The relation; `translate` makes the DataFrame's."""
        input = self.input.node(translate) if isinstance(self.input, Processed) else translate(self.input)
        return self.make(input, self.output)


Frame: TypeAlias = DataFrame | Processed
Columnar: TypeAlias = str | SparkColumn
Several: TypeAlias = Columnar | Sequence[Columnar]


def process(
    df: Frame,
    *,
    key: Several,
    value: Several | None = None,
    process: KeyedProcess,
    output: StructType | str,
    window: Windows | None = None,
    time: str | None = None,
    time_mode: str = "event",
) -> Processed:
    """Run a `KeyedProcess` on the values of each key.

    One key or value column is given as it is, several as a `Row`; without `value`, all columns are.
    In event time, `time` names the column of the rows' times (by default the one with the watermark), and
    the watermark ends windows. In processing time the epoch's time does both.
    """
    if time_mode not in ("event", "processing"):
        raise InvalidOption(f"time_mode is 'event' or 'processing', not {time_mode!r}")
    for method in ("init", "update", "finalize"):
        if not callable(getattr(process, method, None)):
            raise InvalidOption(f"process must be a KeyedProcess; {type(process).__name__} has no method {method!r}")
    event = time_mode == "event"
    wanted = _Wanted(df)
    keys = wanted.places(key)
    values = wanted.places(value if value is not None else wanted.names)
    if event and time is None:
        time = _watermarked(df)
    if event and time is None and window is not None:
        raise InvalidOption("windows of event time need a watermark: use df.withWatermark(...), or name the column "
                            "of the times with time=..., or give time_mode='processing'")  # fmt: skip
    times = wanted.places(time) if event and time is not None else []
    plain = value is not None and not isinstance(value, (list, tuple))
    zone = _zone(df)

    def make(input: Node, columns: Columns) -> Node:
        place = input.output
        return Process(
            columns, input, tuple(place[i] for i in keys), tuple(place[i] for i in values), plain,
            place[times[0]] if times else None, process, (window.size, window.slide) if window else None,
            bool(times), zone,
        )  # fmt: skip

    return _processed(wanted.frame(), output, make)


def flat_map(frame: Frame, function: Callable[[Any], Iterable[Any]], schema: StructType | str) -> Processed:
    """The rows that a function returns for each row of a frame; it is given a `Row`."""
    zone = _zone(frame)
    return _processed(frame, schema, lambda node, columns: FlatMap(columns, node, function, zone))


class _Wanted:
    """The columns of a frame that are wanted; of a DataFrame they may be expressions, which Spark then plans."""

    def __init__(self, of: Frame) -> None:
        self._of = of
        self.names: list[str] = list(of.schema.names)
        self._selected: list[Columnar] = self.names if isinstance(of, Processed) else []

    def places(self, columns: Several) -> list[int]:
        """Where they stand in the frame."""
        return [self._place(c) for c in (columns if isinstance(columns, (list, tuple)) else [columns])]

    def _place(self, column: Columnar) -> int:
        if isinstance(column, str):
            if column not in self.names:
                raise InvalidOption(f"there is no column {column!r}; there are {', '.join(self.names)}")
            if column in [c for c in self._selected if isinstance(c, str)]:
                return self._selected.index(column)
        elif isinstance(self._of, Processed):
            raise InvalidOption("columns of a processed frame are given by name, not as expressions")
        self._selected.append(column)
        return len(self._selected) - 1

    def frame(self) -> Frame:
        """The frame that has them."""
        return self._of if isinstance(self._of, Processed) else self._of.select(*self._selected)


def _processed(input: Frame, schema: StructType | str, make: Callable[[Node, Columns], Node]) -> Processed:
    kind = _parse_datatype_string(schema) if isinstance(schema, str) else schema
    if not isinstance(kind, StructType) or not len(kind):
        raise InvalidOption(f"the output's schema is a StructType or text like 'word string, n long', not {schema!r}")
    named: Any = input.sparkSession._jvm.org.apache.spark.sql.catalyst.expressions.NamedExpression
    output = tuple(Column(int(named.newExprId().id()), f.name, f.dataType, f.nullable) for f in kind)
    return Processed(input, kind, make, output)


def _zone(frame: Frame) -> str:
    return str(frame.sparkSession.conf.get("spark.sql.session.timeZone"))


def _watermarked(frame: Frame) -> str | None:
    """The column that has a watermark."""
    if isinstance(frame, Processed):
        return None
    for attribute in items(frame._jdf.queryExecution().analyzed().output()):
        if attribute.metadata().contains(WATERMARK):
            return str(attribute.name())
    return None
