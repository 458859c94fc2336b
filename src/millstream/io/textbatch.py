"""A batch of lines that are still bytes: each kernel gets them in its own form, and pays for no other."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql.types import StructType

from millstream.io.lines import BOM, LONGEST, cuts, is_packed, line_ends, text_array
from millstream.kernels.batch import Batch, Row

BLOCK = 2 << 20
"""Bytes read at a time."""
IN_CACHE = 400_000
"""Bytes of lines that exist as Python's strings at a time."""
ARRAY = 1 << 20
"""Bytes of lines in one Arrow array: numpy's passes over them stay in the cache, too."""


class TextBatch(Batch):
    r"""One column of strings: the lines of the first `size` bytes, which end with \n or there.

    >>> schema = StructType().add("value", "string")
    >>> batch = TextBatch(schema, b"a\nb\n\nc\nd", 7)
    >>> len(batch), list(batch.stream), batch.arrow["value"].to_pylist()
    (4, [('a',), ('b',), ('',), ('c',)], ['a', 'b', '', 'c'])
    """

    __slots__ = ("_data", "_end")

    def __init__(self, schema: StructType, data: bytes, size: int) -> None:
        super().__init__(schema, None, None)
        self._data = data
        self._end = size - 1 if data[size - 1 : size] == b"\n" else size
        """Where the last line ends."""

    @property
    def is_arrow(self) -> bool:
        """Its rows are better made from Arrow, when several batches become one."""
        return True

    @property
    def weight(self) -> int:
        return self._end

    def __len__(self) -> int:
        return self._data.count(b"\n", 0, self._end) + 1

    @property
    def rows(self) -> Sequence[Row]:
        if self._rows is None:
            self._rows = list(self.stream)
        return self._rows

    @property
    def stream(self) -> Iterable[Row]:
        return zip(self._texts())

    @property
    def arrow(self) -> pa.Table:
        if self._arrow is None:
            arrays = [text_array(lines, *line_ends(lines, b"\n")) for lines in self._pieces(ARRAY)]
            self._arrow = pa.table([pa.chunked_array(arrays)], names=self.schema.names)
        return self._arrow

    def _pieces(self, size: int) -> Iterator[bytes]:
        """Whole lines, each piece with the last one's end."""
        data, start = self._data, 0
        while (stop := data.find(b"\n", start + size, self._end)) >= 0:
            yield data[start : stop + 1]
            start = stop + 1
        yield data[start : self._end] + b"\n"

    def _texts(self) -> Iterator[str]:
        data, start, stop = self._data, 0, 0
        view = memoryview(data)
        while stop >= 0:
            stop = data.find(b"\n", start + IN_CACHE, self._end)
            yield from str(view[start : self._end if stop < 0 else stop], "utf-8", "replace").split("\n")
            start = stop + 1


def text_batches(
    schema: StructType, path: str, low: int, high: int, separator: bytes | None, block: int = BLOCK
) -> Iterator[Batch]:
    """The lines that start in a range of a file's bytes, in batches of moderate size."""
    if separator in (None, b"\n") and not is_packed(path):
        with open(path, "rb") as file:
            descriptor = file.fileno()
            at = _first_line(descriptor, low)
            while at is not None and at < high:
                data = os.pread(descriptor, block, at)
                if b"\r" in data and separator is None:
                    break
                end = _last_line(data, high - at) or (len(data) if len(data) < block else 0)
                if end:
                    bom = len(BOM) if at == 0 and data.startswith(BOM) else 0
                    if end > bom:
                        yield TextBatch(schema, data[bom:] if bom else data, end - bom)
                    at = low = at + end
                elif data and block <= LONGEST:
                    block *= 4  # a line is longer than a block
                else:
                    break
            if at is not None and (at >= high or not os.pread(descriptor, 1, at)):
                return
    for lines, ended_by in cuts(path, low, high, separator):
        yield Batch.of_arrow(schema, pa.table([text_array(lines, *line_ends(lines, ended_by))], names=schema.names))


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
