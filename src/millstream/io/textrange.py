"""The lines of a range of a file, read as a kernel goes through them: each kernel gets its own form of them.

Few bytes are in memory at a time, and those are still in the processor's caches when their lines are looked at.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql.types import StructType

from millstream.io.lines import BOM, LONGEST, cuts, is_packed, line_ends, text_array
from millstream.kernels.batch import Batch, Row

BLOCK = 384 << 10
"""Bytes read at a time."""
LINE = 200
"""Bytes that a line is guessed to have, before anybody has looked."""

Block = tuple[bytes, bytes | None]
"""Some whole lines, and what ends each of them."""


class TextRange(Batch):
    """One column of strings: the lines that start in a range of a file's bytes."""

    __slots__ = ("_block", "_count", "_high", "_low", "_path", "_separator")

    def __init__(
        self, schema: StructType, path: str, low: int, high: int, separator: bytes | None, block: int = BLOCK
    ) -> None:
        super().__init__(schema, None, None)
        self._path = path
        self._low = low
        self._high = high
        self._separator = separator
        self._block = block
        self._count: int | None = None

    @property
    def is_arrow(self) -> bool:
        """Its rows are better made from Arrow, when several batches become one."""
        return True

    @property
    def weight(self) -> int:
        return self._high - self._low

    @property
    def about(self) -> int:
        return self._count if self._count is not None else self.weight // LINE + 1

    def __len__(self) -> int:
        if self._count is None:
            for _ in self.stream:
                pass
        assert self._count is not None
        return self._count

    @property
    def rows(self) -> Sequence[Row]:
        if self._rows is None:
            self._rows = list(self.stream)
        return self._rows

    @property
    def stream(self) -> Iterable[Row]:
        return zip(self._lines(None))

    def candidates(self, letters: Sequence[str]) -> Iterable[Row]:
        """Lines without any of the letters may be left out."""
        return zip(self._lines(letters[0] if len(letters) == 1 else None))

    @property
    def arrow(self) -> pa.Table:
        if self._arrow is None:
            arrays = [text_array(data, *line_ends(data, end)) for data, end in self._blocks()]
            self._arrow = pa.table([pa.chunked_array(arrays, pa.string())], names=self.schema.names)
            self._count = self._arrow.num_rows
        return self._arrow

    def _lines(self, letter: str | None) -> Iterator[str]:
        count = 0
        for data, end in self._blocks():
            if end != b"\n":
                texts = text_array(data, *line_ends(data, end)).to_pylist()
            else:
                text = str(data, "utf-8", "replace").removesuffix("\n")
                if letter is not None and "\\" not in text:
                    lines = data.count(b"\n", 0, -1) + 1
                    count += lines
                    hits = 0
                    for line in _holding(text, letter):
                        hits += 1
                        yield line
                    if hits > lines // 2:
                        letter = None  # to look for it costs more than it saves
                    continue
                texts = text.split("\n")
            count += len(texts)
            yield from texts
        self._count = count

    def _blocks(self) -> Iterator[Block]:
        r"""The lines in blocks: those that end with \n in as many bytes as fit, all others as `cuts` gives them."""
        low, high, separator, size = self._low, self._high, self._separator, self._block
        if separator in (None, b"\n") and not is_packed(self._path):
            with open(self._path, "rb") as file:
                descriptor = file.fileno()
                at = _first_line(descriptor, low)
                while at is not None and at < high:
                    data = os.pread(descriptor, size, at)
                    if b"\r" in data and separator is None:
                        break
                    end = _last_line(data, high - at) or (len(data) if len(data) < size else 0)
                    if end:
                        bom = len(BOM) if at == 0 and data.startswith(BOM) else 0
                        if end > bom:
                            yield data[bom:end], b"\n"
                        at = low = at + end
                    elif data and size <= LONGEST:
                        size *= 4  # a line is longer than a block
                    else:
                        break
                if at is not None and (at >= high or not os.pread(descriptor, 1, at)):
                    return
        yield from cuts(self._path, low, high, separator)


def _holding(text: str, letter: str) -> Iterator[str]:
    """The lines that hold a letter."""
    find, before = text.find, text.rfind
    at = find(letter)
    while at >= 0:
        stop = find("\n", at)
        if stop < 0:
            stop = len(text)
        yield text[before("\n", 0, at) + 1 : stop]
        at = find(letter, stop)


def _first_line(descriptor: int, low: int) -> int | None:
    """Where the first line starts that is not before a position; None if lines have other ends, too."""
    at = max(low - 1, 0)
    while low and (data := os.pread(descriptor, 4096, at)):
        if b"\r" in data:
            return None
        found = data.find(b"\n")
        if found >= 0:
            return at + found + 1
        at += len(data)
    return at


def _last_line(data: bytes, wanted: int) -> int:
    """Where the last whole line ends, of those that start in the first `wanted` bytes; 0 if none does."""
    if wanted > len(data):
        return data.rfind(b"\n") + 1
    return data.find(b"\n", wanted - 1) + 1
