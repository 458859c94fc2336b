"""Text as timestamps, by a pattern that becomes one regular expression."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pyspark.sql.types import DateType, StringType, TimestampNTZType

from millstream.errors import DataError
from millstream.kernels.functions.function import Function, Functions
from millstream.kernels.functions.gregorian import days_of
from millstream.kernels.functions.instants import exact
from millstream.kernels.functions.intervals import towards_zero
from millstream.kernels.functions.patterns import MONTHS, SHORT_MONTHS, Piece, no_kernel, pattern_of
from millstream.kernels.functions.timezones import DAY_MICROS, MICROS, UTC_ZONE, Zone, zone
from millstream.plan.algebra import Expr, Unsupported

_NUMBERS = "yMLdHkKhms"
_OFFSETS = {
    "X": "Z|[+-][0-9]{2}(?:[0-9]{2})?",
    "XX": "Z|[+-][0-9]{4}",
    "XXX": "Z|[+-][0-9]{2}:[0-9]{2}",
    "x": "[+-][0-9]{2}(?:[0-9]{2})?",
    "xx": "[+-][0-9]{4}",
    "xxx": "[+-][0-9]{2}:[0-9]{2}",
    **dict.fromkeys(("Z", "ZZ", "ZZZ"), "[+-][0-9]{4}"),
}


_KINDS = {"L": "M", "x": "X", "Z": "X", "k": "H", "K": "H", "h": "H"}
"""Letters that say the same as others."""


def parser(pieces: list[Piece], zone: Zone) -> Callable[[str], int]:
    """The function that reads timestamps by a pattern; ValueError for a text that doesn't follow it."""
    kinds = [_KINDS.get(p.letter, p.letter) for p in pieces if p.letter not in "'[]"]
    if len(set(kinds)) < len(kinds):
        raise Unsupported("date pattern", "a field that stands twice has no kernel")
    match = re.compile("".join(_expressions(pieces)), re.IGNORECASE).fullmatch

    def parse(text: str) -> int:
        found = match(text)
        if found is None:
            raise ValueError(f"the text {text!r} does not follow the pattern")
        fields = {name: value for name, value in found.groupdict().items() if value is not None}
        local = _days(fields) * DAY_MICROS + _time(fields)
        offset = fields.get("offset")
        return exact(zone.to_utc(local) if offset is None else local - _offset(offset) * MICROS)

    return parse


def _expressions(pieces: list[Piece]) -> Iterator[str]:
    """Each piece as a regular expression; numbers take all digits but those that fixed ones behind them need."""
    for i, piece in enumerate(pieces):
        letter, width, text = piece
        if _is_number(piece):
            yield _number(piece, pieces[i + 1 :])
        elif letter in "ML" and width in (3, 4):
            yield f"(?P<name>{'|'.join(SHORT_MONTHS if width == 3 else MONTHS)})"
        elif letter == "S" and width <= 9:
            yield f"(?P<S>[0-9]{{1,{width}}}+)"
        elif letter == "a" and width == 1:
            yield "(?P<a>AM|PM)"
        elif letter * width in _OFFSETS:
            yield f"(?P<offset>{_OFFSETS[letter * width]})"
        elif letter == "'":
            yield re.escape(text)
        elif letter in "[]":
            yield "(?:" if letter == "[" else ")?+"
        else:
            raise no_kernel(piece)


def _is_number(piece: Piece) -> bool:
    return piece.letter in _NUMBERS and piece.width <= (6 if piece.letter == "y" else 2)


def _number(piece: Piece, behind: list[Piece]) -> str:
    letter, width, _ = piece
    group = "M" if letter == "L" else letter
    if width == 2:
        return f"(?P<{'yy' if letter == 'y' else group}>[0-9]{{2}})"
    reserved = 0
    for follower in behind:
        if not _is_number(follower):
            break
        if follower.width != 2:
            raise Unsupported("date pattern", "numbers of any length side by side have no kernel")
        reserved += 2
    end = f"(?=[0-9]{{{reserved}}}(?![0-9]))" if reserved else "(?![0-9])"
    if width < 4:
        return f"(?P<{group}>-?[0-9]{{{width},19}}{end})"
    return f"(?P<{group}>(?:[0-9]{{{width}}}|-[0-9]{{{width},19}}|\\+[0-9]{{{width + 1},19}}){end})"


def _days(fields: dict[str, str]) -> int:
    year = int(fields.get("y", 1970))
    if "yy" in fields:
        year = 2000 + int(fields["yy"])
    if abs(year) > 999_999_999 or (not year and fields["y"][0] == "-"):
        raise ValueError("the year is out of range")
    name = fields.get("name")
    month = SHORT_MONTHS.index(name[:3].capitalize()) + 1 if name else int(fields.get("M", 1))
    return days_of(year, month, int(fields.get("d", 1)))


