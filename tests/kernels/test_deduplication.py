import pickle

from pyspark.sql.types import DoubleType, StringType, TimestampType

from millstream.kernels.deduplication import deduplication
from millstream.plan.algebra import Column, Deduplicate, Node

NAME = Column(1, "name", StringType())
TIME = Column(2, "time", TimestampType())
NUMBER = Column(3, "number", DoubleType())
COLUMNS = (NAME, TIME, NUMBER)


def epochs(keys, steps, **settings):
    make = pickle.loads(pickle.dumps(deduplication(Deduplicate(COLUMNS, Node(COLUMNS), keys, **settings))))
    keyed = make()
    for rows, watermark in steps:
        yield keyed.update(rows, watermark, 0)
        other = make()
        other.restore(keyed.snapshot())
        keyed = other
    yield keyed.counts()["rows_total"] if not steps else len(pickle.loads(keyed.snapshot())[1])


def test_without_a_watermark_keys_are_kept_forever():
    steps = [([("a", 1, 1.0), ("b", 2, 2.0), ("a", 3, 3.0)], None), ([("b", 9, 9.0), (None, 1, None)], 500)]
    assert list(epochs((NAME,), steps)) == [[("a", 1, 1.0), ("b", 2, 2.0)], [(None, 1, None)], 3]


def test_a_key_with_event_time_is_forgotten_at_its_time():
    steps = [([("a", 10, 1.0), ("a", 20, 2.0), ("a", 10, 3.0)], 10), ([("a", 10, 4.0), ("a", 20, 5.0)], 15)]
    assert list(epochs((NAME, TIME), steps, event_time=TIME)) == [[("a", 10, 1.0), ("a", 20, 2.0)], [], 1]


def test_late_rows_are_dropped_also_if_the_key_has_no_time():
    steps = [([("a", 10, 1.0)], 8), ([("b", 8, 1.0), ("c", 9, 1.0), ("a", 30, 1.0)], 20)]
    assert list(epochs((NAME,), steps, event_time=TIME)) == [[("a", 10, 1.0)], [("c", 9, 1.0)], 2]


def test_within_the_watermark_a_key_is_forgotten_a_delay_after_its_first_row():
    steps = [([("a", 10, 1.0)], 0), ([("a", 14, 2.0)], 14), ([("a", 18, 3.0)], 15), ([("a", 19, 4.0)], 15)]
    settings = {"within_watermark": True, "event_time": TIME, "delay": 5}
    assert list(epochs((NAME,), steps, **settings)) == [[("a", 10, 1.0)], [], [], [("a", 19, 4.0)], 1]


def test_one_nan_and_one_zero():
    steps = [([("a", 1, float("nan")), ("a", 1, -0.0)], None), ([("b", 1, -float("nan")), ("b", 1, 0.0)], None)]
    first, second, kept = epochs((NUMBER,), steps)
    assert (len(first), second, kept) == (2, [], 2)
