"""Patterns of dates and times, as Java's `DateTimeFormatter` reads them and Spark restricts them."""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

from millstream.plan.algebra import Expr, Unsupported

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
SHORT_MONTHS = tuple(name[:3] for name in MONTHS)
SHORT_DAYS = tuple(name[:3] for name in DAYS)


class Piece(NamedTuple):
    """A letter and how often it stands there; or a literal text (`'`), or an edge of an optional section (`[`, `]`)."""

    letter: str
    width: int
    text: str = ""


def pattern_of(e: Expr, pattern: int = 1) -> list[Piece]:
    """The pieces of an expression's pattern; raises `Unsupported` if it isn't a literal or not read as Java does."""
    literal = e.args[pattern]
    if literal.op != "Literal" or not isinstance(literal.params["value"], str):
        raise Unsupported(e.op, "its pattern is not a literal")
    if e.params["policy"] != "CORRECTED":
        raise Unsupported(e.op, f"spark.sql.legacy.timeParserPolicy is {e.params['policy']}")
    return pieces(literal.params["value"])


def pieces(pattern: str) -> list[Piece]:
    """A pattern in pieces.

    >>> [piece.letter * piece.width or piece.text for piece in pieces("yyyy-MM-dd'T'HH")]
    ['yyyy', '-', 'MM', '-', 'dd', 'T', 'HH']
    """
    found: list[Piece] = []
    depth = 0
    for i, part in enumerate(_quoted(pattern)):
        if i % 2:
            found.append(Piece("'", 0, part))
            continue
        for letter, run in groupby(part):
            count = len(list(run))
            if letter in "[]":
                depth += count if letter == "[" else -count
                found.extend([Piece(letter, 0)] * count)
            elif letter.isascii() and letter.isalpha():
                found.append(Piece(letter, count))
            elif letter in "{}#":
                raise Unsupported("date pattern", f"{letter} is reserved")
            else:
                found.append(Piece("'", 0, letter * count))
    if depth:
        raise Unsupported("date pattern", "square brackets don't pair")
    if any(piece.letter == "G" for piece in found):
        raise Unsupported("date pattern", "eras have no kernel")
    return found


def _quoted(pattern: str) -> list[str]:
    """Parts of a pattern: outside quotes, inside, outside, ...; two quotes are one."""
    parts = pattern.replace("''", "\0").split("'")
    if len(parts) % 2 == 0:
        raise Unsupported("date pattern", "a quote doesn't end")
    made: list[str] = []
    for i, part in enumerate(parts):
        if i % 2:
            made.append(part.replace("\0", "'"))
            continue
        for j, outside in enumerate(part.split("\0")):
            made.extend(["'", outside] if j else [outside])
    return made


def no_kernel(piece: Piece) -> Unsupported:
    """The refusal of a letter."""
    return Unsupported("date pattern", f"{piece.letter * piece.width} has no kernel")
