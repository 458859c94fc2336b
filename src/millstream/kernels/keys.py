"""Values as keys: equal in Python exactly where Spark groups them together.

Spark has one NaN and one zero when it groups, and Python can't hash a list.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql.types import ArrayType, DataType, DoubleType, FloatType, MapType, StringType, StructType

from millstream.kernels.expressions import Code
from millstream.plan.algebra import Unsupported


class OneNaN(float):
    """The one NaN that keys have: Python finds it by identity, also after it has travelled."""

    def __reduce__(self) -> str:
        return "NAN"


NAN = OneNaN("nan")


def one_zero_one_nan(value: float | None) -> float | None:
    """The representative of a floating-point number among those that are one key.

    >>> import pickle
    >>> one_zero_one_nan(-0.0), pickle.loads(pickle.dumps(one_zero_one_nan(float("nan")))) is NAN
    (0.0, True)
    """
    if value is None:
        return None
    return NAN if value != value else value + 0.0  # noqa: PLR0124 (that is what NaN is)


def normalizer(kind: DataType) -> Callable[[Any], Any] | None:
    """The function that makes a type's values keys, or None if they are keys already.

    >>> normalizer(ArrayType(DoubleType()))([1.0, -0.0])
    (1.0, 0.0)
    """
    if isinstance(kind, (DoubleType, FloatType)):
        return one_zero_one_nan
    if isinstance(kind, ArrayType):
        element = normalizer(kind.elementType) or _same
        return lambda v: None if v is None else tuple([element(x) for x in v])
    if isinstance(kind, StructType):
        parts = [normalizer(f.dataType) for f in kind]
        if not any(parts):
            return None
        inner = [part or _same for part in parts]
        return lambda v: None if v is None else tuple([f(x) for f, x in zip(inner, v)])
    if isinstance(kind, MapType):
        raise Unsupported("Aggregate", "a map can't be a key")
    if isinstance(kind, StringType) and not kind.isUTF8BinaryCollation():
        raise Unsupported("Aggregate", "a key has a collation other than UTF8_BINARY")
    return None


def _same(value: Any) -> Any:
    return value


def key_part(kind: DataType, text: str, code: Code) -> str:
    """The expression of a value as a part of a key."""
    normal = normalizer(kind)
    return text if normal is None else f"{code.bind(normal, 'normal')}({text})"


def time_part(kind: DataType, text: str) -> str:
    """The expression of the event time at which a key or row is over: a window's end, or the time itself."""
    return f"({text} and {text}[1])" if isinstance(kind, StructType) else text
