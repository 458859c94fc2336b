import math
from decimal import Decimal

import pytest
from pyspark.sql import functions as F

from millstream.errors import DataError
from millstream.kernels.aggregates import collected
from millstream.plan.algebra import Unsupported
from tests.kernels.keyed_oracle import check, ours
from tests.kernels.oracle import same

pytestmark = pytest.mark.spark

SCHEMA = (
    "g string, i int, l bigint, b tinyint, d double, f float, dec decimal(12,3), big decimal(38,2), s string,"
    " t timestamp, dt date, ok boolean, bin binary, st struct<x:int,y:double>, a array<int>"
)


@pytest.fixture(scope="module")
def frame(spark):
    nan = float("nan")
    rows = [
        ("a", 1, 10, 1, 1.5, 0.25, Decimal("1.125"), Decimal("12345678901234567890123456789012345.67"), "x", 0.0, True),
        ("a", None, -3, 2, -0.0, -0.0, Decimal("-2.500"), Decimal("0.01"), "ä", 86400.0, None),
        ("a", 3, None, 3, None, 2.5, None, None, None, None, False),
        ("a", 1, 10, 1, 1.5, 0.25, Decimal("1.125"), Decimal("1.00"), "x", 0.0, True),
        ("b", None, None, None, None, None, None, None, None, None, None),
        ("b", None, None, None, -0.0, -0.0, None, None, None, None, None),
        (None, 7, 1 << 40, -7, nan, 1.0, Decimal("0.001"), Decimal("-0.01"), "", 1e6, True),
        (None, -7, -(1 << 40), 7, 2.0, nan, Decimal("0.002"), Decimal("-0.01"), "zz", -1e6, True),
        (None, 0, 0, 0, math.inf, math.inf, Decimal("0.000"), Decimal("0.00"), "Z", 1.5, False),
        ("c", 5, 5, 5, 0.5, 0.5, Decimal("5.000"), Decimal("5.00"), "c", 5.0, False),
    ]
    base = spark.createDataFrame(
        rows,
        "g string, i int, l bigint, b tinyint, d double, f float, dec decimal(12,3), big decimal(38,2), s string,"
        " sec double, ok boolean",
    )
    return base.select(
        *base.columns, F.expr("cast(sec as timestamp) as t"), F.expr("cast(cast(sec as timestamp) as date) as dt"),
        F.col("s").cast("binary").alias("bin"), F.when(F.col("i") != 3, F.struct("i", "d")).alias("st"),
        F.when(F.col("i") != 7, F.array("i", "b")).alias("a"),
    ).drop("sec").coalesce(1).cache()  # fmt: skip


def agg(frame, *columns):
    return frame.groupBy("g").agg(*[F.expr(c).alias(f"r{i}") for i, c in enumerate(columns)])


def test_counts(frame):
    check(agg(frame, "count(*)", "count(i)", "count(i, d)", "count_if(ok)", "count(i) filter (where l > 0)"))


def test_sums_and_averages(frame):
    check(agg(frame, "sum(i)", "sum(l) + 1", "sum(b)", "sum(d)", "sum(f)", "avg(i)", "avg(d)", "avg(f)", "try_sum(l)"))


def test_decimal_sums_and_averages(frame):
    check(agg(frame, "sum(dec)", "avg(dec)", "sum(cast(dec as decimal(5,1)))", "avg(cast(dec as decimal(5,1)))"))


@pytest.mark.parametrize("function", ["min", "max"])
def test_extremes(frame, function):
    columns = ("i", "l", "b", "d", "f", "dec", "big", "s", "t", "dt", "ok", "bin", "st", "a")
    check(agg(frame, *[f"{function}({c})" for c in columns]))


def test_first_last_and_the_row_of_an_extreme(frame):
    check(
        agg(
            frame, "first(i)", "first(s, true)", "last(d)", "last(i, true)", "any_value(l)", "max_by(s, l)",
            "min_by(i, d)", "max_by(i, s)",
        )
    )  # fmt: skip


def test_logic_and_bits(frame):
    check(agg(frame, "bool_and(ok)", "bool_or(ok)", "bit_and(l)", "bit_or(i)", "bit_xor(b)"))


