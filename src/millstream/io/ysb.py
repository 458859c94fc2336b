"""The Yahoo streaming benchmark's advertising events, as JSON lines.

A pool of ready lines is made once. A range of events is a run through it: one copy of bytes, with the 13
digits of each event's own time put over those in the pool. No Python runs per row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

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
EVENT_SCHEMA = (
    StructType()
    .add("user_id", "string")
    .add("page_id", "string")
    .add("ad_id", "string")
    .add("ad_type", "string")
    .add("event_type", "string")
    .add("event_time", "long")
    .add("ip_address", "string")
)
CAMPAIGN_SCHEMA = StructType().add("ad_id", "string").add("campaign_id", "string")
AD_TYPES = ("banner", "modal", "sponsored-search", "mail", "mobile")
EVENT_TYPES = ("view", "click", "purchase")

POOL = 32_768
DIGITS = 13
FEW = 96
"""Up to so many rows, Python is quicker than NumPy's fixed cost."""


class YsbSource:
    """Events at the instants of a schedule; `event_time` is the instant in milliseconds."""

    name = "millstream-ysb"
    schema = SCHEMA
    OPTIONS = (
        "rowsPerSecond",
        "partitions",
        "campaigns",
        "adsPerCampaign",
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
                f"startTime of millstream-ysb must be after 2001, in seconds, not {given.get('startTime')}"
            )
        self.count = given.whole("partitions", 0)
        self.campaigns = given.whole("campaigns", 100, least=1)
        self.ads = given.whole("adsPerCampaign", 10, least=1)
        self.seed = given.whole("seed", 0)
        self.limit = limit_of(given)
        self.max_rows = given.whole("maxRowsPerEpoch", MAX_ROWS, least=1)

    def partitions(self, slots: int) -> int:
        """As the option says, else one for each slot."""
        return self.count or slots

    def reader(self, partition: int, partitions: int) -> YsbReader:
        """The reader of one partition."""
        return YsbReader(self, partition, partitions)

    def campaign_rows(self) -> list[tuple[str, str]]:
        """The static table that goes with these events."""
        return campaigns(self.campaigns, self.ads, self.seed)


class YsbReader(GeneratedReader):
    """One partition's events."""

    def __init__(self, source: YsbSource, partition: int, partitions: int) -> None:
        super().__init__(source, partition, partitions)
        self.pool = _pool(source.campaigns, source.ads, source.seed)
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


def campaigns(campaigns: int = 100, ads_per_campaign: int = 10, seed: int = 0) -> list[tuple[str, str]]:
    """The rows of the static table `(ad_id, campaign_id)`.

    >>> rows = campaigns(2, 3)
    >>> len(rows), len({campaign for _, campaign in rows}), rows == campaigns(2, 3)
    (6, 2, True)
    """
    random = Random(f"ysb-{seed}")
    return [
        (_uuid(random), campaign)
        for campaign in [_uuid(random) for _ in range(campaigns)]
        for _ in range(ads_per_campaign)
    ]


