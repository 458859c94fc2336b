import pytest
from pyspark.sql import functions as F

from tests.kernels.oracle import check

pytestmark = pytest.mark.spark


def test_numbers_and_instants(spark):
    rows = [(n, d) for n, d in [(0, 0), (-1, -1), (1_999_999, 19_000), (-1_000_001, -200_000), (None, None)]]
    frame = spark.createDataFrame(rows, "n bigint, d int").localCheckpoint()
    check(frame, F.timestamp_micros("n"), F.timestamp_millis("n"), F.timestamp_seconds("d"), vector=True)
    times = frame.select(F.timestamp_micros("n").alias("t"), F.date_from_unix_date("d").alias("d")).localCheckpoint()
    check(times, F.unix_micros("t"), F.unix_millis("t"), F.unix_seconds("t"), F.unix_date("d"), vector=True)
    check(frame, F.date_from_unix_date("d"), vector=True)


def test_too_many_seconds(spark):
    frame = spark.createDataFrame([((1 << 63) - 1,)], "n bigint")
    check(frame, F.timestamp_seconds("n"))
    check(frame, F.timestamp_millis("n"))


def test_fractions_of_seconds(spark):
    rows = [(0.1, "1.5"), (-1.9999999, "-0.000001"), (float("nan"), None), (float("inf"), "0"), (1e30, "12345678.9")]
    frame = spark.createDataFrame(rows, "x double, s string")
    frame = frame.select("x", F.col("s").cast("decimal(20,6)").alias("y")).localCheckpoint()
    check(frame, F.timestamp_seconds("x"), F.timestamp_seconds("y"))
    finer = frame.select((F.col("y") + F.expr("0.0000001BD")).alias("y")).localCheckpoint()
    check(finer, F.timestamp_seconds("y"))
