"""A batch of lines that are still bytes: each kernel gets them in its own form, and pays for no other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql.types import StructType

from millstream.io.lines import Cut, line_ends, text_array
from millstream.kernels.batch import Batch, Row

IN_CACHE = 400_000
"""Bytes of lines that exist as Python's strings at a time."""
ARRAY = 1 << 20
"""Bytes of lines in one Arrow array: numpy's passes over them stay in the cache, too."""


class TextBatch(Batch):
    r"""One column of strings: the lines of some bytes, which end with \n or with the bytes.

    >>> schema = StructType().add("value", "string")
    >>> batch = TextBatch(schema, b"a\nb\n\nc")
    >>> len(batch), list(batch.stream), batch.arrow["value"].to_pylist()
    (4, [('a',), ('b',), ('',), ('c',)], ['a', 'b', '', 'c'])
    """

    __slots__ = ("_data",)

    def __init__(self, schema: StructType, data: bytes) -> None:
        super().__init__(schema, None, None)
        self._data = data.removesuffix(b"\n")

    @property
    def is_arrow(self) -> bool:
        """Its rows are better made from Arrow, when several batches become one."""
        return True

    @property
    def weight(self) -> int:
        return len(self._data)

    def __len__(self) -> int:
        return self._data.count(b"\n") + 1

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
            arrays = [text_array(piece, *line_ends(piece, b"\n")) for piece in self._pieces(ARRAY)]
            self._arrow = pa.table([pa.chunked_array(arrays)], names=self.schema.names)
        return self._arrow

    def _pieces(self, size: int) -> Iterator[bytes]:
        data, start = self._data, 0
        while (stop := data.find(b"\n", start + size)) >= 0:
            yield data[start:stop]
            start = stop + 1
        yield data[start:] or b"\n"

    def _texts(self) -> Iterator[str]:
        for piece in self._pieces(IN_CACHE):
            yield from piece.removesuffix(b"\n").decode(errors="replace").split("\n")


def batch_of(schema: StructType, cut: Cut) -> Batch:
    """The lines of a piece of a file."""
    data, separator = cut
    if separator == b"\n" or (separator is None and b"\r" not in data):
        return TextBatch(schema, data)
    return Batch.of_arrow(schema, pa.table([text_array(data, *line_ends(data, separator))], names=schema.names))
