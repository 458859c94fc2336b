"""Numbers and bytes out of the texts in which JSON holds them, as Jackson and Java read them."""

from __future__ import annotations

import re
from binascii import Error as NotBase64
from binascii import a2b_base64
from ctypes import c_float
from decimal import Decimal
from math import inf, nextafter
from struct import pack, unpack

from pyspark.sql.types import ByteType, DataType, IntegerType, LongType, ShortType

from millstream.kernels.functions.json_tokens import JsonError

RANGES: dict[type[DataType], tuple[int, int]] = {
    ByteType: (-(2**7), 2**8 - 1),  # Jackson takes a byte to be either signed or unsigned
    ShortType: (-(2**15), 2**15 - 1),
    IntegerType: (-(2**31), 2**31 - 1),
    LongType: (-(2**63), 2**63 - 1),
}
_BASE64 = re.compile(r"([\0- ]*[A-Za-z0-9+/]{4})*([\0- ]*[A-Za-z0-9+/]{2}(==|[A-Za-z0-9+/]=))?[\0- ]*", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,9})?", re.ASCII)


def fixed(text: str, precision: int, scale: int) -> Decimal:
    """A number's text as a decimal, rounded half up.

    >>> fixed("1.005", 5, 2), fixed("-1.005", 5, 2)
    (Decimal('1.01'), Decimal('-1.01'))
    """
    if not _DECIMAL.fullmatch(text):
        raise JsonError("not a decimal")
    sign, digits, exponent = Decimal(text).as_tuple()
    shift = int(exponent) + scale
    if shift > precision and any(digits):
        raise JsonError("the decimal is too large")
    units = int("".join(map(str, digits))) if any(digits) else 0
    if shift < -len(digits) - 1:
        units = 0
    elif shift < 0:
        units = (units + 10**-shift // 2) // 10**-shift
    else:
        units *= 10 ** min(shift, precision)
    if units >= 10**precision:
        raise JsonError("the decimal is too large")
    return Decimal((sign if units else 0, tuple(map(int, str(units))), -scale))


def single(text: str) -> float:
    """A number's text as the nearest float of 32 bits, which need not be the nearest one to the nearest double.

    >>> single("1.0000000596046448"), single("1e40")
    (1.0000001192092896, inf)
    """
    double = float(text)
    if not between(double):
        return c_float(double).value
    exact = Decimal(text)
    nearest = Decimal(double)
    if exact != nearest:
        double = nextafter(double, inf if exact > nearest else -inf)
    return c_float(double).value


def between(double: float) -> bool:
    """Whether a double is, or may be, half way between two floats."""
    bits = unpack("<q", pack("<d", double))[0]
    return (bits & 0x1FFFFFFF) == 0x10000000 or abs(double) < 1.1754943508222875e-38


def from_base64(text: str) -> bytes:
    """What the text encodes; the padding must be there."""
    if not _BASE64.fullmatch(text):
        raise JsonError("not Base64")
    try:
        return a2b_base64(text)
    except NotBase64 as error:
        raise JsonError("not Base64") from error
