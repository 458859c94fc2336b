"""The relational algebra that a DataFrame becomes: few node kinds, every expression typed.

Expressions keep the names of Spark's own expression classes, so that an unsupported one can be named
to its author; columns are known by number, as in Spark's plans.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql.types import DataType, StructField, StructType


@dataclass(frozen=True, slots=True)
class Expr:
    """A typed expression: Spark's class name, its arguments, and whatever else fixes its meaning."""

    op: str
    type: DataType
    args: tuple[Expr, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)

    def walk(self) -> Iterator[Expr]:
        """This expression and all within it."""
        yield self
        for arg in self.args:
            yield from arg.walk()

    def conjuncts(self) -> list[Expr]:
        """The conditions that must all be true for this one to be."""
        return [part for arg in self.args for part in arg.conjuncts()] if self.op == "And" else [self]

    def alternatives(self) -> list[Expr]:
        """The conditions one of which must be true for this one to be."""
        return [part for arg in self.args for part in arg.alternatives()] if self.op == "Or" else [self]

    def columns(self) -> set[int]:
        """The numbers of the columns that it reads."""
        return {e.params["id"] for e in self.walk() if e.op == "Column"}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a relation."""

    id: int
    name: str
    type: DataType
    nullable: bool = True

    def ref(self) -> Expr:
        """The expression that reads it."""
        return Expr("Column", self.type, (), {"id": self.id, "name": self.name})


Columns = tuple[Column, ...]


def schema_of(columns: Columns) -> StructType:
    """The columns as Spark's schema."""
    return StructType([StructField(c.name, c.type, c.nullable) for c in columns])


@dataclass(frozen=True)
class Node:
    """A relation; `output` are its columns."""

    output: Columns


@dataclass(frozen=True)
class Source(Node):
    """A streaming source: its format and options, and what is known of it in Python."""

    format: str
    options: Mapping[str, str]
    detail: Any = None


@dataclass(frozen=True)
class Static(Node):
    """A table that doesn't change while the query runs: collected once, sent to every slot."""

    table: Any


@dataclass(frozen=True)
class Unary(Node):
    """A relation made from one other."""

    input: Node


@dataclass(frozen=True)
class Project(Unary):
    """Computes its output columns, one expression each."""

    exprs: tuple[Expr, ...]


@dataclass(frozen=True)
class Filter(Unary):
    """Keeps the rows for which the condition is true."""

    condition: Expr


@dataclass(frozen=True)
class Expand(Unary):
    """Several rows for each one: one for each projection (sliding windows, for example)."""

    projections: tuple[tuple[Expr, ...], ...]


@dataclass(frozen=True)
class Generate(Unary):
    """A row for each element of an array or map; the input's columns that are still needed come first."""

    generator: Expr
    outer: bool
    kept: Columns


@dataclass(frozen=True)
class PythonFunction:
    """A Python function of the user's as Spark has pickled it."""

    name: str
    commands: tuple[bytes, ...]
    """Each a function with the type of its results; several are chained, the innermost first."""
    keywords: tuple[str, ...] = ()
    """The names of the last arguments, if they were given by name."""
    broadcasts: Mapping[int, bytes] = field(default_factory=dict)
    """The pickled values of the broadcast variables that the commands refer to."""


@dataclass(frozen=True)
class PythonEval(Unary):
    """The input's columns and, after them, the results of Python functions over some of them."""

    functions: tuple[PythonFunction, ...]
    arguments: tuple[tuple[Expr, ...], ...]
    kind: int
    """PySpark's evaluation type."""
    conf: Mapping[str, str]
    """The settings that change what functions see and how their results are converted."""


@dataclass(frozen=True)
class PythonMap(Unary):
    """Whatever rows a Python function makes of an iterator of batches (`mapInPandas`, `mapInArrow`)."""

    function: PythonFunction
    kind: int
    conf: Mapping[str, str]


@dataclass(frozen=True)
class FlatMap(Unary):
    """Any number of rows for each one: what a user's function returns for it."""

    function: Callable[[Any], Any]
    zone: str
    """The time zone in which the function sees and gives times."""


@dataclass(frozen=True)
class Process(Unary):
    """A user's `KeyedProcess` over the rows of each key, and of each window if there are windows."""

    keys: Columns
    """One is given to the process as it is, several as a `Row`."""
    values: Columns
    plain: bool
    """Whether there is one value, to be given as it is; otherwise values are given as a `Row`."""
    time: Column | None
    process: Any
    window: tuple[int, int] | None
    """Size and slide in microseconds."""
    event: bool
    """Whether time is the rows' own, and the watermark ends windows; otherwise it is the epoch's."""
    zone: str


@dataclass(frozen=True)
class Watermark(Unary):
    """Names the event-time column and how late its rows may be, in microseconds."""

    column: Column
    delay: int


@dataclass(frozen=True)
class StaticJoin(Unary):
    """Joins the stream (its input) with a static table; kind is inner, left, semi or anti."""

    static: Static
    kind: str
    left_keys: tuple[Expr, ...]
    right_keys: tuple[Expr, ...]
    condition: Expr | None = None


@dataclass(frozen=True)
class Union(Node):
    """The rows of several relations, position by position."""

    inputs: tuple[Node, ...]


@dataclass(frozen=True)
class AggregateCall:
    """An aggregate function over the rows of a group."""

    function: Expr
    distinct: bool
    filter: Expr | None
    result: Column


@dataclass(frozen=True)
class Aggregate(Unary):
    """Groups by keys; output columns are expressions over the keys and the calls' results."""

    keys: tuple[tuple[Column, Expr], ...]
    calls: tuple[AggregateCall, ...]
    exprs: tuple[Expr, ...]
    event_time: Column | None = None
    """The key column that carries event time (a window or a timestamp), if the query has a watermark."""
    session: Column | None = None
    """The key column that is a session window, if there is one: sessions that touch become one."""


@dataclass(frozen=True)
class PartialAggregate(Unary):
    """The part of an aggregation that runs before the exchange: keys, then every call's buffers."""

    keys: tuple[tuple[Column, Expr], ...]
    calls: tuple[AggregateCall, ...]
    combine: bool = True
    """Rows of a key become one; otherwise each goes through the exchange by itself."""


@dataclass(frozen=True)
class Deduplicate(Unary):
    """Keeps the first row for each key."""

    keys: Columns
    within_watermark: bool = False
    event_time: Column | None = None
    delay: int = 0


class Unsupported(Exception):
    """Something in a plan that Millstream does not run itself: which node, and why."""

    def __init__(self, node: str, reason: str) -> None:
        super().__init__(f"{node}: {reason}")
        self.node = node
        self.reason = reason
