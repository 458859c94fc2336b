# ruff: noqa: E501, RUF001 (samples stand many to a line, and some look alike)
from decimal import Decimal

import pytest
from pyspark.sql import functions as F

from tests.kernels.oracle import check

pytestmark = pytest.mark.spark

TEXTS = [None, "", " ", "a", "abc DEF ghi", "ß straße", "İstanbul ıI", "ΑΣ ΟΔΟΣ", "ǆ Ǆ ǅ", "é€😀x", "ﬁn", "o'neil mc-donald", "YWJj", "YQ==", "a b&c=d/é~*-._", "\t tab\nline", "ŉ", "ΐ", "x  y", "ÿ"]  # fmt: skip


def all_of(*texts):
    return [F.expr(text).alias(f"r{i}") for i, text in enumerate(texts)]


@pytest.fixture(scope="module")
def frame(spark):
    rows = [
        (
            t,
            i * 37 - 100,
            (t or "").encode() * (i + 1),
            [1.005, -0.0, 1234567.891, float("nan"), -2.5, 0.5, 1e20, -0.001][i % 8],
            Decimal(i * 12345) / 1000,
        )
        for i, t in enumerate(TEXTS)
    ]
    return spark.createDataFrame([*rows, (None,) * 5], "s string, i int, b binary, d double, p decimal(12,3)")


def test_case(spark, frame):
    check(frame, *all_of("upper(s)", "lower(s)", "initcap(s)", "ascii(s)", "chr(i)"))
    check(frame.where("s in ('a', 'abc DEF ghi')"), *all_of("upper(s)", "lower(s)"), vector=True)
    everything = [chr(c) for c in range(0x2FFFF) if not 0xD800 <= c <= 0xDFFF and chr(c).isprintable() and c < 0x10000]
    pieces = ["".join(everything[i : i + 50]) for i in range(0, len(everything), 50)]
    check(spark.createDataFrame([(p,) for p in pieces], "s string"), *all_of("upper(s)", "lower(s)"))


def test_encodings(frame):
    check(
        frame,
        *all_of(
            "base64(b)",
            "encode(s, 'UTF-8')",
            "encode(s, 'UTF-16')",
            "encode(s, 'utf-16le')",
            "decode(b, 'utf-8')",
            "encode(s, 'UTF-32')",
            "decode(encode(s, 'UTF-16'), 'UTF-16')",
            "url_encode(s)",
            "url_decode(url_encode(s))",
        ),
    )
    check(frame.where("s in ('YWJj', 'YQ==', 'a')"), F.expr("try_url_decode(s)"), F.expr("decode(b, 'us-ascii')"))
    check(frame.where("s in ('YWJj', 'YQ==', '', 'abc DEF ghi')"), F.unbase64("s"))
    check(frame, F.expr("encode(s, 'us-ascii')"))
    check(frame.where("s = 'a'"), F.unbase64("s"))


def test_formats(frame):
    check(
        frame,
        *all_of(
            "format_number(i, 2)",
            "format_number(i, 0)",
            "format_number(d, 2)",
            "format_number(d, 0)",
            "format_number(p, 1)",
            "format_number(d, -1)",
            "format_number(i, i)",
        ),
    )
    check(
        frame,
        *all_of(
            "format_string('%s-%d%%', s, i)",
            "format_string('%5d|%-6d|%06d|%,d', i, i, i, i * 1000)",
            "format_string('%2$s %1$s%n', s, i)",
            "format_string('%10.3s|%-4s|', s, s)",
            "format_string('%.1f %f %,.2f', d, d, d)",
            "printf('%s', i > 0)",
        ),
    )