def write_events(
    folder: str | Path,
    events: int,
    *,
    files: int = 8,
    rate: int = 10_000,
    start: float = 1_600_000_000.0,
    campaigns: int = 100,
    ads_per_campaign: int = 10,
    seed: int = 0,
) -> list[Path]:
    """Write so many events as files of JSON lines, with event times on a fixed grid of `rate` events per second.

    File `k` holds the `k`-th share of the time line, so the same arguments always give the same files.
    """
    if events < 0 or files < 1 or rate < 1:
        raise InvalidOption("write_events needs events >= 0, files >= 1 and rate >= 1")
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    pool = _pool(campaigns, ads_per_campaign, seed)
    schedule, origin = Schedule([(rate, 0.0)]), round(start * 1e6)
    paths = []
    for k in range(files):
        low, high = events * k // files, events * (k + 1) // files
        path = target / f"events-{k:05d}.json"
        with (temporary := target / f".{path.name}.tmp").open("wb") as out:
            for first in range(low, high, POOL):
                stop = min(first + POOL, high)
                data, offsets = pool.text(first, (schedule.times(first, stop) + origin) // 1000)
                out.write(data[: int(offsets[-1])].data)
        temporary.replace(path)
        paths.append(path)
    return paths


class Pool:
    """Ready lines, each ending with a newline, in one run of bytes that is twice the pool: runs never wrap."""

    def __init__(self, lines: list[tuple[str, str]]) -> None:
        self.heads = [head for head, _ in lines]
        self.tails = [tail for _, tail in lines]
        self.bare = self._packed("")
        self.ended = self._packed("\n")

    def _packed(self, end: str) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        blank = "0" * DIGITS
        data = "".join([head + blank + tail + end for head, tail in zip(self.heads, self.tails)]).encode()
        heads = np.array([len(head) for head in self.heads])
        sizes = heads + np.array([len(tail) for tail in self.tails]) + DIGITS + len(end)
        offsets = np.zeros(2 * POOL + 1, dtype=np.int64)
        np.cumsum(np.concatenate([sizes, sizes]), out=offsets[1:])
        return np.frombuffer(data + data, dtype=np.uint8), offsets, offsets[:-1] + np.concatenate([heads, heads])

    def line(self, event: int, millis: int) -> str:
        """One event."""
        i = event % POOL
        return f"{self.heads[i]}{millis}{self.tails[i]}"

    def lines(self, event: int, millis: npt.NDArray[np.int64]) -> pa.Array:
        """A run of events as strings."""
        pieces = []
        for low in range(0, len(millis), POOL):
            part = millis[low : low + POOL]
            data, offsets = _run(self.bare, event + low, part)
            buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
            pieces.append(pa.Array.from_buffers(pa.string(), len(part), buffers))
        return pieces[0] if len(pieces) == 1 else pa.chunked_array(pieces, pa.string())

    def text(self, event: int, millis: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32]]:
        """A run of at most a pool's length as lines of text."""
        return _run(self.ended, event, millis)


def _run(
    packed: tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64], npt.NDArray[np.int64]],
    event: int,
    millis: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32]]:
    pool, offsets, stamps = packed
    low = event % POOL
    high = low + len(millis)
    base, end = int(offsets[low]), int(offsets[high])
    data = pool[base:end].copy()
    # Overlapping windows of 13 bytes, one at each byte: assigning to some of them is one store per event.
    windows = np.ndarray((len(data) - DIGITS + 1,), dtype=f"V{DIGITS}", buffer=data.data, strides=(1,))
    windows[stamps[low:high] - base] = _digits(millis)
    return data, (offsets[low : high + 1] - base).astype(np.int32)


def _digits(millis: npt.NDArray[np.int64]) -> npt.NDArray[np.void]:
    """The 13 digits of each number; at high rates many events share a millisecond, so each is written once."""
    least, most = int(millis[0]), int(millis[-1])
    if most - least < len(millis):
        return _written(np.arange(least, most + 1))[millis - least]
    return _written(millis)


def _written(numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.void]:
    out = np.empty((len(numbers), DIGITS), dtype=np.uint8)
    rest = numbers
    for place in range(DIGITS - 1, -1, -1):
        rest, digit = np.divmod(rest, 10)
        out[:, place] = digit + ord("0")
    return out.view(f"V{DIGITS}").ravel()


@lru_cache(maxsize=2)
def _pool(campaigns_: int, ads: int, seed: int) -> Pool:
    random = Random(f"ysb-pool-{seed}")
    ad_ids = [ad for ad, _ in campaigns(campaigns_, ads, seed)]
    return Pool(list(_lines(random, ad_ids)))


def _lines(random: Random, ad_ids: list[str]) -> Iterator[tuple[str, str]]:
    for _ in range(POOL):
        ip = ".".join([str(random.randrange(1, 255)) for _ in range(4)])
        head = (
            f'{{"user_id":"{_uuid(random)}","page_id":"{_uuid(random)}","ad_id":"{random.choice(ad_ids)}",'
            f'"ad_type":"{random.choice(AD_TYPES)}","event_type":"{random.choice(EVENT_TYPES)}","event_time":'
        )
        yield head, f',"ip_address":"{ip}"}}'


def _uuid(random: Random) -> str:
    digits = f"{random.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"  # version 4, variant 1
