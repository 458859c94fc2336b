"""Functions that match patterns: Java's regular expressions, and SQL's LIKE."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from millstream.errors import DataError
from millstream.kernels.functions.function import Function, Functions, Python
from millstream.kernels.functions.java_regex import compiled
from millstream.plan.algebra import Expr, Unsupported

_REFERENCE = re.compile(r"\\(.?)|\$(?:\{(\w+)\}|(\d)(\d*))?", re.ASCII | re.DOTALL)
Replace = Callable[[re.Match[str]], str]


def _pattern(e: Expr) -> re.Pattern[str]:
    pattern = e.args[1]
    if pattern.op != "Literal" or pattern.params["value"] is None:
        raise Unsupported(e.op, "the pattern must be a constant text")
    return compiled(pattern.params["value"])


def _rlike(e: Expr) -> Python:
    search = _pattern(e).search
    return lambda text, _: search(text) is not None


def _group(found: re.Match[str], index: int) -> str:
    if not 0 <= index <= found.re.groups:
        raise DataError(f"INVALID_PARAMETER_VALUE.REGEX_GROUP_INDEX: there is no group {index} in {found.re.pattern!r}")
    return found.group(index) or ""


def _extract(e: Expr) -> Python:
    search = _pattern(e).search

    def extract(text: str, _: str, index: int) -> str:
        found = search(text)
        return "" if found is None else _group(found, index)

    return extract


def _extract_all(e: Expr) -> Python:
    find = _pattern(e).finditer
    return lambda text, _, index: [_group(found, index) for found in find(text)]


def _instr(e: Expr) -> Python:
    search = _pattern(e).search

    def instr(text: str, _: str, index: int) -> int:
        found = search(text)
        return 0 if found is None else _units(text[: found.start()]) + 1

    return instr


def _units(text: str) -> int:
    """Java counts places in units of UTF-16."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def _replace(e: Expr) -> Python:
    pattern = _pattern(e)

    def replace(text: str, _: str, replacement: str, position: int) -> str:
        start = position - 1
        if start and start >= len(text):
            return text
        made = pattern.sub(_replacement(replacement, pattern), text[start:])
        return text[:start] + made if start else made

    return replace


@lru_cache(maxsize=256)
def _replacement(text: str, pattern: re.Pattern[str]) -> Replace:
    """Java's replacement text as a function: `$1`, `${name}`, and a backslash before what is meant literally."""
    parts: list[str | int] = []
    at = 0
    for found in _REFERENCE.finditer(text):
        parts.append(text[at : found.start()])
        at = found.end()
        escaped, name, digit, more = found.groups()
        if escaped:
            parts.append(escaped)
        elif name and name in pattern.groupindex:
            parts.append(pattern.groupindex[name])
        elif digit and int(digit) <= pattern.groups:
            number = int(digit)
            while more and int(f"{number}{more[0]}") <= pattern.groups:
                number, more = int(f"{number}{more[0]}"), more[1:]
            parts += [number, more]
        else:
            raise DataError(f"the replacement {text!r} names a group that is not in {pattern.pattern!r}")
    parts.append(text[at:])
    return lambda found: "".join([part if isinstance(part, str) else found.group(part) or "" for part in parts])


def _split(e: Expr) -> Python:
    pattern = e.args[1].params.get("value")
    if pattern == "":
        return _characters
    find = _pattern(e).finditer
    if isinstance(pattern, str) and len(pattern) == 1 and pattern.isalnum() | (pattern in ",;: -_/#@=&<>\t\n"):
        return lambda text, _, limit: text.split(pattern, limit - 1) if limit > 0 else text.split(pattern)

    def split(text: str, _: str, limit: int) -> list[str]:
        parts: list[str] = []
        at = 0
        for found in find(text):
            if len(parts) == limit - 1:
                break
            if found.end() == 0:
                continue
            parts.append(text[at : found.start()])
            at = found.end()
        return [*parts, text[at:]]

    return split


def _characters(text: str, _: str, limit: int) -> list[str]:
    if not text:
        return [""]
    size = len(text) if limit <= 0 or limit > len(text) else limit
    return [*text[: size - 1], text[size - 1 :]]


def _split_sql(e: Expr, args: Sequence[str]) -> str | None:
    pattern, limit = (arg.params.get("value") for arg in e.args[1:])
    if not isinstance(pattern, str) or not isinstance(limit, int) or limit > 0 or re.escape(pattern) != pattern:
        return None
    return f"string_split({args[0]}, {args[1]})" if pattern else None


def _like(e: Expr) -> Python:
    escape = e.params["escape"]
    pattern = e.args[1]
    if pattern.op == "Literal" and pattern.params["value"] is not None:
        match = like(pattern.params["value"], escape).fullmatch
        return lambda text, _: match(text) is not None
    return lambda text, pattern: like(pattern, escape).fullmatch(text) is not None


@lru_cache(maxsize=1024)
def like(pattern: str, escape: str = "\\") -> re.Pattern[str]:
    r"""A LIKE pattern as a regular expression.

    >>> bool(like("a%_").fullmatch("abc")), bool(like(r"a\%").fullmatch("ab"))
    (True, False)
    """
    parts = []
    letters = iter(pattern)
    for c in letters:
        if c == escape:
            c = next(letters, "")  # noqa: PLW2901 (the escaped one)
            if c not in ("_", "%", escape):
                raise DataError(f"INVALID_FORMAT: the pattern {pattern!r} has an escape before {c or 'its end'}")
            parts.append(re.escape(c))
        else:
            parts.append({"_": ".", "%": ".*"}.get(c) or re.escape(c))
    return re.compile("".join(parts), re.DOTALL)


def _like_sql(e: Expr, args: Sequence[str]) -> str | None:
    pattern, escape = e.args[1], e.params["escape"]
    if pattern.op != "Literal" or pattern.params["value"] is None:
        return None
    like(pattern.params["value"], escape)
    return f"({args[0]} LIKE {args[1]} ESCAPE '{escape.replace(chr(39), chr(39) * 2)}')"


def _likes(*, every: bool, negated: bool) -> Function:
    def entry(e: Expr) -> Python:
        patterns = e.params["patterns"]
        matches = [like(p).fullmatch for p in patterns if p is not None]
        undecided = None if len(matches) < len(patterns) else every

        def test(text: str) -> bool | None:
            found = any((match(text) is None) is (every != negated) for match in matches)
            return not every if found else undecided

        return test

    return Function(entry)


FUNCTIONS: Functions = {
    "RLike": Function(_rlike),
    "RegExpExtract": Function(_extract),
    "RegExpExtractAll": Function(_extract_all),
    "RegExpInStr": Function(_instr),
    "RegExpReplace": Function(_replace),
    "StringSplit": Function(_split, _split_sql),
    "Like": Function(_like, _like_sql),
    "LikeAll": _likes(every=True, negated=False),
    "NotLikeAll": _likes(every=True, negated=True),
    "LikeAny": _likes(every=False, negated=False),
    "NotLikeAny": _likes(every=False, negated=True),
}
