"""Every source and every sink through the front door, in a running query."""

import json
import os
import socket
import threading
import uuid
from collections import Counter
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F
from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    InputPartition,
    WriterCommitMessage,
)

import millstream
from millstream.errors import InvalidOption, QueryFailed
from tests.e2e.helpers import wait_for

pytestmark = pytest.mark.spark

SCHEMA = "n int, s string"


@contextmanager
def running(writer, engine="millstream"):
    """The query, stopped whatever happens."""
    query = writer.options(engine=engine, **({"slots": 2} if engine == "millstream" else {})).start()
    try:
        assert query.engine == engine
        yield query
    finally:
        query.stop()


def to_memory(df, mode="append"):
    """A writer, and the name of its table."""
    name = "t" + uuid.uuid4().hex
    return millstream.write_stream(df).format("memory").queryName(name).outputMode(mode), name


def drained(writer):
    """Run a query until it has read what there is; gives the query, which has ended."""
    with running(writer.trigger(availableNow=True)) as query:
        assert query.awaitTermination(60)
    return query


def rows_of(frame):
    return Counter(tuple(row) for row in frame.collect())


def put(folder, name, rows, format="json"):
    """A file that appears at once, as a good writer lets it."""
    folder.mkdir(exist_ok=True)
    hidden = folder / f".{name}"
    if format == "parquet":
        schema = pa.schema({"n": pa.int32(), "s": pa.string()})
        pq.write_table(pa.table([list(column) for column in zip(*rows)], schema=schema), hidden)
    elif format == "json":
        hidden.write_text("".join(json.dumps({"n": n, "s": s}) + "\n" for n, s in rows))
    else:
        hidden.write_text("".join(f"{n},{'' if s is None else s}\n" for n, s in rows))
    hidden.rename(folder / f"{name}.{format}")


@contextmanager
def server():
    """A server for one client; gives its port and what sends lines to the client."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        accepted = []
        thread = threading.Thread(target=lambda: accepted.append(listener.accept()[0]), daemon=True)
        thread.start()

        def send(*lines):
            thread.join(30)
            accepted[0].sendall("".join(line + "\n" for line in lines).encode())

        yield listener.getsockname()[1], send
        for connection in accepted:
            connection.close()


@pytest.mark.parametrize("format", ["text", "json", "csv", "parquet"])
def test_files_are_read_as_they_appear(spark, tmp_path, format):
    folder = tmp_path / "in"
    put(folder, "a", [(1, "x"), (2, None)], format)

    def loaded(reader):
        reader = reader.format(format)
        return (reader if format == "text" else reader.schema(SCHEMA)).load(str(folder))

    writer, table = to_memory(loaded(spark.readStream))
    with running(writer) as query:
        query.processAllAvailable()
        assert rows_of(spark.table(table)) == rows_of(loaded(spark.read))
        put(folder, "b", [(3, "ü"), (1, "x")], format)
        put(folder, "c", [(4, "")], format)
        query.processAllAvailable()
        assert rows_of(spark.table(table)) == rows_of(loaded(spark.read))
        assert query.lastProgress["sources"][0]["description"].startswith("FileStreamSource")
    assert spark.table(table).count() == 5
    assert sum(p["numInputRows"] for p in query.recentProgress) == 5


def test_lines_from_a_socket(spark):
    with server() as (port, send):
        lines = spark.readStream.format("socket").options(host="127.0.0.1", port=port, includeTimestamp=True).load()
        writer, table = to_memory(lines)
        with running(writer) as query:
            send("one two", "")
            wait_for(lambda: query.rows == 2)
            send("ü")
            wait_for(lambda: query.rows == 3)
            query.processAllAvailable()
        rows = sorted(spark.table(table).collect(), key=lambda row: row.timestamp)
        assert sorted(row.value for row in rows[:2]) == ["", "one two"]
        assert rows[2].value == "ü"
        assert rows[2].timestamp > rows[1].timestamp


def test_a_server_that_does_not_answer_is_named(spark):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    lines = spark.readStream.format("socket").options(host="127.0.0.1", port=port).load()
    with (
        running(millstream.write_stream(lines).format("noop")) as query,
        pytest.raises(QueryFailed, match=f"no server answers at 127.0.0.1:{port}"),
    ):
        query.awaitTermination(60)


def test_rates(spark):
    millstream.register(spark)
    rate = spark.readStream.format("rate").options(rowsPerSecond=500, numPartitions=1).load()
    writer, table = to_memory(rate)
    with running(writer) as query:
        wait_for(lambda: query.rows > 200)
    values = sorted(row.value for row in spark.table(table).collect())
    assert values == list(range(len(values)))

    def batch_of_ten(reader):
        return reader.format("rate-micro-batch").options(rowsPerBatch=10, startTimestamp=5000).load()

    writer, table = to_memory(batch_of_ten(spark.readStream))
    drained(writer)
    expected, theirs = to_memory(batch_of_ten(spark.readStream))
    with running(expected.trigger(availableNow=True), "structured-streaming") as query:
        assert query.awaitTermination(60)
    assert rows_of(spark.table(table)) == rows_of(spark.table(theirs))
    assert spark.table(table).count() == 10

    def thousand(reader):
        return reader.format("millstream-rate").options(rowsPerSecond=300, rows=1000, startTime=1_600_000_000).load()

    writer, table = to_memory(thousand(spark.readStream))
    drained(writer)
    assert rows_of(spark.table(table)) == rows_of(thousand(spark.read))


class Squares(DataSource):
    """A user's own source: squares, in two partitions."""

    @classmethod
    def name(cls):
        return "our-squares"

    def schema(self):
        return "n int, square long"

    def streamReader(self, schema):
        return SquaresReader(int(self.options["upTo"]))


