import math
import random

import pytest
from pyspark.sql.functions import expr

from tests.kernels.oracle import check

pytestmark = pytest.mark.spark

EDGES = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -2.5,
    2.5,
    3.5,
    math.nan,
    math.inf,
    -math.inf,
    None,
    1e308,
    -1e-308,
    5e-324,
    1e16,
    2.0**63,
    10.0,
    1000.0,
]


@pytest.fixture(scope="module")
def doubles(spark):
    dice = random.Random(20)
    values = [
        *EDGES,
        *(dice.uniform(-1, 1) * 10.0 ** dice.randrange(-8, 9) for _ in range(300)),
        *(n / 100 for n in range(-30, 300, 7)),
    ]
    others = [dice.choice([*EDGES, dice.uniform(-9, 9), float(dice.randrange(-9, 9))]) for _ in values]
    return spark.createDataFrame(list(zip(values, others)), "x double, y double").localCheckpoint()


def test_functions_of_one_and_two_numbers(doubles):
    one = "rint sign sqrt degrees radians exp ln log10 log2"
    check(doubles, *[expr(f"{f}(x)") for f in one.split()], expr("log(x, y)"), expr("log(2, x)"))
    check(
        doubles,
        *[expr(f"pow(x, {y})") for y in ("y", "2", "3", "0.5", "-1", "2.5", "-0.25", "1e10", "1e300")],
        expr("pow(y, x)"),
    )


def test_rounding(doubles):
    check(
        doubles,
        *[
            expr(f"{f}({c}, {s})")
            for f in ("round", "bround")
            for c in ("x", "cast(x as float)")
            for s in (0, 1, 2, 5, -1, -3, 20)
        ],
    )
    whole = doubles.where("abs(x) < 1e9").selectExpr(
        "cast(x as int) i", "cast(x * 1e9 as bigint) n", "cast(x as decimal(20,6)) d"
    )
    whole = whole.localCheckpoint()
    check(
        whole, *[expr(f"{f}({c}, {s})") for f in ("round", "bround") for c in ("i", "n", "d") for s in (0, 2, -1, -4)]
    )
    check(
        whole,
        *[expr(f"{f}({c}, {s})") for f in ("ceil", "floor") for c in ("i", "d") for s in (0, 2, -1)],
        expr("ceil(d)"),
        expr("floor(n)"),
    )


def test_digits_in_other_bases(spark):
    texts = [
        "15",
        "-15",
        "ff",
        "FFFFFFFFFFFFFFFF",
        "9223372036854775808",
        "99999999999999999999",
        "",
        " 7 ",
        "1z",
        "zz",
        "-",
        None,
        "0",
        "g1",
        "-ffffffffffffffff",
        "4D7",
    ]
    numbers = [0, 1, -1, 255, 2**63 - 1, -(2**63), None, 20, 21, 5, 7, 8, 9, 10, 11, 12]
    frame = spark.createDataFrame(list(zip(texts, numbers)), "s string, n bigint").localCheckpoint()
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        check(
            frame,
            *[expr(f"conv(s, {old}, {new})") for old in (2, 10, 16, 36) for new in (2, 10, 16, -10, -16)],
            *map(
                expr, ["hex(n)", "hex(s)", "hex(cast(s as binary))", "unhex(s)", "bin(n)", "factorial(cast(n as int))"]
            ),
        )
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


def test_buckets(doubles):
    check(doubles, *[expr(f"width_bucket(x, {low}, {high}, 5)") for low, high in ((0, 10), (10, 0), ("y", 3), (1, 1))])
