"""Dates: their fields, and arithmetic with days and months."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream.errors import DataError
from millstream.kernels.functions.function import Function, Functions, calls, inline
from millstream.kernels.functions.gregorian import (
    INT,
    civil,
    days_of,
    exact_days,
    likeness,
    month_length,
    plus_months,
)
from millstream.kernels.functions.timezones import DAY_MICROS
from millstream.plan.algebra import Expr

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DAY_NAMES = {
    name: number
    for number, full in enumerate(("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"))
    for name in (full, full[:3], full[:2])
}


def _field(sql: str, read: Callable[[int], Any]) -> Function:
    """A field of a date; DuckDB's calendar is the same."""
    date = "(DATE '1970-01-01' + {0})"
    return calls(read, f"CAST({sql.format(date)} AS INTEGER)")


def _iso_week(days: int) -> int:
    return likeness(days)[0].isocalendar()[1]


def _iso_year(days: int) -> int:
    like, years = likeness(days)
    return like.isocalendar()[0] + years


def wrapped(days: int) -> int:
    """A sum of ints that overflows as Java's does."""
    return (days + INT) % (2 * INT) - INT


def last_day(days: int) -> int:
    """The last day of the month."""
    year, month, day = civil(days)
    return days + month_length(year, month) - day


def _next_day(e: Expr) -> Callable[[int, str], int | None]:
    ansi = e.params["ansi"]

    def next_day(days: int, name: str) -> int | None:
        wanted = _DAY_NAMES.get(name.upper())
        if wanted is not None:
            return wrapped(days + 1 + (wanted - 4 - days) % 7)
        if ansi:
            raise DataError(f'[ILLEGAL_DAY_OF_WEEK] Illegal input for day of week: "{name}".')
        return None

    return next_day


def truncated(days: int, level: str) -> int | None:
    """The first day of the week, month, quarter or year; None for other levels."""
    level = level.upper()
    if level == "WEEK":
        return days - (days + 3) % 7
    year, month, _ = civil(days)
    if level in ("MON", "MONTH", "MM"):
        return days_of(year, month, 1)
    if level == "QUARTER":
        return days_of(year, month - (month - 1) % 3, 1)
    return days_of(year, 1, 1) if level in ("YEAR", "YYYY", "YY") else None


def _make(e: Expr) -> Callable[[int, int, int], int | None]:
    ansi = e.params["ansi"]

    def make(year: int, month: int, day: int) -> int | None:
        try:
            return exact_days(days_of(year, month, day))
        except (ValueError, OverflowError, DataError) as error:
            if ansi:
                raise DataError(f"[DATETIME_FIELD_OUT_OF_BOUNDS] {error}.") from error
            return None

    return make


def add_months(days: int, months: int) -> int:
    """A date some months later, within Spark's range."""
    return exact_days(plus_months(days, months))


FUNCTIONS: Functions = {
    "Year": _field("year({})", lambda d: civil(d)[0]),
    "Quarter": _field("quarter({})", lambda d: (likeness(d)[0].month + 2) // 3),
    "Month": _field("month({})", lambda d: likeness(d)[0].month),
    "DayOfMonth": _field("day({})", lambda d: likeness(d)[0].day),
    "DayOfYear": _field("dayofyear({})", lambda d: likeness(d)[0].timetuple().tm_yday),
    "DayOfWeek": _field("dayofweek({}) + 1", lambda d: (d + 4) % 7 + 1),
    "WeekDay": _field("isodow({}) - 1", lambda d: (d + 3) % 7),
    "WeekOfYear": _field("week({})", _iso_week),
    "YearOfWeek": _field("isoyear({})", _iso_year),
    "MonthName": calls(lambda d: _MONTHS[likeness(d)[0].month - 1]),
    "DayName": calls(lambda d: _DAYS[(d + 3) % 7]),
    "DateAdd": calls(lambda d, n: wrapped(d + n), "({0} + CAST({1} AS INTEGER))"),
    "DateSub": calls(lambda d, n: wrapped(d - n), "({0} - CAST({1} AS INTEGER))"),
    "DateDiff": calls(lambda a, b: wrapped(a - b), "({0} - {1})"),
    "SubtractDates": inline(f"(({{0}} - {{1}}) * {DAY_MICROS})", f"((CAST({{0}} AS BIGINT) - {{1}}) * {DAY_MICROS})"),
    "AddMonths": calls(add_months),
    "DateAddYMInterval": calls(add_months),
    "LastDay": calls(last_day),
    "NextDay": Function(_next_day),
    "TruncDate": calls(truncated),
    "MakeDate": Function(_make),
}
