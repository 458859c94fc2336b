"""Hash functions: Spark's variants of Murmur3 and xxHash over typed values, and the usual digests."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable
from decimal import Decimal
from struct import pack, unpack, unpack_from
from typing import Any

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructType,
    YearMonthIntervalType,
)

from millstream.kernels.functions.function import Function, Functions, Python, calls
from millstream.plan.algebra import Expr, Unsupported

Hasher = Callable[[Any, int], int]
"""Hashes a value, starting from a seed."""

M32 = 0xFFFFFFFF
M64 = 0xFFFFFFFFFFFFFFFF
P1, P2, P3, P4, P5 = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
LONG_DIGITS = 18
"""A decimal of so many digits is hashed as a whole number of 64 bits."""


def _mixed(h: int, k: int) -> int:
    k = k * 0xCC9E2D51 & M32
    k = (k << 15 | k >> 17) * 0x1B873593 & M32
    h ^= k
    h = (h << 13 | h >> 19) & M32
    return (h * 5 + 0xE6546B64) & M32


def _finished(h: int, length: int) -> int:
    h ^= length
    h ^= h >> 16
    h = h * 0x85EBCA6B & M32
    h ^= h >> 13
    h = h * 0xC2B2AE35 & M32
    return h ^ h >> 16


def murmur_int(value: int, seed: int) -> int:
    """Spark's Murmur3 of 32 bits."""
    return _finished(_mixed(seed, value & M32), 4)


def murmur_long(value: int, seed: int) -> int:
    """Spark's Murmur3 of 64 bits."""
    return _finished(_mixed(_mixed(seed, value & M32), value >> 32 & M32), 8)


def murmur_bytes(data: bytes, seed: int) -> int:
    """Spark's Murmur3 of bytes: those beyond the last whole word are mixed one by one, with their signs."""
    whole = len(data) & ~3
    h = seed
    for (word,) in (unpack_from("<I", data, i) for i in range(0, whole, 4)):
        h = _mixed(h, word)
    for byte in data[whole:]:
        h = _mixed(h, byte if byte < 128 else byte - 256 & M32)
    return _finished(h, len(data))


def _rotated(x: int, r: int) -> int:
    return (x << r | x >> 64 - r) & M64


def _avalanche(h: int) -> int:
    h ^= h >> 33
    h = h * P2 & M64
    h ^= h >> 29
    h = h * P3 & M64
    return h ^ h >> 32


def xx_int(value: int, seed: int) -> int:
    """Spark's xxHash64 of 32 bits."""
    h = seed + P5 + 4 & M64
    h ^= (value & M32) * P1 & M64
    return _avalanche((_rotated(h, 23) * P2 + P3) & M64)


def _round(h: int, word: int) -> int:
    return _rotated(h + word * P2 & M64, 31) * P1 & M64


def xx_long(value: int, seed: int) -> int:
    """Spark's xxHash64 of 64 bits."""
    h = seed + P5 + 8 & M64
    h ^= _round(0, value & M64)
    return _avalanche((_rotated(h, 27) * P1 + P4) & M64)


def xx_bytes(data: bytes, seed: int) -> int:
    """The xxHash64 of bytes."""
    size, at = len(data), 0
    if size >= 32:
        lanes = [seed + P1 + P2 & M64, seed + P2 & M64, seed, seed - P1 & M64]
        while at <= size - 32:
            lanes = [_round(lane, word) for lane, word in zip(lanes, unpack_from("<4Q", data, at))]
            at += 32
        h = sum(_rotated(lane, r) for lane, r in zip(lanes, (1, 7, 12, 18))) & M64
        for lane in lanes:
            h = ((h ^ _round(0, lane)) * P1 + P4) & M64
    else:
        h = seed + P5 & M64
    h = h + size & M64
    while at <= size - 8:
        h = (_rotated(h ^ _round(0, unpack_from("<Q", data, at)[0]), 27) * P1 + P4) & M64
        at += 8
    if at <= size - 4:
        h = (_rotated(h ^ unpack_from("<I", data, at)[0] * P1 & M64, 23) * P2 + P3) & M64
        at += 4
    for byte in data[at:]:
        h = _rotated(h ^ byte * P5 & M64, 11) * P1 & M64
    return _avalanche(h)


