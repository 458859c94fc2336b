"""Values and tokens become JSON text, letter by letter as Jackson's generator writes it."""

from __future__ import annotations

import math
import re
from struct import unpack

from millstream.kernels.functions.floats import text_of
from millstream.kernels.functions.json_tokens import JsonError, Kind, Tokens

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


def number(value: float, java: int = 17, *, single: bool = False) -> str:
    """A number with a point in JSON: what is not finite stands in quotes."""
    text = text_of(value, java=java, single=single)
    return text if math.isfinite(value) else f'"{text}"'


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
