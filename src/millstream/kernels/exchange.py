"""Which partition a row goes to: the same in every process and for both kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millstream.kernels.batch import Batch, Row, internal_type

MIX = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1
FEW = 64
"""Up to so many rows, Python is quicker than Arrow's fixed costs."""


def hash_of(value: Any) -> int:
    """A number of 64 bits for an internal value; equal values have equal numbers.

    >>> hash_of("mill") == hash_of("mill"), hash_of((1, None)) == hash_of((None, 1))
    (True, False)
    """
    if isinstance(value, str):
        return crc32(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, (bytes, bytearray)):
        return crc32(value)
    if isinstance(value, (tuple, list)):
        mixed = 0
        for part in value:
            mixed = ((mixed ^ hash_of(part)) * MIX) & MASK
        return mixed
    if value is None or value != value:  # noqa: PLR0124 (NaN: Python gives each its own hash)
        return 0
    return hash(value) & MASK


def partition_of(values: Sequence[Any], partitions: int) -> int:
    """The partition of a key."""
    mixed = 0
    for value in values:
        mixed = ((mixed ^ hash_of(value)) * MIX) & MASK
    return (mixed >> 32) % partitions


def scatter(batch: Batch, keys: Sequence[int], partitions: int) -> dict[int, bytes]:
    """Rows as blocks by partition; `keys` are the positions of the key columns."""
    if not len(batch):
        return {}
    if partitions == 1:
        return {0: batch.to_bytes()}
    if batch.is_arrow and len(batch) > FEW:
        return _scatter_arrow(batch, keys, partitions)
    parts: dict[int, list[Row]] = {}
    for row in batch.rows:
        parts.setdefault(partition_of([row[k] for k in keys], partitions), []).append(row)
    return {p: Batch.of_rows(batch.schema, rows).to_bytes() for p, rows in parts.items()}


def _scatter_arrow(batch: Batch, keys: Sequence[int], partitions: int) -> dict[int, bytes]:
    table = batch.arrow
    mixed = np.zeros(len(batch), dtype=np.uint64)
    for k in keys:
        mixed = (mixed ^ _hashes(table.column(k))) * np.uint64(MIX)
    targets = (mixed >> np.uint64(32)) % np.uint64(partitions)
    order = np.argsort(targets, kind="stable")
    sorted_table = table.take(pa.array(order))
    bounds = np.searchsorted(targets[order], np.arange(partitions + 1, dtype=np.uint64))
    blocks = {}
    for p, (low, high) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist())):
        if high > low:
            blocks[p] = Batch.of_arrow(batch.schema, sorted_table.slice(low, high - low)).to_bytes()
    return blocks


def _hashes(column: pa.ChunkedArray) -> npt.NDArray[np.uint64]:
    """`hash_of` each value; whole numbers without a loop, everything else once for each distinct value."""
    internal = column.cast(internal_type(column.type))
    if pa.types.is_signed_integer(internal.type) and not internal.null_count:
        # Python's hash of a whole number is the number modulo 2**61 - 1, with its sign; -1 is kept for errors.
        numbers = internal.to_numpy().astype(np.int64)
        prime = np.int64((1 << 61) - 1)
        hashes = np.fmod(numbers, prime)
        hashes[hashes == -1] = -2
        unsigned: npt.NDArray[np.uint64] = hashes.astype(np.uint64)
        return unsigned
    if pa.types.is_struct(internal.type) and not internal.null_count:
        mixed = np.zeros(len(internal), dtype=np.uint64)
        for i in range(internal.type.num_fields):
            mixed = (mixed ^ _hashes(pc.struct_field(internal, [i]))) * np.uint64(MIX)
        return mixed
    if pa.types.is_nested(internal.type):
        values = Batch.of_arrow(None, pa.table({"v": column})).rows
        return np.array([hash_of(value) for (value,) in values], dtype=np.uint64)
    encoded = internal.combine_chunks().dictionary_encode(null_encoding="encode")
    distinct = np.array([hash_of(value) for value in encoded.dictionary.to_pylist()], dtype=np.uint64)
    found: npt.NDArray[np.uint64] = distinct[encoded.indices.to_numpy(zero_copy_only=False)]
    return found
