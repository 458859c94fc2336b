"""Exponentials, logarithms and powers by the formulas of Sun's fdlibm, which Java's `StrictMath` prescribes.

The machine's own library may differ from it in the last bit.
"""

from __future__ import annotations

import math
from struct import Struct

_DOUBLE = Struct("<d")
_WORDS = Struct("<Ii")

_LN2_HI, _LN2_LO, _INV_LN2 = 6.93147180369123816490e-01, 1.90821492927058770002e-10, 1.44269504088896338700e00
_P = (
    1.66666666666666019037e-01,
    -2.77777777770155933842e-03,
    6.61375632143793436117e-05,
    -1.65339022054652515390e-06,
    4.13813679705723846039e-08,
)
_LG = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)
_L = (
    5.99999999999994648725e-01,
    4.28571428578550184252e-01,
    3.33333329818377432918e-01,
    2.72728123808534006489e-01,
    2.30660745775561754067e-01,
    2.06975017800338417784e-01,
)
_BASES, _DP_H, _DP_L = (1.0, 1.5), (0.0, 5.84962487220764160156e-01), (0.0, 1.35003920212974897128e-08)
_LG2, _LG2_H, _LG2_L = 6.93147180559945286227e-01, 6.93147182464599609375e-01, -1.90465429995776804525e-09
_CP, _CP_H, _CP_L = 9.61796693925975554329e-01, 9.61796700954437255859e-01, -7.02846165095275826516e-09
_IVLN2_H, _IVLN2_L = 1.44269502162933349609e00, 1.92596299112661746887e-08
_OVERFLOW = 8.0085662595372944372e-17
_LARGEST, _SMALLEST = 7.09782712893383973096e02, -7.45133219101941108420e02


def _words(x: float) -> tuple[int, int]:
    low, high = _WORDS.unpack(_DOUBLE.pack(x))
    return high, low


def _of_words(high: int, low: int) -> float:
    x: float = _DOUBLE.unpack(_WORDS.pack(low, high))[0]
    return x


def _head(x: float) -> float:
    """The number without its lower word."""
    return _of_words(_words(x)[0], 0)


def _scaled(x: float, exponent: int) -> float:
    try:
        return math.ldexp(x, exponent)
    except OverflowError:
        return math.inf


def _polynomial(t: float) -> float:
    return t * (_P[0] + t * (_P[1] + t * (_P[2] + t * (_P[3] + t * _P[4]))))


def exp(x: float) -> float:
    """The exponential.

    >>> exp(1.0), exp(575.0)
    (2.7182818284590455, 5.2399494140684656e+249)
    """
    if not _SMALLEST <= x <= _LARGEST:
        return x if math.isnan(x) else math.inf if x > 0 else 0.0
    high = _words(x)[0] & 0x7FFFFFFF
    if high < 0x3E300000:
        return 1.0 + x
    k, hi, lo = 0, x, 0.0
    if high > 0x3FD62E42:
        near_one = high < 0x3FF0A2B2
        k = int(math.copysign(1.0, x) if near_one else _INV_LN2 * x + math.copysign(0.5, x))
        hi, lo = x - k * _LN2_HI, k * _LN2_LO
        x = hi - lo
    c = x - _polynomial(x * x)
    if k == 0:
        return 1.0 - ((x * c) / (c - 2.0) - x)
    return _scaled(1.0 - ((lo - (x * c) / (2.0 - c)) - hi), k)


def log(x: float) -> float:
    """The natural logarithm of a positive number.

    >>> log(291824.0), log(1.0)
    (12.583906159803778, 0.0)
    """
    if math.isinf(x):
        return x
    high, low = _words(x)
    k = 0
    if high < 0x00100000:
        k = -54
        high, low = _words(x * 2.0**54)
    k += (high >> 20) - 1023
    high &= 0xFFFFF
    i = (high + 0x95F64) & 0x100000
    f = _of_words(high | (i ^ 0x3FF00000), low) - 1.0
    k += i >> 20
    if 0xFFFFF & (2 + high) < 3:
        if f == 0:
            return k * _LN2_HI + k * _LN2_LO
        r = f * f * (0.5 - 0.33333333333333333 * f)
        return f - r if k == 0 else k * _LN2_HI - ((r - k * _LN2_LO) - f)
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    t1 = w * (_LG[1] + w * (_LG[3] + w * _LG[5]))
    r = z * (_LG[0] + w * (_LG[2] + w * (_LG[4] + w * _LG[6]))) + t1
    if (high - 0x6147A) | (0x6B851 - high) > 0:
        half = 0.5 * f * f
        if k == 0:
            return f - (half - s * (half + r))
        return k * _LN2_HI - ((half - (s * (half + r) + k * _LN2_LO)) - f)
    return f - s * (f - r) if k == 0 else k * _LN2_HI - ((s * (f - r) - k * _LN2_LO) - f)


