"""Aggregate functions: the most common are written by hand, the others as Spark itself defines them."""

from __future__ import annotations

from millstream.kernels.aggregates import collected, common, declared, percentiles, sketches
from millstream.kernels.aggregates.buffers import Buffers, Maker
from millstream.kernels.expressions import Code
from millstream.plan.algebra import AggregateCall, Expr, Unsupported

__all__ = ["Buffers", "buffers_of"]

FUNCTIONS: dict[str, Maker] = (
    common.FUNCTIONS | collected.FUNCTIONS | percentiles.FUNCTIONS | sketches.FUNCTIONS
)  # fmt: skip


def buffers_of(call: AggregateCall, code: Code | None = None) -> Buffers:
    """How a call is computed; raises `Unsupported` for a function that has no kernel.

    The lines are good only inside of `code`; without it, the types and the SQL are.
    """
    code = code or Code()
    make = _maker(call.function)
    return collected.distinct(call.function, make, code) if call.distinct else make(call.function, code)


def _maker(function: Expr) -> Maker:
    if declared.is_declared(function):
        return declared.buffers
    found = FUNCTIONS.get(function.op)
    if found is None:
        raise Unsupported(function.op, "this aggregate function has no kernel")
    return found
