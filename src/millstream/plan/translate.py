"""Spark's optimised logical plan, read from its JVM objects, as relational algebra of ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import BooleanType, TimestampNTZType, TimestampType

from millstream.plan.aggregates import read_aggregate
from millstream.plan.algebra import (
    Columns,
    Deduplicate,
    Expand,
    Expr,
    Filter,
    Generate,
    Node,
    Project,
    Static,
    StaticJoin,
    Union,
    Unsupported,
    Watermark,
)
from millstream.plan.expressions import Java, column_of, expression, items
from millstream.plan.sources import read_source
from millstream.plan.udfs import read_python_eval, read_python_map
from millstream.plan.windows import recognised

STATIC_LIMIT = 48 << 20
"""Bytes of a static table that may go to every slot inside the plan."""
DELAY = "spark.watermarkDelayMs"
CLOCKS = ("current_timestamp", "now", "current_date", "localtimestamp", "current_time")
TRANSPARENT = ("Repartition", "RepartitionByExpression", "RebalancePartitions", "ResolvedHint", "SubqueryAlias")
"""Nodes that change where rows are, not which rows there are."""


def translate(df: DataFrame, *, collect: bool = True) -> Node:
    """A streaming DataFrame as algebra; raises `Unsupported` with the node and the reason.

    `collect=False` leaves the static tables' rows out, which is enough to explain the plan.
    """
    execution = df._jdf.queryExecution()
    analyzed = execution.analyzed()
    _check_clocks(analyzed)
    spark = df.sparkSession
    optimizer = spark._jsparkSession.sessionState().optimizer()
    return Translator(spark, collect).node(optimizer.execute(analyzed))


def _check_clocks(analyzed: Java) -> None:
    """Spark's optimizer makes the present time a constant, which in a stream it is not."""
    text = str(analyzed.toString())
    for name in CLOCKS:
        if f"{name}(" in text:
            raise Unsupported(name, "only Spark's own batches have a present time that holds for all of their rows")


