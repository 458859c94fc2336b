from datetime import UTC, datetime

import pytest
from pyspark.sql import functions as F

from millstream.kernels.functions.patterns import pieces
from millstream.plan.algebra import Unsupported
from tests.kernels.oracle import Case, check

pytestmark = pytest.mark.spark


def micros(*fields):
    return int(datetime(*fields, tzinfo=UTC).timestamp()) * 1_000_000


SHOWN = (
    "yyyy-MM-dd HH:mm:ss", "yyyyMMdd", "y-M-d H:m:s", "yy.MM.dd", "yyy", "yyyyyy", "yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
    "EEE, d MMM yyyy hh:mm a", "EEEE dd MMMM K k h", "D DD DDD", "Q QQ QQQ", "SSSSSSSSS", "S SSSSS", "X XX x xx xxx Z",
    "''yyyy''", "'it''s' yyyy", "yyyy [MM]", "100% yyyy", "LLL LLLL L",
)  # fmt: skip
READ = {
    "yyyy-MM-dd HH:mm:ss": ["2024-02-29 12:30:45", "2023-02-29 00:00:00", "2024-2-29 00:00:00", "12024-01-01 00:00:00",
                            "+12024-01-01 00:00:00", "-0001-01-01 00:00:00", "-0000-01-01 00:00:00",
                            "+2024-01-01 00:00:00",
                            "2024-01-01 24:00:00", "2024-03-10 02:30:00", "2024-11-03 01:30:00", " 2024-01-01 00:00:00",
                            "2024-01-01 00:00:60", "\u0662024-01-01 00:00:00", "1582-10-10 00:00:00", ""],
    "yyyyMMdd": ["20240131", "2024013", "202401311", "-20240131", "120240131", "+120240131"],
    "y-M-d": ["2024-1-1", "24-12-31", "-5-1-1", "2024-01-01", "2024-13-1", "0-1-1", "+5-1-1", "99999999999-1-1"],
    "yyMMdd": ["240131", "991231", "2401311"],
    "dd/MMM/yyyy": ["01/jan/2024", "01/SEP/2024", "01/Sept/2024", "31/Feb/2024"],
    "d MMMM y": ["1 january 2024", "1 Jan 2024"],
    "yyyy-MM-dd'T'HH:mm:ss.SSS": ["2024-01-01T00:00:00.1", "2024-01-01t00:00:00.1234", "2024-01-01T00:00:00.123"],
    "yyyyMMddHHmmssSSS": ["20240101123456789", "2024010112345678"],
    "yyyy-MM-dd'T'HH:mm:ssXXX": ["2024-01-01T00:00:00Z", "2024-01-01T00:00:00+05:30", "2024-01-01T00:00:00-0800",
                                 "2024-01-01T00:00:00+19:00"],
    "yyyy-MM-dd HH:mmX": ["2024-01-01 00:00+05", "2024-01-01 00:00+0530", "2024-01-01 00:00z"],
    "yyyy-MM-dd HHZ": ["2024-01-01 00+0530", "2024-01-01 00Z"],
    "hh:mm a": ["12:00 AM", "12:30 pm", "00:10 AM", "01:10 XM"],
    "hh:mm": ["12:00", "11:59", "13:00"],
    "HH:mm a": ["12:00 PM", "12:00 AM"],
    "K a": ["0 AM", "11 PM", "12 AM"],
    "k": ["24", "1", "0"],
    "a": ["AM", "PM"],
    "yyyy[-MM[-dd]]": ["2024", "2024-05", "2024-05-06", "2024-", "2024-05-"],
    "yyyy": ["2024", "02024", "202"],
    "dMM": ["105", "1205", "05"],
    "yyyyyy": ["002024", "2024"],
    "SSS": ["123", "12"],
}  # fmt: skip


