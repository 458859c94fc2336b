from datetime import UTC, date, datetime

import pytest
from pyspark.sql import functions as F

from tests.kernels.oracle import check

pytestmark = pytest.mark.spark

NAN = float("nan")
SCHEMA = (
    "i int, s string, a array<int>, b array<int>, f array<double>, g array<double>, t array<string>, "
    "n array<array<int>>, z array<array<double>>, r array<struct<x: int, y: string>>, "
    "m map<string, int>, d map<double, int>"
)
ROWS = [
    (1, "a", [1, 2, None, 2], [2, 3], [0.0, NAN, -0.0, 1.5], [-0.0, NAN], ["b", "é", None],
     [[1], [2, None]], [[-0.0], [0.0]],
     [(1, "x"), (1, "x")], {"a": 1, "b": None}, {0.0: 1, 2.5: 2}),
    (-1, "b", [3, 3], [3, None], [NAN, None, NAN], [1.0], ["", "a", "B", "a"],
     [[1], None], [[NAN], [NAN]], [(None, "y"), None, (2, None)],
     {"c": 3}, {NAN: 3}),
    (2, None, [], [], [], [None], [], [], [], [], {}, {}),
    (None, "z", None, [1], None, None, None, None, None, None, None, None),
    (5, "", [None], [None], [float("inf"), -1.0, None], [0.5], ["\U0001f600", "\uffff"],
     [[]], [[], None], [(1, None)], {"": 0}, {-1.0: 4}),
]  # fmt: skip


@pytest.fixture(scope="module")
def frame(spark):
    return spark.createDataFrame(ROWS, SCHEMA).localCheckpoint()


@pytest.fixture(params=["true", "false"])
def ansi(spark, request):
    spark.conf.set("spark.sql.ansi.enabled", request.param)
    yield request.param == "true"
    spark.conf.unset("spark.sql.ansi.enabled")


def exprs(*texts):
    return [F.expr(text) for text in texts]


def test_making_and_sizes(frame):
    check(frame, *exprs("array(i, 1)", "array(s)", "array(a, b)", "size(a)", "size(m)", "array_size(b)"), vector=True)
    check(frame, *exprs("array(array(i), b)", "array(named_struct('x', i))"))


def test_places(frame, ansi):
    for wrong in ("a[i]", "element_at(a, i)", "element_at(a, -2)", "element_at(a, i - i)", "a[0]", "a[-1]"):
        check(frame, F.expr(wrong))
    check(frame, *exprs("get(a, i)", "try_element_at(a, i)", "m['a']", "m[s]", "element_at(m, s)", "d[0.0D]"))
    check(frame, *exprs("d[double('nan')]", "d[-0.0D]", "map_contains_key(m, s)", "r[1].x"))


def test_places_in_sql(frame):
    one = frame.where("i = 1").localCheckpoint()
    check(one, *exprs("a[i]", "element_at(a, i)", "element_at(a, -1)"), vector=True)
    check(frame, *exprs("m['a']", "m[s]", "element_at(m, s)", "map_keys(m)", "map_values(m)"), vector=True)
    check(frame, *exprs("array_contains(a, i)", "array_contains(t, s)", "map_contains_key(m, s)"), vector=True)
    check(frame, *exprs("get(a, i)", "try_element_at(a, 2)", "try_element_at(a, -3)"), vector=True)


def test_search(frame):
    check(frame, *exprs("array_contains(a, i)", "array_position(a, i)", "array_remove(a, 2)", "arrays_overlap(a, b)"))
    check(frame, *exprs("array_contains(f, 0.0D)", "array_contains(f, double('nan'))", "array_position(f, -0.0D)"))
    check(frame, *exprs("array_contains(n, array(1))", "array_contains(r, named_struct('x', 1, 'y', 'x'))"))
    check(frame, *exprs("array_remove(f, double('nan'))", "arrays_overlap(f, g)", "arrays_overlap(n, n)"))


@pytest.mark.parametrize("kinds", ["aab", "ffg", "ggf", "ttt", "nnn", "rrr", "zzz"])
def test_sets(frame, kinds):
    _, x, y = kinds
    pairs = [f"array_{f}({x}, {y})" for f in ("union", "intersect", "except")]
    check(frame, *exprs(f"array_distinct({x})", *pairs))


def test_order(frame):
    for x in "aftnr":
        check(frame, *exprs(*(f"{f}({x})" for f in ("sort_array", "array_min", "array_max", "reverse", "array_sort"))))
        check(frame, F.sort_array(x, asc=False))


