import math
from datetime import date, datetime
from decimal import Decimal

import pytest
from pyspark.sql.functions import expr

from tests.kernels.oracle import check

pytestmark = pytest.mark.spark

NUMBERS = [
    "boolean",
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "float",
    "double",
    "decimal(10,2)",
    "decimal(38,18)",
    "decimal(3,1)",
]
TEXTS = [
    "",
    " ",
    "0",
    "-0",
    "1",
    "+1",
    " 12 ",
    "12\t",
    "-128",
    "128",
    "32768",
    "2147483648",
    "9223372036854775807",
    "9223372036854775808",
    "1.5",
    ".5",
    "5.",
    ".",
    "-",
    "+",
    "1e3",
    "1E-7",
    "1e400",
    "-1e-400",
    "0x10",
    "1_000",
    "12 3",
    "\uff11\uff12",
    "1d",
    "1.5f",
    "0x1p3",
    "nan",
    "NaN",
    "inf",
    "-Infinity",
    "+inf",
    "1.0E23",
    "0.1",
    "123456789.987654321",
    "99999999.995",
    "1e-400",
    "true",
    "T",
    "yes",
    " no ",
    "f",
    "TRUE\x00",
    "\x7f1",
    "abc",
    "3.4028236e38",
    "1.00000017881393432617187499",
    "1.00000017881393432617187501",
    "4.9e-324",
    "2.4703282292062327e-324",
]
MOMENTS = [
    "2024-02-29",
    "2024-2-9",
    "2023-02-29",
    "2024",
    "2024-05",
    "2024-",
    " 2024-01-01 ",
    "2024-01-01 12",
    "2024-01-01 12:30",
    "2024-01-01 12:30:15.",
    "2024-01-01 12:30:15.123456789",
    "2024-01-01T12:30:15Z",
    "2024-01-01T12:30:15.5+05:30",
    "2024-01-01 12:30:15 Europe/Paris",
    "2024-01-01 12:30:15 Nowhere",
    "2024-03-31 02:30:00",
    "2024-10-27 02:30:00",
    "24-01-01",
    "02024-01-01",
    "+12024-01-01",
    "-0044-03-15 10:00:00",
    "999999-01-01",
    "9999999-01-01",
    "290000-01-01 00:00:00",
    "0000-01-01",
    "2024-13-01",
    "2024-01-32",
    "2024-01-01 24:00:00",
    "2024-01-01 1:2:3",
    "2024-01-01 12:30:15UTC+1",
    "2024-01-01T",
    "2024-01-01 12:30Z",
    "1900-01-01 00:00:00",
    "2024-01-01x",
    "2024-01-01 12:30:15.1.2",
    "T",
    "",
    "2024-06-30 23:59:60",
    "2024-01-01 12:30:15 +1:2",
]


@pytest.fixture(scope="module")
def texts(spark):
    return spark.createDataFrame([(t,) for t in [*TEXTS, *MOMENTS, None]], "s string")


@pytest.fixture(scope="module")
def numbers(spark):
    values = [
        0,
        1,
        -1,
        127,
        128,
        -129,
        32768,
        2**31 - 1,
        2**31,
        -(2**31) - 1,
        2**53 + 1,
        2**63 - 1,
        -(2**63),
        16777217,
        None,
        99,
        100,
    ]
    floats = [
        0.0,
        -0.0,
        0.5,
        -1.5,
        127.9,
        -128.9,
        1e10,
        -1e19,
        9.223372036854775807e18,
        math.nan,
        math.inf,
        -math.inf,
        1e-7,
        0.1,
        1.0e23,
        None,
        2.5,
    ]
    decimals = [
        "0",
        "1.50",
        "-1.55",
        "99.95",
        "0.000000000000000001",
        "12345678901234567890.123456789",
        "-0.04",
        "99.949",
        "1E-7",
        "16777217",
        "128",
        "-129",
        "0.1",
        "9223372036854775808",
        "9007199254740993",
        None,
        "2147483648",
    ]
    rows = [(n, f, d and Decimal(d), n is not None and n % 2 == 0) for n, f, d in zip(values, floats, decimals)]
    frame = spark.createDataFrame(rows, "n bigint, f double, d decimal(38,18), b boolean")
    return frame.selectExpr(
        "n", "f", "d", "b", "try_cast(f as float) g", "try_cast(n as int) i", "try_cast(n as tinyint) t"
    ).localCheckpoint()


@pytest.fixture(params=["true", "false"], ids=["ansi", "legacy"])
def ansi(spark, request):
    spark.conf.set("spark.sql.ansi.enabled", request.param)
    yield request.param == "true"
    spark.conf.unset("spark.sql.ansi.enabled")


