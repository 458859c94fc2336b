"""Timestamps: fields of the wall clock, and arithmetic with intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from math import floor

from pyspark.sql.types import CalendarIntervalType, TimestampNTZType

from millstream.errors import DataError
from millstream.kernels.functions import dates
from millstream.kernels.functions.function import Function, Functions, Python, calls
from millstream.kernels.functions.gregorian import civil, days_of, month_length, plus_months
from millstream.kernels.functions.instants import exact, floor_remainder
from millstream.kernels.functions.timezones import DAY_MICROS, MICROS, UTC_ZONE, Zone, wall_clock, zone
from millstream.plan.algebra import Expr, Unsupported

MONTH_UNITS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
UNITS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1000,
    "SECOND": MICROS,
    "MINUTE": 60 * MICROS,
    "HOUR": 3600 * MICROS,
    "DAY": DAY_MICROS,
    "DAYOFYEAR": DAY_MICROS,
    "WEEK": 7 * DAY_MICROS,
}
"""Units of `timestampadd` and `timestampdiff`, in months and in microseconds."""
_LEVELS = {**{unit: unit for unit in UNITS if unit != "DAYOFYEAR"}, "DD": "DAY", **dates.LEVELS}
"""What `date_trunc` can truncate to."""


def zone_of(e: Expr, timestamp: int = 0) -> Zone:
    """The zone in which an expression reads one of its timestamps."""
    if isinstance(e.args[timestamp].type, TimestampNTZType):
        return UTC_ZONE
    return zone(e.params["timezone"])


def _field(divisor: int, modulus: int) -> Function:
    """A whole field of the time of day."""

    def python(e: Expr) -> Python:
        here = zone_of(e)
        if here.fixed is None:
            to_local = here.to_local
            return lambda t: to_local(t) // divisor % modulus
        return f"({wall_clock(here, '{0}')} // {divisor} % {modulus})"

    def sql(e: Expr, args: Sequence[str]) -> str | None:
        here = zone_of(e)
        if here.fixed is None:
            return None
        time_of_day = floor_remainder(wall_clock(here, args[0]), divisor * modulus)
        return f"CAST({time_of_day} // {divisor} AS INTEGER)"

    return Function(python, sql)


def _second_with_fraction(e: Expr) -> Callable[[int], Decimal]:
    to_local = zone_of(e).to_local
    return lambda t: Decimal(to_local(t) % (60 * MICROS)).scaleb(-6)


def moved(zone: Zone, timestamp: int, move: Callable[[int], int]) -> int:
    """A timestamp moved by the wall clock; where that gives two, the one with the same offset as before."""
    local = zone.to_local(timestamp)
    target = move(local)
    candidate = target - (local - timestamp)
    return exact(candidate if zone.to_local(candidate) == target else zone.to_utc(target))


def plus_days_and_micros(zone: Zone, timestamp: int, micros: int) -> int:
    """A timestamp plus a day-time interval: whole days by the wall clock, the rest by UTC."""
    days = abs(micros) // DAY_MICROS * (1 if micros > 0 else -1) * DAY_MICROS
    if not days:
        return exact(timestamp + micros)
    return exact(moved(zone, timestamp, lambda local: local + days) + micros - days)


def plus_months_of(zone: Zone, timestamp: int, months: int) -> int:
    """A timestamp plus months, by the wall clock."""

    def move(local: int) -> int:
        days, time = divmod(local, DAY_MICROS)
        return plus_months(days, months) * DAY_MICROS + time

    return moved(zone, timestamp, move)


def plus_interval(zone: Zone, timestamp: int, interval: tuple[int, int, int]) -> int:
    """A timestamp plus months, days and microseconds."""
    months, days, micros = interval
    if months:
        timestamp = plus_months_of(zone, timestamp, months)
    if days:
        timestamp = moved(zone, timestamp, lambda local: local + days * DAY_MICROS)
    return exact(timestamp + micros)


def _add_interval(e: Expr) -> Python:
    here = zone_of(e)
    if isinstance(e.args[1].type, CalendarIntervalType):
        return lambda t, interval: plus_interval(here, t, interval)
    return lambda t, micros: plus_days_and_micros(here, t, micros)


def _add_interval_sql(e: Expr, args: Sequence[str]) -> str | None:
    interval = e.args[1]
    if interval.op == "Literal" and isinstance(interval.type, CalendarIntervalType):
        months, days, micros = interval.params["value"]
        short = not months and not days
        return f"({args[0]} + {micros})" if short else None
    if isinstance(interval.type, CalendarIntervalType):
        return None
    days_matter = zone_of(e).fixed is None and not (
        interval.op == "Literal" and abs(interval.params["value"]) < DAY_MICROS
    )
    return None if days_matter else f"({args[0]} + {args[1]})"


def _add_months(e: Expr) -> Python:
    here = zone_of(e)
    return lambda t, months: plus_months_of(here, t, months)


def _subtract(e: Expr) -> Python:
    here = zone_of(e)
    if here.fixed is not None:
        return lambda a, b: exact(a - b)
    to_local = here.to_local
    return lambda a, b: exact(to_local(a) - to_local(b))


def _add_units(e: Expr) -> Python:
    unit, here = e.params["unit"].upper(), zone_of(e, 1)
    if unit in MONTH_UNITS:
        months = MONTH_UNITS[unit]
        return lambda n, t: plus_months_of(here, t, n * months)
    if unit not in UNITS:
        raise Unsupported(e.op, f"the unit {unit} has no kernel")
    micros = UNITS[unit]
    if micros < DAY_MICROS:
        return lambda n, t: exact(t + n * micros)
    return lambda n, t: moved(here, t, lambda local: local + n * micros)


def months_apart(start: int, end: int) -> int:
    """Whole months from one wall clock's time to another, towards zero."""
    sign = 1
    if end < start:
        start, end, sign = end, start, -1
    (year1, month1, day1), (year2, month2, day2) = civil(start // DAY_MICROS), civil(end // DAY_MICROS)
    months = (year2 - year1) * 12 + month2 - month1
    incomplete = (day2, end % DAY_MICROS) < (day1, start % DAY_MICROS)
    return sign * (months - incomplete)


def _difference(e: Expr) -> Python:
    unit, here = e.params["unit"].upper(), zone_of(e)
    if unit in MONTH_UNITS:
        size, distance = MONTH_UNITS[unit], months_apart
    elif unit in UNITS:
        size, distance = UNITS[unit], lambda start, end: end - start
    else:
        raise Unsupported(e.op, f"the unit {unit} has no kernel")
    to_local = here.to_local

    def difference(start: int, end: int) -> int:
        apart = distance(to_local(start), to_local(end))
        return apart // size if apart >= 0 else -(-apart // size)

    return difference


def _truncate(e: Expr) -> Python:
    here = zone_of(e, 1)

    def truncate(level: str, timestamp: int) -> int | None:
        unit = _LEVELS.get(level.upper())
        if unit is None:
            return None
        size = UNITS.get(unit)
        if size is None or unit == "WEEK":
            day = dates.truncated(here.to_local(timestamp) // DAY_MICROS, unit)
            return None if day is None else here.midnight(day)
        if size <= MICROS:
            return timestamp - timestamp % size
        return moved(here, timestamp, lambda local: local - local % size)

    return truncate


def _truncate_sql(e: Expr, args: Sequence[str]) -> str | None:
    here, level, timestamp = zone_of(e, 1), e.args[0], args[1]
    if here.fixed is None or level.op != "Literal" or not isinstance(level.params["value"], str):
        return None
    unit = _LEVELS.get(level.params["value"].upper())
    local = wall_clock(here, timestamp)
    if unit in UNITS:
        shift = 3 * DAY_MICROS if unit == "WEEK" else 0  # the epoch began on a Thursday
        return f"({timestamp} - {floor_remainder(f'({local} + {shift})', UNITS[unit])})"
    if unit is None:
        return None
    return f"(epoch_us(date_trunc('{unit}', make_timestamp({local}))) - {here.fixed * MICROS})"


def _months_between(e: Expr) -> Python:
    here = zone_of(e)

    def months_between(later: int, earlier: int, round_off: bool) -> float:
        (days1, days2) = (here.to_local(t) // DAY_MICROS for t in (later, earlier))
        (year1, month1, day1), (year2, month2, day2) = civil(days1), civil(days2)
        months = float((year1 - year2) * 12 + month1 - month2)
        last1, last2 = day1 == month_length(year1, month1), day2 == month_length(year2, month2)
        if day1 == day2 or (last1 and last2):
            return months
        seconds1, seconds2 = (later - here.midnight(days1)) // MICROS, (earlier - here.midnight(days2)) // MICROS
        seconds = (day1 - day2) * 86_400 + seconds1 - seconds2
        between = months + seconds / (31 * 86_400.0)
        return floor(between * 1e8 + 0.5) / 1e8 if round_off else between

    return months_between


def _make(e: Expr) -> Python:
    here = UTC_ZONE if isinstance(e.type, TimestampNTZType) else zone(e.params["timezone"])
    ansi = e.params["ansi"]

    def make(
        year: int, month: int, day: int, hour: int, minute: int, seconds: Decimal, zone_id: str | None = None
    ) -> int | None:
        there = here if zone_id is None else zone(zone_id)
        try:
            micros = int(seconds.scaleb(6))
            if not (0 <= hour < 24 and 0 <= minute < 60 and 0 <= micros <= 60 * MICROS):
                raise ValueError("a field of the time is out of range")
            local = days_of(year, month, day) * DAY_MICROS + (hour * 60 + minute) * 60 * MICROS + micros
            return exact(there.to_utc(local))
        except (ValueError, OverflowError) as error:
            if ansi:
                raise DataError(f"[DATETIME_FIELD_OUT_OF_BOUNDS] {error}.") from error
            return None

    return make


FUNCTIONS: Functions = {
    "Hour": _field(3600 * MICROS, 24),
    "Minute": _field(60 * MICROS, 60),
    "Second": _field(MICROS, 60),
    "SecondWithFraction": Function(_second_with_fraction),
    "TimestampAddInterval": Function(_add_interval, _add_interval_sql),
    "TimestampAddYMInterval": Function(_add_months),
    "SubtractTimestamps": Function(_subtract),
    "TimestampAdd": Function(_add_units),
    "TimestampDiff": Function(_difference),
    "TruncTimestamp": Function(_truncate, _truncate_sql),
    "MonthsBetween": Function(_months_between),
    "MakeTimestamp": Function(_make),
    "FromUTCTimestamp": calls(lambda t, name: exact(zone(name).to_local(t))),
    "ToUTCTimestamp": calls(lambda t, name: exact(zone(name).to_utc(t))),
    "ConvertTimezone": calls(lambda source, target, t: exact(zone(target).to_local(zone(source).to_utc(t)))),
}
