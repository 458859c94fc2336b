import pytest
from pyspark.sql.types import StructType

from millstream.bench.latency import Live
from millstream.bench.results import Results
from millstream.bench.workloads import WORKLOADS, Variant
from millstream.kernels.batch import Batch

YSB = WORKLOADS["ysb"](Variant())
SESSIONS = WORKLOADS["sessions"](Variant())
COUNTS = StructType().add("campaign_id", "string").add("window_end", "timestamp").add("count", "long")
VISITS = StructType().add("visitor", "string").add("session_end", "timestamp").add("clicks", "long")


def counts(*batches):
    return Results(YSB, [Batch.of_rows(COUNTS, rows) for rows in batches])


def visits(*rows):
    return Results(SESSIONS, [Batch.of_rows(VISITS, rows)])


def test_later_rows_of_a_key_replace_earlier_ones():
    assert counts([("a", 1, 5), ("b", 1, 1)], [("a", 1, 7)]).match(counts([("a", 1, 7), ("b", 1, 1)]))
    assert not counts([("a", 1, 7)], [("a", 1, 5)]).match(counts([("a", 1, 7)]))


@pytest.mark.parametrize("wrong", [[], [("a", 1, 7)], [("a", 1, 7), ("b", 1, 1), ("c", 1, 1)]])
def test_missing_and_additional_rows_are_seen(wrong):
    assert not counts(wrong).match(counts([("a", 1, 7), ("b", 1, 1)]))


def test_rows_that_wait_for_a_watermark_may_be_missing_but_only_the_last_ones():
    expected = visits(("a", 1, 1), ("b", 2, 1), ("c", 3, 1))
    assert visits(("a", 1, 1), ("b", 2, 1)).match(expected)
    assert not visits(("b", 2, 1)).match(expected)
    assert not visits(("a", 1, 1), ("a", 1, 1)).match(expected)
    assert not visits().match(expected)


def live(latencies, finished=True):
    class Engine:
        settings = {}

    return Live(Engine, 1000, latencies, finished, 1, True)


def test_an_engine_whose_results_fall_back_is_behind_and_has_no_latency():
    steady = live([(float(i), 0.2) for i in range(10)])
    assert steady.achieved_rate == pytest.approx(1000)
    assert steady.figures()["final_window_ms"]["p50"] == 200.0
    slower = live([(float(i), 0.2 + i) for i in range(10)])
    assert slower.achieved_rate == pytest.approx(500)
    assert (slower.behind, slower.figures()["final_window_ms"]) == (True, None)
    assert live([(float(i), 0.2) for i in range(10)], finished=False).behind
