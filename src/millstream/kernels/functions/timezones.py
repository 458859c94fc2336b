"""Time zones as Spark's JVM knows them: offsets by integer arithmetic, transitions found once.

Python's zone data and Java's agree from 1970 on (1996 for `WET`). Before that, Java keeps histories of about
a hundred zones (Europe/Amsterdam, for example) that the usual builds of the tz database have merged.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from millstream.errors import DataError

MICROS = 1_000_000
DAY = 86_400
DAY_MICROS = DAY * MICROS

_CYCLE = 146_097 * DAY
"""Four hundred years of the Gregorian calendar: a whole number of weeks, after which everything repeats."""
_EARLY = -(1 << 35)
"""In the ninth century: local mean time everywhere, then and before."""
_BLOCK = 1 << 25
"""Transitions are looked for, when first needed, in about a year at once."""
_EPOCH = datetime(1970, 1, 1)
_OFFSET = re.compile(r"([+-])(\d{1,2})(?::?(\d{2})(?::?(\d{2}))?)?")
_SHORT_NAMES = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "EST": "-05:00",
    "HST": "-10:00",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "MST": "-07:00",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}
"""`java.time.ZoneId.SHORT_IDS`."""


class Zone(NamedTuple):
    """A time zone: microseconds of the wall clock from microseconds of UTC, and back.

    A wall clock's time that doesn't exist, or exists twice, is read with the offset before the change.

    >>> paris = zone("Europe/Paris")
    >>> paris.to_local(0) // 3_600_000_000, paris.to_utc(0) // 3_600_000_000
    (1, -1)
    """

    id: str
    to_local: Callable[[int], int]
    to_utc: Callable[[int], int]
    fixed: int | None
    """The offset in seconds, if it never changes."""

    def midnight(self, days: int) -> int:
        """The microsecond at which a day begins here: the first one after midnight if clocks jump over it."""
        wanted = days * DAY_MICROS
        start = self.to_utc(wanted)
        jump = self.to_local(start) - wanted
        low = start - jump
        while start - low > 1:
            middle = (low + start) // 2
            low, start = (low, middle) if self.to_local(middle) >= wanted else (middle, start)
        return start


def wall_clock(zone: Zone, timestamp: str) -> str:
    """The code, in SQL and in Python, of a timestamp by the wall clock, in a zone that never changes."""
    return f"({timestamp} + {zone.fixed * MICROS})" if zone.fixed else timestamp


@lru_cache(maxsize=1000)
def zone(id: str) -> Zone:
    """The time zone with an id that Spark accepts; `DataError` if there is none."""
    known = re.sub(r"([+-])(\d\d):(\d)$", r"\1\2:0\3", re.sub(r"([+-])(\d):", r"\g<1>0\2:", id, count=1), count=1)
    known = _SHORT_NAMES.get(known, known)
    offset = _fixed(known)
    if offset is not None:
        micros = offset * MICROS
        return Zone(id, lambda t: t + micros, lambda t: t - micros, offset)
    try:
        rules = ZoneInfo(known)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise DataError(f"[INVALID_TIMEZONE] The timezone: {id} is invalid.") from error
    offset_at_utc = _Offsets(lambda moment: moment.replace(tzinfo=UTC).astimezone(rules)).at
    offset_at_local = _Offsets(lambda moment: moment.replace(tzinfo=rules)).at
    return Zone(
        id,
        lambda t: t + offset_at_utc(t // MICROS) * MICROS,
        lambda t: t - offset_at_local(t // MICROS) * MICROS,
        None,
    )


def _fixed(id: str) -> int | None:
    """The seconds of an id such as `Z`, `+05:30`, `UTC-8`; None for others."""
    if id in ("Z", "UTC", "GMT", "UT", "Etc/UTC"):
        return 0
    sign = _OFFSET.fullmatch(re.sub(r"^(UTC|GMT|UT)(?=[+-])", "", id))
    if sign is None:
        return None
    hours, minutes, seconds = (int(part or 0) for part in sign.groups()[1:])
    total = hours * 3600 + minutes * 60 + seconds
    if minutes > 59 or seconds > 59 or total > 18 * 3600:
        raise DataError(f"[INVALID_TIMEZONE] The timezone: {id} is invalid.")
    return -total if sign[1] == "-" else total


class _Offsets:
    """The offsets of one zone by second, of UTC or of the wall clock: `moment` reads one or the other."""

    def __init__(self, moment: Callable[[datetime], datetime]) -> None:
        self._moment = moment
        self._blocks: dict[int, tuple[list[int], list[int]]] = {}

    def at(self, second: int) -> int:
        if second < _EARLY:
            second = _EARLY
        elif second >= _CYCLE:
            second = second % _CYCLE + _CYCLE
        block = second // _BLOCK
        found = self._blocks.get(block)
        if found is None:
            found = self._blocks[block] = self._scan(block * _BLOCK)
        starts, offsets = found
        return offsets[bisect_right(starts, second)]

    def _scan(self, start: int) -> tuple[list[int], list[int]]:
        """The seconds of a block at which the offset changes, and the offsets before and after them."""
        starts: list[int] = []
        offsets = [self._look(start)]
        for begin in range(start, start + _BLOCK, DAY):
            low, high = begin, begin + DAY
            after = self._look(high)
            if after == offsets[-1]:
                continue
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if self._look(middle) == offsets[-1] else (low, middle)
            starts.append(high)
            offsets.append(after)
        return starts, offsets

    def _look(self, second: int) -> int:
        offset = self._moment(_EPOCH + timedelta(seconds=second)).utcoffset()
        assert offset is not None
        return offset.days * DAY + offset.seconds


UTC_ZONE: Zone = zone("UTC")
