import pickle
from collections import namedtuple
from datetime import datetime
from types import SimpleNamespace

import pytest
from pyspark.sql.types import IntegerType, LongType, StringType, StructType, TimestampType

from millstream.api.process import KeyedProcess
from millstream.errors import FunctionFailed
from millstream.kernels.batch import Batch
from millstream.kernels.keyed import FlatMapSpec, processing
from millstream.plan.algebra import Column, FlatMap, Node, Process, schema_of

WORD, TIME, NUMBER = Column(1, "word", StringType()), Column(2, "time", TimestampType()), Column(3, "n", IntegerType())
INPUT = (WORD, TIME, NUMBER)
OUTPUT = (Column(11, "word", StringType()), Column(12, "end", TimestampType()), Column(13, "sum", LongType()))
SECOND = 1_000_000


class Sums(KeyedProcess):
    """Adds up; says so at each number above 100."""

    def init(self, key, window):
        return 0

    def update(self, key, value, state, time):
        return state + value, [(key, time, -value)] if value > 100 else None

    def finalize(self, key, window, state):
        yield {"sum": state, "word": key, "end": window.end}


def factory(process, window=(10 * SECOND, 5 * SECOND), event=True, keys=(WORD,), values=(NUMBER,), plain=True):
    node = Process(
        OUTPUT, Node(INPUT), keys, values, plain, TIME if event else None, process, window, event, "Asia/Tokyo"
    )
    return processing(node)


def epochs(make, steps):
    keyed = make()
    for rows, watermark, now in steps:
        yield keyed.update(
            [(w, t if t is None else t * SECOND, n) for w, t, n in rows], watermark * SECOND, now * SECOND
        )
        other = make()
        other.restore(keyed.snapshot())
        keyed = other


def test_event_time_windows_overlap_and_end_with_the_watermark():
    steps = [
        ([("a", 3, 1), ("b", 7, 2), ("a", 7, 4), ("a", None, 9)], 4, 0),
        ([("b", 10, 500)], 10, 0),
        ([("a", 4, 8), ("a", 9, 16)], 20, 0),
        ([], 99, 0),
    ]
    assert list(epochs(factory(Sums()), steps)) == [
        [],
        [("b", 10 * SECOND, -500), ("b", 10 * SECOND, -500), ("a", 5 * SECOND, 1), ("a", 10 * SECOND, 5),
         ("b", 10 * SECOND, 2)],
        [("b", 15 * SECOND, 502), ("a", 15 * SECOND, 20), ("b", 20 * SECOND, 500)],
        [],
    ]  # fmt: skip


def test_processing_time_windows_end_with_the_clock():
    steps = [([("a", None, 1)], 0, 3), ([("a", None, 2)], 0, 9), ([("a", None, 4)], 0, 10), ([], 0, 25)]
    make = factory(Sums(), window=(10 * SECOND, 10 * SECOND), event=False)
    assert list(epochs(make, steps)) == [
        [],
        [],
        [("a", 10 * SECOND, 3)],
        [("a", 20 * SECOND, 4)],
    ]


class Third(Sums):
    """Emits every third sum and lets go of the key."""

    def init(self, key, window):
        return []

    def update(self, key, value, state, time):
        state.append(value.n)
        return (None, [(str(key), time, sum(state))]) if len(state) == 3 else (state, ())


def test_without_windows_a_state_lives_until_it_is_none():
    steps = [([("a", 1, 1), ("a", 2, 2), ("b", 3, 3)], 0, 0), ([("a", 3, 4)], 3, 0), ([("a", 2, 9), ("a", 9, 5)], 9, 0)]
    make = factory(Third(), window=None, values=INPUT, plain=False, keys=(WORD, WORD))
    assert list(epochs(make, steps)) == [[], [("Row(word='a', word='a')", 3 * SECOND, 7)], []]
    keyed = make()
    keyed.update([("a", 5, 1)] * 3 + [("b", 5, 1)], None, 0)
    assert keyed.counts() == {
        "rows_total": 1, "rows_updated": 4, "rows_removed": 1, "rows_dropped_by_watermark": 0,
    }  # fmt: skip


def test_the_user_sees_plain_values_in_the_sessions_time_zone():
    seen = []

    class Watch(Sums):
        def init(self, key, window):
            seen.append((key, window.start, window.end))
            return 0

        def update(self, key, value, state, time):
            seen.append((value, time))
            return state, None

    make = factory(Watch(), window=(10 * SECOND, 10 * SECOND), values=(NUMBER, TIME), plain=False)
    make().update([("a", 12 * SECOND, 7)], None, 0)
    nine = datetime(1970, 1, 1, 9)
    assert seen[0] == ("a", nine.replace(second=10), nine.replace(second=20))
    assert (seen[1][0].n, seen[1][0].time, seen[1][1]) == (7, nine.replace(second=12), nine.replace(second=12))


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"init": lambda key, window: 1 / 0}, r"'Broken.init' failed .ZeroDivisionError"),
        ({"update": lambda *_: 1 / 0}, r"'Broken.update' failed .ZeroDivisionError"),
        ({"update": lambda *_: 5}, r"Broken.update must return .state, rows., not 5"),
        ({"update": lambda *_: (0, [("a",)])}, "Broken.update"),
        ({"finalize": lambda *_: [("a", None, "x")]}, "Broken.finalize"),
    ],
)
def test_errors_name_the_method_and_keep_their_traceback(broken, message):
    process = type("Broken", (SimpleNamespace,), {})(
        **{"init": lambda key, window: 0, "update": lambda *_: (0, None), "finalize": lambda *_: None} | broken
    )
    keyed = factory(process)()
    with pytest.raises(FunctionFailed, match=message) as caught:
        keyed.update([("a", 1, 1)], 100 * SECOND, 0)
    assert caught.value.__cause__ is not None or "must return" in message


def test_states_of_classes_that_only_the_program_knows():
    Point = namedtuple("Point", "x")

    class Local(Sums):
        def init(self, key, window):
            return Point(0)

        def update(self, key, value, state, time):
            return Point(state.x + value), None

        def finalize(self, key, window, state):
            return [(key, None, state.x)]

    steps = [([("a", 1, 1)], 0, 0), ([("a", 1, 2)], 20, 0)]
    make = factory(Local(), window=(10 * SECOND, 10 * SECOND))
    assert list(epochs(make, steps)) == [[], [("a", None, 3)]]


def split(row):
    return [(word, row.time, row.n) for word in row.word.split()]


def test_flat_map_gives_any_number_of_rows():
    spec = pickle.loads(pickle.dumps(FlatMapSpec(FlatMap(OUTPUT, Node(INPUT), split, "UTC"))))
    batch = Batch.of_rows(schema_of(INPUT), [("to be", 5, 1), ("", 6, 2), ("or", None, 3)])
    made, mark = spec.start().run(batch)
    assert (list(made.rows), mark, spec.output) == ([("to", 5, 1), ("be", 5, 1), ("or", None, 3)], None, OUTPUT)
    assert isinstance(made.schema, StructType)
    with pytest.raises(FunctionFailed, match="split"):
        spec.start().run(Batch.of_rows(schema_of(INPUT), [(None, 5, 1)]))
