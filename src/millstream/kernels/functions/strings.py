"""Functions that cut, search, pad and join strings; positions count code points, as Spark's do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql.types import ArrayType, BinaryType, StringType

from millstream.errors import DataError
from millstream.kernels.functions.function import Function, Functions, Python, calls, inline
from millstream.plan.algebra import Expr

MAX_INT = 2**31 - 1
_SOUNDS = "01230127022455012623017202"


def _substring(text: Any, position: int, length: int) -> Any:
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    return text[max(start, 0) : max(start + length, 0)]


def _substring_sql(e: Expr, args: Sequence[str]) -> str | None:
    numbers = [arg.params.get("value") if arg.op == "Literal" else None for arg in e.args[1:]]
    if not isinstance(e.type, StringType) or not all(isinstance(n, int) and 0 < n <= MAX_INT for n in numbers):
        return None
    return f"substring({', '.join(args)})"


def _length(e: Expr, args: Sequence[str]) -> str:
    return f"CAST({'octet_length' if isinstance(e.args[0].type, BinaryType) else 'length'}({args[0]}) AS INTEGER)"


def _octets(e: Expr) -> Python:
    return "len({0})" if isinstance(e.args[0].type, BinaryType) else "len({0}.encode())"


def _bits(e: Expr) -> Python:
    return f"({_octets(e)} * 8)"


def _octets_sql(e: Expr, args: Sequence[str]) -> str:
    return f"CAST({'octet_length' if isinstance(e.args[0].type, BinaryType) else 'strlen'}({args[0]}) AS INTEGER)"


def _strip(method: str) -> Function:
    name = {"strip": "trim", "lstrip": "ltrim", "rstrip": "rtrim"}[method]
    return Function(
        lambda e: f"{{0}}.{method}({{1}})" if len(e.args) > 1 else f"{{0}}.{method}(' ')",
        lambda e, args: f"{name}({args[0]}, ' ')" if len(args) == 1 else None,
    )


def _padded(text: Any, length: int, pad: Any, *, left: bool) -> Any:
    missing = length - len(text)
    if missing <= 0 or not pad:
        return text[: max(length, 0)]
    fill = (pad * (missing // len(pad) + 1))[:missing]
    return fill + text if left else text + fill


def _locate(part: str | None, text: str | None, start: int | None) -> int | None:
    if start is None:
        return 0
    if part is None or text is None:
        return None
    if start < 1:
        return 0
    return text.find(part, start - 1) + 1 if part else 1


def _replace(text: str, search: str, replacement: str) -> str:
    return text.replace(search, replacement) if search else text


def _translate(text: str, source: str, target: str) -> str:
    table: dict[int, str | None] = {}
    for i, c in enumerate(source):
        made = target[i] if i < len(target) else None
        table.setdefault(ord(c), None if made == "\0" else made)
    return text.translate(table)


def _substring_index(text: str, delimiter: str, count: int) -> str:
    if not delimiter or not count:
        return ""
    if count > 0:
        at = -1
        for _ in range(count):
            at = text.find(delimiter, at + 1)
            if at < 0:
                return text
        return text[:at]
    at = len(text) - len(delimiter) + 1
    for _ in range(-count):
        at = text.rfind(delimiter, 0, max(at - 1 + len(delimiter), 0))
        if at < 0:
            return text
    return text[at + len(delimiter) :]


def _concat_ws(separator: str | None, *parts: Any) -> str | None:
    if separator is None:
        return None
    found: list[str] = []
    for part in parts:
        if isinstance(part, list):
            found += [p for p in part if p is not None]
        elif part is not None:
            found.append(part)
    return separator.join(found)


def _concat_ws_sql(e: Expr, args: Sequence[str]) -> str | None:
    if len(args) < 2 or any(isinstance(arg.type, ArrayType) for arg in e.args):
        return None
    return f"concat_ws({', '.join(args)})"


def _overlay(text: Any, replacement: Any, position: int, length: int) -> Any:
    cut = length if length >= 0 else len(replacement)
    return _substring(text, 1, position - 1) + replacement + _substring(text, position + cut, MAX_INT)


def _levenshtein(a: str, b: str, threshold: int | None = None) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        diagonal, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (x != y))
    return row[-1] if threshold is None or row[-1] <= threshold else -1


def _soundex(text: str) -> str:
    if not text or not (text[0].isascii() and text[0].isalpha()):
        return text
    code = text[0].upper()
    last = _SOUNDS[ord(code) - 65]
    for c in text[1:]:
        if not (c.isascii() and c.isalpha()):
            last = "0"
            continue
        sound = _SOUNDS[ord(c.upper()) - 65]
        if sound == "7":
            continue
        if sound not in ("0", last):
            code += sound
            if len(code) == 4:
                break
        last = sound
    return code.ljust(4, "0")


def _find_in_set(word: str, words: str) -> int:
    if "," in word:
        return 0
    found = words.split(",")
    return found.index(word) + 1 if word in found else 0


def _elt(e: Expr) -> Python:
    ansi = e.params["ansi"]

    def elt(number: int | None, *values: Any) -> Any:
        if number is None:
            return None
        if 0 < number <= len(values):
            return values[number - 1]
        if ansi:
            raise DataError(f"INVALID_ARRAY_INDEX: the index {number} is out of 1 to {len(values)}")
        return None

    return elt


def _test(method: str, sql: str) -> Function:
    def in_sql(e: Expr, args: Sequence[str]) -> str | None:
        return f"{sql}({args[0]}, {args[1]})" if isinstance(e.args[0].type, StringType) else None

    return Function(lambda e: method, in_sql)


def _mask(text: str, upper: str | None, lower: str | None, digit: str | None, other: str | None) -> str:
    def masked(c: str) -> str:
        if c.isupper():
            return c if upper is None else upper
        if c.islower():
            return c if lower is None else lower
        if c.isdecimal():
            return c if digit is None else digit
        return c if other is None else other

    return "".join(map(masked, text))


def _luhn(text: str) -> bool:
    if not text or not (text.isascii() and text.isdigit()):
        return False
    doubled = [int(c) * (1 + i % 2) for i, c in enumerate(reversed(text))]
    return sum(d - 9 * (d > 9) for d in doubled) % 10 == 0


def _pad(*, left: bool) -> Callable[[Any, int, Any], Any]:
    return lambda text, length, pad: _padded(text, length, pad, left=left)


FUNCTIONS: Functions = {
    "Length": Function(lambda e: "len({0})", _length),
    "OctetLength": Function(_octets, _octets_sql),
    "BitLength": Function(_bits, lambda e, args: f"({_octets_sql(e, args)} * 8)"),
    "Substring": Function(lambda e: _substring, _substring_sql),
    "StringTrim": _strip("strip"),
    "StringTrimLeft": _strip("lstrip"),
    "StringTrimRight": _strip("rstrip"),
    "StringLPad": calls(_pad(left=True)),
    "StringRPad": calls(_pad(left=False)),
    "ByteArray.lpad": calls(_pad(left=True)),
    "ByteArray.rpad": calls(_pad(left=False)),
    "StringInstr": inline("({0}.find({1}) + 1)", "CAST(strpos({0}, {1}) AS INTEGER)"),
    "StringLocate": calls(_locate, nulls=True),
    "StringReplace": calls(_replace),
    "StringTranslate": calls(_translate),
    "StringRepeat": inline("({0} * {1})"),
    "StringSpace": inline("(' ' * {0})"),
    "StringSplitSQL": inline("({0}.split({1}) if {1} else [{0}])"),
    "SubstringIndex": calls(_substring_index),
    "ConcatWs": Function(lambda e: _concat_ws, _concat_ws_sql, nulls=True),
    "Overlay": calls(_overlay),
    "Levenshtein": calls(_levenshtein),
    "SoundEx": calls(_soundex),
    "FindInSet": calls(_find_in_set),
    "Elt": Function(_elt, nulls=True),
    "StartsWith": _test("{0}.startswith({1})", "starts_with"),
    "EndsWith": _test("{0}.endswith({1})", "ends_with"),
    "Contains": _test("({1} in {0})", "contains"),
    "ByteArrayMethods.startsWith": inline("{0}.startswith({1})"),
    "ByteArrayMethods.endsWith": inline("{0}.endswith({1})"),
    "ByteArrayMethods.contains": inline("({1} in {0})"),
    "Mask": calls(lambda text, *chars: None if text is None else _mask(text, *chars), nulls=True),
    "ExpressionImplUtils.isLuhnNumber": calls(_luhn),
}
