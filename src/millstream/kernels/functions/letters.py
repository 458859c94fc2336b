"""Functions of letters and encodings: case, code points, Base64, character sets, URLs, formats."""

from __future__ import annotations

import math
import re
from base64 import b64decode, b64encode, encodebytes
from binascii import Error as NotBase64
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any
from urllib.parse import quote_plus, unquote_to_bytes

from pyspark.sql.types import BooleanType, DataType, DoubleType, IntegralType, StringType

from millstream.errors import DataError
from millstream.kernels.functions.floats import decimal_of, text_of
from millstream.kernels.functions.function import Function, Functions, Python, calls
from millstream.kernels.functions.json_tokens import whole
from millstream.plan.algebra import Expr, Unsupported

_CHARSETS = {
    "us-ascii": "ascii",
    "iso-8859-1": "latin-1",
    "utf-8": "utf-8",
    "utf-16be": "utf-16-be",
    "utf-16le": "utf-16-le",
    "utf-16": "utf-16",
    "utf-32": "utf-32",
}
MOST_PLACES = 340
"""Java's formats show no more."""
_WIDE = Context(prec=1000)
_DIRECTIVE = re.compile(r"%(?:(\d+)\$)?([-#+ 0,(]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])", re.ASCII)
_NEW_PAIRS = (
    *((0x19B, 0xA7DC), (0x264, 0xA7CB), (0x1C8A, 0x1C89), (0xA7CD, 0xA7CC), (0xA7CF, 0xA7CE)),
    *((0xA7D3, 0xA7D2), (0xA7D5, 0xA7D4), (0xA7DB, 0xA7DA)),
    *((c + 0x20, c) for c in range(0x10D50, 0x10D66)),
    *((c + 0x1B, c) for c in range(0x16EA0, 0x16EB9)),
)
"""Letters, small and capital, that Unicode has paired since the version that the oldest Python knows."""
_NEW_UPPER = dict(_NEW_PAIRS)
_NEW_LOWER = {upper: lower for lower, upper in _NEW_PAIRS}
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/=]")


def _ascii_only(function: str) -> Callable[[Expr, Sequence[str]], str]:
    """DuckDB maps letters one by one; for ASCII that is all there is to it."""
    return lambda e, args: (
        f"CASE WHEN strlen({args[0]}) = length({args[0]}) THEN {function}({args[0]}) "
        "ELSE error('letters beyond ASCII are for the scalar kernel') END"
    )


def _upper(text: str) -> str:
    made = text.upper()
    return made if made.isascii() else made.translate(_NEW_UPPER)


def _lower(text: str) -> str:
    made = text.lower()
    return made if made.isascii() else made.translate(_NEW_LOWER)


def _initcap(text: str) -> str:
    words = text.split(" ")
    return " ".join([w[:1].title().translate(_NEW_UPPER) + _lower(w)[len(w[:1].lower()) :] for w in words])


def _chr(number: int) -> str:
    return "" if number < 0 else chr(number & 0xFF)


def _base64(data: bytes, chunked: bool) -> str:
    if not chunked:
        return b64encode(data).decode()
    return encodebytes(data).decode().rstrip("\n").replace("\n", "\r\n")


def _unbase64(text: str) -> bytes:
    """As Java's MIME decoder: whatever is no letter of the alphabet is passed over."""
    letters = _NOT_BASE64.sub("", text)
    body = letters.rstrip("=")
    padding = len(letters) - len(body)
    if "=" in body or len(body) % 4 == 1 or padding not in (0, -len(body) % 4):
        raise DataError("CONVERSION_INVALID_INPUT: the text is not Base64")
    try:
        return b64decode(body + "=" * (-len(body) % 4))
    except NotBase64 as error:
        raise DataError("CONVERSION_INVALID_INPUT: the text is not Base64") from error


def _charset(e: Expr) -> str:
    name = e.args[1].params.get("value") if e.args[1].op == "Literal" else None
    found = _CHARSETS.get(str(name).lower())
    if found is None or any(arg.params.get("value") for arg in e.args[2:]):
        raise Unsupported(e.op, f"the character set {name} is not supported")
    return found


def _encode(e: Expr) -> Python:
    charset = _charset(e)
    mark = b"\xfe\xff" if charset == "utf-16" else b""
    charset = {"utf-16": "utf-16-be", "utf-32": "utf-32-be"}.get(charset, charset)

    def encode(text: str, *_: Any) -> bytes:
        try:
            return mark + text.encode(charset) if text else b""
        except UnicodeEncodeError as error:
            raise DataError(f"MALFORMED_CHARACTER_CODING: {text[:100]!r} can't be encoded") from error

    return encode


def _decode(e: Expr) -> Python:
    charset = _charset(e)
    wide = charset in ("utf-16", "utf-32")

    def decode(data: bytes, *_: Any) -> str:
        marked = data[:2] in (b"\xfe\xff", b"\xff\xfe") or data[:4] == b"\0\0\xfe\xff"
        try:
            return data.decode(f"{charset}-be" if wide and not marked else charset)
        except UnicodeDecodeError as error:
            raise DataError(f"MALFORMED_CHARACTER_CODING: the bytes are not {charset}") from error

    return decode


