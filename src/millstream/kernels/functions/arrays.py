"""Arrays: making them, and what is in them at which place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, zip_longest
from typing import Any

from pyspark.sql.types import MapType

from millstream.errors import DataError
from millstream.kernels.functions.function import Function, Functions, Python, calls, inline
from millstream.kernels.functions.maps import get_sql, getter
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


def _index_of_zero() -> DataError:
    return DataError("[INVALID_INDEX_OF_ZERO] The index 0 is invalid: an index is less or greater than 0.")


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
            raise _index_of_zero()
        if -len(array) <= index <= len(array):
            return array[index - 1 if index > 0 else index]
        if ansi:
            raise out_of_bounds(index, array)
        return None

    return element_at


def _element_at_sql(e: Expr, args: Sequence[str]) -> str | None:
    if isinstance(e.args[0].type, MapType):
        return get_sql(e, args)
    array, index = args
    missing = "error('[INVALID_ARRAY_INDEX]')" if e.params["ansi"] else "NULL"
    return (
        f"CASE WHEN {index} = 0 THEN error('[INVALID_INDEX_OF_ZERO]') "
        f"WHEN abs({index}) > len({array}) THEN {missing} ELSE {array}[{index}] END"
    )


def _concat(e: Expr) -> Python:
    return " + ".join(f"{{{i}}}" for i in range(len(e.args))).join("()") if e.args else "''"


def _concat_sql(e: Expr, args: Sequence[str]) -> str | None:
    return f"({' || '.join(args)})" if args else None


def _insert(array: Array | None, place: int | None, value: Any) -> Array | None:
    if array is None or place is None:
        return None
    if not place:
        raise _index_of_zero()
    if place > 0:
        return [*array[: place - 1], *[None] * (place - 1 - len(array)), value, *array[place - 1 :]]
    kept = len(array) + 1 + place
    return [*array[:kept], value, *array[kept:]] if kept >= 0 else [value, *[None] * -kept, *array]


def _repeat(value: Any, count: int | None) -> Array | None:
    return None if count is None else [value] * count


def _slice(array: Array, start: int, length: int) -> Array:
    if not start:
        raise DataError("[INVALID_PARAMETER_VALUE.START] Expects a positive or a negative value for start, but got 0.")
    if length < 0:
        raise DataError(
            f"[INVALID_PARAMETER_VALUE.LENGTH] Expects length greater than or equal to 0, but got {length}."
        )
    first = start - 1 if start > 0 else start + len(array)
    return array[first : first + length] if first >= 0 else []


def _flatten(arrays: list[Array | None]) -> Array | None:
    return None if None in arrays else list(chain.from_iterable(arrays))  # type: ignore[arg-type]


def _zip(*arrays: Array) -> list[tuple[Any, ...]]:
    return list(zip_longest(*arrays))


def _join(array: list[str | None], delimiter: str, null: str | None = None) -> str:
    shown = (null if x is None else x for x in array)
    return delimiter.join([x for x in shown if x is not None])


FUNCTIONS: Functions = {
    "CreateArray": Function(_create_python, _create_sql, nulls=True),
    "Size": Function(_size, _size_sql, nulls=True),
    "GetArrayItem": Function(_item, _item_sql),
    "ElementAt": Function(_element_at, _element_at_sql),
    "Concat": Function(_concat, _concat_sql),
    "Reverse": inline("{0}[::-1]"),
    "ArrayInsert": calls(_insert, nulls=True),
    "ArrayRepeat": calls(_repeat, nulls=True),
    "ArraysZip": calls(_zip),
    "ArrayJoin": calls(_join),
    "Flatten": calls(_flatten),
    "Slice": calls(_slice),
}
