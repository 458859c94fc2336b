"""Floating-point numbers as Java writes, rounds and reads them.

Until version 18 Java did not always write the shortest digits that tell a number from its neighbours;
what it wrote instead is part of Spark's answers on such a JVM, so its algorithm is repeated here.
"""

from __future__ import annotations

import math
from decimal import Decimal
from functools import cache
from struct import Struct, pack, unpack

_SINGLE = Struct("f")
SHORTEST_SINCE = 19
"""The version of Java that writes the shortest digits."""


def float32(x: float) -> float:
    """The nearest number of 32 bits.

    >>> float32(0.1), float32(1e300)
    (0.10000000149011612, inf)
    """
    try:
        single: float = _SINGLE.unpack(_SINGLE.pack(x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)
    return single


def exact_float32(x: int | Decimal) -> float:
    """The number of 32 bits nearest to an exact one, rounded once.

    >>> exact_float32(16777217 * 2**30 + 1) == (16777216 + 2) * 2.0**30
    True
    """
    try:
        near = float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.inf
    if math.isfinite(near) and near != x and not unpack("Q", pack("d", near))[0] & 1:
        near = math.nextafter(near, math.inf if x > near else -math.inf)
    return float32(near)


def text_of(x: float, *, single: bool = False, java: int = 17) -> str:
    """What `Double.toString`, or `Float.toString` for a single-precision number, says.

    >>> text_of(1.0), text_of(1e7), text_of(-0.00012), text_of(0.10000000149011612, single=True), text_of(2e23)
    ('1.0', '1.0E7', '-1.2E-4', '0.1', '1.9999999999999998E23')
    >>> text_of(-5.5733433563767654e18), text_of(-5.5733433563767654e18, java=21)
    ('-5.5733433563767654E18', '-5.573343356376765E18')
    """
    if math.isnan(x):
        return "NaN"
    sign = "-" if math.copysign(1.0, x) < 0 else ""
    if math.isinf(x):
        return sign + "Infinity"
    if x == 0:
        return sign + "0.0"
    digits, point = _shortest(abs(x), single) if java >= SHORTEST_SINCE else _digits(abs(x), single)
    if 0 < point < 8:
        return f"{sign}{digits[:point].ljust(point, '0')}.{digits[point:] or '0'}"
    if -3 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{point - 1}"


def decimal_of(x: float, java: int = 17) -> Decimal:
    """A finite number as the decimal that Java writes it as, which is how Spark converts it."""
    digits, point = _shortest(abs(x), False) if java >= SHORTEST_SINCE else _digits(abs(x), False)
    return Decimal((int(x < 0), tuple(map(int, digits)), point - len(digits)))


def _shortest(x: float, single: bool) -> tuple[str, int]:
    """The fewest digits that give the number back, at least two if two come closer; and where the point is."""

    def back(text: str) -> float:
        return exact_float32(Decimal(text)) if single else float(text)

    text = next(text for n in range(1, 17 + 1) if back(text := f"{x:.{n}e}") == x)
    mantissa, exponent = text.split("e")
    return mantissa.replace(".", "").rstrip("0") or "0", int(exponent) + 1


def _digits(x: float, single: bool) -> tuple[str, int]:
    """The digits that Java 17 writes, and where the point is: `FloatingDecimal.dtoa`."""
    if x == 0:
        return "0", 1
    if single:
        bits = unpack("I", pack("f", x))[0]
        fraction, exponent, width = (bits & 0x7FFFFF), (bits >> 23), 23
        bias = 127
    else:
        bits = unpack("Q", pack("d", x))[0]
        fraction, exponent, width = (bits & ((1 << 52) - 1)), (bits >> 52), 52
        bias = 1023
    if exponent:
        fraction |= 1 << width
        significant = width + 1
    else:
        significant = fraction.bit_length()
        shift = width + 1 - significant
        fraction <<= shift
        exponent = 1 - shift
    return _develop(exponent - bias, fraction << (52 - width), significant)


def _develop(exponent: int, fraction: int, significant: int) -> tuple[str, int]:
    """Steele and White's digits with Java's shortcuts; `fraction` has 53 bits."""
    zeros = (fraction & -fraction).bit_length() - 1
    width = 53 - zeros
    tiny = max(0, width - exponent - 1)
    if tiny == 0 and exponent <= 62 and exponent >= -21 and width < 64:
        unneeded = len(str(1 << (exponent - significant - 1))) - 1 if exponent - significant - 1 > 1 else 0
        return _whole(fraction << (exponent - 52) if exponent >= 52 else fraction >> (52 - exponent), unneeded)
    mantissa = fraction / (1 << 52)
    point = math.floor((mantissa - 1.5) * 0.289529654 + 0.176091259 + exponent * 0.301029995663981)
    b5, s5 = max(0, -point), max(0, point)
    b2, s2 = b5 + tiny + exponent, s5 + tiny
    m2 = b2 - significant
    fraction >>= zeros
    b2 -= width - 1
    common = min(b2, s2)
    b2, s2, m2 = b2 - common, s2 - common, m2 - common
    if width == 1:
        m2 -= 1
    if m2 < 0:
        b2, s2, m2 = b2 - m2, s2 - m2, 0
    limit = _limit(width + b2 + _bits_of_power(b5), s2 + 1 + _bits_of_power(s5 + 1))
    rest, unit, margin = fraction * 5**b5 << b2, 5**s5 << s2, 5**b5 << m2
    return _generate(rest, unit, margin, point, limit)


def _generate(rest: int, unit: int, margin: int, point: int, limit: int | None) -> tuple[str, int]:
    """One digit after the other until the rest is within the margin; `limit` is where Java's numbers overflow."""
    tens = unit * 10
    digits: list[int] = []
    first = True
    low = high = False
    while first or not (low or high):
        digit, rest = divmod(rest, unit)
        rest *= 10
        margin *= 10
        if limit is None:
            low, high = rest < margin, rest + margin >= tens
        else:
            margin = _wrapped(margin, limit)
            low, high = rest < margin, _wrapped(rest + margin, limit) > tens
            if margin <= 0 and not first:
                low = high = True
        if first and digit == 0 and not high:
            point -= 1
        else:
            digits.append(digit)
        if first and (point < -3 or point >= 8):
            low = high = False
        first = False
    twice = 2 * rest - tens if limit is None else _wrapped(2 * rest - tens, limit)
    if high and (not low or twice > 0 or (twice == 0 and digits[-1] & 1)):
        return _rounded_up(digits, point + 1)
    return "".join(map(str, digits)), point + 1


def _wrapped(x: int, limit: int) -> int:
    return (x + limit) % (2 * limit) - limit


def _rounded_up(digits: list[int], point: int) -> tuple[str, int]:
    number = str(int("".join(map(str, digits))) + 1)
    point += len(number) - len(digits)
    return number.rstrip("0"), point


def _whole(number: int, unneeded: int) -> tuple[str, int]:
    """A whole number, rounded where its last digits say nothing."""
    point = 0
    if unneeded:
        power = 10**unneeded
        number, rest = divmod(number, power)
        number += rest >= power >> 1
    text = str(number)
    return text.rstrip("0"), point + unneeded + len(text)


def _limit(bits: int, tens: int) -> int | None:
    """Java computes in ints, longs or big numbers, by the size of what it divides."""
    if bits < 32 and tens < 32:
        return 1 << 31
    return 1 << 63 if bits < 64 and tens < 64 else None


@cache
def _bits_of_power(n: int) -> int:
    """An upper bound, Java's, of how many bits the n-th power of five has."""
    return (5**n).bit_length() if n < 28 else 3 * n
