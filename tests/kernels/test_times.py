from datetime import UTC, datetime

import pytest
from pyspark.sql import functions as F

from tests.kernels.oracle import check

pytestmark = pytest.mark.spark

ZONES = ("UTC", "America/Los_Angeles", "Asia/Kolkata", "Australia/Lord_Howe", "+05:45")


def micros(*fields):
    return int(datetime(*fields, tzinfo=UTC).timestamp()) * 1_000_000


MOMENTS = (
    *(micros(2024, 3, 10, h, 30) for h in (8, 9, 10, 11)),  # Los Angeles springs forward
    *(micros(2024, 11, 3, h, 30) + 1 for h in (7, 8, 9, 10)),  # and falls back
    *(micros(2024, 4, 6, h, 50) for h in (13, 14, 15, 16)),  # Lord Howe falls back by half an hour
    *(micros(2024, 10, 5, h, 40) for h in (14, 15, 16)),  # and springs forward
    *(micros(1883, 11, 18, h, 0) for h in (19, 20, 21)),  # the end of local mean time in Los Angeles
    *(micros(y, 1, 31, 23, 59, 59) + 999_999 for y in (1, 1500, 1699, 1854, 1945, 1969, 2023, 2024, 2099, 2500, 9999)),
    *(0, -1, 1, 59_999_999, -60_000_001, micros(2024, 2, 29), micros(2023, 12, 31, 12), micros(1942, 9, 1)),
    *(-62_167_219_200_000_001, 300_000_000_000_000_000),
)
LEVELS = (
    "microsecond",
    "MILLISECOND",
    "second",
    "minute",
    "hour",
    "day",
    "dd",
    "week",
    "month",
    "mm",
    "quarter",
    "year",
)
STEPS = (0, 1, -1, 24, -24, 36, 100_000, -7)


@pytest.fixture(scope="module")
def times(spark):
    rows = [(t, MOMENTS[i * 5 % len(MOMENTS)], STEPS[i % len(STEPS)]) for i, t in enumerate((*MOMENTS, None))]
    frame = spark.createDataFrame(rows, "a bigint, b bigint, n int")
    t, u = F.timestamp_micros("a").alias("t"), F.timestamp_micros("b").alias("u")
    plain = F.expr("timestampadd(MICROSECOND, a, timestamp_ntz'1970-01-01 00:00:00')")
    return frame.select(t, u, "n", F.col("n").cast("bigint").alias("m"), plain.alias("w")).localCheckpoint()


@pytest.fixture(params=ZONES)
def zoned(spark, times, request):
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", request.param)
    yield times
    spark.conf.set("spark.sql.session.timeZone", before)


def test_fields(zoned):
    fields = F.hour("t"), F.minute("t"), F.second("t"), F.hour("w"), F.minute("w"), F.second("w")
    check(zoned, *fields, F.expr("extract(second from t)"))


def test_fields_in_utc(spark, times):
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    check(times, F.hour("t"), F.minute("t"), F.second("t"), F.hour("w"), vector=True)


def test_arithmetic(zoned):
    steps = ("make_dt_interval(n)", "make_dt_interval(0, n, n, 1.5)", "interval '1 02:00:00' day to second")
    months = ("make_ym_interval(0, n % 50)", "make_interval(1, n % 50, 0, n % 50, n, 0, 0.5)")
    moved = [F.expr(f"{t} + {step}") for step in (*steps, *months) for t in ("t", "w")]
    units = ("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")
    added = [F.expr(f"timestampadd({unit}, m % 50, t)") for unit in units]
    apart = [F.expr(f"timestampdiff({unit}, t, u)") for unit in units]
    between = F.months_between("t", "u"), F.months_between("u", "t", False)
    check(zoned, *moved, *added, *apart, *between, F.expr("t - u"), F.expr("w - w"))


def test_truncation(zoned):
    check(zoned, *(F.date_trunc(level, "t") for level in (*LEVELS, "nonsense", "dayofyear")))


def test_truncation_in_sql(spark, times):
    usual = times.where("t between '0001-01-01' and '9999-01-01'").localCheckpoint()
    for fixed in ("UTC", "+05:45"):
        spark.conf.set("spark.sql.session.timeZone", fixed)
        check(usual, *(F.date_trunc(level, "t") for level in LEVELS), vector=True)
    spark.conf.unset("spark.sql.session.timeZone")


def test_other_zones(times):
    zones = (*ZONES, "PST", "GMT+8", "-3:00", "Europe/Paris")
    there, back = ([f("t", z) for z in zones] for f in (F.from_utc_timestamp, F.to_utc_timestamp))
    check(times, *there, *back, *(F.convert_timezone(F.lit(z), F.lit("Africa/Casablanca"), "w") for z in zones))


def test_unknown_zone(spark, times):
    check(times, F.from_utc_timestamp("t", "Mars/Olympus"))


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_making(spark, times, ansi):
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    spark.conf.set("spark.sql.session.timeZone", "America/Los_Angeles")
    good = ("2024, 3, 10, 2, abs(n) % 60, 1.5", "2024, 11, 3, 1, 30, 60", "2000 + n % 9, 1, 29, 0, 0, 0")
    try:
        made = [f"{f}({fields}" for f in ("make_timestamp", "make_timestamp_ntz") for fields in good]
        check(times, *(F.expr(f"{call})") for call in made), F.expr(f"make_timestamp({good[0]}, 'Asia/Tokyo')"))
        check(times, F.expr("make_timestamp(2000 + n, 2, 29, 0, 0, 0)"))
        check(times, F.expr("make_timestamp(2024, 1, 1, 0, abs(n), 60.5)"))
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
        spark.conf.unset("spark.sql.session.timeZone")
