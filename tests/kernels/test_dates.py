from datetime import date

import pytest
from pyspark.sql import functions as F

from tests.kernels.oracle import check

pytestmark = pytest.mark.spark

DAYS = (
    *(date(y, m, d) for y in (1582, 1899, 1900, 2000, 2023, 2024) for m, d in ((1, 1), (2, 28), (3, 1), (10, 15))),
    *(date(2024, 2, 29), date(2020, 12, 31), date(1970, 1, 1), date(1969, 12, 31), date(1, 1, 1), date(9999, 12, 31)),
)
LEVELS = ("year", "YYYY", "yy", "quarter", "month", "MON", "mm", "week", "day", "nonsense", None)


@pytest.fixture(scope="module")
def frame(spark):
    steps = (0, 1, -1, 11, -12, 13, 400, -4801, None)
    rows = [
        (d, DAYS[i * 7 % len(DAYS)], steps[i % len(steps)], LEVELS[i % len(LEVELS)])
        for i, d in enumerate((*DAYS, None))
    ]
    return spark.createDataFrame(rows, "d date, e date, n int, level string").localCheckpoint()


@pytest.fixture(scope="module")
def far(spark):
    days = [(n,) for n in (2_147_483_647, -2_147_483_648, -719_528, -719_529, -800_000, 2_932_897, None)]
    frame = spark.createDataFrame(days, "n int")
    return frame.select(F.date_from_unix_date("n").alias("d")).localCheckpoint()


FIELDS = (F.year, F.quarter, F.month, F.day, F.dayofweek, F.weekday, F.dayofyear, F.weekofyear)


def test_fields(frame):
    check(frame, *(f("d") for f in FIELDS), F.expr("extract(yearofweek from d)"), vector=True)
    check(frame, F.monthname("d"), F.dayname("d"))


def test_fields_of_far_dates(far):
    check(far, *(f("d") for f in FIELDS))


def test_arithmetic(frame):
    days = F.date_add("d", "n"), F.date_sub("d", "n"), F.datediff("d", "e"), F.expr("d - e"), F.date_add("d", 3)
    check(frame, *days, vector=True)
    months = F.add_months("d", F.col("n")), F.expr("d + make_ym_interval(n % 99, 1)"), F.expr("d - interval 5 month")
    check(frame, *months, F.last_day("d"), vector=True)


def test_overflow(spark):
    frame = spark.createDataFrame([(2_147_483_647,)], "n int")
    frame = frame.select(F.date_from_unix_date("n").alias("d"), "n").localCheckpoint()
    check(frame, F.unix_date(F.date_add("d", "n")))
    check(frame, F.unix_date(F.add_months("d", F.col("n"))))


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_next_day(spark, frame, ansi):
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        check(frame, *(F.next_day("d", name) for name in ("mon", "TU", "Wednesday")))
        check(frame, F.next_day("d", " fri"))
        check(frame, F.expr("make_date(2000 + n, abs(n) % 12 + 1, 28)"))
        check(frame, F.expr("make_date(2000 + n, 2, 29)"))
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


def test_truncation(frame):
    check(frame, *(F.trunc("d", level) for level in ("year", "quarter", "mm", "week")), vector=True)
    check(frame, F.expr("trunc(d, level)"), *(F.trunc("d", level) for level in LEVELS[:-1]))
