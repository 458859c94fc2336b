"""Exact percentiles: how often each value came is kept, and the answer lies between two of them."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from itertools import accumulate
from typing import Any

from pyspark.sql.types import DecimalType, LongType, MapType

from millstream.kernels.aggregates.buffers import FLOATING, INTEGRAL, Buffers, Lines, Maker, order
from millstream.kernels.aggregates.collected import bounded
from millstream.kernels.expressions import Code
from millstream.kernels.keys import NAN
from millstream.plan.algebra import Expr, Unsupported

Counts = dict[Any, int]


def _percentile(f: Expr, code: Code) -> Buffers:
    value, wanted, frequency = f.args
    if not isinstance(value.type, (*INTEGRAL, *FLOATING, DecimalType)):
        raise Unsupported("Percentile", f"of {value.type.simpleString()}")
    if wanted.op != "Literal" or frequency.op != "Literal" or frequency.params["value"] != 1:
        raise Unsupported("Percentile", "percentages that are no constants, or frequencies")
    answer = code.bind(_between(wanted.params["value"], f.params["reverse"]), "percentile")
    nan = code.bind(NAN, "nan")
    merge = code.bind(add_counts, "add_counts")

    def update(s: list[str], a: list[str]) -> Lines:
        key = f"({a[0]} if {a[0]} == {a[0]} else {nan})" if isinstance(value.type, FLOATING) else a[0]
        return [f"if {a[0]} is not None:", f"    {s[0]}[{key}] = {s[0]}.get({key}, 0) + 1"]

    return Buffers(
        (MapType(value.type, LongType()),), ("{}",), update, lambda s, o: [f"{merge}({s[0]}, {o[0]})"],
        lambda s: f"{answer}({s[0]})",
    )  # fmt: skip


def add_counts(counts: Counts, more: Counts) -> None:
    """Add another part's counts."""
    for value, count in more.items():
        counts[value] = counts.get(value, 0) + count
    bounded(counts)


def _between(wanted: Any, reverse: bool) -> Callable[[Counts], Any]:
    def at(values: list[Any], ends: list[int], position: float) -> float:
        lower, higher = math.floor(position), math.ceil(position)
        below, above = (float(values[bisect_left(ends, place + 1)]) for place in (lower, higher))
        if lower == higher or below == above:
            return below
        return below + (position - lower) * (above - below)

    def answer(counts: Counts) -> Any:
        if not counts or wanted is None:
            return None
        values = sorted(counts, key=order, reverse=reverse)
        ends = list(accumulate(counts[value] for value in values))
        if isinstance(wanted, list):
            return [at(values, ends, (ends[-1] - 1) * share) for share in wanted]
        return at(values, ends, (ends[-1] - 1) * wanted)

    return answer


FUNCTIONS: dict[str, Maker] = {"Percentile": _percentile}
