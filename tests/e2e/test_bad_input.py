"""What is wrong is said clearly, and what was accepted before is not lost."""

import json
import subprocess
import sys
import uuid
from collections import Counter

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

import millstream
from millstream.errors import InvalidOption, NotEnoughCores, QueryFailed, UnsupportedQuery

pytestmark = pytest.mark.spark

SCHEMA = "n int, s string"


def put(folder, name, text):
    """A file that appears at once."""
    folder.mkdir(exist_ok=True)
    hidden = folder / f".{name}"
    hidden.write_text(text)
    hidden.rename(folder / name)
    return str(folder)


def to_memory(df, **options):
    """A writer, and the name of its table."""
    name = "t" + uuid.uuid4().hex
    writer = millstream.write_stream(df).format("memory").queryName(name)
    return writer.options(engine="millstream", slots=2, **options), name


def drain(writer):
    query = writer.trigger(availableNow=True).start()
    try:
        assert query.awaitTermination(60)
    finally:
        query.stop()


def failure_of(writer):
    """How a query over what is there fails; `exception()` says the same."""
    query = writer.trigger(availableNow=True).start()
    try:
        with pytest.raises(QueryFailed) as error:
            query.awaitTermination(60)
        assert query.exception() is error.value
        return str(error.value)
    finally:
        query.stop()


def rows_of(frame):
    return Counter(tuple(row) for row in frame.collect())


LINES = ['{"n":1,"s":"x"}', '{"n":"one","s":"y"}', '{"n":2', "[1,2]", "nothing", "", '{"s":"z","more":[{}]}']


def test_malformed_records_are_treated_as_the_mode_says(spark, tmp_path):
    path = put(tmp_path / "in", "a.json", "\n".join(LINES) + "\n")
    schema = SCHEMA + ", _corrupt_record string"
    for mode in ("PERMISSIVE", "DROPMALFORMED"):
        writer, table = to_memory(spark.readStream.schema(schema).option("mode", mode).json(path))
        drain(writer)
        expected = spark.read.schema(schema).option("mode", mode).json(path)
        assert rows_of(spark.table(table)) == rows_of(expected)
    strict, _ = to_memory(spark.readStream.schema(SCHEMA).option("mode", "FAILFAST").json(path))
    assert "MALFORMED_RECORD" in failure_of(strict)


def test_what_came_before_a_malformed_record_is_at_the_sink(spark, tmp_path):
    path = put(tmp_path / "in", "a.json", LINES[0] + "\n")
    writer, table = to_memory(spark.readStream.schema(SCHEMA).option("mode", "FAILFAST").json(path))
    query = writer.start()
    try:
        query.processAllAvailable()
        put(tmp_path / "in", "b.json", "broken\n")
        with pytest.raises(QueryFailed, match="MALFORMED_RECORD"):
            query.awaitTermination(60)
    finally:
        query.stop()
    assert rows_of(spark.table(table)) == Counter([(1, "x")])


def test_huge_records_pass_or_are_refused_by_name(spark, tmp_path):
    huge = json.dumps({"n": 7, "s": "ü" * 3_000_000})
    path = put(tmp_path / "in", "a.json", f"{huge}\n{LINES[0]}\n")
    frame = spark.readStream.schema(SCHEMA).json(path)
    writer, table = to_memory(frame)
    drain(writer)
    assert rows_of(spark.table(table).selectExpr("n", "length(s)")) == Counter([(7, 3_000_000), (1, 1)])
    writer, table = to_memory(frame.groupBy("s").count().selectExpr("length(s)", "count"))
    drain(writer.outputMode("complete"))
    assert rows_of(spark.table(table)) == Counter([(3_000_000, 1), (1, 1)])
    for refused in (frame, frame.groupBy("s").count()):
        writer, _ = to_memory(refused, maxMessageBytes=1 << 20)
        assert "raise the option maxMessageBytes" in failure_of(writer.outputMode("update"))


def test_files_of_another_schema_or_format(spark, tmp_path):
    path = str(tmp_path / "texts")
    spark.createDataFrame([("a",)], "n string").coalesce(1).write.parquet(path)
    writer, _ = to_memory(spark.readStream.schema("n int").parquet(path))
    story = failure_of(writer)
    assert ".parquet is string, which can't be read as int32: give the type that the file has" in story
    path = put(tmp_path / "in", "a.parquet", "this is no parquet")
    writer, _ = to_memory(spark.readStream.schema("n int").parquet(path))
    assert "a.parquet can't be read as Parquet" in failure_of(writer)


STOPPED_SESSION = """
import millstream
from millstream.errors import SlotsUnavailable
spark = millstream.local_session(1)
query = millstream.write_stream(spark.readStream.format("rate").load()).format("noop").option("slots", 1).start()
query.processAllAvailable()
spark.stop()
try:
    query.awaitTermination(60)
except SlotsUnavailable as error:
    print(error)
query.stop()
"""


