"""Values and tokens become JSON text, letter by letter as Jackson's generator writes it."""

from __future__ import annotations

import math
import re
from struct import unpack

from millstream.kernels.json_tokens import JsonError, Kind, Tokens

_NAMED = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_ESCAPED = {**{chr(i): f"\\u{i:04X}" for i in range(32)}, **_NAMED}
_UNSAFE = re.compile(r'["\\\x00-\x1f]')
_BEYOND = re.compile("[\ud800-\udfff\U00010000-\U0010ffff]")


def quoted(text: str) -> str:
    r"""A JSON string.

    >>> print(quoted('a"b\n\x01é'))
    "a\"b\n\u0001é"
    """
    if _UNSAFE.search(text):
        text = _UNSAFE.sub(lambda found: _ESCAPED[found.group()], text)
    return f'"{text}"'


def double_text(value: float) -> str:
    """A double as Java writes it.

    >>> double_text(1e7), double_text(0.001), double_text(123.0), double_text(1e-4)
    ('1.0E7', '0.001', '123.0', '1.0E-4')
    """
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return f"{value!r}" if "e" not in repr(value) else f"{value:f}"
    mantissa, _, exponent = f"{value!r}".partition("e")
    if not exponent:
        sign = "-" if value < 0 else ""
        digits = repr(abs(value)).replace(".", "")
        point = repr(abs(value)).index(".")
        bare = digits.lstrip("0")
        power = point - (len(digits) - len(bare)) - 1
        bare = bare.rstrip("0") or "0"
        return f"{sign}{bare[0]}.{bare[1:] or '0'}E{power}"
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"


def number(value: float) -> str:
    """A double in JSON: what is not finite stands in quotes."""
    return double_text(value) if math.isfinite(value) else f'"{double_text(value)}"'


def copied(tokens: Tokens) -> str:
    """The value at which the tokens stand, written anew; they end at its last token."""
    parts: list[str] = []
    depth = 0
    comma = ""
    while True:
        kind = tokens.kind
        if kind is None:
            return "".join(parts)
        if kind in (Kind.END_OBJECT, Kind.END_ARRAY):
            depth -= 1
            if depth < 0:
                raise JsonError("no value stands here")
            parts.append("}" if kind is Kind.END_OBJECT else "]")
            comma = ","
        elif kind in (Kind.START_OBJECT, Kind.START_ARRAY):
            depth += 1
            parts.append(comma + ("{" if kind is Kind.START_OBJECT else "["))
            comma = ""
        elif kind is Kind.NAME:
            parts.append(f"{comma}{_escaped(tokens.name or '')}:")
            comma = ""
        else:
            parts.append(comma + _scalar(kind, tokens.text()))
            comma = ","
        if not depth:
            return "".join(parts)
        tokens.next()


def _scalar(kind: Kind, text: str) -> str:
    if kind is Kind.STRING:
        return _escaped(text)
    if kind is Kind.FLOAT:
        return number(float(text))
    return "0" if text == "-0" else text


def _escaped(text: str) -> str:
    """Jackson escapes what lies beyond the first plane when it writes bytes, though not when it writes characters."""
    written = quoted(text)
    if not text.isascii() and _BEYOND.search(text):
        return _BEYOND.sub(lambda found: "".join([f"\\u{unit:04X}" for unit in _units(found.group())]), written)
    return written


def _units(text: str) -> tuple[int, ...]:
    data = text.encode("utf-16-le", "surrogatepass")
    return unpack(f"<{len(data) // 2}H", data)
