"""Maps: dicts in the order in which their keys came."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pyspark.sql.types import ArrayType, DataType, DoubleType, FloatType, MapType, StructType

from millstream.errors import DataError
from millstream.kernels.functions.function import Function, Functions, calls
from millstream.kernels.functions.ordering import identity, itself, unsigned
from millstream.plan.algebra import Expr, Unsupported

Map = dict[Any, Any]


KEEPING = ("CreateMap", "MapFromArrays", "TransformKeys")
"""Classes that keep a negative zero as a key, unless another key comes twice."""


def builder(e: Expr) -> Callable[[Iterable[tuple[Any, Any]]], Map]:
    """Makes the map that an expression returns from its entries; its policy says what a key that comes twice does."""
    kind, last_wins = e.type.keyType, e.params["last_wins"]
    if not _hashable(kind):
        raise Unsupported(e.op, f"a map with keys of type {kind.simpleString()} has no kernel")
    same = identity(kind)
    normal = unsigned(kind) if isinstance(kind, (DoubleType, FloatType)) else itself

    def build(entries: Iterable[tuple[Any, Any]]) -> Map:
        keys: Map = {}
        values: Map = {}
        twice = False
        for key, value in entries:
            if key is None:
                raise DataError("[NULL_MAP_KEY] Cannot use null as map key.")
            known = same(key)
            if known in keys:
                twice = True
                if not last_wins:
                    raise DataError(
                        f"[DUPLICATED_MAP_KEY] Duplicate map key {key} was found; "
                        "spark.sql.mapKeyDedupPolicy=LAST_WIN keeps the last one."
                    )
            else:
                keys[known] = key
            values[known] = value
        if same is itself:
            return values
        kept = e.op in KEEPING and not twice
        return {key if kept else normal(key): values[known] for known, key in keys.items()}

    return build


def _hashable(kind: DataType) -> bool:
    if isinstance(kind, StructType):
        return all(_hashable(f.dataType) for f in kind)
    return not isinstance(kind, (ArrayType, MapType))


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


def get_sql(e: Expr, args: Sequence[str]) -> str | None:
    """The same in SQL."""
    return f"map_extract({args[0]}, {args[1]})[1]" if identity(e.args[0].type.keyType) is itself else None


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
    "GetMapValue": Function(_get_python, get_sql),
    "MapKeys": calls(list, "map_keys({0})"),
    "MapValues": calls(lambda entries: list(entries.values()), "map_values({0})"),
    "MapEntries": calls(lambda entries: list(entries.items())),
    "MapFromArrays": Function(_from_arrays),
    "MapFromEntries": Function(_from_entries),
    "StringToMap": Function(_from_text),
    "MapConcat": Function(_concat),
}
