import pickle
import random

import pytest
from pyspark.sql.types import IntegerType, LongType, StringType, StructType, TimestampType

from millstream.kernels.sessions import sessions
from millstream.plan.algebra import Aggregate, AggregateCall, Column, Expr, Node, Unsupported

SESSION = Column(1, "session", StructType().add("start", TimestampType()).add("end", TimestampType()))
NAME = Column(2, "name", StringType())
COUNT = Column(10, "count", LongType())
CALL = AggregateCall(Expr("Count", LongType(), (Expr("Literal", IntegerType(), (), {"value": 1}),)), False, None, COUNT)


def factory(mode, event_time=SESSION):
    columns = (NAME, SESSION, COUNT)
    node = Aggregate(
        columns, Node((SESSION, NAME)), ((NAME, NAME.ref()), (SESSION, SESSION.ref())), (CALL,),
        tuple(column.ref() for column in columns), event_time, SESSION,
    )  # fmt: skip
    return pickle.loads(pickle.dumps(sessions(node, mode)))


def epochs(make, steps):
    keyed = make()
    for rows, watermark in steps:
        yield keyed.update(rows, watermark, 0)
        other = make()
        other.restore(keyed.snapshot())
        keyed = other


def test_a_session_ends_when_the_watermark_reaches_its_last_end():
    steps = [
        ([("a", (0, 5), 1), ("b", (2, 7), 1), ("a", (4, 9), 1)], 3),
        ([("a", (9, 14), 2), ("b", (8, 13), 1)], 8),
        ([("a", (2, 7), 1), ("a", (20, 25), 1)], 14),
        ([], 100),
    ]
    assert list(epochs(factory("append"), steps)) == [
        [],
        [("b", (2, 7), 1)],
        [("a", (0, 14), 4), ("b", (8, 13), 1)],
        [("a", (20, 25), 1)],
    ]


def test_a_row_joins_the_sessions_on_both_of_its_sides():
    steps = [([("a", (0, 5), 1), ("a", (8, 13), 1)], None), ([("a", (5, 9), 1)], None)]
    assert list(epochs(factory("complete"), steps)) == [
        [("a", (0, 5), 1), ("a", (8, 13), 1)],
        [("a", (0, 13), 3)],
    ]


@pytest.mark.parametrize("seed", range(20))
def test_any_order_gives_the_unions_of_what_touches(seed):
    rng = random.Random(seed)
    spans = [(start, start + rng.randint(1, 6)) for start in rng.choices(range(100), k=30)]
    expected = []
    for start, end in sorted(spans):
        if expected and start <= expected[-1][1]:
            first, last, n = expected.pop()
            expected.append((first, max(last, end), n + 1))
        else:
            expected.append((start, end, 1))
    steps = [([("a", span, 1) for span in spans[i : i + 4]], None) for i in range(0, 30, 4)]
    assert list(epochs(factory("complete"), steps))[-1] == [("a", (s, e), n) for s, e, n in expected]


def test_counts():
    keyed = factory("append")()
    keyed.update([("a", (0, 5), 1), ("a", (3, 8), 1), ("b", (0, 2), 1)], 2, 0)
    keyed.update([("b", (0, 2), 1)], 2, 0)
    assert keyed.counts() == {
        "rows_total": 1, "rows_updated": 3, "rows_removed": 1, "rows_dropped_by_watermark": 1,
    }  # fmt: skip


def test_modes_follow_sparks_rules():
    with pytest.raises(Unsupported, match="no update mode"):
        factory("update")
    with pytest.raises(Unsupported, match="needs a watermark"):
        factory("append", None)
