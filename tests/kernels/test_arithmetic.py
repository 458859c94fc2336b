import math
from decimal import Decimal

import pytest
from pyspark.sql.functions import expr

from tests.kernels.oracle import check

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def numbers(spark):
    longs = [0, 1, -1, 7, -7, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63), None, 3, -3, 127, -128, 64]
    others = [2, 0, -1, -2, 3, 1, -1, 2, -1, 5, None, 2**62, 1, -1, 33]
    doubles = [0.0, -0.0, 1.5, -7.25, math.nan, math.inf, -math.inf, 1e308, 0.1, None, 5e-324, 3.4e38, 2.0, -2.5, 1e16]
    divisors = [2.0, 1.0, 0.0, 2.5, 1.0, 3.0, math.inf, -1e308, 0.3, 1.0, None, 2.5, -0.0, math.nan, 3.0]
    decimals = [
        "0",
        "1.23",
        "-7.77",
        "99999999.99",
        "-99999999.99",
        "0.01",
        None,
        "3",
        "5.55",
        "2",
        "1",
        "-0.01",
        "10",
        "7",
        "8",
    ]
    rows = [
        (*row[:4], *[v and Decimal(v) for v in row[4:]])
        for row in zip(longs, others, doubles, divisors, decimals, decimals[::-1])
    ]
    frame = spark.createDataFrame(rows, "n bigint, m bigint, x double, y double, d decimal(10,2), e decimal(10,2)")
    narrow = [f"try_cast({c} as {kind}) {c}{kind[0]}" for c in "nm" for kind in ("int", "smallint", "tinyint")]
    return frame.selectExpr("*", "cast(x as float) xf", "cast(y as float) yf", *narrow).localCheckpoint()


@pytest.fixture(params=["true", "false"], ids=["ansi", "legacy"])
def ansi(spark, request):
    spark.conf.set("spark.sql.ansi.enabled", request.param)
    yield request.param == "true"
    spark.conf.unset("spark.sql.ansi.enabled")


PAIRS = [("n", "m"), ("ni", "mi"), ("ns", "ms"), ("nt", "mt"), ("x", "y"), ("xf", "yf"), ("d", "e")]
TRY = {"+": "try_add", "-": "try_subtract", "*": "try_multiply", "/": "try_divide", "%": "try_mod"}


def test_operations_that_give_null_instead_of_an_error(numbers):
    check(numbers, *[expr(f"{f}({a}, {b})") for f in TRY.values() for a, b in PAIRS])


def test_operations_that_wrap_around(spark, numbers):
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        check(
            numbers,
            *[
                expr(f"{a} {sign} {b}")
                for sign in ("+", "-", "*", "/", "%", "div")
                for a, b in PAIRS
                if sign != "div" or a[0] != "x"
            ],
        )
        check(
            numbers,
            *[expr(f"pmod({a}, {b})") for a, b in PAIRS],
            *[expr(f"{f}({a})") for f in ("-", "abs", "+") for a, _ in PAIRS],
        )
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


@pytest.mark.parametrize(
    "text",
    ["n + m", "ni * mi", "nt - mt", "x / y", "n % m", "d / e", "-n", "abs(ni)", "n div m", "pmod(ns, ms)", "nt * mt"],
)
def test_ansi_mode_raises_an_error(numbers, text):
    check(numbers, expr(text))


def test_ansi_mode_without_errors(numbers):
    fine = numbers.where("n between -99 and 99 and m between 1 and 100 and y > 0 and e > 0")
    check(fine, *[expr(f"{a} {sign} {b}") for sign in ("+", "-", "*", "/", "%") for a, b in PAIRS if a != "nt"])
    check(
        fine,
        *[expr(f"n {sign} 7") for sign in ("+", "-", "*", "/", "%", "div")],
        expr("x / 3"),
        expr("-n"),
        expr("abs(ni)"),
        vector=True,
    )


def test_bits(numbers):
    check(
        numbers,
        *[expr(f"{a} {sign} {b}") for sign in "&|^" for a, b in PAIRS[:4]],
        *[expr(f"{f}({a})") for f in ("~", "bit_count") for a, _ in PAIRS[:4]],
        *[
            expr(f"{f}({a}, {b})")
            for f in ("shiftleft", "shiftright", "shiftrightunsigned")
            for a in ("n", "ni")
            for b in ("mi", "33")
        ],
        expr("bit_get(n, 5)"),
        expr("bit_count(n > 0)"),
    )
    check(numbers, expr("bit_get(n, mi)"))


def test_decimals_of_all_widths(spark):
    values = [
        "0",
        "1",
        "-1",
        "0.000000000000000001",
        "12345678901234567890.123456789012345678",
        "-99999999999999999999.999999999999999999",
        "3.5",
        "7",
    ]
    rows = [(Decimal(a), Decimal(b)) for a in values for b in values]
    frame = spark.createDataFrame(rows, "a decimal(38,18), b decimal(38,18)")
    frame = frame.selectExpr(
        "a", "b", "try_cast(a as decimal(5,1)) c", "try_cast(b as decimal(20,10)) d"
    ).localCheckpoint()
    check(frame, *[expr(f"{f}({x}, {y})") for f in TRY.values() for x in "acd" for y in "bcd"])
    check(frame, expr("-a"), expr("abs(a)"), expr("try_divide(1, a)"), expr("c * 2 + 0.5"), expr("coalesce(c, 0) = 0"))
