"""Higher-order functions: over the elements of arrays and the entries of maps."""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key, reduce
from itertools import zip_longest
from typing import Any

from millstream.errors import DataError
from millstream.kernels.functions.function import Function, Functions
from millstream.kernels.functions.maps import Map, builder
from millstream.kernels.functions.ordering import identity, unsigned
from millstream.plan.algebra import Expr

Array = list[Any]
Lambda = Callable[..., Any]


def _variables(e: Expr) -> int:
    """How many variables the lambda of a function over one array has: the element, and perhaps its place."""
    return len(e.args[1].args) - 1


def _transform(e: Expr) -> Callable[..., Any]:
    if _variables(e) == 1:
        return lambda array, f: None if array is None else [f(x) for x in array]
    return lambda array, f: None if array is None else [f(x, i) for i, x in enumerate(array)]


def _filter(e: Expr) -> Callable[..., Any]:
    if _variables(e) == 1:
        return lambda array, f: None if array is None else [x for x in array if f(x)]
    return lambda array, f: None if array is None else [x for i, x in enumerate(array) if f(x, i)]


def _exists(e: Expr) -> Callable[..., Any]:
    unknown = None if e.params["three_valued"] else False

    def exists(array: Array | None, f: Lambda) -> bool | None:
        if array is None:
            return None
        seen = {f(x) for x in array}
        return True in seen or (unknown if None in seen else False)

    return exists


def _for_all(array: Array | None, f: Lambda) -> bool | None:
    if array is None:
        return None
    seen = {f(x) for x in array}
    return None if None in seen and False not in seen else False not in seen


def _aggregate(array: Array | None, zero: Any, merge: Lambda, finish: Lambda) -> Any:
    return None if array is None else finish(reduce(merge, array, zero))


def _zip_with(left: Array | None, right: Array | None, f: Lambda) -> Array | None:
    return None if left is None or right is None else [f(x, y) for x, y in zip_longest(left, right)]


def _sort(e: Expr) -> Callable[..., Any]:
    null = 0 if e.params["null_is_equal"] else None

    def sort(array: Array | None, f: Lambda) -> Array | None:
        def compare(x: Any, y: Any) -> int:
            order: int | None = f(x, y)
            order = null if order is None else order
            if order is None:
                raise DataError("[COMPARATOR_RETURNS_NULL] The comparator has returned a NULL for a comparison.")
            return order

        return None if array is None else sorted(array, key=cmp_to_key(compare))

    return sort


def _map_filter(entries: Map | None, f: Lambda) -> Map | None:
    return None if entries is None else {k: v for k, v in entries.items() if f(k, v)}


def _transform_keys(e: Expr) -> Callable[..., Any]:
    build = builder(e)
    return lambda entries, f: None if entries is None else build((f(k, v), v) for k, v in entries.items())


def _transform_values(entries: Map | None, f: Lambda) -> Map | None:
    return None if entries is None else {k: f(k, v) for k, v in entries.items()}


def _map_zip_with(e: Expr) -> Callable[..., Any]:
    same, normal = identity(e.type.keyType), unsigned(e.type.keyType)

    def zip_with(left: Map | None, right: Map | None, f: Lambda) -> Map | None:
        if left is None or right is None:
            return None
        lefts, rights = ({same(k): (k, v) for k, v in entries.items()} for entries in (left, right))
        keys = {known: normal(k) for known, (k, _) in (rights | lefts).items()}
        missing = None, None
        return {
            keys[known]: f(keys[known], lefts.get(known, missing)[1], rights.get(known, missing)[1])
            for known in lefts | rights
        }

    return zip_with


FUNCTIONS: Functions = {
    "ArrayTransform": Function(_transform, lambdas=True),
    "ArrayFilter": Function(_filter, lambdas=True),
    "ArrayExists": Function(_exists, lambdas=True),
    "ArrayForAll": Function(lambda e: _for_all, lambdas=True),
    "ArrayAggregate": Function(lambda e: _aggregate, lambdas=True),
    "ArraySort": Function(_sort, lambdas=True),
    "ZipWith": Function(lambda e: _zip_with, lambdas=True),
    "MapFilter": Function(lambda e: _map_filter, lambdas=True),
    "TransformKeys": Function(_transform_keys, lambdas=True),
    "TransformValues": Function(lambda e: _transform_values, lambdas=True),
    "MapZipWith": Function(_map_zip_with, lambdas=True),
}
