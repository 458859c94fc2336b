"""Generated events: JSON lines from a pool of ready ones, each with its own time put into it.

A pool of lines is made once. A range of events is a run through it: one copy of bytes, with the 13
digits of each event's own time put over those in the pool. No Python runs per row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql.types import StructType

from millstream.errors import InvalidOption
from millstream.io.generated import MAX_ROWS, GeneratedReader, limit_of, schedule_of, start_of
from millstream.io.options import Given
from millstream.io.schedule import Schedule
from millstream.kernels.batch import Batch

SCHEMA = StructType().add("value", "string")

POOL = 32_768
DIGITS = 13
FEW = 96
"""Up to so many rows, Python is quicker than NumPy's fixed cost."""

PASS_DIGITS = 6

Line = tuple[str, str] | tuple[str, str, str]
"""What stands before and after an event's time; of three pieces, the number of the pass through the pool
stands between the first two, so that names made with it never come again."""


class EventSource(ABC):
    """Events at the instants of a schedule; each has its instant in it, in milliseconds."""

    name: str
    schema = SCHEMA
    OPTIONS: ClassVar[tuple[str, ...]] = (
        "rowsPerSecond",
        "partitions",
        "seed",
        "rows",
        "schedule",
        "startTime",
        "maxRowsPerEpoch",
    )

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        given = Given(self.name, options)
        given.check_names(self.OPTIONS)
        self.schedule = schedule_of(given, 10_000)
        self.start = start_of(given)
        if self.start < 10**15:
            raise InvalidOption(
                f"startTime of {self.name} must be after 2001, in seconds, not {given.get('startTime')}"
            )
        self.count = given.whole("partitions", 0)
        self.seed = given.whole("seed", 0)
        self.limit = limit_of(given)
        self.max_rows = given.whole("maxRowsPerEpoch", MAX_ROWS, least=1)

    def partitions(self, slots: int) -> int:
        """As the option says, else one for each slot."""
        return self.count or slots

    def reader(self, partition: int, partitions: int) -> EventReader:
        """The reader of one partition."""
        return EventReader(self, partition, partitions)

    @property
    def shape(self) -> tuple[int, ...]:
        """What the lines depend on."""
        return (self.seed,)

    @classmethod
    @abstractmethod
    def lines(cls, shape: tuple[int, ...]) -> Iterable[Line]:
        """The lines of a pool, as many as `POOL`."""


