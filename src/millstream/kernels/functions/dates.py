"""Dates: their fields, and arithmetic with days and months."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
LEVELS = {
    **{level: level for level in ("WEEK", "MONTH", "QUARTER", "YEAR")},
    **dict.fromkeys(("MON", "MM"), "MONTH"),
    **dict.fromkeys(("YYYY", "YY"), "YEAR"),
}
"""What dates can be truncated to."""
_DAY_NAMES = {
    name: number
    for number, full in enumerate(("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"))
    for name in (full, full[:3], full[:2])
}


_DATE = "(DATE '1970-01-01' + {0})"
"""A date in DuckDB, whose calendar is the same."""


def _field(sql: str, read: Callable[[int], Any]) -> Function:
    return calls(read, f"CAST({sql.format(_DATE)} AS INTEGER)")


def _days_sql(date: str) -> str:
    """A date of DuckDB's as a number."""
    return f"CAST(CAST({date} AS DATE) - DATE '1970-01-01' AS INTEGER)"


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
    unit = LEVELS.get(level.upper())
    if unit == "WEEK":
        return days - (days + 3) % 7
    year, month, _ = civil(days)
    if unit == "MONTH":
        return days_of(year, month, 1)
    if unit == "QUARTER":
        return days_of(year, month - (month - 1) % 3, 1)
    return days_of(year, 1, 1) if unit == "YEAR" else None


def _truncated_sql(e: Expr, args: Sequence[str]) -> str | None:
    level = e.args[1].params.get("value")
    unit = LEVELS.get(level.upper()) if isinstance(level, str) else None
    return _days_sql(f"date_trunc('{unit}', {_DATE.format(args[0])})") if unit else None


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
    **dict.fromkeys(
        ("AddMonths", "DateAddYMInterval"),
        calls(add_months, _days_sql(f"({_DATE} + to_months(CAST({{1}} AS INTEGER)))")),
    ),
    "LastDay": calls(last_day, _days_sql(f"last_day({_DATE})")),
    "NextDay": Function(_next_day),
    "TruncDate": Function(lambda e: truncated, _truncated_sql),
    "MakeDate": Function(_make),
}
