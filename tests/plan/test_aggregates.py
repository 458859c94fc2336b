import pytest
from pyspark.sql import functions as F

from millstream.plan.aggregates import read_aggregate
from millstream.plan.algebra import Unsupported
from tests.kernels.keyed_oracle import optimized

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def stream(spark):
    frame = spark.readStream.format("rate").load().select("timestamp", "value", (F.col("value") % 3).alias("k"))
    return frame.withWatermark("timestamp", "10 seconds")


def names(keys):
    return [column.name for column, _ in keys]


def test_calls_are_taken_out_of_expressions_and_known_ones_are_used_again(stream):
    frame = stream.groupBy("k").agg(
        F.sum("value").alias("a"), (F.sum("value") / F.count("*") + F.col("k")).alias("b"),
        F.expr("sum(value) filter (where value > 1)").alias("c"), F.countDistinct("value").alias("d"),
    )  # fmt: skip
    node = read_aggregate(optimized(frame))
    assert [(c.function.op, c.distinct, c.filter and c.filter.op) for c in node.calls] == [
        ("Sum", False, None),
        ("Count", False, None),
        ("Sum", False, "GreaterThan"),
        ("Count", True, None),
    ]
    assert [c.name for c in node.output] == ["k", "a", "b", "c", "d"]
    results = {c.result.id for c in node.calls} | {column.id for column, _ in node.keys}
    assert all(e.columns() <= results for e in node.exprs)
    assert node.event_time is None


def test_the_key_with_event_time_is_found(stream):
    window = read_aggregate(optimized(stream.groupBy("k", F.window("timestamp", "5 seconds")).count()))
    assert (names(window.keys), window.event_time.name, window.session) == (["k", "window"], "window", None)
    instant = read_aggregate(optimized(stream.groupBy("timestamp").count()))
    assert instant.event_time.name == "timestamp"
    session = read_aggregate(optimized(stream.groupBy(F.session_window("timestamp", "5 seconds"), "k").count()))
    assert session.session == session.event_time == session.keys[0][0]


def test_a_window_over_windows_has_event_time_too(stream):
    inner = stream.groupBy(F.window("timestamp", "5 seconds"), "k").count()
    plan = optimized(inner.groupBy(F.window(F.window_time("window"), "10 seconds")).agg(F.sum("count")))
    outer = read_aggregate(plan)
    assert outer.event_time == outer.keys[0][0]


TWO_COLUMNS = ("count(distinct value)", "count(distinct k)")
FILTERED = ("sum(distinct value) filter (where k > 1)",)


@pytest.mark.parametrize("columns", [TWO_COLUMNS, FILTERED])
def test_distinct_aggregates_that_spark_expands_are_refused(stream, columns):
    plan = optimized(stream.groupBy("timestamp").agg(*map(F.expr, columns)))
    with pytest.raises(Unsupported, match="distinct"):
        read_aggregate(plan.child())
