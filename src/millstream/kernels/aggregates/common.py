"""Counts, sums, averages and extremes: the functions that most queries use, written by hand for speed."""

from __future__ import annotations

from pyspark.sql.types import DoubleType, LongType

from millstream.errors import DataError
from millstream.kernels.aggregates.buffers import (
    FLOATING,
    INTEGRAL,
    PLAIN_ORDER,
    Buffers,
    Lines,
    Maker,
    order,
    orderable,
)
from millstream.kernels.expressions import Code
from millstream.plan.algebra import Expr, Unsupported


def _count(f: Expr, code: Code) -> Buffers:
    nullable = [i for i, arg in enumerate(f.args) if arg.op != "Literal" or arg.params["value"] is None]

    def update(s: list[str], args: list[str]) -> Lines:
        test = " and ".join(f"{args[i]} is not None" for i in nullable)
        return [f"if {test}:", f"    {s[0]} += 1"] if test else [f"{s[0]} += 1"]

    def sql(args: list[str]) -> list[str]:
        test = " AND ".join(f"{args[i]} IS NOT NULL" for i in nullable)
        return [f"count(CASE WHEN {test} THEN 1 END)" if len(nullable) > 1 else f"count({test and args[nullable[0]]})"]

    return Buffers((LongType(),), ("0",), update, lambda s, o: [f"{s[0]} += {o[0]}"], lambda s: s[0], sql)


def _sum(f: Expr, code: Code) -> Buffers:
    kind = f.args[0].type
    if isinstance(kind, INTEGRAL):

        def add(s: list[str], o: list[str]) -> Lines:
            return [f"if {o[0]} is not None:", f"    {s[0]} = {o[0]} if {s[0]} is None else {s[0]} + {o[0]}"]

        checked = code.bind({"ANSI": ansi_sum, "TRY": try_sum}.get(f.params["mode"], wrapped_sum), "sum")
        return Buffers(
            (LongType(),), ("None",), add, add, lambda s: f"{checked}({s[0]})",
            lambda args: [f"CAST(sum({args[0]}) AS BIGINT)"], filterable=False,
        )  # fmt: skip
    if isinstance(kind, FLOATING):

        def add_from_zero(s: list[str], o: list[str]) -> Lines:
            return [f"if {o[0]} is not None:", f"    {s[0]} = ({s[0]} or 0.0) + {o[0]}"]

        return Buffers(
            (DoubleType(),), ("None",), add_from_zero, add_from_zero, lambda s: s[0],
            lambda args: [f"sum(CAST({args[0]} AS DOUBLE))"],
        )  # fmt: skip
    raise Unsupported("Sum", f"of {kind.simpleString()}")


def _average(f: Expr, code: Code) -> Buffers:
    kind = f.args[0].type
    if not isinstance(kind, (*INTEGRAL, *FLOATING)):
        raise Unsupported("Average", f"of {kind.simpleString()}")

    def update(s: list[str], a: list[str]) -> Lines:
        return [f"if {a[0]} is not None:", f"    {s[0]} += {a[0]}", f"    {s[1]} += 1"]

    return Buffers(
        (DoubleType(), LongType()), ("0.0", "0"), update,
        lambda s, o: [f"{s[0]} += {o[0]}", f"{s[1]} += {o[1]}"],
        lambda s: f"({s[0]} / {s[1]} if {s[1]} else None)",
        lambda args: [f"coalesce(sum(CAST({args[0]} AS DOUBLE)), 0.0)", f"count({args[0]})"], filterable=False,
    )  # fmt: skip


def _extreme(sign: str, sql_name: str) -> Maker:
    def make(f: Expr, code: Code) -> Buffers:
        kind = f.args[0].type
        plain = isinstance(kind, PLAIN_ORDER)
        if not orderable(kind):
            raise Unsupported(f.op, f"of {kind.simpleString()}")
        rank = "{}" if plain else code.bind(order, "order") + "({})"

        def take(s: list[str], o: list[str]) -> Lines:
            better = f"{rank.format(o[0])} {sign} {rank.format(s[0])}"
            return [f"if {o[0]} is not None and ({s[0]} is None or {better}):", f"    {s[0]} = {o[0]}"]

        return Buffers(
            (kind,), ("None",), take, take, lambda s: s[0],
            (lambda args: [f"{sql_name}({args[0]})"]) if plain else None,
        )  # fmt: skip

    return make


FUNCTIONS: dict[str, Maker] = {
    "Count": _count,
    "Sum": _sum,
    "Average": _average,
    "Min": _extreme("<", "min"),
    "Max": _extreme(">", "max"),
}


INT64 = 1 << 63


def ansi_sum(value: int | None) -> int | None:
    """A sum of whole numbers, or Spark's error beyond 64 bits."""
    if value is None or -INT64 <= value < INT64:
        return value
    raise DataError("[ARITHMETIC_OVERFLOW] long overflow. Use try_sum, or cast to a decimal first")


def try_sum(value: int | None) -> int | None:
    """A sum of whole numbers, or null beyond 64 bits."""
    return value if value is not None and -INT64 <= value < INT64 else None


def wrapped_sum(value: int | None) -> int | None:
    """A sum of whole numbers without ANSI: it wraps around.

    >>> wrapped_sum(1 << 63)
    -9223372036854775808
    """
    return None if value is None else (value + INT64) % (2 * INT64) - INT64