class SquaresReader(DataSourceStreamReader):
    def __init__(self, end):
        self.end = end

    def initialOffset(self):
        return {"n": 0}

    def latestOffset(self):
        return {"n": self.end}

    def partitions(self, start, end):
        return [InputPartition((start["n"] + odd, end["n"])) for odd in (0, 1)]

    def read(self, partition):
        for n in range(*partition.value, 2):
            yield n, n * n


def test_a_users_own_source_and_a_union_of_sources(spark, tmp_path):
    spark.dataSource.register(Squares)
    squares = spark.readStream.format("our-squares").option("upTo", 9).load()
    put(tmp_path / "in", "a", [(100, "x"), (101, None)])
    put(tmp_path / "in", "b", [(102, "y")])
    files = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(tmp_path / "in"))
    writer, table = to_memory(squares.union(files.select("n", F.length("s").cast("long"))))
    query = drained(writer)
    assert rows_of(spark.table(table)) == Counter([*((n, n * n) for n in range(9)), (100, 1), (101, None), (102, 1)])
    names = sorted(source["description"] for source in query.lastProgress["sources"])
    assert len(names) == 2
    assert names[1] == "PythonDataSource[our-squares]"


def test_available_now_takes_what_is_there_at_the_start_and_ends(spark, tmp_path):
    folder = tmp_path / "in"
    for name in "abc":
        put(folder, name, [(ord(name), name)])
    taken = []

    def take(batch, number):
        taken.append([row.n for row in batch.collect()])
        put(folder, "late", [(0, "late")])

    files = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(folder))
    query = drained(millstream.write_stream(files).foreachBatch(take).option("foreachBatch.per", "epoch"))
    assert sorted(taken) == [[97], [98], [99]]
    assert not query.isActive
    assert query.exception() is None


@pytest.mark.parametrize("mode", ["append", "update", "complete"])
def test_the_memory_table_is_structured_streamings(spark, tmp_path, mode):
    """Step by step, so that both engines see the same rows in the same order."""
    folder = tmp_path / "in"
    put(folder, "a", [(1, "x"), (2, "y"), (4, "x")])
    files = spark.readStream.schema(SCHEMA).json(str(folder))
    query = files.where("n > 1") if mode == "append" else files.groupBy("s").agg(F.sum("n").alias("n"))
    ours, table = to_memory(query, mode)
    theirs, expected = to_memory(query, mode)
    with running(ours) as a, running(theirs, "structured-streaming") as b:
        for name, rows in (("", []), ("b", [(8, "x"), (16, "z")]), ("c", [(32, "y")])):
            if name:
                put(folder, name, rows)
            a.processAllAvailable()
            b.processAllAvailable()
            assert rows_of(spark.table(table)) == rows_of(spark.table(expected)), name
    assert spark.table(table).count() == {"append": 5, "update": 5, "complete": 3}[mode]