def test_numbers_to_numbers_and_text(numbers, ansi):
    word = "try_cast" if ansi else "cast"
    kinds = [*NUMBERS, "string"]
    check(numbers, *[expr(f"{word}({c} as {kind})") for kind in kinds for c in numbers.columns])


def test_text_to_anything(texts, ansi):
    word = "try_cast" if ansi else "cast"
    check(texts, *[expr(f"{word}(s as {kind})") for kind in [*NUMBERS, "binary", "date", "timestamp_ntz"]])


@pytest.mark.parametrize("timezone", ["UTC", "Europe/Paris", "America/St_Johns", "+05:30"])
def test_dates_and_timestamps(spark, texts, timezone):
    spark.conf.set("spark.sql.session.timeZone", timezone)
    try:
        check(texts.where("length(s) > 5"), expr("try_cast(s as timestamp)"), expr("try_cast(s as date)"))
        moments = [
            (date(2024, 3, 31), 1711846800123456),
            (date(1, 1, 1), -62135596800000000),
            (date(9999, 12, 31), 253402300799999999),
            (None, None),
            (date(1969, 12, 31), -1),
            (date(2024, 10, 27), 1729992600000000),
            (date(1900, 1, 1), -2208988800000000),
        ]
        frame = (
            spark.createDataFrame(moments, "d date, n bigint")
            .selectExpr("d", "timestamp_micros(n) t")
            .localCheckpoint()
        )
        zoneless = ["d", "cast(t as timestamp_ntz)"]
        check(
            frame,
            *[
                expr(f"cast({c} as {kind})")
                for c in ["t", *zoneless]
                for kind in ("string", "date", "timestamp", "timestamp_ntz")
            ],
        )
        check(
            frame,
            *[
                expr(f"try_cast(t as {kind})")
                for kind in ("int", "bigint", "double", "float", "decimal(20,6)", "tinyint")
            ],
        )
    finally:
        spark.conf.unset("spark.sql.session.timeZone")


def test_numbers_to_timestamps(numbers):
    check(
        numbers.where("abs(f) < 1e9"),
        expr("cast(f as timestamp)"),
        expr("cast(i as timestamp)"),
        expr("cast(cast(f as decimal(20,7)) as timestamp)"),
    )


def test_nested_values(numbers):
    check(
        numbers,
        expr("cast(array(n, i, null) as array<string>)"),
        expr("cast(array(n, null) as string)"),
        expr("cast(map('k', f, 'l', null) as string)"),
        expr("cast(struct(n, f, null) as string)"),
        expr("cast(struct(i as x, d as y) as struct<x: bigint, y: string>)"),
        expr("cast(map('k', i) as map<string, double>)"),
        expr("try_cast(array('1', 'x') as array<int>)"),
        expr("try_cast(array(cast(n as string), '7x') as array<int>)"),
    )


def test_common_casts_have_both_kernels(spark):
    frame = spark.createDataFrame(
        [
            (1, 2, 2.5, True, "12", "-1.5", datetime(2024, 5, 5, 5), date(1960, 2, 3), Decimal("1.50")),
            (None,) * 9,
            (
                -7,
                -(2**60),
                -2.5,
                False,
                "-3",
                "10",
                datetime(1960, 5, 5, 5, 0, 0, 7),
                date(2024, 1, 1),
                Decimal("-0.05"),
            ),
        ],
        "i int, n bigint, f double, b boolean, s string, t string, ts timestamp, d date, m decimal(10,2)",
    )
    casts = [
        ("i", "bigint"),
        ("i", "double"),
        ("n", "double"),
        ("n", "string"),
        ("f", "int"),
        ("f", "bigint"),
        ("f", "float"),
        ("b", "int"),
        ("b", "string"),
        ("s", "int"),
        ("t", "double"),
        ("ts", "date"),
        ("d", "timestamp"),
        ("ts", "bigint"),
        ("m", "decimal(12,3)"),
        ("i", "decimal(12,2)"),
        ("i", "boolean"),
        ("ts", "timestamp_ntz"),
    ]
    check(frame, *[expr(f"cast({c} as {kind})") for c, kind in casts], vector=True)


@pytest.mark.parametrize("cast", ["s as int", "s as double", "s as decimal(4,1)", "s as date"])
def test_malformed_text_is_an_error_in_ansi_mode(texts, cast):
    check(texts, expr(f"cast({cast})"))


@pytest.mark.parametrize("cast", ["n as int", "f as int", "d as decimal(4,1)"])
def test_numbers_that_do_not_fit_are_an_error_in_ansi_mode(numbers, cast):
    check(numbers, expr(f"cast({cast})"))
