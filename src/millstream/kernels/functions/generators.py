"""Generators: expressions that make several rows of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql.types import MapType

from millstream.plan.algebra import Expr, Unsupported

Generator = Callable[..., Sequence[tuple[Any, ...]]]
"""From the arguments' values to the rows that they make."""


def generator_of(e: Expr) -> Generator:
    """The function that computes a generator; raises `Unsupported` if there is none."""
    found = GENERATORS.get(e.op)
    if found is None:
        raise Unsupported(e.op, "this generator has no kernel")
    return found(e)


def _explode(e: Expr) -> Generator:
    if isinstance(e.args[0].type, MapType):
        return lambda entries: list(entries.items()) if entries else []
    return lambda array: [(x,) for x in array] if array else []


def _posexplode(e: Expr) -> Generator:
    if isinstance(e.args[0].type, MapType):
        return lambda entries: [(i, *entry) for i, entry in enumerate(entries.items())] if entries else []
    return lambda array: list(enumerate(array)) if array else []


def _inline(e: Expr) -> Generator:
    nulls = (None,) * len(e.type.elementType)
    return lambda structs: [nulls if s is None else s for s in structs] if structs else []


def _stack(e: Expr) -> Generator:
    width = len(e.type.elementType)

    def stack(count: int, *values: Any) -> Sequence[tuple[Any, ...]]:
        padded = values + (None,) * (count * width - len(values))
        return [padded[i : i + width] for i in range(0, count * width, width)]

    return stack


GENERATORS: dict[str, Callable[[Expr], Generator]] = {
    "Explode": _explode,
    "PosExplode": _posexplode,
    "Inline": _inline,
    "Stack": _stack,
}
"""How to make each of Spark's generators."""
