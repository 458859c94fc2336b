"""Maps: dicts in the order in which their keys came."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from pyspark.sql.types import MapType

from millstream.errors import DataError
from millstream.kernels.functions.function import Function, Functions, calls
from millstream.kernels.functions.ordering import identity, itself, normal_key
from millstream.plan.algebra import Expr, Unsupported

Map = dict[Any, Any]


def builder(e: Expr) -> Callable[[Iterable[tuple[Any, Any]]], Map]:
    """Makes the map that an expression returns from its entries; its policy says what a key that comes twice does."""
    normal, last_wins = normal_key(e.type.keyType), e.params["last_wins"]

    def build(entries: Iterable[tuple[Any, Any]]) -> Map:
        made: Map = {}
        for given, value in entries:
            if given is None:
                raise DataError("[NULL_MAP_KEY] Cannot use null as map key.")
            key = normal(given)
            if not last_wins and key in made:
                raise DataError(
                    f"[DUPLICATED_MAP_KEY] Duplicate map key {key} was found; "
                    "spark.sql.mapKeyDedupPolicy=LAST_WIN keeps the last one."
                )
            made[key] = value
        return made

    return build


def getter(kind: MapType) -> Callable[[Map, Any], Any]:
    """Looks a key up; None if it isn't there."""
    same = identity(kind.keyType)
    if same is itself:
        return dict.get

    def get(entries: Map, key: Any) -> Any:
        wanted = same(key)
        return next((value for k, value in entries.items() if same(k) == wanted), None)

    return get


def _get_python(e: Expr) -> Any:
    get = getter(e.args[0].type)
    return "{0}.get({1})" if get is dict.get else get


def _create(e: Expr) -> Callable[..., Map]:
    build = builder(e)
    return lambda *values: build(zip(values[::2], values[1::2]))


def _from_arrays(e: Expr) -> Callable[..., Map]:
    build = builder(e)

    def from_arrays(keys: list[Any], values: list[Any]) -> Map:
        if len(keys) != len(values):
            raise DataError("[INTERNAL_ERROR] The key array and value array of MapData must have the same length.")
        return build(zip(keys, values))

    return from_arrays


def _from_entries(e: Expr) -> Callable[..., Map | None]:
    build = builder(e)
    return lambda entries: None if None in entries else build(entries)


def _concat(e: Expr) -> Callable[..., Map]:
    build = builder(e)
    return lambda *maps: build(entry for entries in maps for entry in entries.items())


def _from_text(e: Expr) -> Callable[..., Map]:
    build = builder(e)
    for delimiter in e.args[1:]:
        text = delimiter.params["value"] if delimiter.op == "Literal" else None
        if not text or re.escape(text) != text:
            raise Unsupported(e.op, "delimiters that are regular expressions have no kernel")

    def from_text(text: str, between_pairs: str, after_key: str) -> Map:
        pairs = (pair.partition(after_key) for pair in text.split(between_pairs))
        return build((key, value if found else None) for key, found, value in pairs)

    return from_text


FUNCTIONS: Functions = {
    "CreateMap": Function(_create, nulls=True),
    "GetMapValue": Function(_get_python),
    "MapKeys": calls(list),
    "MapValues": calls(lambda entries: list(entries.values())),
    "MapEntries": calls(lambda entries: list(entries.items())),
    "MapFromArrays": Function(_from_arrays),
    "MapFromEntries": Function(_from_entries),
    "StringToMap": Function(_from_text),
    "MapConcat": Function(_concat),
}
