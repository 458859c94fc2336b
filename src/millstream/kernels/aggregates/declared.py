"""Aggregate functions as Spark itself defines them: by expressions over buffers, which its JVM shows us.

`plan.aggregates` reads them into the function's parameters; here they become code.
"""

from __future__ import annotations

from collections.abc import Sequence

from millstream.kernels.aggregates.buffers import Buffers, Lines
from millstream.kernels.expressions import Code, python
from millstream.plan.algebra import Expr


def is_declared(f: Expr) -> bool:
    """Whether Spark's own definition came with the function."""
    return "buffers" in f.params


def buffers(f: Expr, code: Code) -> Buffers:
    """Buffers and code from the definition."""
    mine = [c.id for c in f.params["buffers"]]
    others = [c.id for c in f.params["others"]]
    args = [c.id for c in f.params["arguments"]]

    def assign(s: list[str], extra: dict[int, str], exprs: Sequence[Expr]) -> Lines:
        local = [code.fresh("b") for _ in s]
        columns = dict(zip(mine, local)) | extra
        return [
            f"{', '.join(local)} = {', '.join(s)}",
            f"{', '.join(s)} = {', '.join(python(e, columns, code) for e in exprs)}",
        ]

    def merge(s: list[str], o: list[str]) -> Lines:
        theirs = [code.fresh("o") for _ in o]
        lines = assign(s, dict(zip(others, theirs)), f.params["merge"])
        return [f"{', '.join(theirs)} = {', '.join(o)}", *lines]

    return Buffers(
        tuple(c.type for c in f.params["buffers"]),
        tuple(python(e, {}, code) for e in f.params["initial"]),
        lambda s, a: assign(s, dict(zip(args, a)), f.params["update"]),
        merge,
        lambda s: python(f.params["evaluate"], dict(zip(mine, s)), code),
    )
