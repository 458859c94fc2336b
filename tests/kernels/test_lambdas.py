import pytest
from pyspark.sql import functions as F

from tests.kernels.oracle import check

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def frame(spark):
    rows = [
        ([3, 1, None, 2], [1, 2], {"a": 1, "b": 2}, {"b": 3, "c": None}, 2),
        ([], [None], {}, {"a": 1}, 0),
        ([5, 5], [5], {"x": None}, {}, 5),
        (None, None, None, None, None),
        ([None], [], {"b": 7}, {"b": 7}, 1),
    ]
    return spark.createDataFrame(
        rows, "a array<int>, b array<int>, m map<string, int>, n map<string, int>, i int"
    ).localCheckpoint()


@pytest.mark.parametrize(
    "text",
    [
        "transform(a, x -> x is null), transform(a, (x, k) -> struct(x, k)), transform(a, x -> i)",
        "filter(a, x -> x > 1), filter(a, (x, k) -> x > k), array_compact(a)",
        "exists(a, x -> x > 2), forall(a, x -> x > 2), forall(a, x -> x is not null)",
        "aggregate(a, i, (s, x) -> coalesce(x, s)), aggregate(a, array(0), (s, x) -> array_append(s, x), s -> size(s))",
        "zip_with(a, b, (x, y) -> x > y), zip_with(a, b, (x, y) -> array(x, y))",
        "map_filter(m, (k, v) -> v > 1), transform_values(m, (k, v) -> struct(k, v))",
        "transform_keys(m, (k, v) -> concat(k, '!')), map_zip_with(m, n, (k, x, y) -> array(x, y))",
        "array_sort(a), array_sort(a, (x, y) -> case when x < y then 1 when x > y then -1 else 0 end)",
        "transform(a, x -> transform(b, y -> array(x, y, i)))",
    ],
)
def test_lambdas(frame, text):
    check(frame, F.expr(f"struct({text})"))


def test_twice_the_same_key(frame):
    check(frame, F.expr("transform_keys(m, (k, v) -> 1)"))


def test_comparison_that_is_null(frame):
    check(frame, F.expr("array_sort(b, (x, y) -> if(x > y, 1, null))"))
