"""`sequence`: numbers, dates and timestamps at equal steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql.types import CalendarIntervalType, DateType, IntegralType, TimestampType, YearMonthIntervalType

from millstream.errors import DataError
from millstream.kernels.functions.function import Function, Functions
from millstream.kernels.functions.intervals import towards_zero
from millstream.kernels.functions.times import plus_interval
from millstream.kernels.functions.timezones import DAY_MICROS, UTC_ZONE, zone
from millstream.plan.algebra import Expr

_LONGEST = (1 << 31) - 16
_MONTH_MICROS = 28 * DAY_MICROS
"""What Spark takes for a month when it judges a step's direction."""


def _bounded(start: int, stop: int, step: int) -> None:
    if (step > 0 and start > stop) or (step < 0 and start < stop) or (not step and start != stop):
        raise DataError(f"[INTERNAL_ERROR] Illegal sequence boundaries: {start} to {stop} by {step}.")
    length = 1 + (stop - start) // step if step else 1
    if length > _LONGEST:
        raise DataError(f"[COLLECTION_SIZE_LIMIT_EXCEEDED] Can't create an array with {length} elements.")


def _numbers(start: int, stop: int, step: int | None = None) -> list[int]:
    if step is None:
        step = 1 if start <= stop else -1
    _bounded(start, stop, step)
    return list(range(start, stop + (1 if step > 0 else -1), step)) if step else [start]


def _parts(e: Expr) -> Callable[[Any], tuple[int, int, int]]:
    """Months, days and microseconds of a step."""
    kind = e.args[2].type if len(e.args) > 2 else None
    if isinstance(kind, CalendarIntervalType):
        return lambda step: step
    if isinstance(kind, YearMonthIntervalType):
        return lambda step: (step, 0, 0)

    def parts(step: int) -> tuple[int, int, int]:
        days = towards_zero(step, DAY_MICROS)
        return 0, days, step - days * DAY_MICROS

    return parts


def _moments(e: Expr) -> Callable[..., list[int]]:
    kind = e.args[0].type
    dates = isinstance(kind, DateType)
    here = zone(e.params["timezone"]) if dates or isinstance(kind, TimestampType) else UTC_ZONE
    parts = _parts(e)

    def moments(start: int, stop: int, step: Any = None) -> list[int]:
        months, days, micros = (0, 1 if start <= stop else -1, 0) if step is None else parts(step)
        if dates and not months and not days:
            raise DataError("[INTERNAL_ERROR] sequence step must be an interval of days, months or years.")
        if not months and not (micros if dates else days):
            return _numbers(start, stop, days if dates else micros)
        first, last = (here.midnight(start), here.midnight(stop)) if dates else (start, stop)
        size = months * _MONTH_MICROS + days * DAY_MICROS + micros
        _bounded(first, last, size)
        found: list[int] = []
        moment = first
        while moment <= last if size > 0 else moment >= last:
            found.append(here.to_local(moment) // DAY_MICROS if dates else moment)
            count = len(found)
            moment = plus_interval(here, first, (count * months, count * days, count * micros))
        return found

    return moments


def _sequence(e: Expr) -> Callable[..., list[int]]:
    return _numbers if isinstance(e.args[0].type, IntegralType) else _moments(e)


FUNCTIONS: Functions = {"Sequence": Function(_sequence)}
