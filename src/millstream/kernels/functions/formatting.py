"""Timestamps as text, by a pattern that becomes one Python format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millstream.kernels.functions import patterns
from millstream.kernels.functions.function import Function, Functions
from millstream.kernels.functions.gregorian import civil, days_of
from millstream.kernels.functions.instants import LONG
from millstream.kernels.functions.patterns import Piece, no_kernel, pattern_of
from millstream.kernels.functions.timezones import DAY_MICROS, MICROS, Zone, wall_clock, zone
from millstream.plan.algebra import Expr

_NUMBERS = {
    "M": "month",
    "L": "month",
    "d": "day",
    "H": "time // 3600000000",
    "k": "(time // 3600000000 + 23) % 24 + 1",
    "K": "time // 3600000000 % 12",
    "h": "(time // 3600000000 + 11) % 12 + 1",
    "m": "time // 60000000 % 60",
    "s": "time // 1000000 % 60",
    "D": "days - days_of(year, 1, 1) + 1",
    "Q": "(month + 2) // 3",
    "q": "(month + 2) // 3",
}
_TEXTS = {
    "MMM": "SHORT_MONTHS[month - 1]",
    "LLL": "SHORT_MONTHS[month - 1]",
    "MMMM": "MONTHS[month - 1]",
    "LLLL": "MONTHS[month - 1]",
    **dict.fromkeys(("E", "EE", "EEE"), "SHORT_DAYS[(days + 3) % 7]"),
    "EEEE": "DAYS[(days + 3) % 7]",
    "a": "('AM', 'PM')[time >= 43200000000]",
    **dict.fromkeys(("QQQ", "qqq"), "('Q1', 'Q2', 'Q3', 'Q4')[(month - 1) // 3]"),
}
_OFFSETS = {
    "X": ("Z", "", False),
    "XX": ("Z", "", True),
    "XXX": ("Z", ":", True),
    "x": ("+00", "", False),
    "xx": ("+0000", "", True),
    "xxx": ("+00:00", ":", True),
    **dict.fromkeys(("Z", "ZZ", "ZZZ"), ("+0000", "", True)),
}
"""What stands for no offset, what separates hours and minutes, and whether minutes that are zero are shown."""


def _fragment(piece: Piece) -> tuple[str, str]:  # noqa: PLR0911 (one for each kind)
    """A piece as a conversion of Python's `%`, and the expression that it shows."""
    letter, width, text = piece
    whole = letter * width
    if letter in "yu":
        if letter == "u" or width > 6:
            raise no_kernel(piece)
        return "%s", f"year_text(year, {width})"
    if letter in _NUMBERS and width <= (3 if letter == "D" else 2):
        return (f"%0{width}d" if width > 1 else "%d"), _NUMBERS[letter]
    if letter == "S" and width <= 9:
        shown = f"time % 1000000 // {10 ** (6 - width)}" if width <= 6 else f"time % 1000000 * {10 ** (width - 6)}"
        return f"%0{width}d", shown
    if whole in _TEXTS:
        return "%s", _TEXTS[whole]
    if whole in _OFFSETS:
        return "%s", f"offset_text(local - timestamp, OFFSETS[{whole!r}])"
    if letter == "'":
        return text.replace("%", "%%"), ""
    if letter in "[]":
        return "", ""
    raise no_kernel(piece)


def formatter(pieces: list[Piece], zone: Zone) -> Callable[[int], str]:
    """The function that shows timestamps by a pattern in a zone."""
    fragments = [_fragment(piece) for piece in pieces]
    format = "".join(conversion for conversion, _ in fragments)
    shown = "".join(f"{expression}, " for _, expression in fragments if expression)
    source = (
        "def show(timestamp):\n"
        "    local = to_local(timestamp)\n"
        f"    days, time = divmod(local, {DAY_MICROS})\n"
        "    year, month, day = civil(days)\n"
        f"    return {format!r} % ({shown})\n"
    )
    names: dict[str, Any] = {
        "to_local": zone.to_local,
        "civil": civil,
        "days_of": days_of,
        "year_text": _year_text,
        "offset_text": _offset_text,
        "OFFSETS": _OFFSETS,
        **{name: getattr(patterns, name) for name in ("MONTHS", "DAYS", "SHORT_MONTHS", "SHORT_DAYS")},
    }
    exec(source, names)  # noqa: S102 (made of the fixed expressions above)
    show: Callable[[int], str] = names["show"]
    return show


_STRFTIME = {
    "yyyy": "%Y",
    "MM": "%m",
    "dd": "%d",
    "HH": "%H",
    "mm": "%M",
    "ss": "%S",
    "SSS": "%g",
    "SSSSSS": "%f",
    "MMM": "%b",
    "MMMM": "%B",
    **dict.fromkeys(("E", "EE", "EEE"), "%a"),
    "EEEE": "%A",
    "hh": "%I",
    "a": "%p",
}
"""What DuckDB's `strftime` shows in the same way."""
_FIRST, _LAST = (days_of(year, 1, 1) * DAY_MICROS for year in (1, 10_000))


def _sql(pieces: list[Piece], zone: Zone, timestamp: str) -> str | None:
    if zone.fixed is None:
        return None
    shown = [p.text.replace("%", "%%") if p.letter == "'" else _STRFTIME.get(p.letter * p.width) for p in pieces]
    if None in shown:
        return None
    format = "".join(map(str, shown)).replace("'", "''")
    local = wall_clock(zone, timestamp)
    in_sql = f"strftime(make_timestamp({local}), '{format}')"
    return f"CASE WHEN {local} < {_FIRST} OR {local} >= {_LAST} THEN error('year') ELSE {in_sql} END"


def _year_text(year: int, width: int) -> str:
    if width == 2:
        return f"{abs(year) % 100:02d}"
    sign = "-" if year < 0 else "+" if width > 3 and year >= 10**width else ""
    return f"{sign}{abs(year):0{width}d}"


def _offset_text(micros: int, form: tuple[str, str, bool]) -> str:
    none, colon, minutes_always = form
    hours, minutes = divmod(abs(micros) // MICROS // 60, 60)
    if not hours and not minutes:
        return none
    shown = f"{'-' if micros < 0 else '+'}{hours:02d}"
    return f"{shown}{colon}{minutes:02d}" if minutes or minutes_always else shown


def _format(e: Expr) -> Callable[[int, str], str]:
    show = formatter(pattern_of(e), zone(e.params["timezone"]))
    return lambda timestamp, pattern: show(timestamp)


def _format_sql(e: Expr, args: Sequence[str]) -> str | None:
    return _sql(pattern_of(e), zone(e.params["timezone"]), args[0])


def _from_seconds(e: Expr) -> Callable[[int, str], str]:
    show = formatter(pattern_of(e), zone(e.params["timezone"]))
    return lambda seconds, pattern: show((seconds * MICROS + LONG) % (2 * LONG) - LONG)


def _from_seconds_sql(e: Expr, args: Sequence[str]) -> str | None:
    return _sql(pattern_of(e), zone(e.params["timezone"]), f"({args[0]} * {MICROS})")


FUNCTIONS: Functions = {
    "DateFormatClass": Function(_format, _format_sql),
    "FromUnixTime": Function(_from_seconds, _from_seconds_sql),
}