def _url_encode(text: str) -> str:
    return quote_plus(text, safe="*-._").replace("~", "%7E")


def _url_decode(text: str, fail: bool) -> str | None:
    if re.search("%(?![0-9a-fA-F]{2})", text):
        if fail:
            raise DataError(f"CANNOT_DECODE_URL: {text!r} is not a well-formed URL encoding")
        return None
    return unquote_to_bytes(text.replace("+", " ")).decode("utf-8", "replace")


def _format_number(e: Expr) -> Python:
    if isinstance(e.args[1].type, StringType):
        raise Unsupported(e.op, "format_number with a pattern is not supported")

    def format_number(value: Any, places: int) -> str | None:
        places = min(places, MOST_PLACES)
        if places < 0:
            return None
        if value != value:  # noqa: PLR0124 (only NaN differs from itself)
            return "NaN"
        if value in (float("inf"), float("-inf")):
            return "∞" if value > 0 else "-∞"
        return f"{value:,.{places}f}" if not isinstance(value, int) else f"{Decimal(value):,.{places}f}"

    return format_number


def _format_string(e: Expr) -> Python:
    form = e.args[0].params.get("value")
    if not isinstance(form, str):
        raise Unsupported(e.op, "the format must be a constant text")
    parts: list[str | Callable[[Sequence[Any]], str]] = []
    at = used = 0
    for found in _DIRECTIVE.finditer(form):
        parts.append(_plain(e, form[at : found.start()]))
        at = found.end()
        index, flags, width, precision, letter = found.groups()
        if letter in "%n" and not (flags or width or precision):
            parts.append("%" if letter == "%" else "\n")
            continue
        used += index is None
        place = int(index) if index else used
        if place >= len(e.args):
            raise Unsupported(e.op, f"{found[0]} has no argument")
        parts.append(_directive(e, e.args[place].type, place - 1, flags, int(width or 0), precision, letter))
    parts.append(_plain(e, form[at:]))
    return lambda _, *values: "".join([part if isinstance(part, str) else part(values) for part in parts])


def _plain(e: Expr, text: str) -> str:
    if "%" in text:
        raise Unsupported(e.op, "a format that Java does not know")
    return text


def _units(text: str) -> int:
    """Java measures text in units of UTF-16."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def _cut(text: str, limit: int | None) -> str:
    if limit is None or text.isascii():
        return text[:limit]
    return whole(text.encode("utf-16-le")[: 2 * limit].decode("utf-16-le", "surrogatepass"))


def _directive(
    e: Expr, kind: DataType, place: int, flags: str, width: int, precision: str | None, letter: str
) -> Callable[[Sequence[Any]], str]:
    if not set(flags) <= set("-0,") or ("0" in flags and "-" in flags):
        raise Unsupported(e.op, f"the flags {flags} are not supported")
    grouped = "," if "," in flags else ""
    show: Callable[[Any], str]
    if letter == "s" and isinstance(kind, (StringType, IntegralType, BooleanType)) and set(flags) <= {"-"}:
        limit = None if precision is None else int(precision)
        show = lambda v: _cut(str(v).lower() if isinstance(v, bool) else str(v), limit)  # noqa: E731 (one of three)
    elif letter == "d" and isinstance(kind, IntegralType) and precision is None:
        show = lambda v: f"{v:{grouped}}"  # noqa: E731
    elif letter == "f" and isinstance(kind, DoubleType):
        show = _fixed_point(int(precision or 6), grouped)
    else:
        raise Unsupported(e.op, f"%{letter} of {kind.simpleString()} is not supported")

    def directive(values: Sequence[Any]) -> str:
        value = values[place]
        if value is None:
            text = "null"[: None if precision is None else int(precision)]
            return text.ljust(width) if "-" in flags else text.rjust(width)
        text = show(value)
        room = width - _units(text) + len(text)
        if "-" in flags:
            return text.ljust(room)
        return text.zfill(room) if "0" in flags else text.rjust(room)

    return directive


def _fixed_point(places: int, grouped: str) -> Callable[[Any], str]:
    """Java rounds the decimal that it would write, half up."""
    unit = Decimal(1).scaleb(-places)

    def show(value: float) -> str:
        if not math.isfinite(value):
            return text_of(value)
        size = decimal_of(abs(value)).quantize(unit, ROUND_HALF_UP, _WIDE) if value else Decimal(0).quantize(unit)
        return ("-" if math.copysign(1.0, value) < 0 else "") + f"{size:{grouped}f}"

    return show


FUNCTIONS: Functions = {
    "Upper": Function(lambda e: _upper, _ascii_only("upper")),
    "Lower": Function(lambda e: _lower, _ascii_only("lower")),
    "InitCap": calls(_initcap),
    "Ascii": calls(lambda text: ord(text[0]) if text else 0),
    "Chr": calls(_chr),
    "Base64.encode": calls(_base64),
    "UnBase64": calls(_unbase64),
    "Encode.encode": Function(_encode),
    "StringDecode.decode": Function(_decode),
    "UrlCodec.encode": calls(_url_encode),
    "UrlCodec.decode": calls(_url_decode),
    "FormatNumber": Function(_format_number),
    "FormatString": Function(_format_string, nulls=True),
}