def test_a_session_that_is_stopped_ends_its_queries():
    done = subprocess.run(
        [sys.executable, "-c", STOPPED_SESSION], check=False, capture_output=True, text=True, timeout=100
    )
    assert "stopped while the query was running" in done.stdout, done.stderr
    assert "Traceback" not in done.stderr


def test_unknown_names(spark, tmp_path):
    millstream.register(spark)
    with pytest.raises(Exception, match="DATA_SOURCE_NOT_FOUND"):
        spark.readStream.format("nonsense").load()
    with pytest.raises(AnalysisException, match="PATH_NOT_FOUND"):
        spark.readStream.text(str(tmp_path / "nowhere"))
    with pytest.raises(AnalysisException, match="did you mean 'rowsPerSecond'"):
        spark.readStream.format("millstream-rate").option("rowPerSecond", 3).load()
    text = spark.readStream.text(put(tmp_path / "in", "a", "x\n"))
    with pytest.raises(AnalysisException, match=r"UNRESOLVED_COLUMN[\s\S]*`nope`"):
        text.select("nope")
    writer = millstream.write_stream(text)
    with pytest.raises(UnsupportedQuery, match="nonsense: there is no native sink"):
        writer.format("nonsense").option("engine", "millstream").start()
    with (
        pytest.warns(UserWarning, match="nonsense: there is no native sink"),
        pytest.raises(Exception, match="DATA_SOURCE_NOT_FOUND"),
    ):
        writer.option("engine", "auto").start()


def test_wrong_options(spark, tmp_path):
    text = spark.readStream.text(put(tmp_path / "in", "a", "x\n"))
    out = str(tmp_path / "out")
    for says, start in (
        ("did you mean 'numRows'", lambda w: w.format("console").option("numrow", 3).start()),
        ("takes a whole number, not 'many'", lambda w: w.format("console").option("numRows", "many").start()),
        ("slots must be at least 1", lambda w: w.format("noop").option("slots", 0).start()),
        ("needs the option 'path'", lambda w: w.format("parquet").start()),
        ("no column 'nope'; columns are value", lambda w: w.format("parquet").partitionBy("nope").start(out)),
        ("at least one must be left", lambda w: w.format("parquet").partitionBy("value").start(out)),
        ("is one of group, epoch", lambda w: w.foreachBatch(print).option("foreachBatch.per", "row").start()),
    ):
        with pytest.raises(InvalidOption, match=says):
            start(millstream.write_stream(text))
    two = spark.readStream.schema(SCHEMA).json(str(tmp_path / "in"))
    with pytest.raises(InvalidOption, match="one column, of strings"):
        millstream.write_stream(two).format("text").start(out)
    with pytest.raises(InvalidOption, match="two columns of one name"):
        millstream.write_stream(two.selectExpr("n a", "s a")).format("memory").queryName("twice").start()
    assert not millstream.active()


def test_a_window_without_watermark_is_sparks_error_in_append_mode(spark, tmp_path):
    text = spark.readStream.text(put(tmp_path / "in", "a", "2024-01-01\n"))
    counts = text.groupBy(F.window(F.to_timestamp("value"), "1 minute")).count()
    with pytest.raises(AnalysisException, match="without watermark"):
        millstream.write_stream(counts).format("noop").start()


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("n div 0", "DIVIDE_BY_ZERO"),
        ("cast(s as int)", "CAST_INVALID_INPUT"),
        ("n + 2147483647", "ARITHMETIC_OVERFLOW"),
    ],
)
def test_ansi_errors_end_the_query_as_they_end_sparks(spark, tmp_path, expression, error):
    path = put(tmp_path / "in", "a.json", LINES[0] + "\n")
    writer, _ = to_memory(spark.readStream.schema(SCHEMA).json(path).selectExpr(expression))
    first, *_ = failure_of(writer).splitlines()
    assert f"[{error}]" in first
    with pytest.raises(Exception, match=error):
        spark.read.schema(SCHEMA).json(path).selectExpr(expression).collect()


def test_a_group_that_grows_without_bound_is_stopped(spark):
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1_000_001).load()
    writer, _ = to_memory(rows.agg(F.collect_list("value")))
    assert "approx_count_distinct" in failure_of(writer.outputMode("complete"))


def test_without_a_free_core_nothing_starts(spark, tmp_path):
    text = spark.readStream.text(put(tmp_path / "in", "a", "x\n"))
    taking, _ = to_memory(text)
    query = taking.option("slots", 99).start()
    try:
        with pytest.raises(NotEnoughCores, match="stop another query"):
            to_memory(text)[0].start()
    finally:
        query.stop()
    drain(to_memory(text)[0])
