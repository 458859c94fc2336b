"""Arrays as sets, and in order: what is in them, whatever its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from millstream.kernels.functions.function import Function, Functions
from millstream.kernels.functions.ordering import Key, identity, itself, rank, unsigned
from millstream.plan.algebra import Expr

Array = list[Any]


def _same(e: Expr) -> Key:
    """The identity of the elements of the first argument."""
    return identity(e.args[0].type.elementType)


def _set(e: Expr, choose: Callable[..., Iterable[Any]]) -> Callable[..., Array]:
    """What `choose` finds in one or two arrays, each value once: Spark drops the sign of zero on the way."""
    same, normal = _same(e), unsigned(e.args[0].type.elementType)

    def chosen(*arrays: Array) -> Array:
        found: dict[Any, Any] = {}
        for value in choose(same, *arrays):
            found.setdefault(same(value), value)
        return [normal(x) for x in found.values()]

    return chosen


def _intersect(same: Key, left: Array, right: Array) -> Array:
    there = {same(x) for x in right}
    return [x for x in left if same(x) in there]


def _except(same: Key, left: Array, right: Array) -> Array:
    there = {same(x) for x in right}
    return [x for x in left if same(x) not in there]


def _contains(e: Expr) -> Callable[..., bool | None]:
    same = _same(e)

    def contains(array: Array, value: Any) -> bool | None:
        wanted = same(value)
        if any(x is not None and same(x) == wanted for x in array):
            return True
        return None if None in array else False

    return contains


def _contains_sql(e: Expr, args: Sequence[str]) -> str | None:
    if _same(e) is not itself:
        return None
    array, value = args
    return (
        f"CASE WHEN {value} IS NULL THEN NULL WHEN list_contains({array}, {value}) THEN TRUE "
        f"WHEN len({array}) = list_count({array}) THEN FALSE ELSE NULL END"
    )


def _position(e: Expr) -> Callable[..., int]:
    same = _same(e)

    def position(array: Array, value: Any) -> int:
        wanted = same(value)
        return next((i for i, x in enumerate(array, 1) if x is not None and same(x) == wanted), 0)

    return position


def _remove(e: Expr) -> Callable[..., Array]:
    same = _same(e)

    def remove(array: Array, value: Any) -> Array:
        unwanted = same(value)
        return [x for x in array if x is None or same(x) != unwanted]

    return remove


def _overlap(e: Expr) -> Callable[..., bool | None]:
    same = _same(e)

    def overlap(left: Array, right: Array) -> bool | None:
        there = {same(x) for x in right if x is not None}
        if any(x is not None and same(x) in there for x in left):
            return True
        return None if left and right and (None in left or None in right) else False

    return overlap


def _extreme(choose: Callable[..., Any]) -> Function:
    def of(e: Expr) -> Callable[..., Any]:
        key = rank(e.args[0].type.elementType)
        return lambda array: choose((x for x in array if x is not None), key=key, default=None)

    return Function(of)


def _sort(e: Expr) -> Callable[..., Array]:
    key = rank(e.args[0].type.elementType)

    def sort(array: Array, ascending: bool) -> Array:
        nulls = [None] * array.count(None)
        values = sorted((x for x in array if x is not None), key=key, reverse=not ascending)
        return nulls + values if ascending else values + nulls

    return sort


FUNCTIONS: Functions = {
    "ArrayContains": Function(_contains, _contains_sql),
    "ArrayPosition": Function(_position),
    "ArrayRemove": Function(_remove),
    "ArrayDistinct": Function(lambda e: _set(e, lambda same, array: array)),
    "ArrayUnion": Function(lambda e: _set(e, lambda same, left, right: left + right)),
    "ArrayIntersect": Function(lambda e: _set(e, _intersect)),
    "ArrayExcept": Function(lambda e: _set(e, _except)),
    "ArraysOverlap": Function(_overlap),
    "ArrayMin": _extreme(min),
    "ArrayMax": _extreme(max),
    "SortArray": Function(_sort),
}
