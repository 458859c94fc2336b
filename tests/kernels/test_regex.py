# ruff: noqa: E501, RUF001 (samples stand many to a line, and some look alike)
import pytest
from pyspark.sql import functions as F

from millstream.kernels.functions.java_regex import compiled
from millstream.plan.algebra import Unsupported
from tests.kernels.oracle import check

pytestmark = pytest.mark.spark

TEXTS = [None, "", "a", "abc", "aaa", "ABC", "a1b22c333", "foo@example.com, bar@x.org", "line\nbreak\r\nend\n", "end\r\n", "x\u2028", "  spaced  out ", "é_ü", "naïve", "a.b.c", "100%", "a_b%c\\d", "2024-01-15T10:00", "{json}", "[x]", "tab\there", "\x0bv", "ſK", "aAbB", "$1 and \\2", "word-word word"]  # fmt: skip

PATTERNS = [
    "a", "^a", "c$", "^$", "", "a+", "a*?b", "[a-c]+", "[^a-c]+", r"\d+", r"\D", r"\w+", r"\W+", r"\s+", r"\S+", r"(\w+)@(\w+)\.(com|org)", r"\bword\b", r"(?i)abc", r"(?s)line.*end", "line.*end", r"end$", r"e.d\Z", r"end\z",
    r"\.", r"[.%]", r"\p{Alpha}+", r"\p{Upper}", r"\P{Punct}+", r"[\p{Digit}x]+", r"a|b|c", r"(a)(b)?", r"(?:a|b)+", r"(?=b)", r"(?<!a)b", r"(?<year>\d{4})-(\d\d)", r"\Qa.b\E", r"[\w.]+", r"\R", r"\h+", r"[\s,]+", r"x{2,3}", r"a{2}", r"\$\d", r"[-a]", r"[a\-z]", r"a++b", r"(?>a+)", r"(a)\1", "[&x]", r"\x41", "\\u0041", "\\t", "[\\n\\r]",
]  # fmt: skip


@pytest.fixture(scope="module")
def frame(spark):
    return spark.createDataFrame([(t, (t or "")[::-1]) for t in TEXTS], "s string, t string")


def test_matching_and_finding(frame):
    columns = [F.regexp("s", F.lit(p)) for p in PATTERNS] + [
        F.regexp_extract_all("s", F.lit(p), F.lit(0)) for p in PATTERNS
    ]
    columns += [F.regexp_extract("s", p, 0) for p in PATTERNS] + [F.regexp_instr("s", F.lit(p)) for p in PATTERNS]
    check(frame, *[c.alias(f"r{i}") for i, c in enumerate(columns)])
    check(
        frame,
        F.regexp_extract("s", r"(\w+)@(\w+)", 2),
        F.regexp_extract_all("s", F.lit(r"(a)|(b)"), F.lit(2)),
        F.regexp_count("s", F.lit("a")),
    )
    check(frame, F.regexp_extract("s", "(a)", 2))


def test_replacing_and_splitting(frame):
    columns = (
        [F.regexp_replace("s", p, "<$0>") for p in PATTERNS if p]
        + [F.split("s", p) for p in PATTERNS]
        + [F.split("s", p, 2) for p in PATTERNS]
    )
    check(frame, *[c.alias(f"r{i}") for i, c in enumerate(columns)])
    check(
        frame,
        F.regexp_replace("s", r"(\w)(\w)", "$2$1"),
        F.regexp_replace("s", "a", r"\$x\\"),
        F.expr("regexp_replace(s, 'a', 'z', 2)"),
        F.regexp_replace("s", r"(?<y>\d)", "${y}${y}"),
        F.regexp_replace("s", F.lit("a"), F.col("t")) if False else F.lit(1),
    )
    check(frame, F.split("s", ","), F.split("s", "ab"), vector=True)


def test_like(frame):
    texts = [
        "s like 'a_c'",
        "s like '%a%b%'",
        r"s like 'a\\_b\\%%'",
        "s like '_'",
        r"s like '%\\\\d'",
        "s like 'a/_b%' escape '/'",
    ]
    check(frame, *[F.expr(t).alias(f"r{i}") for i, t in enumerate(texts)], vector=True)
    texts = [
        "s like t",
        "s ilike 'A_C'",
        "s like any ('a_', '%_b%')",
        "s like all ('a%', '%_c')",
        "s not like any ('a_', '%_b%')",
        "s not like all ('a%', '%_c%')",
        "s like any ('a_c', null)",
        "s like all ('a_c', null)",
    ]
    check(frame.where("s not like '%\\\\%'"), *[F.expr(t).alias(f"r{i}") for i, t in enumerate(texts)])


@pytest.mark.parametrize(
    "pattern",
    [r"\p{L}", r"\G", r"[a-z&&[^b]]", r"(?m)^a", r"\X", "a(?i)b", "a{", "[a[b]]", r"\N{DIGIT ONE}", r"(?<=a+)b"],
)
def test_what_differs_is_refused(pattern):
    with pytest.raises(Unsupported, match="regular expression"):
        compiled(pattern)
