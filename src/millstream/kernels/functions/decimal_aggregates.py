"""What Spark's definitions of sums and averages of decimals use, and nothing else does."""

from __future__ import annotations

from millstream.kernels.functions.decimals import EXACT, fit_type, quotient
from millstream.kernels.functions.function import Function, Functions, Python, calls
from millstream.plan.algebra import Expr


def _average(e: Expr) -> Python:
    rounded = fit_type(e.type, not e.params["null_on_overflow"])
    return lambda total, count: rounded(quotient(total, count))


FUNCTIONS: Functions = {
    "DecimalAddNoOverflowCheck": calls(EXACT.add),
    "DecimalDivideWithOverflowCheck": Function(_average),
}
