import pytest
from pyspark.sql import functions as F

from tests.kernels.oracle import check

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def frame(spark):
    rows = [
        (1, "a", (1, "x"), [(1, "x"), None, (None, None)]),
        (None, None, None, None),
        (2, "b", (None, None), []),
    ]
    return spark.createDataFrame(
        rows, "i int, s string, st struct<x: int, y: string>, sts array<struct<x: int, y: string>>"
    ).localCheckpoint()


def test_structs(frame):
    check(
        frame,
        F.struct("i", "s"),
        F.named_struct(F.lit("a"), "i", F.lit('q"'), "st"),
        F.col("st.x"),
        F.expr("struct(i, st).st.y"),
        vector=True,
    )
    check(frame, F.col("sts.x"), F.expr("sts[0].y"))


def test_fields_with_one_name(frame):
    check(frame, F.struct("i", F.col("s").alias("I")), vector=False)


def test_changed_fields(frame):
    check(frame, F.col("st").withField("z", F.col("i")), F.col("st").withField("x", F.col("s")))
    check(frame, F.col("st").dropFields("x"))


def test_time_windows(spark):
    rows = [(n,) for n in (0, -1, 1, 9_999_999, 10_000_000, -10_000_001, 1_700_000_000_123_456)]
    frame = spark.createDataFrame(rows, "n bigint").select(F.timestamp_micros("n").alias("t")).localCheckpoint()
    check(frame, F.window("t", "10 seconds"), vector=True)
    check(frame, F.window_time(F.window("t", "10 seconds")), vector=True)
    check(frame, F.session_window("t", "5 minutes"), vector=True)
