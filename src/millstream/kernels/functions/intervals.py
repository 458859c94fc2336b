"""Intervals: months as one number, days and microseconds as another; the calendar's kind is a triple of both."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from typing import Any

from millstream.errors import DataError
from millstream.kernels.functions.function import Function, Functions, Python, calls
from millstream.kernels.functions.gregorian import INT, exact_days, plus_months
from millstream.kernels.functions.instants import LONG
from millstream.kernels.functions.times import plus_interval
from millstream.kernels.functions.timezones import DAY_MICROS, MICROS, zone
from millstream.plan.algebra import Expr


def _within(value: int, limit: int) -> int:
    if -limit <= value < limit:
        return value
    raise DataError("[INTERVAL_ARITHMETIC_OVERFLOW] Integer overflow while operating with intervals.")


def towards_zero(dividend: int, divisor: int) -> int:
    """Java's division of whole numbers, by a positive one."""
    return dividend // divisor if dividend >= 0 else -(-dividend // divisor)


def _part(divisor: int, modulus: int | None = None) -> Function:
    """A field of an interval: it has the interval's sign."""

    def part(interval: int) -> int:
        size = abs(interval) // divisor
        size = size if modulus is None else size % modulus
        return size if interval >= 0 else -size

    return calls(part)


def _seconds(interval: int) -> Decimal:
    rest = abs(interval) % (60 * MICROS)
    return Decimal(rest if interval >= 0 else -rest).scaleb(-6)


def _make_day_time(days: int, hours: int, minutes: int, seconds: Decimal) -> int:
    micros = int(seconds.scaleb(6))
    return _within(days * DAY_MICROS + (hours * 60 + minutes) * 60 * MICROS + micros, LONG)


def _make_year_month(years: int, months: int) -> int:
    return _within(years * 12 + months, INT)


def _rounded(value: Fraction | float) -> int:
    """The nearest whole number, halves away from zero."""
    if isinstance(value, float) and not isfinite(value):
        raise DataError("[INTERVAL_ARITHMETIC_OVERFLOW] input is infinite or NaN.")
    exact = Fraction(value)
    size = int(abs(exact) + Fraction(1, 2))
    return size if exact >= 0 else -size


def _times(limit: int) -> Function:
    def times(interval: int, factor: Any) -> int:
        return _within(_rounded(interval * (factor if isinstance(factor, float) else Fraction(factor))), limit)

    return calls(times)


def _divided(limit: int) -> Function:
    def divided(interval: int, divisor: Any) -> int:
        if divisor == 0:
            raise DataError("[INTERVAL_DIVIDED_BY_ZERO] Division by zero.")
        quotient = interval / divisor if isinstance(divisor, float) else Fraction(interval) / Fraction(divisor)
        return _within(_rounded(quotient), limit)

    return calls(divided)


def _make_calendar(e: Expr) -> Callable[..., Any]:
    ansi = e.params["ansi"]

    def make(years: int, months: int, weeks: int, days: int, hours: int, minutes: int, seconds: Decimal) -> Any:
        try:
            return (
                _within(years * 12 + months, INT),
                _within(weeks * 7 + days, INT),
                _make_day_time(0, hours, minutes, seconds),
            )
        except DataError:
            if ansi:
                raise
            return None

    return make


def _date_plus(e: Expr) -> Python:
    here, ansi = zone(e.params["timezone"] or "UTC"), e.params["ansi"]

    def plus(date: int, interval: tuple[int, int, int]) -> int:
        months, days, micros = interval
        if not micros:
            return exact_days(plus_months(date, months) + days)
        if ansi:
            raise DataError("[INVALID_INTERVAL_WITH_MICROSECONDS_ADDITION] Add the hours to a timestamp instead.")
        return here.to_local(plus_interval(here, here.midnight(date), interval)) // DAY_MICROS

    return plus


FUNCTIONS: Functions = {
    "ExtractANSIIntervalYears": _part(12),
    "ExtractANSIIntervalMonths": _part(1, 12),
    "ExtractANSIIntervalDays": _part(DAY_MICROS),
    "ExtractANSIIntervalHours": _part(3600 * MICROS, 24),
    "ExtractANSIIntervalMinutes": _part(60 * MICROS, 60),
    "ExtractANSIIntervalSeconds": calls(_seconds),
    "MakeDTInterval": calls(_make_day_time),
    "MakeYMInterval": calls(_make_year_month, "(CAST({0} AS INTEGER) * 12 + {1})"),
    "MakeInterval": Function(_make_calendar),
    "DateAddInterval": Function(_date_plus),
    "MultiplyDTInterval": _times(LONG),
    "MultiplyYMInterval": _times(INT),
    "DivideDTInterval": _divided(LONG),
    "DivideYMInterval": _divided(INT),
}