def _float_bits(value: float) -> int:
    if value != value:  # noqa: PLR0124 (only NaN differs from itself)
        return 0x7FC00000
    return int(unpack("<i", pack("<f", value or 0.0))[0])


def _double_bits(value: float) -> int:
    if value != value:  # noqa: PLR0124
        return 0x7FF8000000000000
    return int(unpack("<q", pack("<d", value or 0.0))[0])


def _unscaled(value: Decimal, scale: int) -> int:
    return int(value.scaleb(scale))


def _big_bytes(value: int) -> bytes:
    """A number as Java's `BigInteger.toByteArray` has it."""
    return value.to_bytes((value + (value < 0)).bit_length() // 8 + 1, "big", signed=True)


class _Family:
    """Hashers of one kind for all types."""

    def __init__(self, whole: Hasher, long: Hasher, data: Callable[[bytes, int], int]) -> None:
        self.whole, self.long, self.data = whole, long, data

    def of(self, kind: DataType) -> Hasher:  # noqa: PLR0911 (one for each kind)
        """The hasher of a type; a null leaves the seed as it is."""
        whole, long, data = self.whole, self.long, self.data
        if isinstance(kind, NullType):
            return lambda value, seed: seed
        if isinstance(kind, (BooleanType, ByteType, ShortType, IntegerType, DateType, YearMonthIntervalType)):
            return lambda value, seed: seed if value is None else whole(value, seed)
        if isinstance(kind, FloatType):
            return lambda value, seed: seed if value is None else whole(_float_bits(value), seed)
        if isinstance(kind, DoubleType):
            return lambda value, seed: seed if value is None else long(_double_bits(value), seed)
        if isinstance(kind, StringType):
            return lambda value, seed: seed if value is None else data(value.encode(), seed)
        if isinstance(kind, BinaryType):
            return lambda value, seed: seed if value is None else data(value, seed)
        if isinstance(kind, DecimalType):
            scale = kind.scale
            if kind.precision <= LONG_DIGITS:
                return lambda value, seed: seed if value is None else long(_unscaled(value, scale), seed)
            return lambda value, seed: seed if value is None else data(_big_bytes(_unscaled(value, scale)), seed)
        if isinstance(kind, ArrayType):
            return _sequence(self.of(kind.elementType))
        if isinstance(kind, StructType):
            return _fields([self.of(f.dataType) for f in kind])
        if isinstance(kind, MapType):
            raise Unsupported("hash", "maps are not hashed")
        return lambda value, seed: seed if value is None else long(value, seed)


def _sequence(element: Hasher) -> Hasher:
    def hashed(values: Any, seed: int) -> int:
        for value in values or ():
            seed = element(value, seed)
        return seed

    return hashed


def _fields(each: list[Hasher]) -> Hasher:
    def hashed(values: Any, seed: int) -> int:
        for one, value in zip(each, values or ()):
            seed = one(value, seed)
        return seed

    return hashed


def _hash(family: _Family, bits: int) -> Callable[[Expr], Python]:
    def entry(e: Expr) -> Python:
        each = [family.of(arg.type) for arg in e.args]
        seed, sign, size = e.params["seed"] % (1 << bits), 1 << bits - 1, 1 << bits

        def hashed(*values: Any) -> int:
            result: int = seed
            for one, value in zip(each, values):
                result = one(value, result)
            return result - size if result & sign else result

        return hashed

    return entry


def _sha2(data: bytes, bits: int) -> str | None:
    algorithm = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}.get(bits)
    return None if algorithm is None else hashlib.new(algorithm, data).hexdigest()


FUNCTIONS: Functions = {
    "Murmur3Hash": Function(_hash(_Family(murmur_int, murmur_long, murmur_bytes), 32), nulls=True),
    "XxHash64": Function(_hash(_Family(xx_int, xx_long, xx_bytes), 64), nulls=True),
    "Md5": calls(lambda data: hashlib.md5(data, usedforsecurity=False).hexdigest()),
    "Sha1": calls(lambda data: hashlib.sha1(data, usedforsecurity=False).hexdigest()),
    "Sha2": calls(_sha2),
    "Crc32": calls(zlib.crc32),
}
