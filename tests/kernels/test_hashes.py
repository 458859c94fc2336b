# ruff: noqa: E501 (samples stand many to a line)
import datetime as dt
from decimal import Decimal

import pytest
from pyspark.sql import functions as F

from tests.kernels.oracle import check

pytestmark = pytest.mark.spark

SCHEMA = (
    "s string, b binary, i int, l long, t tinyint, m smallint, d double, f float, o boolean, p decimal(10,2),"
    "q decimal(38,5), a array<int>, r struct<x:int,y:string>, c timestamp, e date, z array<struct<k:array<string>>>"
)


@pytest.fixture(scope="module")
def frame(spark):
    def row(n, text, x):
        return (
            text, text.encode() + bytes(range(n)), n * 77_777_777 % 2**31, -(n * 10**17), -n % 128, n * 99, x, x, n % 2 == 0,
            Decimal(n * 12345) / 100, Decimal(-(7**n) * 10**9) / 1000, [n, None, -n], (n, text), dt.datetime(1960 + n, 3, 4, 5, 6, 7, n),
            dt.date(1960 + n, 2, 3), [([text, None],), None],
        )  # fmt: skip

    texts = ["", "a", "ab", "abc", "abcd", "é€😀", "x" * 31, "y" * 32, "z" * 77, "\xff\x80"]
    numbers = [0.0, -0.0, float("nan"), float("inf"), 1.5, -1e300, 3.4e38, 1e-45, 123.456, -7.0]
    rows = [row(i, text, x) for i, (text, x) in enumerate(zip(texts, numbers))]
    return spark.createDataFrame([*rows, (None,) * len(rows[0])], SCHEMA)


def test_hashes_of_every_type(frame):
    names = frame.columns
    columns = [F.hash(n).alias(f"h{n}") for n in names] + [F.xxhash64(n).alias(f"x{n}") for n in names]
    check(frame, *columns, F.hash(*names).alias("all32"), F.xxhash64(*names).alias("all64"))


def test_digests(frame):
    texts = ["md5(s)", "md5(b)", "sha1(s)", "sha(b)", "crc32(b)", "crc32(s)", "sha2(s, 256)", "sha2(b, 0)", "sha2(s, 224)", "sha2(s, 384)", "sha2(s, 512)", "sha2(s, i)", "sha2(s, 1)"]  # fmt: skip
    check(frame, *[F.expr(text).alias(f"r{i}") for i, text in enumerate(texts)])
