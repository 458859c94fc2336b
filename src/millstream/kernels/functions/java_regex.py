"""Java's regular expressions as Python's, where both mean the same; all others are refused.

Python's engine backtracks as Java's does and knows most of its syntax. What differs in spelling is rewritten; what
differs in meaning is an `Unsupported` pattern.
"""

from __future__ import annotations

import re
from functools import lru_cache

from millstream.plan.algebra import Unsupported

_SPACE = r" \t\n\x0b\f\r"
_POSIX = {
    "Lower": "a-z", "Upper": "A-Z", "ASCII": r"\x00-\x7f", "Alpha": "a-zA-Z", "Digit": "0-9", "Alnum": "a-zA-Z0-9",
    "Punct": r"!-/:-@\[-`{-~", "Graph": "!-~", "Print": " -~", "Blank": r" \t", "Cntrl": r"\x00-\x1f\x7f",
    "XDigit": "0-9a-fA-F", "Space": _SPACE,
}  # fmt: skip
_LINE_END = r"(?=(?:\r\n|[\n\r\x85\u2028\u2029])?\Z)(?<!\r(?=\n))"
_CONTROLS = {c: re.escape(text) for c, text in zip("tnrfae", "\t\n\r\f\x07\x1b")}
_OUTSIDE = _CONTROLS | {
    **{c: "\\" + c for c in "dDwWA"},
    "s": f"[{_SPACE}]",
    "S": f"[^{_SPACE}]",
    "h": r"[ \t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000]",
    "R": r"(?:\r\n|[\n\x0b\f\r\x85\u2028\u2029])",
    "z": r"\Z",
    "Z": _LINE_END,
    # Until version 19 Java's word boundary, unlike its \w, knew all letters.
    "b": r"(?u:\b)",
    "B": r"(?u:\B)",
}
_INSIDE = _CONTROLS | {"d": r"\d", "w": r"\w", "s": _SPACE}


class _Translation:
    """One pass over a pattern."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.flags = re.ASCII
        self.groups = 0

    def refuse(self, what: str) -> Unsupported:
        return Unsupported("regular expression", f"{what} in {self.pattern!r} is not supported")

    def peek(self, size: int = 1) -> str:
        return self.pattern[self.at : self.at + size]

    def take(self) -> str:
        c = self.peek()
        self.at += 1
        return c

    def translated(self) -> str:
        parts = []
        if self.pattern.startswith(("(?i)", "(?s)")):
            self.flags |= re.IGNORECASE if self.pattern[2] == "i" else re.DOTALL
            self.at = 4
        while c := self.take():
            if c == "\\":
                parts.append(self.escape(inside=False))
            elif c == "[":
                parts.append(self.bracket())
            elif c == "(":
                parts.append(self.group())
            elif c == "$":
                parts.append(_LINE_END)
            elif c == "." and not self.flags & re.DOTALL:
                parts.append(r"[^\n\r\x85\u2028\u2029]")
            elif c == "{" and not re.match(r"\d+(,\d*)?\}", self.pattern[self.at :]):
                raise self.refuse("a lone brace")
            else:
                parts.append(c)
        return "".join(parts)

    def escape(self, *, inside: bool) -> str:
        c = self.take()
        table = _INSIDE if inside else _OUTSIDE
        if c in table:
            return table[c]
        if c in ("p", "P"):
            return self.posix(c == "P", inside=inside)
        if (size := {"x": 2, "u": 4}.get(c, 0)) and re.fullmatch(f"[0-9a-fA-F]{{{size}}}", self.peek(size)):
            return self.hexadecimal(c, size)
        if c == "Q":
            return self.quotation()
        back = c.isdigit() and not inside and 0 < int(c) <= self.groups and not self.peek().isdigit()
        if not back and (not c or c.isalnum()):
            raise self.refuse(rf"\{c}")
        return "\\" + c if back else re.escape(c)

    def quotation(self) -> str:
        end = self.pattern.find(r"\E", self.at)
        text = self.pattern[self.at : end] if end >= 0 else self.pattern[self.at :]
        self.at = end + 2 if end >= 0 else len(self.pattern)
        return re.escape(text)

    def hexadecimal(self, letter: str, size: int) -> str:
        digits = self.peek(size)
        self.at += size
        if "d800" <= digits.lower() <= "dfff" and size == 4:
            raise self.refuse("a surrogate")
        return f"\\{letter}{digits}"

    def posix(self, negated: bool, *, inside: bool) -> str:
        found = re.match(r"\{(\w+)\}", self.pattern[self.at :])
        if not found or found[1] not in _POSIX or (negated and inside) or self.flags & re.IGNORECASE:
            raise self.refuse(r"a class \p")
        self.at += found.end()
        chars = _POSIX[found[1]]
        return chars if inside else f"[{'^' if negated else ''}{chars}]"

    def bracket(self) -> str:
        """A class in brackets; unions and intersections of classes are Java's alone."""
        parts = ["["]
        if self.peek() == "^":
            parts.append(self.take())
        first = True
        while c := self.take():
            if c == "]" and not first:
                return "".join(parts) + "]"
            if c == "[" or (c == "&" and self.peek() == "&") or (c == "]" and first):
                raise self.refuse("a class within a class")
            first = False
            if c == "\\":
                parts.append(self.escape(inside=True))
            elif c in "&~|":
                parts.append("\\" + c)
            elif c == "-":
                parts.append("-" if self.peek() != "-" and parts[-1] != "-" else r"\-")
            else:
                parts.append(c)
        raise self.refuse("a class without an end")

    def group(self) -> str:
        if self.peek() != "?":
            self.groups += 1
            return "("
        for opening in ("?:", "?=", "?!", "?<=", "?<!", "?>"):
            if self.pattern.startswith(opening, self.at):
                self.at += len(opening)
                return "(" + opening
        named = re.match(r"\?<([a-zA-Z][a-zA-Z0-9]*)>", self.pattern[self.at :])
        if named:
            self.at += named.end()
            self.groups += 1
            return f"(?P<{named[1]}>"
        raise self.refuse("this kind of group")


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str]:
    r"""A Java pattern, compiled by Python.

    >>> compiled("^a.*z$").search("abcz") is not None, compiled(r"\p{Alpha}+").pattern
    (True, '[a-zA-Z]+')
    """
    translation = _Translation(pattern)
    source = translation.translated()
    try:
        return re.compile(source, translation.flags)
    except re.error as error:
        raise translation.refuse(str(error)) from error