def test_shape(frame):
    check(frame, *exprs("array_join(t, ',')", "array_join(t, s, 'null')", "array_repeat(s, i)", "array_compact(a)"))
    check(
        frame,
        *exprs(
            "array_append(a, i)", "array_prepend(a, i)", "arrays_zip(a, b, t)", "flatten(n)", "flatten(array(a, b))"
        ),
    )
    check(frame, *exprs("concat(a, b)", "concat(s, '-', s)", "reverse(s)"))
    check(frame, *exprs("slice(a, 1, 2)", "slice(a, -2, 2)", "slice(a, -3, 1)", "slice(a, 5, 1)", "slice(a, 2, 0)"))
    for wrong in ("slice(a, i - i, 1)", "slice(a, 1, i)", "array_insert(a, i, 7)", "array_insert(a, -6, i)"):
        check(frame, F.expr(wrong))
    check(frame, *exprs(*(f"array_insert(a, {place}, 7)" for place in (1, 2, 9, -1, -2, -7))))


def test_maps(frame):
    check(frame, *exprs("map_keys(m)", "map_values(m)", "map_entries(m)", "map('a', i, 'b', 2)", "map_keys(d)"))
    check(frame, *exprs("map_from_entries(array(struct(coalesce(s, ''), i)))", "map_concat(m, map('zz', i))"))
    check(frame, *exprs("map_from_arrays(array(1, 2), array(i, i))", "map(-0.0D, i)"))
    check(
        frame,
        *exprs("map_zip_with(map(-0.0D, i), map(0.0D, 1), (k, x, y) -> array(x, y))", "map_concat(map(-0.0D, i))"),
    )
    check(frame, *exprs("map_zip_with(map(0.0D, i), map(-0.0D, 1), (k, x, y) -> array(x, y))", "map(struct(-0.0D), i)"))
    check(
        frame,
        *exprs(
            "map_zip_with(map(-0.0D, i), map(), (k, x, y) -> array(x, y))", "map_from_entries(array(struct(-0.0D, i)))"
        ),
    )


@pytest.mark.parametrize("policy", ["EXCEPTION", "LAST_WIN"])
def test_keys_that_come_twice(spark, frame, policy):
    spark.conf.set("spark.sql.mapKeyDedupPolicy", policy)
    try:
        for twice in ("map(1, i, 2, i, 1, 7)", "map_concat(m, m)", "map_from_arrays(array(i, i), array(1, 2))"):
            check(frame, F.expr(twice))
        check(frame, F.expr("map(double('nan'), i, double('nan'), 2)"))
        check(frame, F.expr("map(0.0D, i, -0.0D, 2)"))
    finally:
        spark.conf.unset("spark.sql.mapKeyDedupPolicy")


@pytest.mark.parametrize("wrong", ["map(s, 1)", "map_from_entries(r)", "map_from_arrays(a, array(1))"])
def test_wrong_maps(frame, wrong):
    check(frame, F.expr(wrong))


def test_map_from_entries_with_null(frame):
    check(frame.where("i = -1"), F.expr("map_from_entries(slice(r, 2, 1))"))


def test_text_to_map(spark):
    rows = [("a:1,b:2:3,c",), ("",), (":x",), (None,)]
    frame = spark.createDataFrame(rows, "s string").localCheckpoint()
    check(frame, *exprs("str_to_map(s)", "str_to_map(s, ',', '=')", "str_to_map(s, ';', ':')"))
    check(spark.createDataFrame([("a:1,a:2",)], "s string"), F.expr("str_to_map(s)"))


@pytest.fixture(scope="module")
def spans(spark):
    at = [datetime(2024, 3, 9, 7, 30, tzinfo=UTC), datetime(2024, 3, 12, 6, tzinfo=UTC)]
    days = [date(2024, 1, 31), date(2024, 6, 1)]
    rows = [(1, 5, *at, *days), (5, -1, *at[::-1], *days[::-1]), (3, 3, at[0], at[0], days[0], days[0]), (None,) * 6]
    return spark.createDataFrame(rows, "i int, j int, t timestamp, u timestamp, d date, e date").localCheckpoint()


def test_sequences(spark, spans):
    check(spans, *exprs("sequence(i, j)", "sequence(t, u)", "sequence(d, e)"))
    for zone in ("UTC", "America/Los_Angeles"):
        spark.conf.set("spark.sql.session.timeZone", zone)
        up = spans.where("i is null or i < 5").localCheckpoint()
        days = ("interval 1 day", "interval 1 month", "interval 3 day", "make_interval(0, 1, 0, 1)")
        times = ("interval 1 hour", "interval '1 12:00:00' day to second", "interval 30 minute", "interval 1 day")
        check(up, *exprs(*(f"sequence(d, e, {s})" for s in days), *(f"sequence(t, u, {s})" for s in times)))
        check(spans.where("i = 5"), *exprs("sequence(d, e, interval -1 month)", "sequence(t, u, interval -7 hour)"))
    spark.conf.unset("spark.sql.session.timeZone")


@pytest.mark.parametrize("wrong", ["sequence(i, j, 1)", "sequence(i, j, 0)", "sequence(t, u, interval 1 hour)",
                                   "sequence(d, e, interval 1 hour)"])  # fmt: skip
def test_wrong_steps(spans, wrong):
    check(spans, F.expr(wrong))
