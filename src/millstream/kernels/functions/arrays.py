"""Arrays: making them, and what is in them at which place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql.types import MapType

from millstream.errors import DataError
from millstream.kernels.functions.function import Function, Functions, Python
from millstream.kernels.functions.maps import getter
from millstream.plan.algebra import Expr

Array = list[Any]


def _create_python(e: Expr) -> str:
    return "[" + ", ".join(f"{{{i}}}" for i in range(len(e.args))) + "]"


def _create_sql(e: Expr, args: Sequence[str]) -> str | None:
    return f"[{', '.join(args)}]" if args else None


def _size(e: Expr) -> str:
    null = "-1" if e.params["null_is_negative"] else "None"
    return f"({null} if ({{a}} := {{0}}) is None else len({{a}}))"


def _size_sql(e: Expr, args: Sequence[str]) -> str:
    size = f"CAST({'cardinality' if isinstance(e.args[0].type, MapType) else 'len'}({args[0]}) AS INTEGER)"
    return f"coalesce({size}, -1)" if e.params["null_is_negative"] else size


def out_of_bounds(index: int, array: Array) -> DataError:
    """Spark's error for a place that an array doesn't have."""
    return DataError(f"[INVALID_ARRAY_INDEX] The index {index} is out of bounds. The array has {len(array)} elements.")


def _item(e: Expr) -> Callable[..., Any]:
    ansi = e.params["ansi"]

    def item(array: Array, index: int) -> Any:
        if 0 <= index < len(array):
            return array[index]
        if ansi:
            raise out_of_bounds(index, array)
        return None

    return item


def _item_sql(e: Expr, args: Sequence[str]) -> str:
    array, index = args
    missing = "error('[INVALID_ARRAY_INDEX]')" if e.params["ansi"] else "NULL"
    return f"CASE WHEN {index} < 0 OR {index} >= len({array}) THEN {missing} ELSE {array}[{index} + 1] END"


def _element_at(e: Expr) -> Callable[..., Any]:
    if isinstance(e.args[0].type, MapType):
        return getter(e.args[0].type)
    ansi = e.params["ansi"]

    def element_at(array: Array, index: int) -> Any:
        if not index:
            raise DataError("[INVALID_INDEX_OF_ZERO] The index 0 is invalid. An index shall be either < 0 or > 0.")
        if -len(array) <= index <= len(array):
            return array[index - 1 if index > 0 else index]
        if ansi:
            raise out_of_bounds(index, array)
        return None

    return element_at


def _concat(e: Expr) -> Python:
    return " + ".join(f"{{{i}}}" for i in range(len(e.args))).join("()") if e.args else "''"


def _concat_sql(e: Expr, args: Sequence[str]) -> str | None:
    return f"({' || '.join(args)})" if args else None


def _insert(array: Array, place: int, value: Any) -> Array:
    if not place:
        raise DataError("[INVALID_INDEX_OF_ZERO] The index 0 is invalid. An index shall be either < 0 or > 0.")
    if place > 0:
        return [*array[: place - 1], *[None] * (place - 1 - len(array)), value, *array[place - 1 :]]
    keep = len(array) + 1 + place
    if keep >= 0:
        return [*array[:keep], value, *array[keep:]]
    return [value, *[None] * -keep, *array]


FUNCTIONS: Functions = {
    "CreateArray": Function(_create_python, _create_sql, nulls=True),
    "Size": Function(_size, _size_sql, nulls=True),
    "GetArrayItem": Function(_item, _item_sql),
    "ElementAt": Function(_element_at),
    "Concat": Function(_concat, _concat_sql),
}
