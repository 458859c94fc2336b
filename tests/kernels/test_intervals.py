from decimal import Decimal

import pytest
from pyspark.sql import functions as F

from tests.kernels.oracle import check

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def frame(spark):
    rows = [(1, 3, 1.5, Decimal("2.25")), (-13, -7, -0.1, Decimal("-0.05")), (100, 1, 3.0, Decimal("1")), (None,) * 4]
    frame = spark.createDataFrame(rows, "n int, k int, x double, y decimal(10,2)")
    return frame.select("*", F.expr("make_dt_interval(n, k, n, y)").alias("t")).localCheckpoint()


def test_making(frame):
    check(frame, F.expr("make_dt_interval(n, k, n)"), F.expr("extract(month from make_ym_interval(n, k))"))
    check(frame, F.expr("extract(year from make_ym_interval(n, k))"))


def test_fields(frame):
    check(frame, *(F.expr(f"extract({part} from t)") for part in ("day", "hour", "minute", "second")))


def test_arithmetic(frame):
    check(frame, *(F.expr(f"t {op} {by}") for op in "*/" for by in ("k", "x", "y")))
    months = "make_ym_interval(n, k)"
    check(frame, *(F.expr(f"extract(month from {months} {op} {by})") for op in "*/" for by in ("k", "x", "y")))


@pytest.mark.parametrize("wrong", ["t / (k - k)", "t * 1e15", "t / (x - x)", "t * double('nan')"])
def test_errors(frame, wrong):
    check(frame, F.expr(wrong))


def test_dates_and_calendar_intervals(frame):
    check(frame, F.expr("date_add(date'2024-01-31', n) + make_interval(n, k, 1, n)"))
    check(frame, F.expr("date'2024-01-31' + make_interval(0, 0, 0, 0, k)"))