class Translator:
    """Translates one plan."""

    def __init__(self, spark: SparkSession, collect: bool) -> None:
        self._spark = spark
        self._collect = collect
        self._readers: dict[str, Callable[[Java], Node]] = {
            "Project": self._project,
            "Filter": self._filter,
            "Join": self._join,
            "EventTimeWatermark": self._watermark,
            "Expand": self._expand,
            "Generate": self._generate,
            "Union": self._union,
            "Deduplicate": self._deduplicate,
            "DeduplicateWithinWatermark": self._deduplicate,
            "Aggregate": self._aggregate,
            "ArrowEvalPython": self._python_eval,
            "BatchEvalPython": self._python_eval,
            "MapInPandas": self._python_map,
            "MapInArrow": self._python_map,
            "StreamingRelation": read_source,
            "StreamingRelationV2": read_source,
            **dict.fromkeys(TRANSPARENT, lambda plan: self.node(plan.child())),
        }

    def node(self, plan: Java) -> Node:
        """A node with everything below it."""
        name = str(plan.getClass().getSimpleName())
        reader = self._readers.get(name)
        if reader is None:
            raise Unsupported(name, "Millstream has no operator for it")
        return reader(plan)

    def _project(self, plan: Java) -> Node:
        exprs = tuple(recognised(expression(e)) for e in items(plan.projectList()))
        return Project(_output(plan), self.node(plan.child()), exprs)

    def _filter(self, plan: Java) -> Node:
        return Filter(_output(plan), self.node(plan.child()), expression(plan.condition()))

    def _watermark(self, plan: Java) -> Node:
        column = column_of(plan.eventTime())
        if not isinstance(column.type, (TimestampType, TimestampNTZType)):
            raise Unsupported("EventTimeWatermark", f"on {column.name!r} of type {column.type.simpleString()}")
        jvm: Any = self._spark._jvm
        delay = jvm.org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark.getDelayMs(plan.delay())
        return Watermark(_output(plan), self.node(plan.child()), column, int(delay) * 1000)

    def _expand(self, plan: Java) -> Node:
        projections = tuple(tuple(recognised(expression(e)) for e in items(p)) for p in items(plan.projections()))
        return Expand(_output(plan), self.node(plan.child()), projections)

    def _generate(self, plan: Java) -> Node:
        kept = _columns(plan.requiredChildOutput())
        generated = _columns(plan.generatorOutput())
        return Generate(
            kept + generated, self.node(plan.child()), expression(plan.generator()), bool(plan.outer()), kept
        )

    def _union(self, plan: Java) -> Node:
        return Union(_output(plan), tuple(self.node(child) for child in items(plan.children())))

    def _aggregate(self, plan: Java) -> Node:
        return replace(read_aggregate(plan), input=self.node(plan.child()))

    def _python_eval(self, plan: Java) -> Node:
        return replace(read_python_eval(plan, self._spark), input=self.node(plan.child()))

    def _python_map(self, plan: Java) -> Node:
        return replace(read_python_map(plan, self._spark), input=self.node(plan.child()))

    def _deduplicate(self, plan: Java) -> Node:
        within = plan.getClass().getSimpleName() == "DeduplicateWithinWatermark"
        timed = [a for a in items(plan.child().output()) if a.metadata().contains(DELAY)]
        delay = int(timed[0].metadata().getLong(DELAY)) * 1000 if timed else 0
        event_time = column_of(timed[0]) if timed else None
        return Deduplicate(
            _output(plan), self.node(plan.child()), _columns(plan.keys()), within, event_time, delay
        )  # fmt: skip

    def _join(self, plan: Java) -> Node:
        left, right = plan.left(), plan.right()
        kind = str(plan.joinType().sql())
        if left.isStreaming() and right.isStreaming():
            raise Unsupported("Join", "of two streams")
        swapped = bool(right.isStreaming())
        kinds = {"INNER": "inner", "CROSS": "inner"}
        kinds |= (
            {"RIGHT OUTER": "left"} if swapped else {"LEFT OUTER": "left", "LEFT SEMI": "semi", "LEFT ANTI": "anti"}
        )
        if kind not in kinds:
            raise Unsupported("Join", f"{kind.lower()} of a stream with a static table")
        stream, table = (right, left) if swapped else (left, right)
        static = self._static(table)
        condition = plan.condition()
        keys, rest = _equi_keys(
            expression(condition.get()) if condition.isDefined() else None,
            {c.id for c in _output(stream)},
            {c.id for c in static.output},
        )
        return StaticJoin(
            _output(plan),
            self.node(stream),
            static,
            kinds[kind],
            tuple(k for k, _ in keys),
            tuple(k for _, k in keys),
            rest,
        )

    def _static(self, plan: Java) -> Static:
        output = _output(plan)
        if not self._collect:
            return Static(output, None)
        jvm: Any = self._spark._jvm
        rows = jvm.org.apache.spark.sql.classic.Dataset.ofRows(self._spark._jsparkSession, plan)
        table = DataFrame(rows, self._spark).toArrow()
        if table.nbytes > STATIC_LIMIT:
            size = f"{table.nbytes >> 20} MB, more than the {STATIC_LIMIT >> 20} MB"
            raise Unsupported("Join", f"the static table has {size} that are sent to every slot")
        return Static(output, table)


def _columns(attributes: Java) -> Columns:
    return tuple(column_of(attribute) for attribute in items(attributes))


def _output(plan: Java) -> Columns:
    return _columns(plan.output())


def _equi_keys(condition: Expr | None, left: set[int], right: set[int]) -> tuple[list[tuple[Expr, Expr]], Expr | None]:
    """The pairs of expressions that must be equal, stream's first, and what else must hold."""
    keys: list[tuple[Expr, Expr]] = []
    rest: Expr | None = None
    for part in condition.conjuncts() if condition is not None else ():
        if part.op == "EqualTo":
            a, b = part.args
            if a.columns() and b.columns():
                if a.columns() <= left and b.columns() <= right:
                    keys.append((a, b))
                    continue
                if b.columns() <= left and a.columns() <= right:
                    keys.append((b, a))
                    continue
        rest = part if rest is None else Expr("And", BooleanType(), (rest, part))
    return keys, rest
