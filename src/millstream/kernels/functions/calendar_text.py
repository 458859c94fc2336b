"""Dates and timestamps as Spark's casts write and read them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import cache

from millstream.errors import DataError
from millstream.kernels.functions.gregorian import INT, civil, days_of
from millstream.kernels.functions.timezones import DAY_MICROS, MICROS, Zone, zone

BLANKS = "".join(map(chr, range(0x21))) + "\x7f"
"""What Spark trims from text before it reads anything but a decimal from it: white space and control characters."""

_DATE = re.compile(r"([+-]?)(\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", re.ASCII | re.DOTALL)
_CLOCK = r"(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?([^\d].*)?)?)"
_TIMESTAMP = re.compile(
    rf"([+-]?)(\d{{4,6}})(?:-(\d{{1,2}})(?:-(\d{{1,2}})(?:[ T](\d{{1,2}}){_CLOCK}?)?)?)?", re.ASCII | re.DOTALL
)
_TIME = re.compile(rf"(?:T(\d{{1,2}}){_CLOCK}?|(\d{{1,2}}){_CLOCK})", re.ASCII | re.DOTALL)


def date_text(days: int) -> str:
    """A date as text.

    >>> date_text(0), date_text(-719_529), date_text(2_932_897)
    ('1970-01-01', '-0001-12-31', '+10000-01-01')
    """
    year, month, day = civil(days)
    if 0 <= year <= 9999:
        return f"{year:04}-{month:02}-{day:02}"
    return f"{'+' if year > 0 else '-'}{abs(year):04}-{month:02}-{day:02}"


def timestamp_text(local: int) -> str:
    """A wall clock's time, in microseconds, as text.

    >>> timestamp_text(1_500_000), timestamp_text(-1)
    ('1970-01-01 00:00:01.5', '1969-12-31 23:59:59.999999')
    """
    days, rest = divmod(local, DAY_MICROS)
    seconds, micros = divmod(rest, MICROS)
    minutes, second = divmod(seconds, 60)
    fraction = f".{micros:06}".rstrip("0") if micros else ""
    return f"{_day_text(days)} {minutes // 60:02}:{minutes % 60:02}:{second:02}{fraction}"


_day_text = cache(date_text)


def read_date(text: str) -> int | None:
    """The date in a text, None if there is none.

    >>> read_date(" 1970-1-2 "), read_date("1970-01-03T99"), read_date("1970-13-01"), read_date("70-01-01")
    (1, 2, None, None)
    """
    found = _DATE.fullmatch(text.strip(BLANKS))
    if found is None:
        return None
    sign, year, month, day = found.groups()
    days = _days(sign, year, month, day)
    return days if days is not None and -INT <= days < INT else None


def _days(sign: str, year: str, month: str | None, day: str | None) -> int | None:
    try:
        return days_of(-int(year) if sign == "-" else int(year), int(month or 1), int(day or 1))
    except ValueError:
        return None


def timestamp_reader(default: Zone | None) -> Callable[[str], int | None]:
    """Reads a timestamp in a time zone, or one without a time zone, from text.

    >>> read = timestamp_reader(zone("UTC"))
    >>> read("1970-01-01 00:00:01.5"), read("1970-01-01T01:00:00+01:00"), read("1970"), read("1970-01-01 24:00:00")
    (1500000, 0, 0, None)
    """

    def read(text: str) -> int | None:
        stripped = text.strip(BLANKS)
        found = _TIMESTAMP.fullmatch(stripped)
        if found is None:
            return None if default is None else _time_today(text, stripped, default)
        sign, year, month, day, hour, minute, second, fraction, name = found.groups()
        days = _days(sign, year, month, day)
        clock = _clock(hour, minute, second, fraction)
        if days is None or clock is None:
            return None
        return _instant(days * DAY_MICROS + clock, name, default)

    return read


def _time_today(text: str, stripped: str, default: Zone) -> int | None:
    """Text with a time alone means today; a leading T counts only at the very start."""
    found = _TIME.fullmatch(stripped)
    if found is None or (stripped[0] == "T" and text[0] != "T"):
        return None
    parts = found.groups()
    hour, minute, second, fraction, name = parts[:5] if parts[0] else parts[5:]
    clock = _clock(hour, minute, second, fraction)
    if clock is None:
        return None
    try:
        where = zone(name.strip(BLANKS)) if name else default
    except DataError:
        return None
    today = where.to_local(time.time_ns() // 1000) // DAY_MICROS
    return where.to_utc(today * DAY_MICROS + clock)


def _clock(hour: str | None, minute: str | None, second: str | None, fraction: str | None) -> int | None:
    hours, minutes, seconds = int(hour or 0), int(minute or 0), int(second or 0)
    if hours > 23 or minutes > 59 or seconds > 59:
        return None
    micros = int(fraction[:6].ljust(6, "0")) if fraction else 0
    return ((hours * 60 + minutes) * 60 + seconds) * MICROS + micros


def _instant(local: int, name: str | None, default: Zone | None) -> int | None:
    if name:
        try:
            named = zone(name.strip(BLANKS))
        except DataError:
            return None
        result = local if default is None else named.to_utc(local)
    else:
        result = local if default is None else default.to_utc(local)
    return result if -(1 << 63) <= result < 1 << 63 else None
