"""Spark's calendar: the Gregorian one, proleptic, with years far beyond those that Python's `date` knows."""

from __future__ import annotations

from calendar import monthrange
from datetime import date

from millstream.errors import DataError

_CYCLE_DAYS = 146_097
_EPOCH = date(1970, 1, 1).toordinal()
INT = 1 << 31
"""Beyond the largest of Spark's ints."""


def likeness(days: int) -> tuple[date, int]:
    """A date that looks like the one so many days after 1970-01-01, and the years to add to its year.

    >>> likeness(10_957), likeness(-719_529)
    ((datetime.date(400, 1, 1), 1600), (datetime.date(399, 12, 31), -400))
    """
    cycle, day = divmod(days + _EPOCH - 1, _CYCLE_DAYS)
    return date.fromordinal(day + 1), cycle * 400


def civil(days: int) -> tuple[int, int, int]:
    """Year, month and day of a date."""
    like, years = likeness(days)
    return like.year + years, like.month, like.day


def days_of(year: int, month: int, day: int) -> int:
    """The days from 1970-01-01 to a date; ValueError if the calendar doesn't have it."""
    cycle, rest = divmod(year - 1, 400)
    return date(rest + 1, month, day).toordinal() - _EPOCH + cycle * _CYCLE_DAYS


def month_length(year: int, month: int) -> int:
    """The days of a month."""
    return monthrange((year - 1) % 400 + 1, month)[1]


def plus_months(days: int, months: int) -> int:
    """The same day of another month, or that month's last."""
    year, month, day = civil(days)
    years, month0 = divmod(month - 1 + months, 12)
    year, month = year + years, month0 + 1
    return days_of(year, month, min(day, month_length(year, month)))


def exact_days(days: int) -> int:
    """A date within Spark's range, or Spark's error."""
    if -INT <= days < INT:
        return days
    raise DataError("[ARITHMETIC_OVERFLOW] integer overflow: the date is out of range.")
