# ruff: noqa: E501 (samples stand many to a line)
import pytest
from pyspark.sql import functions as F

from tests.kernels.oracle import check

pytestmark = pytest.mark.spark

TEXTS = [None, "", " ", "a", "abc", "ABC abc", "  pad  ", "\t\n x", "ß", "İstanbul", "ΑΣ", "ΟΔΟΣ ΣΑΣ", "ǆ ǅ", "é€😀x", "😀", "aaaa", "a,b,,c", "Robert", "Tymczak", "1a2B-_é", "naïve café", "\x00\x01", "79927398713", "ﬁn", "%_\\", "a%b_c", "hello world from spark"]  # fmt: skip


@pytest.fixture(scope="module")
def frame(spark):
    n = len(TEXTS)
    rows = [
        (a, TEXTS[(i * 7 + 3) % n], (i % 9) - 4 if i % 11 else None, (a or "").encode() if i % 5 else None)
        for i, a in enumerate(TEXTS)
    ]
    rows += [("a,b,c", "b", 2, b"\xff\x00"), ("hello", "l", 4, b"ab"), ("kitten", "sitting", 1, b"")]
    return spark.createDataFrame(rows, "s string, t string, i int, b binary")


def all_of(*texts):
    return [F.expr(text).alias(f"r{i}") for i, text in enumerate(texts)]


def test_lengths_and_pieces(frame):
    check(
        frame,
        *all_of(
            "length(s)",
            "length(b)",
            "octet_length(s)",
            "octet_length(b)",
            "bit_length(s)",
            "bit_length(b)",
            "char_length(s)",
            "substring(s, 2, 3)",
            "substr(s, 1, 1)",
        ),
        vector=True,
    )
    check(
        frame,
        *all_of(
            "substring(s, i, 2)",
            "substring(s, i)",
            "substring(b, i, 1)",
            "substring(s, 2, i)",
            "left(s, i)",
            "right(s, i)",
            "right(s, 2)",
            "substring(s, -3, 2)",
            "substring(s, 0, 2)",
            "substring(s, i, 2147483647)",
            "substring(s, -2147483648, 2147483647)",
        ),
    )
    check(
        frame,
        *all_of(
            "overlay(s placing t from 2)",
            "overlay(s placing 'xy' from i for 1)",
            "overlay(b placing b from 1)",
            "overlay(s placing t from i for i)",
        ),
    )


def test_trimming_and_padding(frame):
    check(frame, *all_of("trim(s)", "ltrim(s)", "rtrim(s)"), vector=True)
    check(
        frame,
        *all_of(
            "btrim(s, 'ab ')",
            "trim(both t from s)",
            "trim(leading 'a' from s)",
            "trim(trailing t from s)",
            "btrim(s, '')",
        ),
    )
    check(
        frame,
        *all_of(
            "lpad(s, 5, 'xy')",
            "rpad(s, 5, 'xy')",
            "lpad(s, i, t)",
            "rpad(s, 7, t)",
            "rpad(s, 3)",
            "lpad(b, 4, x'0102')",
            "rpad(b, 2, x'01')",
            "repeat(s, i)",
            "space(i)",
            "lpad(s, 2147483647, '')",
        ),
    )


def test_searching(frame):
    check(
        frame,
        *all_of(
            "instr(s, 'a')",
            "instr(s, t)",
            "startswith(s, 'a')",
            "endswith(s, 'c')",
            "contains(s, t)",
            "startswith(s, t)",
            "endswith(s, t)",
        ),
        vector=True,
    )
    check(
        frame,
        *all_of(
            "locate('a', s, i)",
            "locate(t, s)",
            "locate('', s, 3)",
            "locate(t, s, 2)",
            "position('b', s)",
            "startswith(b, x'61')",
            "contains(b, x'00')",
            "endswith(b, x'62')",
            "find_in_set(t, s)",
            "find_in_set('b', s)",
            "find_in_set('', s)",
            "contains(s, '')",
        ),
    )
    check(
        frame,
        *all_of(
            "substring_index(s, ',', 2)",
            "substring_index(s, 'a', -2)",
            "substring_index(s, 'aa', 2)",
            "substring_index(s, 'aa', -2)",
            "substring_index(s, t, i)",
            "substring_index(s, '', 1)",
            "split_part(s, ',', 1)",
        ),
    )


def test_replacing_and_joining(frame):
    check(frame, *all_of("concat_ws(',', s, t)"), vector=True)
    check(
        frame,
        *all_of(
            "replace(s, 'a', 'xx')",
            "replace(s, t, '')",
            "replace(s, '', 'x')",
            "translate(s, 'abc', 'x')",
            "translate(s, t, s)",
            "translate(s, 'aab', 'xyz')",
            "translate(s, '😀é', 'e😀')",
        ),
    )
    check(
        frame,
        *all_of(
            "concat_ws(',', s, array(t, s, null), t)",
            "concat_ws(t, s, s)",
            "concat_ws('-')",
            "elt(i, s, t)",
            "mask(s)",
            "mask(s, 'Q', null, '#', '*')",
            "luhn_check(s)",
        ),
    )
    check(frame, *all_of("levenshtein(s, t)", "levenshtein(s, t, 3)", "soundex(s)", "soundex(t)"))
