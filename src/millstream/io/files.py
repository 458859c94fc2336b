"""Files as a stream: new ones of a directory or glob, each once, big ones in pieces.

One splitter finds the files and decides which bytes of which of them an epoch reads. An offset says how
many files were taken up, which ranges its epoch reads, and the newest file so far.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from pyspark.sql.types import StructType

from millstream.errors import InvalidOption, MillstreamError
from millstream.io.discovery import Discovery, File, Where
from millstream.io.options import Given
from millstream.io.source import Offset
from millstream.io.takenlog import TakenLog
from millstream.kernels.batch import Batch
from millstream.plan.algebra import Unsupported

MEGABYTE = 1 << 20
BYTES_PER_EPOCH = 32 * MEGABYTE
FILES_PER_EPOCH = 1000
"""At most so many ranges travel in an offset."""
PIECE = 4 * MEGABYTE
LEAST_SPLIT = MEGABYTE

Range = tuple[str, int, int]
"""A file's path, and the bytes from and to which it is read."""


class FileFormat(Protocol):
    """How the files' bytes become rows. It travels to the slots with its source."""

    def divisible(self, path: str) -> bool:
        """Whether a range of a file's bytes can be read by itself; else the file is read as a whole."""

    def read(self, range: Range) -> Iterator[Batch]:
        """The rows of a range: those whose first byte is in it."""


@dataclass
class FileSource:
    """Files in one format. A `log_folder` that outlives the slots lets a restart know what was read."""

    format: FileFormat
    schema: StructType
    where: Where
    max_files: int = FILES_PER_EPOCH
    max_bytes: int = BYTES_PER_EPOCH
    log_folder: str | None = None
    name: str = field(init=False)

    OPTIONS = (*Where.OPTIONS, "maxFilesPerTrigger", "maxBytesPerTrigger", "cleanSource", "maxCachedFiles")

    def __post_init__(self) -> None:
        self.name = f"FileStreamSource[file:{self.where.pattern}]"

    @staticmethod
    def of(given: Given, schema: StructType, format: FileFormat) -> FileSource:
        """As the options say."""
        if given.text("cleanSource", "off").lower() != "off":
            raise Unsupported("cleanSource", "source files are neither moved nor deleted natively")
        if "maxFilesPerTrigger" in given and "maxBytesPerTrigger" in given:
            raise InvalidOption("give maxFilesPerTrigger or maxBytesPerTrigger, not both")
        return FileSource(
            format,
            schema,
            Where.of(given),
            min(given.whole("maxFilesPerTrigger", FILES_PER_EPOCH, least=1), FILES_PER_EPOCH),
            given.whole("maxBytesPerTrigger", BYTES_PER_EPOCH, least=1),
        )

    def with_log(self, folder: str) -> FileSource:
        """The same source, with a place for what it has to remember."""
        return dataclasses.replace(self, log_folder=folder)

    def splitter(self) -> FileSplitter:
        """The one that finds files."""
        return FileSplitter(self)

    def read(self, split: list[Range]) -> Iterable[Batch]:
        """The rows of some ranges; small files come together in one batch."""
        waiting: list[Batch] = []
        size = 0
        for path, low, high in split:
            for batch in self.format.read((path, low, high)):
                if not waiting and batch.weight >= PIECE // 3:
                    yield batch
                    continue
                waiting.append(batch)
                size += batch.weight
                if size >= PIECE:
                    yield Batch.concat(self.schema, waiting)
                    waiting, size = [], 0
        if waiting:
            yield Batch.concat(self.schema, waiting)


class FileSplitter:
    """Takes up files in order, as many as an epoch may have bytes for."""

    def __init__(self, source: FileSource) -> None:
        self.source = source
        self.more = False
        self._log = TakenLog(source.log_folder) if source.log_folder else None
        self._at: Offset = None
        self._frozen = False
        self._discovery = Discovery(source.where)
        self._queue: list[File] = []

    def initial(self) -> Offset:
        """No file."""
        return [0, [], None]

    def latest(self, start: Offset, now: float) -> Offset:
        """The rest of a file that was begun, then the next files, up to the limits."""
        self._follow(start)
        source = self.source
        count, before, newest = start
        budget = source.max_bytes
        ranges: list[list[Any]] = []
        taken: list[File] = []
        if before and before[-1][2] < before[-1][3]:
            path, _, done, size = before[-1]
            ranges.append([path, done, self._end(path, done, size, budget), size])
            budget -= ranges[0][2] - done
        while budget > 0 and len(ranges) < source.max_files and (file := self._next(now)):
            taken.append(file)
            newest = max(newest, list(file)) if newest else list(file)
            if file.size:
                ranges.append([file.path, 0, self._end(file.path, 0, file.size, budget), file.size])
                budget -= ranges[-1][2]
        if not ranges and not taken:
            self.more = False
            return start
        if self._log and taken:
            self._log.append(count, taken)
        self._at = [count + len(taken), ranges, newest]
        self.more = bool(self._queue) or bool(ranges and ranges[-1][2] < ranges[-1][3])
        return self._at

    def freeze(self, start: Offset, now: float) -> None:
        """The files that are there now are all that there ever are."""
        self._follow(start)
        self._find(now)
        self._frozen = True

    def splits(self, start: Offset, end: Offset, wanted: int) -> list[list[Range]]:
        """The range's bytes in `wanted` equal parts, or fewer if they would be small; files that can't be cut stay."""
        ranges = end[1] if end != start else []
        share = max(-(-sum(high - low for _, low, high, _ in ranges) // wanted), LEAST_SPLIT)
        splits: list[list[Range]] = [[]]
        room = share
        for path, low, high, _ in ranges:
            at = low
            while at < high:
                if room <= 0:
                    splits.append([])
                    room = share
                to = min(high, at + room) if self.source.format.divisible(path) else high
                splits[-1].append((path, at, to))
                room -= to - at
                at = to
        return [split for split in splits if split]

    def close(self) -> None:
        """Nothing is held."""

    def _end(self, path: str, low: int, size: int, budget: int) -> int:
        return min(size, low + budget) if self.source.format.divisible(path) else size

    def _next(self, now: float) -> File | None:
        if not self._queue or self.source.where.latest_first:
            self._find(now)
        return self._queue.pop() if self._queue else None

    def _find(self, now: float) -> None:
        """Put new files into the queue; the next to read is its last."""
        if not self._frozen and (new := self._discovery.new(now)):
            self._queue = sorted([*self._queue, *new], reverse=not self.source.where.latest_first)

    def _follow(self, start: Offset) -> None:
        """Know what was read up to an offset, also on another slot than before."""
        if self._at is not None and start == self._at:
            return
        count, _, newest = start
        self._at, self._queue, self._frozen = start, [], False
        self._discovery = Discovery(self.source.where)
        if self._log:
            for file in self._log.read(count):
                self._discovery.know(file)
        elif newest:
            if self.source.where.latest_first:
                raise MillstreamError(
                    f"{self.source.name} with latestFirst can't go on after a failure without its log: "
                    "give the query a checkpointLocation"
                )
            self._discovery.know_up_to(File(*newest))
