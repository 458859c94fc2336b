"""Windows are recognised in Spark's plans, and mean what Spark means."""

import pytest
from pyspark.sql import functions as F

from millstream.plan.expressions import expression, items
from millstream.plan.windows import recognised

pytestmark = pytest.mark.spark

WINDOWS = {
    "tumbling": (lambda: F.window("t", "10 seconds"), [(10_000_000, 10_000_000, 0, 0)]),
    "sliding": (
        lambda: F.window("t", "9 seconds", "4 seconds"),
        [(9_000_000, 4_000_000, 0, n * 4_000_000) for n in range(3)],
    ),
    "shifted": (
        lambda: F.window("t", "1 hour", startTime="15 minutes"),
        [(3_600_000_000, 3_600_000_000, 900_000_000, 0)],
    ),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_every_window_is_found_with_its_numbers(spark, name):
    window, expected = WINDOWS[name]
    df = spark.createDataFrame([(1,)], "t int").select(F.timestamp_seconds("t").alias("t")).groupBy(window()).count()
    plan = df._jdf.queryExecution().optimizedPlan()
    while plan.nodeName() != ("Expand" if name == "sliding" else "Project"):
        plan = plan.children().apply(0)
    lists = items(plan.projections()) if name == "sliding" else [plan.projectList()]
    found = [
        tuple(part.params[n] for n in ("size", "slide", "start", "back"))
        for exprs in lists
        for e in items(exprs)
        for part in recognised(expression(e)).walk()
        if part.op == "TimeWindow"
    ]
    assert found == expected


def test_what_only_looks_like_a_window_is_left_alone(spark):
    like = "named_struct('start', timestamp_micros(n - n % 10), 'end', timestamp_micros(n - n % 10 + 7))"
    df = spark.createDataFrame([(1,)], "n bigint").selectExpr(like)
    (e,) = [expression(e) for e in items(df._jdf.queryExecution().optimizedPlan().projectList())]
    assert recognised(e) == e
