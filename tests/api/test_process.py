import pytest
from pyspark.sql import functions as F

from millstream.api.process import KeyedProcess, flat_map, process, sliding, tumbling
from millstream.errors import InvalidOption
from millstream.plan.algebra import FlatMap, Node, Process
from millstream.plan.expressions import column_of, items

pytestmark = pytest.mark.spark


class Count(KeyedProcess):
    def init(self, key, window):
        return 0

    def update(self, key, value, state, time):
        return state + 1, None


@pytest.fixture(scope="module")
def frame(spark):
    stream = spark.readStream.format("rate").load()
    return stream.withColumn("word", F.col("value").cast("string")).withWatermark("timestamp", "1 second")


def translate(df):
    return Node(tuple(column_of(a) for a in items(df._jdf.queryExecution().analyzed().output())))


def made(frame):
    node = frame.node(translate)
    ids = [c.id for c in node.input.output]
    assert all(c.id in ids for c in (*node.keys, *node.values))
    return node


def names(columns):
    return [c.name for c in columns]


def test_columns_are_planned_by_spark_and_the_watermarks_column_is_the_time(frame):
    made_by = process(
        frame, key="word", value=F.col("value") * 2, process=Count(), output="word string, n long",
        window=sliding("30 seconds", "5 seconds"),
    )  # fmt: skip
    node = made(made_by)
    assert isinstance(node, Process)
    assert (names(node.keys), names(node.values), names(node.output)) == (["word"], ["(value * 2)"], ["word", "n"])
    assert (node.time.name, node.event, node.plain, node.window) == ("timestamp", True, True, (30_000_000, 5_000_000))
    assert made_by.root.columns == ["word", "(value * 2)", "timestamp"]
    assert made_by.schema.simpleString() == "struct<word:string,n:bigint>"


def test_without_a_value_all_columns_are_given_once(frame):
    node = made(process(frame, key=["word", "value"], process=Count(), output="n long", time_mode="processing"))
    assert names(node.values) == ["timestamp", "value", "word"]
    assert (node.plain, node.time, node.event, node.window) == (False, None, False, None)
    assert sorted(names(node.input.output)) == ["timestamp", "value", "word"]


def test_several_rounds_with_a_function_in_front(frame):
    words = flat_map(frame, lambda row: [(row.word, row.timestamp)], "word string, at timestamp")
    first = process(
        words, key="word", process=Count(), output="size int, at timestamp", window=tumbling("1 minute"), time="at"
    )
    second = process(first, key="size", value="at", process=Count(), output="n long", time="at")
    node = made(second)
    assert (names(node.keys), names(node.values), node.time.name, node.window) == (["size"], ["at"], "at", None)
    inner = node.input
    assert isinstance(inner, Process)
    assert (names(inner.values), inner.time.name) == (["word", "at"], "at")
    assert isinstance(inner.input, FlatMap)
    assert names(inner.input.input.output) == ["timestamp", "value", "word"]
    ids = [c.id for n in (node, inner, inner.input, inner.input.input) for c in n.output]
    assert len(ids) == len(set(ids))
    assert second.root is frame


def test_what_is_wrong_is_said(spark, frame):
    def refused(match, df=frame, **changed):
        settings = {"key": "word", "process": Count(), "output": "n long"} | changed
        with pytest.raises(InvalidOption, match=match):
            process(df, **settings)

    refused("no column 'wrod'; there are timestamp, value, word", key="wrod")
    refused("no column 'late'", time="late")
    refused("'event' or 'processing'", time_mode="wall")
    refused("no method 'init'", process=object())
    refused("StructType or text", output="long")
    refused("need a watermark", df=spark.range(3).selectExpr("id as word"), window=tumbling("1 s"))
    processed = flat_map(frame, list, "word string")
    refused("given by name", df=processed, key=F.col("word"))
    refused("need a watermark", df=processed, window=tumbling("1 s"))
    for size, slide in (("1 s", "2 s"), ("0 s", "0 s"), ("1 s", "0 s")):
        with pytest.raises(InvalidOption, match="can't slide"):
            sliding(size, slide)
    with pytest.raises(InvalidOption, match="no duration"):
        tumbling("soon")