def _time(fields: dict[str, str]) -> int:
    minute, second = int(fields.get("m", 0)), int(fields.get("s", 0))
    if not (0 <= minute < 60 and 0 <= second < 60):
        raise ValueError("minute or second is out of range")
    fraction = int(fields.get("S", "0")[:6].ljust(6, "0"))
    return ((_hour(fields) * 60 + minute) * 60 + second) * MICROS + fraction


_HOURS = {"H": (0, 23, 24), "k": (1, 24, 24), "h": (1, 12, 12), "K": (0, 11, 12)}
"""The least and the greatest hour by a letter, and the number that stands for zero hours."""


def _hour(fields: dict[str, str]) -> int:
    afternoon = fields["a"].upper() == "PM" if "a" in fields else None
    for letter, (least, greatest, round) in _HOURS.items():
        if letter in fields:
            hour = int(fields[letter])
            if not least <= hour <= greatest:
                raise ValueError("the hour is out of range")
            if round == 12:
                return hour % 12 + (12 if afternoon else 0)
            if afternoon is not None and afternoon != (hour % 24 >= 12):
                raise ValueError("the hour is not of this half of the day")
            return hour % 24
    return 12 if afternoon else 0


def _offset(text: str) -> int:
    if text in "Zz":
        return 0
    hours, minutes = int(text[1:3]), int(text[-2:]) if len(text) > 3 else 0
    seconds = (hours * 60 + minutes) * 60
    if minutes > 59 or seconds > 18 * 3600:
        raise ValueError("the offset is out of range")
    return -seconds if text[0] == "-" else seconds


def _get_timestamp(e: Expr) -> Callable[[str, str], int | None]:
    parse = parser(pattern_of(e), UTC_ZONE if isinstance(e.type, TimestampNTZType) else zone(e.params["timezone"]))
    ansi = e.params["ansi"]

    def get(text: str, pattern: str) -> int | None:
        try:
            return parse(text)
        except (ValueError, OverflowError) as error:
            if ansi:
                raise DataError(f"[CANNOT_PARSE_TIMESTAMP] {error}. Use try_to_timestamp to get null.") from error
            return None

    return get


_STRPTIME = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}
"""What DuckDB's `strptime` reads in the same way, once it is known that there are enough digits."""


def _get_sql(e: Expr, args: Sequence[str]) -> str | None:
    here = UTC_ZONE if isinstance(e.type, TimestampNTZType) else zone(e.params["timezone"])
    pieces = pattern_of(e)
    fields = [p.letter * p.width for p in pieces if p.letter != "'"]
    if here.fixed is None or "yyyy" not in fields or len(set(fields)) < len(fields) or not {*fields} <= {*_STRPTIME}:
        return None
    form = "".join(p.text.replace("%", "%%") or _STRPTIME[p.letter * p.width] for p in pieces)
    expected = "".join(re.escape(p.text) or f"[0-9]{{{p.width}}}" for p in pieces)
    form, expected = (text.replace("'", "''") for text in (form, expected))
    text = args[0]
    return (
        f"CASE WHEN NOT regexp_full_match({text}, '{expected}') THEN error('pattern') "
        f"ELSE epoch_us(strptime({text}, '{form}')) - {here.fixed * MICROS} END"
    )


def _unix_timestamp_sql(e: Expr, args: Sequence[str]) -> str | None:
    kind = e.args[0].type
    if isinstance(kind, DateType):
        return None
    micros = _get_sql(e, args) if isinstance(kind, StringType) else args[0]
    return micros and f"(({micros}) // {MICROS})"


def _unix_timestamp(e: Expr) -> Callable[[Any, str], int | None]:
    kind = e.args[0].type
    if isinstance(kind, DateType):
        midnight = zone(e.params["timezone"]).midnight
        return lambda date, pattern: midnight(date) // MICROS
    if not isinstance(kind, StringType):
        return lambda timestamp, pattern: towards_zero(timestamp, MICROS)
    get = _get_timestamp(e)

    def seconds(text: str, pattern: str) -> int | None:
        timestamp = get(text, pattern)
        return None if timestamp is None else towards_zero(timestamp, MICROS)

    return seconds


FUNCTIONS: Functions = {
    "GetTimestamp": Function(_get_timestamp, _get_sql),
    "UnixTimestamp": Function(_unix_timestamp, _unix_timestamp_sql),
    "ToUnixTimestamp": Function(_unix_timestamp, _unix_timestamp_sql),
}
