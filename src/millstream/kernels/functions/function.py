"""How one of Spark's expression classes is computed.

Values are Spark's internal ones: timestamps and day-time intervals are microseconds, dates are days,
year-month intervals are months, structs are tuples, arrays lists, maps dicts; None is null. DuckDB
gets the same: BIGINT for a timestamp, INTEGER for a date, STRUCT, LIST and MAP for the rest.

Python has the last word. SQL may refuse a batch (any error of DuckDB's sends it to the Python kernel),
but where it answers, its answer must be Spark's to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millstream.plan.algebra import Expr


@dataclass(frozen=True)
class Template:
    """A template that also names values of its own: `Template("({0} in {known})", {"known": {1, 2}})`."""

    text: str
    values: Mapping[str, Any]


Python = str | Template | Callable[..., Any]
"""A template such as `"({0} < {1})"`, or a function that takes the arguments' values.

A template may name up to three variables `{a}`, `{b}`, `{c}` of its own, to use an argument twice and yet
evaluate it once, and only when it must be: `"(False if ({a} := {0}) is False else ...)"`.
"""


@dataclass(frozen=True)
class Function:
    """One expression class.

    `python` and `sql` look at the typed expression (its type, its arguments' types, its parameters).
    They raise `Unsupported` for what they don't cover; `sql` may also return None.
    """

    python: Callable[[Expr], Python]
    sql: Callable[[Expr, Sequence[str]], str | None] | None = None
    nulls: bool = False
    """Called also when an argument is null; otherwise the result is null then."""
    lambdas: bool = False
    """A higher-order function: arguments that are lambdas arrive as Python functions; nulls arrive too."""


Functions = dict[str, Function]


def calls(function: Callable[..., Any], sql: str | None = None, *, nulls: bool = False) -> Function:
    """A function of the arguments' values, the same for all types; `sql` is a template."""
    return Function(lambda e: function, _template(sql), nulls)


def inline(python: str, sql: str | None = None, *, nulls: bool = False) -> Function:
    """Templates with `{0}`, `{1}`, ... for the arguments.

    >>> from pyspark.sql.types import BooleanType
    >>> inline("({0} < {1})").python(Expr("LessThan", BooleanType()))
    '({0} < {1})'
    """
    return Function(lambda e: python, _template(sql), nulls)


def _template(sql: str | None) -> Callable[[Expr, Sequence[str]], str | None] | None:
    return None if sql is None else lambda e, args: sql.format(*args)
