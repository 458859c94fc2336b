"""Summaries of measurements."""

from __future__ import annotations

import statistics
from collections.abc import Sequence


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """The 5th, 50th and 95th percentile.

    >>> percentiles([3.0, 1.0, 2.0])
    {'p5': 1.1, 'p50': 2.0, 'p95': 2.9}
    """
    if len(values) == 1:
        return dict.fromkeys(("p5", "p50", "p95"), round(values[0], 4))
    cuts = statistics.quantiles(values, n=20, method="inclusive")
    return {"p5": round(cuts[0], 4), "p50": round(cuts[9], 4), "p95": round(cuts[18], 4)}