@pytest.fixture(scope="module")
def times(spark):
    leap, noon = micros(2024, 2, 29, 23, 59, 58) + 123_456, micros(1999, 9, 5, 12) + 1
    far = -62_167_219_200_000_001, 300_000_000_000_000_000, micros(1850, 6, 1)
    moments = (0, -1, leap, noon, micros(2024, 12, 31), micros(2024, 7, 4, 0, 30), *far)
    frame = spark.createDataFrame([(t,) for t in (*moments, None)], "n bigint")
    return frame.select(F.timestamp_micros("n").alias("t"), F.expr("n div 1000000").alias("s")).localCheckpoint()


@pytest.fixture(params=["UTC", "America/Los_Angeles", "Asia/Kolkata"])
def zone(spark, request):
    spark.conf.set("spark.sql.session.timeZone", request.param)
    yield request.param
    spark.conf.unset("spark.sql.session.timeZone")


def test_showing(zone, times):
    check(times, *(F.date_format("t", pattern) for pattern in SHOWN), F.from_unixtime("s", "yyyy-MM-dd HH:mm:ss.S"))
    check(times, F.unix_timestamp("t"))


def test_showing_in_sql(spark, times):
    shown = ("yyyy-MM-dd HH:mm:ss.SSS", "yyyyMMdd'T'HHmm''%", "EEE, dd MMMM hh a", "E EEEE MMM SSSSSS")
    usual = times.where("t between '0001-01-01 12:00:00' and '9999-12-31 12:00:00'").localCheckpoint()
    for fixed in ("UTC", "+05:45"):
        spark.conf.set("spark.sql.session.timeZone", fixed)
        check(usual, *(F.date_format("t", pattern) for pattern in shown), F.from_unixtime("s"), vector=True)
    spark.conf.unset("spark.sql.session.timeZone")


def test_reading_in_sql(spark):
    texts = "2024-02-29 23:59:59", "1969-12-31 23:59:59", "0001-01-01 00:00:00", "9999-12-31 23:59:59", None
    frame = spark.createDataFrame([(text,) for text in texts], "s string").localCheckpoint()
    days = frame.selectExpr("substr(s, 1, 10) d").localCheckpoint()
    for fixed in ("UTC", "+05:45"):
        spark.conf.set("spark.sql.session.timeZone", fixed)
        check(frame, F.unix_timestamp("s"), F.to_timestamp("s", "yyyy-MM-dd HH:mm:ss"), vector=True)
        check(days, F.to_timestamp("d", "yyyy-MM-dd"), F.to_date("d", "yyyy-MM-dd"), vector=True)
    spark.conf.unset("spark.sql.session.timeZone")


def test_reading(spark, zone):
    rows = [(text, None) for texts in READ.values() for text in texts]
    frame = spark.createDataFrame([*rows, (None, None)], "s string, x string").localCheckpoint()
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        check(frame, *(F.to_timestamp("s", pattern) for pattern in READ))
        check(
            frame,
            *(F.expr(f"to_timestamp_ntz(s, '{p}')") for p in READ if "'" not in p),
            F.unix_timestamp("s", "yyyyMMdd"),
        )
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


def test_reading_too_large_a_year(spark):
    check(spark.createDataFrame([("+1234567",)], "s string"), F.to_timestamp("s", "yyyyyy"))


def test_reading_strictly(spark):
    frame = spark.createDataFrame([("2024-01-01",), ("2024-01-0x",)], "s string").localCheckpoint()
    check(frame, F.to_timestamp("s", "yyyy-MM-dd"))
    check(frame, F.expr("try_to_timestamp(s, 'yyyy-MM-dd')"))
    check(
        frame.where("s like '%1'").localCheckpoint(),
        F.to_timestamp("s", "yyyy-MM-dd"),
        F.unix_timestamp("s", "yyyy-MM-dd"),
    )


@pytest.mark.parametrize("pattern", ["VV", "z", "GGGG y", "MMMMM", "aa", "yyyy{", "[yyyy", "'yyyy", "dd dd", "n", "O"])
def test_patterns_without_kernel(times, pattern):
    frame = times.selectExpr("cast(s as string) s")
    plan = Case(frame.localCheckpoint(), [F.to_timestamp("s", pattern)]) if "'" not in pattern else None
    with pytest.raises(Unsupported):
        plan.scalar() if plan else pieces(pattern)
