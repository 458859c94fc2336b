"""Generators: expressions that make several rows of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql.types import MapType

from millstream.kernels.functions.json_tokens import JsonError, Kind, Leniency, Tokens
from millstream.kernels.functions.json_writer import copied
from millstream.plan.algebra import Expr, Unsupported

_HIVE = Leniency(non_numeric_numbers=False, unquoted_control_chars=True)
"""How leniently Spark reads JSON where Hive did before it."""
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


def _json_tuple(e: Expr) -> Generator:
    def json_tuple(text: str | None, *names: str | None) -> Sequence[tuple[Any, ...]]:
        found: dict[str, str] = {}
        if text is not None:
            try:
                _read_fields(Tokens(text, _HIVE), set(names), found)
            except JsonError:
                found = {}
        return [tuple([None if name is None else found.get(name) for name in names])]

    return json_tuple


def _read_fields(tokens: Tokens, wanted: set[str | None], found: dict[str, str]) -> None:
    """The wanted fields of an object as text; of those that come twice, the last that is not null."""
    if tokens.next() is not Kind.START_OBJECT:
        return
    while tokens.next() is Kind.NAME:
        name = tokens.name
        kind = tokens.next()
        if name in wanted and kind is not Kind.NULL:
            found[str(name)] = tokens.text() if kind is Kind.STRING else copied(tokens)
        else:
            tokens.skip_children()


GENERATORS: dict[str, Callable[[Expr], Generator]] = {
    "Explode": _explode,
    "PosExplode": _posexplode,
    "Inline": _inline,
    "Stack": _stack,
    "JsonTuple": _json_tuple,
}
"""How to make each of Spark's generators."""