def test_the_console_prints_tables(spark, tmp_path, capsys):
    put(tmp_path / "in", "a", [(1, "a" * 30), (2, None)])
    files = spark.readStream.schema(SCHEMA).json(str(tmp_path / "in"))
    query = drained(millstream.write_stream(files).format("console"))
    printed = capsys.readouterr().out
    assert "Batch: 0\n" in printed
    assert f"|  1|{'a' * 17}...|" in printed
    assert "|  2|                NULL|" in printed
    assert query.lastProgress["sink"]["description"] == "ConsoleTable"
    drained(millstream.write_stream(files).format("console").options(truncate=False, numRows=1))
    printed = capsys.readouterr().out
    assert "only showing top 1 row" in printed


def test_noop_takes_everything(spark, tmp_path):
    put(tmp_path / "in", "a", [(n, "x") for n in range(500)])
    files = spark.readStream.schema(SCHEMA).json(str(tmp_path / "in"))
    query = drained(millstream.write_stream(files).format("noop"))
    assert sum(p["numInputRows"] for p in query.recentProgress) == 500


@pytest.mark.parametrize("format", ["parquet", "text"])
def test_written_files_are_what_spark_reads_at_any_time(spark, tmp_path, format):
    folder, out = tmp_path / "in", str(tmp_path / "out")
    put(folder, "a", [(1, "x"), (2, None), (3, "ü")])
    files = spark.readStream.schema(SCHEMA).json(str(folder))
    frame = files if format == "parquet" else files.select(F.concat_ws("-", "n", "s").alias("value"))

    def read():
        return rows_of(spark.read.format(format).load(out))

    def expected():
        rows = spark.read.schema(SCHEMA).json(str(folder))
        return rows_of(rows if format == "parquet" else rows.select(F.concat_ws("-", "n", "s")))

    with running(millstream.write_stream(frame).format(format).option("path", out)) as query:
        query.processAllAvailable()
        assert read() == expected()
        put(folder, "b", [(4, "y")])
        query.processAllAvailable()
        assert read() == expected()
    assert sum(read().values()) == 4


def test_files_in_folders(spark, tmp_path):
    put(tmp_path / "in", "a", [(1, "x/y"), (2, None), (3, "z")])
    files = spark.readStream.schema(SCHEMA).json(str(tmp_path / "in"))
    out = str(tmp_path / "out")
    drained(millstream.write_stream(files).format("parquet").partitionBy("s").option("path", out))
    assert rows_of(spark.read.parquet(out).select("n", "s")) == Counter([(1, "x/y"), (2, None), (3, "z")])


class Diary:
    """Writes down, on the slots, what happens to it."""

    def __init__(self, folder):
        self.folder = folder

    def open(self, partition, epoch):
        self.rows = []
        return True

    def process(self, row):
        self.rows.append([row.n, row["s"]])

    def close(self, error):
        with open(os.path.join(self.folder, uuid.uuid4().hex), "w") as file:
            json.dump([self.rows, repr(error)], file)


def test_foreach_takes_a_function_or_an_object(spark, tmp_path):
    put(tmp_path / "in", "a", [(1, "x"), (2, None)])
    files = spark.readStream.schema(SCHEMA).json(str(tmp_path / "in"))
    single, diary = tmp_path / "single", tmp_path / "diary"
    single.mkdir()
    diary.mkdir()
    marks = str(single)

    def mark(row):
        open(os.path.join(marks, f"{row.n}-{row.s}"), "w").close()

    drained(millstream.write_stream(files).foreach(mark))
    assert sorted(os.listdir(single)) == ["1-x", "2-None"]
    drained(millstream.write_stream(files).foreach(Diary(str(diary))))
    pages = [json.loads(page.read_text()) for page in diary.iterdir()]
    assert sorted(row for rows, _ in pages for row in rows) == [[1, "x"], [2, None]]
    assert {error for _, error in pages} == {"None"}