class EventReader(GeneratedReader):
    """One partition's events."""

    def __init__(self, source: EventSource, partition: int, partitions: int) -> None:
        super().__init__(source, partition, partitions)
        self.pool = pool_of(type(source), source.shape)
        self.shift = partition * POOL // partitions  # partitions are at different places of the pool

    def rows(self, origin: int, first: int, stop: int) -> Batch:
        """As Python's strings if they are few, else as Arrow."""
        p, step = self.partition, self.partitions
        if stop - first <= FEW:
            time_of, line = self.schedule.time, self.pool.line
            return Batch.of_rows(
                SCHEMA,
                [(line(i + self.shift, (origin + time_of(i * step + p)) // 1000),) for i in range(first, stop)],
            )
        millis = (self.schedule.times(first * step + p, stop * step, step) + origin) // 1000
        return Batch.of_arrow(SCHEMA, pa.table([self.pool.lines(first + self.shift, millis)], names=["value"]))


def write_events(
    folder: str | Path,
    events: int,
    source: type[EventSource],
    *shape: int,
    files: int = 8,
    rate: int = 10_000,
    start: float = 1_600_000_000.0,
) -> list[Path]:
    """Write so many events as files of JSON lines, with event times on a fixed grid of `rate` events per second.

    File `k` holds the `k`-th share of the time line, so the same arguments always give the same files.
    """
    if events < 0 or files < 1 or rate < 1:
        raise InvalidOption("write_events needs events >= 0, files >= 1 and rate >= 1")
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    pool = pool_of(source, shape or source().shape)
    schedule, origin = Schedule([(rate, 0.0)]), round(start * 1e6)
    paths = []
    for k in range(files):
        low, high = events * k // files, events * (k + 1) // files
        path = target / f"events-{k:05d}.json"
        with (temporary := target / f".{path.name}.tmp").open("wb") as out:
            for first in range(low, high, POOL):
                stop = min(first + POOL, high)
                out.write(pool.text(first, (schedule.times(first, stop) + origin) // 1000).data)
        temporary.replace(path)
        paths.append(path)
    return paths


class Packed(NamedTuple):
    """Lines in one run of bytes that is twice the pool: runs never wrap."""

    data: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]
    times: npt.NDArray[np.int64]
    """Where each line's time is."""
    passes: npt.NDArray[np.int64] | None
    """Where each line's number of the pass is, if it has one."""

    @staticmethod
    def of(lines: list[Line], end: str) -> Packed:
        """Lines with an end."""
        before = [line[0] + "0" * PASS_DIGITS + line[1] if len(line) == 3 else line[0] for line in lines]
        texts = [head + "0" * DIGITS + line[-1] + end for head, line in zip(before, lines)]
        data = "".join(texts).encode()
        offsets = np.zeros(2 * POOL + 1, dtype=np.int64)
        np.cumsum([len(text) for text in texts] * 2, out=offsets[1:])
        passes = offsets[:-1] + [len(line[0]) for line in lines] * 2 if len(lines[0]) == 3 else None
        return Packed(
            np.frombuffer(data + data, dtype=np.uint8),
            offsets,
            offsets[:-1] + [len(head) for head in before] * 2,
            passes,
        )

    def run(self, event: int, millis: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32]]:
        """A run of at most a pool's length: bytes, and where its lines are in them."""
        number, low = divmod(event, POOL)
        high = low + len(millis)
        base, end = int(self.offsets[low]), int(self.offsets[high])
        data = self.data[base:end].copy()
        _put(data, self.times[low:high] - base, _digits(millis))
        if self.passes is not None:
            numbers = np.array([number, number + 1]) % 10**PASS_DIGITS
            which = (np.arange(low, high) >= POOL).astype(np.int64)
            _put(data, self.passes[low:high] - base, _written(numbers, PASS_DIGITS)[which])
        return data, (self.offsets[low : high + 1] - base).astype(np.int32)


class Pool:
    """Ready lines of ASCII."""

    def __init__(self, lines: list[Line]) -> None:
        self._lines = lines
        self._bare = Packed.of(lines, "")
        self._ended = Packed.of(lines, "\n")

    def line(self, event: int, millis: int) -> str:
        """One event."""
        number, i = divmod(event, POOL)
        line = self._lines[i]
        if len(line) == 3:
            return f"{line[0]}{number % 10**PASS_DIGITS:0{PASS_DIGITS}}{line[1]}{millis}{line[2]}"
        return f"{line[0]}{millis}{line[1]}"

    def lines(self, event: int, millis: npt.NDArray[np.int64]) -> pa.Array:
        """A run of events as strings."""
        pieces = []
        for low in range(0, len(millis), POOL):
            part = millis[low : low + POOL]
            data, offsets = self._bare.run(event + low, part)
            buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
            pieces.append(pa.Array.from_buffers(pa.string(), len(part), buffers))
        return pieces[0] if len(pieces) == 1 else pa.chunked_array(pieces, pa.string())

    def text(self, event: int, millis: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
        """A run of at most a pool's length as lines of text."""
        return self._ended.run(event, millis)[0]


def _put(data: npt.NDArray[np.uint8], at: npt.NDArray[np.int64], texts: npt.NDArray[np.void]) -> None:
    """Write texts of one length over bytes.

    There are overlapping windows of that length, one at each byte: assigning to some of them is one store each.
    """
    width = texts.dtype.itemsize
    windows = np.ndarray((len(data) - width + 1,), dtype=texts.dtype, buffer=data.data, strides=(1,))
    windows[at] = texts


def _digits(millis: npt.NDArray[np.int64]) -> npt.NDArray[np.void]:
    """The 13 digits of each number; at high rates many events share a millisecond, so each is written once."""
    least, most = int(millis[0]), int(millis[-1])
    if most - least < len(millis):
        return _written(np.arange(least, most + 1), DIGITS)[millis - least]
    return _written(millis, DIGITS)


def _written(numbers: npt.NDArray[np.int64], digits: int) -> npt.NDArray[np.void]:
    out = np.empty((len(numbers), digits), dtype=np.uint8)
    rest = numbers
    for place in range(digits - 1, -1, -1):
        rest, digit = np.divmod(rest, 10)
        out[:, place] = digit + ord("0")
    return out.view(f"V{digits}").ravel()


@lru_cache(maxsize=4)
def pool_of(source: type[EventSource], shape: tuple[int, ...]) -> Pool:
    """The pool of a source's lines."""
    return Pool(list(source.lines(shape)))


def uuid(random: Random) -> str:
    """A UUID of version 4 and variant 1."""
    digits = f"{random.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"
