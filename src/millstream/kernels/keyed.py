"""A user's process by key: state for each key (and window), updated row by row, finalised when its window ends."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from pyspark import cloudpickle
from pyspark.sql.types import StructType, TimestampType

from millstream.errors import FunctionFailed
from millstream.kernels.batch import Batch, Row
from millstream.kernels.keys import normalizer
from millstream.kernels.state import Clock, Deadlines, Keyed, KeyedFactory, Tally
from millstream.kernels.udf_code import failing
from millstream.kernels.values import from_user, to_user
from millstream.plan.algebra import Columns, FlatMap, Node, Process, schema_of

Place = tuple[Row, int | None]
"""A key, and the start of a window if there are windows."""


class Window(NamedTuple):
    """A window of time: from its start until just before its end."""

    start: datetime
    end: datetime


class Entry:
    """What is kept for one place; key and window are as the user sees them."""

    __slots__ = ("key", "state", "window")

    def __init__(self, key: Any, window: Window | None, state: Any) -> None:
        self.key = key
        self.window = window
        self.state = state


def processing(node: Process) -> KeyedFactory:
    """The factory of a process's partitions; its rows are the node's input."""
    return ProcessingFactory(replace(node, input=Node(node.input.output)))


@dataclass(frozen=True)
class ProcessingFactory:
    """Makes the partitions."""

    node: Process

    @property
    def source(self) -> str:
        """Nothing is generated: the code is the user's."""
        return f"# {type(self.node.process).__name__}, row by row\n"

    def __call__(self) -> Keyed:
        """A partition without state."""
        return Processing(self.node)


class Processing:
    """The keys of one partition."""

    def __init__(self, node: Process) -> None:
        self._node = node
        self._process = node.process
        self._name = type(node.process).__name__
        ids = [column.id for column in node.input.output]
        self._key_at = [ids.index(column.id) for column in node.keys]
        self._value_at = [ids.index(column.id) for column in node.values]
        self._time_at = ids.index(node.time.id) if node.event and node.time is not None else None
        self._normal = normalizer(schema_of(node.keys)) or (lambda key: key)
        self._user_key = _reader(node.keys, len(node.keys) == 1, node.zone)
        self._user_value = _reader(node.values, node.plain, node.zone)
        self._user_time = to_user(TimestampType(), node.zone)
        self._rows = _writer(schema_of(node.output), node.zone, self._name)
        self._entries: dict[Place, Entry] = {}
        self._ends = Deadlines()
        self._clock = Clock()
        self._tally = Tally()

    def update(self, rows: Iterable[Row], watermark: int | None, now: int) -> list[Row]:
        """Update the states of the rows' keys, then finalise the windows that have ended."""
        event, late = self._node.event, self._clock.late
        out: list[Row] = []
        for row in rows:
            time = now if self._time_at is None else row[self._time_at]
            key = self._normal(tuple([row[i] for i in self._key_at]))
            value = self._user_value(tuple([row[i] for i in self._value_at]))
            for start, end in self._windows(time):
                if event and end is not None and end <= late:
                    self._tally.late += 1
                else:
                    out += self._update((key, start), value, time)
        for place in self._ends.due(self._clock.advance(watermark) if event else now):
            entry = self._entries.pop(place)
            self._tally.removed += 1
            with failing(f"{self._name}.finalize", "failed"):
                out += self._rows(self._process.finalize(entry.key, entry.window, entry.state))
        return out

    def _windows(self, time: int | None) -> list[tuple[int | None, int | None]]:
        """Starts and ends of the windows of a time; without windows, only the end of its own lateness."""
        if self._node.window is None:
            return [(None, time)]
        if time is None:
            return []
        size, slide = self._node.window
        first = ((time - size) // slide + 1) * slide
        return [(start, start + size) for start in range(first, time + 1, slide)]

    def _update(self, place: Place, value: Any, time: int | None) -> list[Row]:
        entry = self._entries.get(place) or self._enter(place)
        with failing(f"{self._name}.update", "failed"):
            answer = self._process.update(entry.key, value, entry.state, self._user_time(time))
            if not isinstance(answer, tuple) or len(answer) != 2:
                raise FunctionFailed(f"{self._name}.update must return (state, rows), not {answer!r}")
            entry.state, rows = answer
            self._tally.updated += 1
            if entry.state is None and place[1] is None:
                del self._entries[place]
                self._tally.removed += 1
            return self._rows(rows)

    def _enter(self, place: Place) -> Entry:
        """A key's first row."""
        entry = self._entry(place, None)
        with failing(f"{self._name}.init", "failed"):
            entry.state = self._process.init(entry.key, entry.window)
        self._entries[place] = entry
        return entry

    def _entry(self, place: Place, state: Any) -> Entry:
        key, start = place
        if start is None or self._node.window is None:
            return Entry(self._user_key(key), None, state)
        end = start + self._node.window[0]
        self._ends.add(end, place)
        return Entry(self._user_key(key), Window(self._user_time(start), self._user_time(end)), state)

    def snapshot(self) -> bytes:
        """The watermark and the states; they may be of classes that only the user's program knows."""
        states = {place: entry.state for place, entry in self._entries.items()}
        return bytes(cloudpickle.dumps((self._clock.late, states), 5))

    def restore(self, data: bytes) -> None:
        """Windows end in the order in which they would have."""
        self._clock.late, states = pickle.loads(data)
        self._ends = Deadlines()
        self._entries = {}
        for place, state in states.items():
            self._entries[place] = self._entry(place, state)
        self._tally.restored(len(states))

    def counts(self) -> dict[str, int]:
        """What happened to the states."""
        return self._tally.take(len(self._entries))


def _reader(columns: Columns, plain: bool, zone: str) -> Callable[[Row], Any]:
    """Values as the user sees them: one as it is, or several as a `Row`."""
    if plain:
        one = to_user(columns[0].type, zone)
        return lambda values: one(values[0])
    return to_user(schema_of(columns), zone)


def _writer(schema: StructType, zone: str, name: str) -> Callable[[Iterable[Any] | None], list[Row]]:
    """A user's rows as internal ones."""
    convert = from_user(schema, zone)

    def write(rows: Iterable[Any] | None) -> list[Row]:
        return [] if rows is None else [convert(row) for row in rows]

    return write


@dataclass(frozen=True)
class FlatMapSpec:
    """A user's function over single rows, as a step of a stage."""

    node: FlatMap

    @property
    def output(self) -> Columns:
        """The columns of the function's rows."""
        return self.node.output

    def start(self) -> FlatMapStep:
        """Make the converters, on the slot."""
        return FlatMapStep(self.node)


class FlatMapStep:
    """Calls the function."""

    def __init__(self, node: FlatMap) -> None:
        self._function = node.function
        self._name = getattr(node.function, "__name__", type(node.function).__name__)
        self._schema = schema_of(node.output)
        self._read = to_user(schema_of(node.input.output), node.zone)
        self._rows = _writer(self._schema, node.zone, self._name)

    def run(self, batch: Batch) -> tuple[Batch, int | None]:
        """All rows that it returns for each row, in order."""
        with failing(self._name, "failed"):
            out = [made for row in batch.rows for made in self._rows(self._function(self._read(row)))]
        return Batch.of_rows(self._schema, out), None
