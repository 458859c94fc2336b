"""Summaries of measurements."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """The 5th, 50th and 95th percentile.

    >>> percentiles([3.0, 1.0, 2.0])
    {'p5': 1.1, 'p50': 2.0, 'p95': 2.9}
    """
    if len(values) == 1:
        return dict.fromkeys(("p5", "p50", "p95"), round(values[0], 4))
    cuts = statistics.quantiles(values, n=20, method="inclusive")
    return {"p5": round(cuts[0], 4), "p50": round(cuts[9], 4), "p95": round(cuts[18], 4)}


def tail(values: Sequence[float], scale: float = 1.0) -> dict[str, float]:
    """Median, 95th and 99th percentile and maximum, times a scale.

    >>> tail([0.003, 0.001, 0.002], scale=1000)
    {'p50': 2.0, 'p95': 2.9, 'p99': 2.98, 'max': 3.0}
    """
    cuts = statistics.quantiles(values, n=100, method="inclusive") if len(values) > 1 else list(values) * 99
    figures = {"p50": cuts[49], "p95": cuts[94], "p99": cuts[98], "max": max(values)}
    return {name: round(value * scale, 3) for name, value in figures.items()}


def ratios(figures: Mapping[str, float | None], first: str) -> dict[str, float]:
    """One figure over each of the others.

    >>> ratios({"a": 6.0, "b": 2.0, "c": None}, "a")
    {'a/b': 3.0}
    """
    top = figures.get(first)
    return {f"{first}/{name}": round(top / f, 3) for name, f in figures.items() if name != first and top and f}