def log10(x: float) -> float:
    """The decimal logarithm of a positive number.

    >>> log10(1000.0), log10(674425.0)
    (3.0, 5.828933660609586)
    """
    if math.isinf(x):
        return x
    high, low = _words(x)
    k = 0
    if high < 0x00100000:
        k = -54
        high, low = _words(x * 2.0**54)
    k += (high >> 20) - 1023
    i = int(k < 0)
    y = float(k + i)
    z = y * 3.69423907715893078616e-13 + 4.34294481903251816668e-01 * log(
        _of_words((high & 0xFFFFF) | ((0x3FF - i) << 20), low)
    )
    return z + y * 3.01029995663611771306e-01


def pow(x: float, y: float) -> float:  # noqa: PLR0911 (named as in Java)
    """A power, with Java's answers for zeros, infinities and NaN.

    >>> pow(2.0, 10.0), pow(-8.0, 3.0), pow(-8.0, 0.5), pow(414928.0, 2.5)
    (1024.0, -512.0, nan, 110900079313258.34)
    """
    if y == 0:
        return 1.0
    if math.isnan(x) or math.isnan(y):
        return math.nan
    size = abs(x)
    if math.isinf(y):
        return math.nan if size == 1 else math.inf if (size > 1) == (y > 0) else 0.0
    if y == 1:
        return x
    if y == 2:
        return x * x
    if y == 0.5 and x != -math.inf:
        return math.sqrt(x + 0.0) if x >= 0 else math.nan
    odd = abs(y) < 2.0**53 and y == int(y) and int(y) & 1 == 1
    whole = abs(y) >= 2.0**53 or y == int(y)
    negative = math.copysign(1.0, x) < 0
    sign = -1.0 if negative and odd else 1.0
    if size in (0.0, 1.0) or math.isinf(size):
        if negative and size == 1 and not whole:
            return math.nan
        return sign * (size if y > 0 else 1.0 / size if size else math.inf)
    if y == -1:
        return 1.0 / x
    if negative and not whole:
        return math.nan
    return sign * _power(size, y)


def _power(x: float, y: float) -> float:
    """A power of a positive finite number other than one."""
    if abs(y) > 2.0**31:
        high = _words(x)[0]
        if high < 0x3FEFFFFF or (high <= 0x3FEFFFFF and abs(y) >= 2.0**64):
            return math.inf if y < 0 else 0.0
        if high > 0x3FF00000 or abs(y) >= 2.0**64:
            return math.inf if y > 0 else 0.0
        t = x - 1.0
        w = (t * t) * (0.5 - t * (0.3333333333333333333333 - t * 0.25))
        u = _IVLN2_H * t
        v = t * _IVLN2_L - w * _INV_LN2
        t1 = _head(u + v)
        t2 = v - (t1 - u)
    else:
        t1, t2 = _log2(x)
    y1 = _head(y)
    p_l = (y - y1) * t1 + y * t2
    p_h = y1 * t1
    z = p_l + p_h
    if z >= 1024.0 and (z > 1024.0 or p_l + _OVERFLOW > z - p_h):
        return math.inf
    if z <= -1075.0 and (z < -1075.0 or p_l <= z - p_h):
        return 0.0
    n = 0
    if abs(z) > 0.5:
        n = int(math.copysign(math.floor(abs(z) + 0.5), z))
        p_h -= n
    t = _head(p_l + p_h)
    u = t * _LG2_H
    v = (p_l - (t - p_h)) * _LG2 + t * _LG2_L
    z = u + v
    w = v - (z - u)
    t1 = z - _polynomial(z * z)
    r = (z * t1) / (t1 - 2.0) - (w + z * w)
    return _scaled(1.0 - (r - z), n)


def _log2(x: float) -> tuple[float, float]:
    """The binary logarithm as a sum of two numbers."""
    n = 0
    high, low = _words(x)
    if high < 0x00100000:
        n = -53
        high, low = _words(x * 2.0**53)
    n += (high >> 20) - 0x3FF
    j = high & 0xFFFFF
    high = j | 0x3FF00000
    k = int(0x3988E < j < 0xBB67A)
    if j >= 0xBB67A:
        n += 1
        high -= 0x00100000
    x = _of_words(high, low)
    u = x - _BASES[k]
    v = 1.0 / (x + _BASES[k])
    ss = u * v
    s_h = _head(ss)
    t_h = _of_words(((high >> 1) | 0x20000000) + 0x00080000 + (k << 18), 0)
    t_l = x - (t_h - _BASES[k])
    s_l = v * ((u - s_h * t_h) - s_h * t_l)
    s2 = ss * ss
    r = s2 * s2 * (_L[0] + s2 * (_L[1] + s2 * (_L[2] + s2 * (_L[3] + s2 * (_L[4] + s2 * _L[5])))))
    r += s_l * (s_h + ss)
    s2 = s_h * s_h
    t_h = _head(3.0 + s2 + r)
    t_l = r - ((t_h - 3.0) - s2)
    u = s_h * t_h
    v = s_l * t_h + t_l * ss
    p_h = _head(u + v)
    p_l = v - (p_h - u)
    z_h = _CP_H * p_h
    z_l = _CP_L * p_h + p_l * _CP + _DP_L[k]
    t1 = _head(((z_h + z_l) + _DP_H[k]) + n)
    return t1, z_l - (((t1 - n) - _DP_H[k]) - z_h)
