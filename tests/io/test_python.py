import datetime as dt
import pickle

import pyarrow as pa
import pytest
from pyspark.sql import Row
from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamReader,
    InputPartition,
    SimpleDataSourceStreamReader,
)
from pyspark.sql.streaming.datasource import ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import ArrayType, StringType, StructType

from millstream.io.python import PythonSource
from millstream.io.registry import find_source
from millstream.io.relation import relation
from millstream.kernels.batch import rows_of
from millstream.plan.algebra import Unsupported
from tests.io.driving import drain

SCHEMA = StructType().add("n", "long").add("at", "timestamp").add("words", ArrayType(StringType()))
AT = dt.datetime(2024, 7, 1, 12, 0, 0, 5)


class Numbers(DataSourceStreamReader):
    """Numbers below 5 x 2, in partitions of tuples, rows by name and Arrow."""

    def initialOffset(self):
        return {"n": 0}

    def latestOffset(self):
        return {"n": 10}

    def partitions(self, start, end):
        return [InputPartition((n, kind)) for n in range(start["n"], end["n"], 5) for kind in ("tuple", "row", "arrow")]

    def read(self, partition):
        n, kind = partition.value
        if kind == "tuple":
            yield (n, AT, ["a", None])
        elif kind == "row":
            yield Row(words=None, n=n + 1, at=None)
        else:
            schema = pa.schema({"n": pa.int64(), "at": pa.timestamp("us", "UTC"), "words": pa.list_(pa.string())})
            table = pa.table({"n": [n + 2], "at": [AT.replace(tzinfo=dt.UTC)], "words": [["x"]]})
            yield from table.cast(schema).to_batches()


class Steps(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A reader that goes in steps of at most three, up to a moving end."""

    def __init__(self):
        self.end = 10_000

    def initialOffset(self):
        return {"n": 0}

    def getDefaultReadLimit(self):
        return ReadMaxRows(3)

    def latestOffset(self, start, limit):
        assert limit == ReadMaxRows(3)
        return {"n": min(start["n"] + limit.max_rows, self.end)}

    def reportLatestOffset(self):
        return {"n": self.end}

    def prepareForTriggerAvailableNow(self):
        self.end = 7

    def partitions(self, start, end):
        return [InputPartition(n) for n in range(start["n"], end["n"])]

    def read(self, partition):
        yield (partition.value, None, None)


class Simple(SimpleDataSourceStreamReader):
    """Two rows a time, four in all; counts how often each was read."""

    def __init__(self):
        self.reads = 0

    def initialOffset(self):
        return {"at": 0}

    def read(self, start):
        self.reads += 1
        end = min(start["at"] + 2, 4)
        return iter([(n, None, None) for n in range(start["at"], end)]), {"at": end}

    def readBetweenOffsets(self, start, end):
        return iter([(n, None, None) for n in range(start["at"], end["at"])])


class Words(DataSource):
    kind = Numbers

    @classmethod
    def name(cls):
        return f"our-{cls.kind.__name__.lower()}"

    def schema(self):
        return SCHEMA

    def streamReader(self, schema):
        if self.kind is Simple:
            return super().streamReader(schema)
        return self.kind()

    def simpleStreamReader(self, schema):
        return self.kind()


class Stepping(Words):
    kind = Steps


class Simply(Words):
    kind = Simple


def source_of(cls):
    return PythonSource(cls.name(), pickle.dumps(cls({})), SCHEMA)


def micros(at):
    return round(at.timestamp() * 1_000_000)


def test_rows_of_all_kinds():
    rows, at = drain(source_of(Words))
    utc = micros(AT.replace(tzinfo=dt.UTC))
    assert rows == [
        row for n in (0, 5) for row in ((n, micros(AT), ["a", None]), (n + 1, None, None), (n + 2, utc, ["x"]))
    ]
    assert at == '{"n": 10}'


def test_a_reader_that_goes_in_steps_says_whether_there_is_more():
    splitter = source_of(Stepping).splitter()
    end = splitter.latest(splitter.initial(), 0.0)
    assert end == '{"n": 3}'
    assert splitter.more
    splitter.freeze(end, 0.0)
    end = splitter.latest(end, 0.0)
    end = splitter.latest(end, 0.0)
    assert end == '{"n": 7}'
    assert not splitter.more


def test_a_simple_reader_is_read_once_unless_its_slot_dies():
    source = source_of(Simply)
    rows, _ = drain(source)
    assert [row[0] for row in rows] == [0, 1, 2, 3]
    splitter = source.splitter()
    end = splitter.latest(splitter.initial(), 0.0)
    (split,) = splitter.splits(splitter.initial(), end, 4)
    assert splitter._simple.reads == 1
    (again,) = pickle.loads(pickle.dumps(source)).splitter().splits(splitter.initial(), end, 4)
    assert [b.rows for b in source.read(split)] == [b.rows for b in source.read(again)]


def test_without_a_notion_of_now_a_frozen_reader_takes_one_step():
    source = source_of(Simply)
    splitter = source.splitter()
    splitter.freeze(splitter.initial(), 0.0)
    assert len(drain(source, splitter=splitter)[0]) == 2


@pytest.mark.spark
def test_the_instance_is_taken_from_sparks_plan(spark):
    class Inner(DataSource):
        @classmethod
        def name(cls):
            return "our-inner"

        def schema(self):
            return "x string"

        def streamReader(self, schema):
            options = self.options

            class Reader(Numbers):
                def latestOffset(self):
                    return {"n": 1}

                def read(self, partition):
                    yield (f"{options['Word']}-{partition.value[1]}",)

            return Reader()

    spark.dataSource.register(Inner)
    frame = spark.readStream.format("our-inner").option("word", "hi").load()
    found = relation(frame._jdf.queryExecution().analyzed())
    assert (found.format, found.options, found.schema) == ("our-inner", {"word": "hi"}, frame.schema)
    rows, _ = drain(find_source(found.format, found.options, found.schema, found.pickled))
    query = frame.writeStream.format("memory").queryName("inner").start()
    query.processAllAvailable()
    query.stop()
    assert (
        sorted(rows) == sorted(rows_of(spark.table("inner").toArrow())) == [("hi-arrow",), ("hi-row",), ("hi-tuple",)]
    )


@pytest.mark.spark
def test_relations(spark, tmp_path):
    reader = spark.readStream

    def of(frame):
        found = relation(frame._jdf.queryExecution().analyzed())
        return found.format, dict(found.options), found.schema, found.pickled

    rate = reader.format("rate").option("rowsPerSecond", 3).load()
    assert of(rate) == ("rate", {"rowsPerSecond": "3"}, rate.schema, None)
    socket = spark.readStream.format("socket").options(host="h", port="1").load()
    assert of(socket) == ("socket", {"host": "h", "port": "1"}, socket.schema, None)
    text = spark.readStream.text(str(tmp_path))
    assert of(text) == ("text", {"path": str(tmp_path), "wholetext": "false"}, text.schema, None)
    csv = spark.readStream.schema("a int").option("timezone", "Asia/Tokyo").csv(str(tmp_path))
    options = {"path": str(tmp_path), "timezone": "Asia/Tokyo", "columnNameOfCorruptRecord": "_corrupt_record"}
    assert of(csv) == ("csv", options, csv.schema, None)
    (tmp_path / "k=1").mkdir()
    (tmp_path / "k=1" / "a").write_text("x\n")
    with pytest.raises(Unsupported, match="partition folders"):
        of(spark.readStream.text(str(tmp_path)))
    with pytest.raises(Unsupported):
        find_source("kafka", {}, text.schema)