def test_foreach_batch_gets_a_real_dataframe(spark, tmp_path):
    folder, out = tmp_path / "in", str(tmp_path / "out")
    put(folder, "a", [(1, "x"), (2, "y")])
    names = spark.createDataFrame([("x", "ex")], "s string, name string")
    numbers = []

    def take(batch, number):
        numbers.append(number)
        batch.persist()
        batch.join(names, "s", "left").write.mode("append").parquet(out)
        batch.createOrReplaceTempView("batch_of_foreach")
        assert batch.sparkSession.sql("select count(*) c from batch_of_foreach").first().c == batch.count() > 0
        batch.unpersist()

    files = spark.readStream.schema(SCHEMA).json(str(folder))
    with running(millstream.write_stream(files).foreachBatch(take)) as query:
        query.processAllAvailable()
        put(folder, "b", [(3, "x")])
        query.processAllAvailable()
    assert rows_of(spark.read.parquet(out)) == Counter([("x", 1, "ex"), ("y", 2, None), ("x", 3, "ex")])
    assert len(numbers) == 2
    assert numbers == sorted(numbers)


class Ledger(DataSource):
    """A user's own sink: writes down what is committed."""

    @classmethod
    def name(cls):
        return "our-book"

    def streamWriter(self, schema, overwrite):
        return LedgerWriter(self.options["path"], self.options.get("refuse"))


class Entry(WriterCommitMessage):
    def __init__(self, numbers):
        self.numbers = numbers


class LedgerWriter(DataSourceStreamWriter):
    def __init__(self, path, refuse):
        self.path, self.refuse = path, refuse

    def write(self, rows):
        numbers = [row.n for row in rows]
        if self.refuse and int(self.refuse) in numbers:
            raise ValueError(f"no {self.refuse} in this book")
        return Entry(numbers)

    def commit(self, messages, batchId):
        with open(self.path, "a") as file:
            file.writelines(f"{n}\n" for message in messages for n in message.numbers)

    def abort(self, messages, batchId):
        pass


def test_a_users_own_sink(spark, tmp_path):
    spark.dataSource.register(Ledger)
    put(tmp_path / "in", "a", [(1, "x"), (2, "y")])
    files = spark.readStream.schema(SCHEMA).json(str(tmp_path / "in"))
    book = tmp_path / "book"
    drained(millstream.write_stream(files).format("our-book").option("path", str(book)))
    assert sorted(book.read_text().split()) == ["1", "2"]
    refusing = millstream.write_stream(files).format("our-book").options(path=str(tmp_path / "other"), refuse=2)
    with running(refusing) as query, pytest.raises(QueryFailed, match="no 2 in this book"):
        query.awaitTermination(60)
    assert not (tmp_path / "other").exists()


def test_a_sink_that_fails_ends_the_query_with_its_traceback(spark, tmp_path):
    put(tmp_path / "in", "a", [(1, "x")])
    files = spark.readStream.schema(SCHEMA).json(str(tmp_path / "in"))

    def refuse(row_or_batch, number=None):
        raise ValueError("the disk is full")

    for writer in (millstream.write_stream(files).foreach(refuse), millstream.write_stream(files).foreachBatch(refuse)):
        with running(writer) as query:
            with pytest.raises(QueryFailed, match="the disk is full") as error:
                query.awaitTermination(60)
            assert "in refuse" in str(error.value)
            assert query.exception() is error.value
            assert not query.isActive


def test_a_sink_that_does_not_take_the_mode_says_so(spark, tmp_path):
    put(tmp_path / "in", "a", [(1, "x")])
    counts = spark.readStream.schema(SCHEMA).json(str(tmp_path / "in")).groupBy("s").count()
    for mode in ("update", "complete"):
        writer = millstream.write_stream(counts).format("parquet").outputMode(mode)
        with pytest.raises(InvalidOption, match=f"does not take output mode '{mode}'"):
            writer.start(str(tmp_path / "out"))
    assert not (tmp_path / "out" / "_spark_metadata" / "0").exists()


def test_what_was_read_before_a_failure_is_at_the_sink(spark, tmp_path):
    folder = tmp_path / "in"
    put(folder, "a", [(1, "x")])
    refuse = F.udf(lambda n: 1 // (n - 7), "int")
    writer, table = to_memory(spark.readStream.schema(SCHEMA).json(str(folder)).select("n", refuse("n")))
    with running(writer) as query:
        query.processAllAvailable()
        put(folder, "b", [(7, "y")])
        with pytest.raises(QueryFailed, match="ZeroDivisionError"):
            query.awaitTermination(60)
    assert rows_of(spark.table(table).select("n")) == Counter([(1,)])
