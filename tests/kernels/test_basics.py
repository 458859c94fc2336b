import math
from datetime import date, datetime
from decimal import Decimal

import pytest
from pyspark.sql.functions import expr

from tests.kernels.oracle import check

pytestmark = pytest.mark.spark

NAN, INF = math.nan, math.inf


@pytest.fixture(scope="module")
def frame(spark):
    day, moment = date(2024, 2, 29), datetime(2024, 2, 29, 12, 30)
    rows = [
        (1, 2, 1.5, NAN, "a", "b", Decimal("1.20"), day, moment, b"a", True, False, [1, None], (1, None)),
        (2, 2, NAN, NAN, "é", "z", Decimal("-1.20"), date(1, 1, 1), moment, b"\xff", False, None, [1], (1, 2.0)),
        (-3, 3, 0.0, -0.0, "", "", Decimal("0.00"), date(9999, 12, 31), moment, b"", None, None, [], (None, NAN)),
        (4, None, INF, -INF, "A", "\U0001f600", None, day, None, None, True, True, None, None),
        (None, 5, None, 1.0, None, "x", Decimal("99999999.99"), None, moment, b"ab", False, True, [None], (1, -0.0)),
        (0, 0, -0.0, 0.0, "10", "9", Decimal("1.20"), day, moment, b"a", None, False, [2, 1], (2, 0.0)),
    ]
    return spark.createDataFrame(
        rows,
        "i int, j int, d double, f double, s string, t string, m decimal(10,2), day date, ts timestamp, bin binary, "
        "p boolean, q boolean, a array<int>, r struct<x: int, y: double>",
    )


COMPARISONS = [
    f"{left} {sign} {right}"
    for sign in ("=", "<", "<=", ">", ">=", "<=>", "<>")
    for left, right in [
        ("i", "j"),
        ("d", "f"),
        ("cast(d as float)", "cast(f as float)"),
        ("s", "t"),
        ("m", "cast(1.20 as decimal(5,3))"),
        ("day", "date'2024-02-29'"),
        ("ts", "timestamp'2024-02-29 12:30:00'"),
        ("bin", "X'61'"),
        ("p", "q"),
        ("d", "0.0"),
        ("0.0", "d"),
        ("d", "double('nan')"),
        ("i", "1"),
    ]
]


def test_comparisons_have_both_kernels(frame):
    check(frame, *map(expr, COMPARISONS), vector=True)


def test_arrays_and_structs_compare_with_nulls_first_and_nan_equal_to_itself(frame):
    nested = [
        ("a", "array(1, 2)"),
        ("r", "named_struct('x', 1, 'y', double('nan'))"),
        ("a", "a"),
        ("r", "struct(j, d)"),
    ]
    signs = ("=", "<", "<=", ">", ">=", "<=>")
    check(frame, *[expr(f"{x} {sign} {y}") for sign in signs for x, y in nested], expr("a in (array(1), array(null))"))


def test_logic_is_three_valued(frame):
    check(
        frame,
        *map(expr, ["p and q", "p or q", "not p", "q and p", "q or p", "not (p and not q) or q", "p <=> q"]),
        vector=True,
    )


def test_null_tests_and_choices(frame):
    check(
        frame,
        *map(
            expr,
            [
                "i is null",
                "i is not null",
                "isnan(d)",
                "nanvl(d, f)",
                "nanvl(f, i)",
                "coalesce(i, j, 7)",
                "nvl(s, t)",
                "nullif(i, j)",
                "if(p, i, j)",
                "case when p then i when q then j end",
                "case i when 1 then 'one' when 2 then 'two' else s end",
                "greatest(i, j)",
                "least(i, j, 1)",
                "greatest(s, t)",
                "zeroifnull(i)",
                "nvl2(i, j, 0)",
                "ifnull(m, 0.5)",
                "least(day, date'2020-01-01')",
            ],
        ),
        vector=True,
    )
    check(
        frame,
        *map(
            expr,
            ["greatest(d, f)", "least(d, f)", "greatest(r, r)", "least(a, array(1))"],
        ),
    )


def test_membership(frame):
    many = ", ".join(map(str, range(2, 20)))
    check(
        frame,
        *map(
            expr,
            [
                "i in (1, 2, null)",
                "i in (1, 2)",
                f"i in ({many})",
                f"i in (null, {many})",
                "s in ('a', 'é')",
                "i between 1 and j",
                "m in (1.2, 3)",
                "day in (date'2024-02-29')",
                "i in (j, 2, null)",
                "bin in (X'61', X'62')",
                "i not in (1, j)",
            ],
        ),
        vector=True,
    )
    check(
        frame,
        *map(
            expr,
            [
                "d in (0.0, 1.5)",
                "d in (f, double('nan'))",
                f"d in ({many}, double('nan'), 0.0)",
                "r in (r)",
                "d in (f, 0.0, null)",
            ],
        ),
    )


def test_a_row_with_an_error_is_an_error(frame):
    check(frame, expr("raise_error(s)"))
    check(frame, expr("assert_true(p)"))
    check(frame, expr("if(i < 100 or i is null, i, raise_error('never'))"))


def test_long_chains_of_conditions(frame):
    check(frame, expr(" or ".join(f"(i + {n} = j and s <> '{n}')" for n in range(150))))
