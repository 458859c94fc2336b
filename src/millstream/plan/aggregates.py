"""Spark's aggregations become ours: its expressions are split into calls and expressions over their results."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

from py4j.java_gateway import is_instance_of
from pyspark.sql import SparkSession
from pyspark.sql.types import BooleanType, LongType

from millstream.kernels.aggregates import buffers_of
from millstream.plan.algebra import Aggregate, AggregateCall, Column, Expr, Node, Unsupported
from millstream.plan.expressions import PARAMS, Java, column_of, expression, items

WATERMARK = "spark.watermarkDelayMs"
SESSION = "spark.sessionWindow"
DECLARATIVE = "org.apache.spark.sql.catalyst.expressions.aggregate.DeclarativeAggregate"

PARAMS |= {
    "AggregateExpression": lambda e: {"java": e},
    "Sum": lambda f: {"mode": str(f.evalContext().evalMode().toString())},
    **dict.fromkeys(("CollectList", "CollectSet"), lambda f: {"nulls": not f.ignoreNulls()}),
    "Percentile": lambda f: {"reverse": bool(f.reverse())},
}


def read_aggregate(logical: Java) -> Aggregate:
    """An `Aggregate` of Spark's optimised plan; of its input only the columns are filled in."""
    if _expanded_for_distinct(logical):
        raise Unsupported("Aggregate", "distinct aggregates over different columns, or with a filter")
    reader = _Reader(logical)
    named = list(items(logical.aggregateExpressions()))
    exprs = tuple(reader.split(expression(e)) for e in named)
    output = tuple(column_of(e.toAttribute()) for e in named)
    calls = tuple(reader.calls)
    input = Node(tuple(column_of(a) for a in items(logical.child().output())))
    return Aggregate(output, input, reader.keys, calls, exprs, reader.event_time, session=reader.session)


def _expanded_for_distinct(logical: Java) -> bool:
    """Whether it is the inner half of what Spark's optimizer makes of distinct aggregates: right only in a batch."""
    expanded = str(logical.child().getClass().getSimpleName()) == "Expand"
    last = list(items(logical.groupingExpressions()))[-1:]
    return expanded and any(str(e.toString()).startswith("gid#") and not e.nullable() for e in last)


class _Reader:
    """The keys, and the calls as they are found."""

    def __init__(self, logical: Java) -> None:
        self.keys: tuple[tuple[Column, Expr], ...] = ()
        self.event_time: Column | None = None
        self.session: Column | None = None
        self.calls: list[AggregateCall] = []
        for key in items(logical.groupingExpressions()):
            self._add_key(key)

    def _add_key(self, key: Java) -> None:
        e = expression(key)
        if not is_instance_of(_gateway(), key, "org.apache.spark.sql.catalyst.expressions.NamedExpression"):
            self.keys += ((Column(_new_id(), "key", e.type), e),)
            return
        column = column_of(key.toAttribute())
        self.keys += ((column, e),)
        metadata = key.metadata()
        if metadata.contains(WATERMARK) and self.event_time is None:
            self.event_time = column
        if metadata.contains(SESSION):
            self.session = column

    def split(self, e: Expr) -> Expr:
        """The expression over keys and results."""
        if e.op == "AggregateExpression":
            return self._result(e)
        for column, key in self.keys:
            if e == key:
                return column.ref()
        return replace(e, args=tuple(self.split(arg) for arg in e.args))

    def _result(self, e: Expr) -> Expr:
        java = e.params["java"]
        function, condition = e.args[0], e.args[1] if len(e.args) > 1 else None
        result = Column(int(java.resultId().id()), function.op, e.type)
        call = with_kernel(
            AggregateCall(function, bool(java.isDistinct()), condition, result), java.aggregateFunction()
        )
        for known in self.calls:
            if (known.function, known.distinct, known.filter) == (call.function, call.distinct, call.filter):
                return known.result.ref()
        self.calls.append(call)
        return result.ref()


def with_kernel(call: AggregateCall, java: Java) -> AggregateCall:
    """A call that has a kernel: one written for the function, or else Spark's own definition of it."""
    if call.function.op == "HyperLogLogPlusPlus":
        call = replace(call, function=_hyperloglog(call.function, java))
    try:
        buffers_of(call)
    except Unsupported:
        if not is_instance_of(_gateway(), java, DECLARATIVE):
            raise
        call = replace(call, function=_declared(call.function, java))
        buffers_of(call)
    return call


def _declared(f: Expr, java: Java) -> Expr:
    """A function with its definition; its arguments stand in it as columns of their own."""
    arguments = [Column(-1 - i, f"argument{i}", arg.type) for i, arg in enumerate(f.args)]

    def read(e: Java) -> Expr:
        return _replaced(expression(e), list(zip(f.args, arguments)))

    definition: dict[str, Any] = {
        "buffers": tuple(column_of(a) for a in items(java.aggBufferAttributes())),
        "others": tuple(column_of(a) for a in items(java.inputAggBufferAttributes())),
        "arguments": tuple(arguments),
        "initial": tuple(expression(e) for e in items(java.initialValues())),
        "update": tuple(read(e) for e in items(java.updateExpressions())),
        "merge": tuple(expression(e) for e in items(java.mergeExpressions())),
        "evaluate": expression(java.evaluateExpression()),
    }
    return replace(f, params=definition)


def _hyperloglog(f: Expr, java: Java) -> Expr:
    """The function over the hash of its argument, with what Spark knows of the precision's bias."""
    jvm: Any = SparkSession.active()._jvm
    precision = math.ceil(2.0 * math.log(1.106 / java.relativeSD()) / math.log(2.0))
    helper = jvm.java.lang.Class.forName("org.apache.spark.sql.catalyst.util.HyperLogLogPlusPlusHelper$")
    tables = helper.getField("MODULE$").get(None)

    def table(of: Java) -> tuple[float, ...]:
        known = precision - 4
        return tuple(json.loads(jvm.java.util.Arrays.toString(of[known]))) if known < len(of) else ()

    params = {
        "precision": precision,
        "estimates": table(tables.RAW_ESTIMATE_DATA()),
        "biases": table(tables.BIAS_DATA()),
        "threshold": tables.THRESHOLDS()[precision - 4] if precision < 19 else 0.0,
    }
    hashed = expression(jvm.org.apache.spark.sql.catalyst.expressions.XxHash64(java.children()))
    absent = Expr("IsNull", BooleanType(), f.args)
    argument = Expr("If", LongType(), (absent, Expr("Literal", LongType(), (), {"value": None}), hashed))
    return replace(f, args=(argument,), params=params)


def _replaced(e: Expr, columns: list[tuple[Expr, Column]]) -> Expr:
    for known, column in columns:
        if e == known:
            return column.ref()
    return replace(e, args=tuple(_replaced(arg, columns) for arg in e.args))


def _gateway() -> Any:
    return SparkSession.active().sparkContext._gateway


def _new_id() -> int:
    jvm = SparkSession.active()._jvm
    return int(jvm.org.apache.spark.sql.catalyst.expressions.NamedExpression.newExprId().id())
