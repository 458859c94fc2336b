"""Approximate counts of distinct values: HyperLogLog++ with Spark's hash, registers and corrections."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable

from pyspark.sql.types import BinaryType

from millstream.kernels.aggregates.buffers import Buffers, Lines, Maker
from millstream.kernels.expressions import Code
from millstream.plan.algebra import Expr

MASK = (1 << 64) - 1
NEIGHBOURS = 6
"""How many known estimates around one give its bias."""


def _hyperloglog(f: Expr, code: Code) -> Buffers:
    """Buffers of an argument that is a hash already; the parameters are Spark's tables for the precision."""
    precision: int = f.params["precision"]
    observe = code.bind(_observer(precision), "observe")
    merged = code.bind(_merged, "merged")
    estimate = code.bind(
        _estimator(precision, f.params["estimates"], f.params["biases"], f.params["threshold"]), "count"
    )

    def update(s: list[str], a: list[str]) -> Lines:
        return [f"if {a[0]} is not None:", f"    {observe}({s[0]}, {a[0]})"]

    return Buffers(
        (BinaryType(),), (f"bytearray({1 << precision})",), update,
        lambda s, o: [f"{s[0]} = {merged}({s[0]}, {o[0]})"], lambda s: f"{estimate}({s[0]})",
    )  # fmt: skip


def _observer(precision: int) -> Callable[[bytearray, int], None]:
    """Note a hash: its first bits choose a register, which keeps the longest run of zeros that follows."""
    shift = 64 - precision
    padding = 1 << (precision - 1)

    def observe(registers: bytearray, hash: int) -> None:
        hash &= MASK
        run = 65 - (((hash << precision) & MASK) | padding).bit_length()
        register = hash >> shift
        registers[register] = max(registers[register], run)

    return observe


def _merged(left: bytearray, right: bytearray) -> bytearray:
    return bytearray(map(max, left, right))


def _estimator(
    precision: int, estimates: tuple[float, ...], biases: tuple[float, ...], threshold: float
) -> Callable[[bytearray], int]:
    m = 1 << precision
    alpha = {4: 0.673, 5: 0.697, 6: 0.709}.get(precision, 0.7213 / (1.0 + 1.079 / m)) * m * m

    def bias(e: float) -> float:
        """The mean bias of the known estimates that are nearest."""
        low = max(bisect_left(estimates, e) - NEIGHBOURS + 1, 0)
        high = min(low + NEIGHBOURS, len(estimates))
        while high < len(estimates) and (e - estimates[high]) ** 2 < (e - estimates[low]) ** 2:
            low += 1
            high += 1
        return sum(biases[low:high]) / (high - low)

    def estimate(registers: bytearray) -> int:
        e = alpha / sum(_inverse_power(run) for run in registers)
        if e < 5.0 * m and estimates:
            e -= bias(e)
        empty = registers.count(0)
        if empty:
            linear = m * math.log(m / empty)
            if (estimates and linear <= threshold) or e <= 2.5 * m:
                e = linear
        return math.floor(e + 0.5)

    return estimate


def _inverse_power(run: int) -> float:
    """Two to the power of minus a run, with Java's idea of a shift by more than 30 bits."""
    power = 1 << (run & 31)
    return 1.0 / (power - (1 << 32) if power >> 31 else power)


FUNCTIONS: dict[str, Maker] = {"HyperLogLogPlusPlus": _hyperloglog}