MOMENTS = (
    "stddev(i)", "stddev_pop(b)", "variance(l)", "var_pop(dec)", "skewness(b)", "kurtosis(b)", "covar_pop(i, b)",
    "covar_samp(l, b)", "corr(i, b)", "regr_slope(i, b)",
)  # fmt: skip


def test_moments(frame):
    check(agg(frame, *MOMENTS), seeds=(None,))
    check(agg(frame, *MOMENTS), seeds=(1, 2), equal=close)
    check(frame.groupBy("g").agg(F.product("b")))


def close(left, right):
    """Floating-point numbers depend on the order in which parts are merged."""
    if isinstance(left, tuple):
        return all(map(close, left, right))
    if isinstance(left, float) and isinstance(right, float):
        return same(left, right) or math.isclose(left, right, rel_tol=1e-9)
    return same(left, right)


def test_collections_and_distinct(frame):
    check(agg(frame, "collect_list(i)", "collect_list(s)", "collect_list(st)"))
    check(agg(frame, "sort_array(collect_set(i))", "sort_array(collect_set(s))", "sort_array(collect_set(d))"))
    check(agg(frame, "count(distinct i)", "sum(distinct i)", "avg(distinct i)"))
    check(agg(frame, "count(distinct d, s)"))


def test_percentiles(frame):
    check(
        agg(
            frame, "percentile(i, 0.3)", "median(dec)", "percentile(l, array(0.0, 0.25, 1.0))", "median(d)",
            "median(f)", "percentile_cont(0.2) within group (order by b desc)",
        )
    )  # fmt: skip
    for column in ("percentile(i, 0.5, b + 8)", "median(make_dt_interval(i))"):
        with pytest.raises(Unsupported, match="Percentile"):
            ours(agg(frame, column))


def test_approximate_distinct_counts(spark, frame):
    columns = ("i", "l", "d", "f", "dec", "s", "t", "ok")
    check(agg(frame, *[f"approx_count_distinct({c})" for c in columns]))
    many = spark.range(20_000).select((F.col("id") % 3).alias("g"), F.col("id").alias("v"))
    for error in (0.05, 0.02, 0.2):
        check(agg(many, f"approx_count_distinct(v, {error})", "approx_count_distinct(v % 700)"), seeds=(None,))


def test_keys_of_all_kinds(frame):
    for key in ("d", "f", "st", "a", "dec", "t", "bin"):
        check(frame.groupBy(key).agg(F.count("*").alias("n")))
    check(frame.groupBy((F.col("i") + 1).alias("k"), F.lit(3).alias("three")).count())
    check(frame.agg(F.count("*"), F.sum("i")))
    check(frame.select("d").distinct())


@pytest.mark.parametrize("ansi", [True, False])
def test_overflow(spark, ansi):
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    try:
        longs = spark.createDataFrame([("a", (1 << 63) - 1), ("a", 5)], "g string, v bigint").coalesce(1)
        check(agg(longs, "try_sum(v)", "avg(v)"), seeds=(None,))
        decimals = spark.createDataFrame([("a", Decimal("9" * 38)), ("a", Decimal(1))], "g string, v decimal(38,0)")
        for case in (agg(longs, "sum(v)"), agg(decimals, "sum(v)")):
            if ansi:
                with pytest.raises(Exception, match=r"OVERFLOW|OUT_OF_RANGE"):
                    case.collect()
                with pytest.raises(DataError, match=r"OVERFLOW|OUT_OF_RANGE"):
                    ours(case)
            else:
                check(case, seeds=(None,))
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)


def test_a_group_keeps_a_bounded_number_of_values(frame, monkeypatch):
    monkeypatch.setattr(collected, "LIMIT", 2)
    for column in ("collect_list(i)", "collect_set(i)", "count(distinct b)"):
        with pytest.raises(DataError, match="Group by a window with a watermark"):
            ours(agg(frame, column), 1)


def test_what_has_no_kernel_is_named(frame):
    with pytest.raises(Unsupported, match="ListAgg"):
        ours(agg(frame, "listagg(s)"))
    with pytest.raises(Unsupported, match="collation"):
        ours(frame.groupBy(F.collate("s", "UTF8_LCASE").alias("k")).count())
