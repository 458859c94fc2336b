import pytest
from pyspark.sql import functions as F

from millstream.plan.algebra import Unsupported
from millstream.plan.udfs import BATCH_ROWS, LEGACY, read_python_eval, read_python_map
from tests.kernels.pythoneval import calls_of

pytestmark = pytest.mark.spark


def node_of(frame):
    (plan,) = calls_of(frame)
    return read_python_eval(plan, frame.sparkSession)


def test_the_results_follow_the_input(spark):
    node = node_of(spark.range(3).select(F.udf(lambda x: x, "string")("id"), F.udf(lambda x: x, "int")("id")))
    assert [c.name for c in node.output] == ["id", "pythonUDF0", "pythonUDF1"]
    assert node.output[:1] == node.input.output
    assert [c.type.simpleString() for c in node.output[1:]] == ["string", "int"]
    assert [e.op for arguments in node.arguments for e in arguments] == ["Column", "Column"]
    assert node.kind == 101


def test_chains_names_and_expressions(spark):
    def outer(x):
        return x

    def inner(x, y):
        return x + y

    f, g = F.udf(outer, "bigint", useArrow=False), F.udf(inner, "bigint", useArrow=False)
    node = node_of(spark.range(3).select(f(g("id", y=F.col("id") + 1))))
    (function,) = node.functions
    assert (function.name, len(function.commands), function.keywords) == ("outer", 2, ("y",))
    assert [e.op for e in node.arguments[0]] == ["Column", "Add"]
    assert node.kind == 100


def test_the_sessions_settings_are_kept(spark):
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        node = node_of(spark.range(3).select(F.udf(lambda x: x, "bigint")("id")))
    finally:
        spark.conf.unset("spark.sql.session.timeZone")
    assert node.conf["spark.sql.session.timeZone"] == "Asia/Tokyo"
    assert node.conf[BATCH_ROWS] == "10000"


def test_broadcast_variables_travel_with_the_code(spark):
    table = spark.sparkContext.broadcast({"k": 1})
    frame = spark.range(3).select(F.udf(lambda x: table.value["k"], "bigint")("id"))
    assert list(node_of(frame).functions[0].broadcasts) == [table._jbroadcast.id()]
    (plan,) = calls_of(frame)
    table.destroy()
    with pytest.raises(Unsupported, match="destroyed"):
        read_python_eval(plan, spark)


def test_a_map_that_needs_all_tasks_at_once_is_not_ours(spark):
    (plan,) = calls_of(spark.range(3).mapInArrow(lambda parts: parts, "id bigint", barrier=True))
    with pytest.raises(Unsupported, match="barrier"):
        read_python_map(plan, spark)


def test_conversions_of_older_versions_are_not_ours(spark):
    (plan,) = calls_of(spark.range(3).select(F.udf(lambda x: x, "string")("id")))
    spark.conf.set(LEGACY, "true")
    try:
        with pytest.raises(Unsupported, match=f"set {LEGACY} to false"):
            read_python_eval(plan, spark)
    finally:
        spark.conf.unset(LEGACY)
