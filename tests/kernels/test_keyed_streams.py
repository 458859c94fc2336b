"""Watermarks, lateness and eviction as Structured Streaming has them, epoch by epoch."""

import json
from collections import Counter

import pytest
from pyspark.sql import functions as F

from millstream.kernels.batch import rows_of
from millstream.kernels.deduplication import deduplication
from millstream.plan.aggregates import read_aggregate
from millstream.plan.algebra import Deduplicate, Node
from millstream.plan.expressions import column_of, items
from tests.kernels.keyed_oracle import input_rows, moved, operator, optimized, partial

pytestmark = [pytest.mark.spark, pytest.mark.soak, pytest.mark.timeout(900)]

EPOCHS = (
    [(1, "a"), (3, "b"), (4, "a"), (1, "a")],
    [(12, "a"), (11, "b"), (3, "a"), (14, "c")],
    [(2, "a"), (5, "b"), (26, "a"), (9, "c"), (10, "c"), (14, "c")],
    [(27, "a"), (15, "a"), (24, "c"), (41, "b")],
    [(60, "z"), (33, "a"), (36, "a"), (31, "a")],
)
DELAY = 5
SCHEMA = "s long, k string, n long"


def timed(frame):
    return frame.select(F.timestamp_seconds("s").alias("ts"), "k", "n").withWatermark("ts", f"{DELAY} seconds")


def windows(frame):
    return frame.groupBy(F.window("ts", "10 seconds"), "k").agg(F.count("*"), F.sum("n"))


def sliding(frame):
    return frame.groupBy("k", F.window("ts", "10 seconds", "5 seconds")).agg(F.sum("n"), F.count("*"))


def instants(frame):
    return frame.groupBy("ts").agg(F.count("*"), F.max("k"))


def by_session(frame):
    return frame.groupBy(F.session_window("ts", "4 seconds"), "k").agg(F.count("*"), F.sum("n"))


def by_gap(frame):
    gap = F.when(F.col("k") == "a", "10 seconds").otherwise("2 seconds")
    return frame.groupBy(F.session_window("ts", gap), "k").agg(F.count("*"), F.sum("n"))


def keys(frame):
    return frame.dropDuplicates(["k"])


def timed_keys(frame):
    return frame.dropDuplicates(["ts", "k"])


def recent_keys(frame):
    return frame.dropDuplicatesWithinWatermark(["k"])


QUERIES = [
    (windows, "append"), (windows, "update"), (windows, "complete"), (sliding, "append"), (instants, "append"),
    (instants, "update"), (by_session, "append"), (by_session, "complete"), (by_gap, "append"), (keys, "append"),
    (timed_keys, "append"), (recent_keys, "append"),
]  # fmt: skip


@pytest.fixture(scope="module")
def streams(spark, tmp_path_factory):
    """The epochs' rows, and for each query its frame and what Structured Streaming gave in each epoch."""
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    place = tmp_path_factory.mktemp("epochs")
    frame = timed(spark.readStream.schema(SCHEMA).json(str(place)))
    running = []
    for number, (query, mode) in enumerate(QUERIES):
        writer = query(frame).writeStream.format("memory").queryName(f"q{number}").outputMode(mode)
        running.append(writer.option("checkpointLocation", str(tmp_path_factory.mktemp("state"))).start())
    answers = [[] for _ in QUERIES]
    epochs = []
    n = 0
    for number, rows in enumerate(EPOCHS):
        lines = []
        for s, k in rows:
            n += 1
            lines.append(json.dumps({"s": s, "k": k, "n": n}))
        (place / f".{number}").write_text("\n".join(lines))
        (place / f".{number}").rename(place / f"{number}.json")
        epochs.append(timed(spark.read.schema(SCHEMA).json(str(place / f"{number}.json"))).coalesce(1))
        for q, (query, answer) in enumerate(zip(running, answers)):
            query.processAllAvailable()
            answer.append(rows_of(spark.table(f"q{q}").toArrow()))
    for query in running:
        query.stop()
    return epochs, {pair: (pair[0](frame), answer) for pair, answer in zip(QUERIES, answers)}


@pytest.mark.parametrize(("query", "mode"), QUERIES, ids=lambda value: getattr(value, "__name__", value))
def test_epochs_are_structured_streamings(streams, query, mode):
    epochs, answers = streams
    stream, expected = answers[query, mode]
    factory, prepare = operator_of(stream, mode)
    keyed = factory()
    watermark = 0
    before = Counter()
    for number, (epoch, rows) in enumerate(zip(epochs, EPOCHS)):
        watermark = max(watermark, (max(s for s, _ in rows) - DELAY) * 1_000_000)
        got = Counter(keyed.update(prepare(input_rows(query(epoch))), watermark, 0))
        keyed = moved(keyed, factory)
        table = Counter(expected[number])
        assert got == (table if mode == "complete" else table - before), f"epoch {number}"
        before = table
    assert before, "a test without an answer"


def operator_of(stream, mode):
    """The operator's factory, and what makes its rows."""
    plan = optimized(stream)
    if plan.getClass().getSimpleName() == "Aggregate":
        node = read_aggregate(plan)
        assert node.event_time is not None
        return operator(node, mode), partial(node)
    columns = tuple(column_of(a) for a in items(plan.output()))
    keys = tuple(column_of(a) for a in items(plan.keys()))
    within = plan.getClass().getSimpleName() == "DeduplicateWithinWatermark"
    return deduplication(Deduplicate(columns, Node(columns), keys, within, columns[0], DELAY * 1_000_000)), list
