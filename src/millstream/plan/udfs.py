"""Python functions in Spark's plan, with everything that a slot needs to call them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.util import PythonEvalType

from millstream.plan.algebra import Columns, Expr, Node, PythonEval, PythonFunction, PythonMap, Unsupported
from millstream.plan.expressions import Java, column_of, expression, items, string_map

BATCHED = PythonEvalType.SQL_BATCHED_UDF
KINDS = {
    BATCHED,
    PythonEvalType.SQL_ARROW_BATCHED_UDF,
    PythonEvalType.SQL_SCALAR_PANDAS_UDF,
    PythonEvalType.SQL_SCALAR_PANDAS_ITER_UDF,
    PythonEvalType.SQL_SCALAR_ARROW_UDF,
    PythonEvalType.SQL_SCALAR_ARROW_ITER_UDF,
}
BATCH_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
ENCRYPTION = "spark.io.encryption.enabled"
LEGACY = "spark.sql.legacy.execution.pythonUDF.pandas.conversion.enabled"


def read_python_eval(plan: Java, spark: SparkSession) -> PythonEval:
    """Spark's node for scalar Python functions; the node below it is left for the caller to read."""
    name = str(plan.nodeName())
    kind = BATCHED if name == "BatchEvalPython" else int(plan.evalType())
    if kind not in KINDS:
        raise Unsupported(name, f"functions of evaluation type {kind}")
    conf = _conf(spark)
    if kind == PythonEvalType.SQL_ARROW_BATCHED_UDF and conf.get(LEGACY) == "true":
        raise Unsupported(name, f"conversions of older versions; set {LEGACY} to false")
    below = _columns(plan.child().output())
    calls = [_call(udf, spark) for udf in items(plan.udfs())]
    return PythonEval(
        below + _columns(plan.resultAttrs()),
        Node(below),
        tuple(function for function, _ in calls),
        tuple(arguments for _, arguments in calls),
        kind,
        conf,
    )


def read_python_map(plan: Java, spark: SparkSession) -> PythonMap:
    """Spark's node for `mapInPandas` or `mapInArrow`; the node below it is left for the caller to read."""
    name = str(plan.nodeName())
    if plan.isBarrier():
        raise Unsupported(name, "barrier=True needs all tasks of a stage at once")
    if plan.profile().isDefined():
        raise Unsupported(name, "a resource profile needs executors of its own")
    function, _ = _call(plan.functionExpr(), spark, arguments=False)
    kind = int(plan.functionExpr().evalType())
    return PythonMap(_columns(plan.output()), Node(_columns(plan.child().output())), function, kind, _conf(spark))


def _columns(attributes: Java) -> Columns:
    return tuple(column_of(attribute) for attribute in items(attributes))


def _call(udf: Java, spark: SparkSession, *, arguments: bool = True) -> tuple[PythonFunction, tuple[Expr, ...]]:
    """A function and its arguments; of `f(g(x))` within one node, both functions and `x`."""
    name = str(udf.name())
    commands: list[bytes] = []
    broadcasts: dict[int, bytes] = {}
    while True:
        function = udf.func()
        commands.insert(0, bytes(function.command().unsafeArray()))
        for broadcast in function.broadcastVars() or ():
            broadcasts[int(broadcast.id())] = _broadcast(name, broadcast, spark)
        children = list(items(udf.children()))
        if len(children) != 1 or children[0].getClass().getSimpleName() != "PythonUDF":
            break
        udf = children[0]
    keywords: list[str] = []
    exprs: list[Expr] = []
    for child in children if arguments else ():
        if child.getClass().getSimpleName() == "NamedArgumentExpression":
            keywords.append(str(child.key()))
            exprs.append(expression(child.value()))
        else:
            exprs.append(expression(child))
    return PythonFunction(name, tuple(commands), tuple(keywords), broadcasts), tuple(exprs)


def _broadcast(name: str, broadcast: Java, spark: SparkSession) -> bytes:
    """A broadcast variable's pickled value, from the file in which the driver keeps it."""
    if spark.sparkContext.getConf().get(ENCRYPTION, "false") == "true":
        raise Unsupported(name, f"a broadcast variable, or code above 1 MB, together with {ENCRYPTION}")
    try:
        return Path(str(broadcast.value().path())).read_bytes()
    except Exception as error:
        raise Unsupported(name, "a broadcast variable that has been destroyed") from error


def _conf(spark: SparkSession) -> dict[str, str]:
    """What Spark would tell its Python workers."""
    jvm: Any = spark._jvm
    settings = spark._jsparkSession.sessionState().conf()
    runner = jvm.org.apache.spark.sql.execution.python.ArrowPythonRunner
    return string_map(runner.getPythonRunnerConfMap(settings)) | {BATCH_ROWS: str(spark.conf.get(BATCH_ROWS))}
