import pickle

import pytest
from pyspark.sql.types import DoubleType, IntegerType, LongType, StringType, StructType, TimestampType

from millstream.kernels.aggregation import aggregation
from millstream.plan.algebra import Aggregate, AggregateCall, Column, Expr, Node, Unsupported

WINDOW = Column(1, "window", StructType().add("start", TimestampType()).add("end", TimestampType()))
NAME = Column(2, "name", StringType())
AMOUNT = Column(3, "amount", IntegerType())
TIME = Column(4, "time", TimestampType())
NUMBER = Column(5, "number", DoubleType())
COUNT, SUM = Column(10, "count", LongType()), Column(11, "sum", LongType())
CALLS = (
    AggregateCall(Expr("Count", LongType(), (Expr("Literal", IntegerType(), (), {"value": 1}),)), False, None, COUNT),
    AggregateCall(Expr("Sum", LongType(), (AMOUNT.ref(),), {"mode": "ANSI"}), False, None, SUM),
)


def factory(keys, mode, event_time=None, calls=CALLS):
    columns = (*keys, *(call.result for call in calls))
    node = Aggregate(
        columns, Node((WINDOW, NAME, AMOUNT, TIME, NUMBER)), tuple((key, key.ref()) for key in keys), calls,
        tuple(column.ref() for column in columns), event_time,
    )  # fmt: skip
    return pickle.loads(pickle.dumps(aggregation(node, mode)))


def epochs(make, steps):
    """The output of each epoch; the state moves to another operator after each."""
    keyed = make()
    for rows, watermark in steps:
        yield keyed.update(rows, watermark, 0)
        other = make()
        other.restore(keyed.snapshot())
        keyed = other


STEPS = [
    ([((0, 10), "a", 2, 5), ((0, 10), "b", 1, None), ((0, 10), "a", 1, 1)], 5),
    ([((0, 10), "b", 1, 7), ((10, 20), "a", 1, 1)], 10),
    ([((0, 10), "a", 1, 1), ((10, 20), "a", 1, 2)], 10),
    ([((20, 30), "a", 1, 9)], 25),
    ([], 40),
    ([((20, 30), "a", 1, 9)], 41),
]


def test_update_mode_emits_what_changed_and_nothing_late():
    assert list(epochs(factory((WINDOW, NAME), "update", WINDOW), STEPS)) == [
        [((0, 10), "a", 3, 6), ((0, 10), "b", 1, None)],
        [((0, 10), "b", 2, 7), ((10, 20), "a", 1, 1)],
        [((10, 20), "a", 2, 3)],
        [((20, 30), "a", 1, 9)],
        [],
        [],
    ]


def test_append_mode_emits_a_group_once_when_the_watermark_reaches_its_end():
    assert list(epochs(factory((WINDOW, NAME), "append", WINDOW), STEPS)) == [
        [],
        [((0, 10), "a", 3, 6), ((0, 10), "b", 2, 7)],
        [],
        [((10, 20), "a", 2, 3)],
        [((20, 30), "a", 1, 9)],
        [],
    ]


def test_complete_mode_keeps_and_emits_everything():
    out = list(epochs(factory((WINDOW, NAME), "complete", WINDOW), STEPS))
    assert out[2] == [((0, 10), "a", 4, 7), ((0, 10), "b", 2, 7), ((10, 20), "a", 2, 3)]
    assert out[4] == [], "nothing changed"
    assert len(out[5]) == 4


def test_append_mode_needs_an_end():
    with pytest.raises(Unsupported, match="needs a watermark"):
        factory((NAME,), "append")


def test_a_group_whose_time_is_null_is_never_late_and_never_ends():
    steps = [([(None, 1, 1), (5, 1, 1)], 100), ([(None, 1, 2), (6, 1, 1)], 200)]
    assert list(epochs(factory((TIME,), "update", TIME), steps)) == [[(None, 1, 1), (5, 1, 1)], [(None, 2, 3)]]


def test_a_watermark_never_goes_back():
    keyed = factory((TIME,), "append", TIME)()
    assert keyed.update([(50, 1, 1)], 40, 0) == []
    assert keyed.update([], None, 0) == []
    assert keyed.update([(30, 1, 1)], 20, 0) == []
    assert keyed.update([], 50, 0) == [(50, 1, 1)]


def test_counts_are_changes_since_they_were_read():
    keyed = factory((WINDOW,), "append", WINDOW)()
    keyed.update([((0, 10), 1, 1), ((10, 20), 1, 1)], 10, 0)
    assert keyed.counts() == {
        "rows_total": 1, "rows_updated": 2, "rows_removed": 1, "rows_dropped_by_watermark": 0,
    }  # fmt: skip
    keyed.update([((0, 10), 1, 1)], 20, 0)
    assert keyed.counts() == {
        "rows_total": -1, "rows_updated": 0, "rows_removed": 1, "rows_dropped_by_watermark": 1,
    }  # fmt: skip


def test_one_nan_and_one_zero_as_keys_also_after_a_journey():
    nan = float("nan")
    steps = [([(nan, 1, 1), (-0.0, 1, 1)], None), ([(-nan, 1, 1), (0.0, 1, 1)], None)]
    out = list(epochs(factory((NUMBER,), "complete"), pickle.loads(pickle.dumps(steps))))[-1]
    assert [repr(row) for row in out] == ["(nan, 2, 2)", "(0.0, 2, 2)"]


def test_without_keys_there_is_one_group():
    assert list(epochs(factory((), "update"), [([(2, 3), (1, 1)], None), ([(1, None)], None), ([], None)])) == [
        [(3, 4)],
        [(4, 4)],
        [],
    ]


def test_without_functions_there_are_the_keys():
    assert list(epochs(factory((NAME,), "update", calls=()), [([("a",), ("b",), ("a",)], None)])) == [[("a",), ("b",)]]


def test_buffers_that_arrived_are_not_changed():
    items = AggregateCall(Expr("CollectList", LongType(), (AMOUNT.ref(),), {"nulls": False}), False, None, SUM)
    row = ("a", [1])
    keyed = factory((NAME,), "update", calls=(items,))()
    assert keyed.update([row, ("a", [2])], None, 0) == [("a", [1, 2])]
    emitted = keyed.update([("a", [3])], None, 0)
    keyed.update([("a", [4])], None, 0)
    assert (row, emitted) == (("a", [1]), [("a", [1, 2, 3])])


def test_the_code_is_shown():
    assert "def fold(" in factory((WINDOW, NAME), "update", WINDOW).source
