"""DataFrames run by Millstream give what Spark gives in batch over the same rows."""

import json
import random
import uuid
from collections import Counter

import pytest
from pyspark.sql import functions as F

import millstream
from millstream.errors import InvalidOption, MillstreamError, QueryFailed, UnsupportedQuery
from tests.e2e.helpers import wait_for

pytestmark = pytest.mark.spark

SCHEMA = "k string, n int, x double, t long, tags array<string>"


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """A folder of JSON lines in several files: some malformed, some incomplete, times in order but for a little."""
    folder = tmp_path_factory.mktemp("lines")
    chance = random.Random(1)
    for number in range(5):
        rows = []
        for i in range(400):
            at = 1_700_000_000 + number * 400 + i + chance.randint(-3, 3)
            row = {
                "k": chance.choice(["a", "b", "c", "d", None, "ü"]),
                "n": chance.randint(-100, 100),
                "x": round(chance.uniform(-5, 5), 3),
                "t": at * 1000 + chance.randint(0, 999),
                "tags": [chance.choice("xyz") for _ in range(chance.randint(0, 3))],
            }
            if chance.random() < 0.1:
                del row[chance.choice(list(row))]
            rows.append(json.dumps(row) if chance.random() > 0.01 else '{"k": "broken')
        (folder / f"part-{number}.json").write_text("\n".join(rows) + "\n")
    return str(folder)


def parsed(frame):
    return frame.select(F.from_json("value", SCHEMA).alias("r")).select("r.*").withColumn("t", F.timestamp_millis("t"))


def run(spark, query, output="append", **options):
    """The rows that a query gives to the memory sink."""
    name = "t" + uuid.uuid4().hex
    writer = millstream.write_stream(query).format("memory").queryName(name).outputMode(output)
    started = writer.options(engine="millstream", slots=2, **options).trigger(availableNow=True).start()
    try:
        assert started.awaitTermination(100)
    finally:
        started.stop()
    assert started.engine == "millstream"
    return spark.table(name).collect()


def as_counter(rows):
    return Counter(repr(row) for row in rows)


def last_of_each(rows, keys):
    last = {}
    for row in rows:
        last[tuple(repr(row[k]) for k in keys)] = row
    return list(last.values())


STATELESS = {
    "everything": parsed,
    "filter and project": lambda df: parsed(df).where("n > 3 and k <> 'a'").select("k", (F.col("n") * 2).alias("m")),
    "explode": lambda df: parsed(df).select("k", F.explode("tags").alias("tag")).where("tag <> 'x'"),
    "explode outer": lambda df: parsed(df).select("n", F.explode_outer("tags")),
    "union": lambda df: parsed(df).where("n > 50").select("k", "n").union(parsed(df).where("n < -50").select("k", "n")),
    "udf": lambda df: (
        parsed(df).select(F.udf(lambda s: None if s is None else s + "!")("k").alias("u"), "n").where("u <> 'a!'")
    ),
    "case": lambda df: parsed(df).selectExpr("case when n > 0 then upper(k) else k end as c", "coalesce(x, 0.0) as x"),
}


@pytest.mark.parametrize("kernel", ["scalar", "auto"])
@pytest.mark.parametrize("name", STATELESS)
def test_rows_without_state(spark, lines, name, kernel):
    build = STATELESS[name]
    assert as_counter(run(spark, build(spark.readStream.text(lines)), kernel=kernel)) == as_counter(
        build(spark.read.text(lines)).collect()
    )


AGGREGATES = {
    "by key": (
        ["k"],
        lambda df: parsed(df).groupBy("k").agg(F.count("*").alias("c"), F.sum("n"), F.min("x"), F.max("t")),
    ),
    "by two keys": (["k", "b"], lambda df: parsed(df).groupBy("k", (F.col("n") > 0).alias("b")).agg(F.avg("n"))),
    "global": ([], lambda df: parsed(df).agg(F.count("n"), F.count("*"), F.max("k"))),
    "tumbling": (
        ["window"],
        lambda df: parsed(df).groupBy(F.window("t", "1 minute")).agg(F.count("*"), F.collect_set("k")),
    ),
    "sliding": (["window", "k"], lambda df: parsed(df).groupBy(F.window("t", "1 minute", "20 seconds"), "k").count()),
    "having": (
        ["k"],
        lambda df: parsed(df).groupBy("k").count().where("count > 340").withColumn("c2", F.col("count") + 1),
    ),
    "words": (["w"], lambda df: parsed(df).select(F.explode("tags").alias("w")).groupBy("w").count()),
}


@pytest.mark.parametrize("mode", ["complete", "update"])
@pytest.mark.parametrize("name", AGGREGATES)
def test_aggregations(spark, lines, name, mode):
    keys, build = AGGREGATES[name]
    rows = run(spark, build(spark.readStream.option("maxFilesPerTrigger", 1).text(lines)), mode)
    if mode == "update":
        rows = last_of_each(rows, keys)
    normal = [repr(tuple(sorted(v) if isinstance(v, list) else v for v in row)) for row in rows]
    expected = build(spark.read.text(lines)).collect()
    assert Counter(normal) == Counter(repr(tuple(sorted(v) if isinstance(v, list) else v for v in r)) for r in expected)


def test_append_emits_each_window_once_when_the_watermark_has_passed_it(spark, lines):
    def build(df):
        return parsed(df).withWatermark("t", "10 seconds").groupBy(F.window("t", "1 minute")).count()

    rows = run(spark, build(spark.readStream.option("maxFilesPerTrigger", 1).text(lines)))
    expected = {row["window"]: row["count"] for row in build(spark.read.text(lines)).collect()}
    newest = max(w.end for w in expected if w is not None)
    assert {row["window"]: row["count"] for row in rows} == {w: c for w, c in expected.items() if w and w.end < newest}
    assert len(rows) == len(expected) - 1 - (None in expected)


def test_a_static_table_joins_the_stream(spark, lines):
    table = spark.createDataFrame([("a", 1), ("b", 2), ("b", 3), (None, 4)], "k string, v int")

    def check(build):
        assert as_counter(run(spark, build(spark.readStream.text(lines)))) == as_counter(
            build(spark.read.text(lines)).collect()
        )

    for how in ("inner", "left", "left_semi", "left_anti"):
        check(lambda df, how=how: parsed(df).select("k", "n").join(table, "k", how))
    check(lambda df: table.join(parsed(df).select("k", "n"), "k", "right"))
    check(
        lambda df: (
            parsed(df)
            .select("k", "n")
            .alias("s")
            .join(table.alias("r"), F.expr("s.k = r.k and s.n > r.v * 10"))
            .select("s.*", "v")
        )
    )


def test_duplicates_are_dropped(spark, lines):
    def build(df):
        return parsed(df).select("k", "n").dropDuplicates(["k", "n"])

    assert as_counter(run(spark, build(spark.readStream.text(lines)))) == as_counter(
        build(spark.read.text(lines)).collect()
    )


def test_what_is_not_native_falls_back_with_one_warning_that_names_the_node(spark, lines):
    df = parsed(spark.readStream.text(lines)).groupBy("k").count().orderBy("k")
    with pytest.warns(UserWarning, match="Sort"):
        query = (
            millstream.write_stream(df).format("memory").queryName("sorted").outputMode("complete")
            .trigger(availableNow=True).start()
        )  # fmt: skip
    assert query.engine == "structured-streaming"
    assert query.awaitTermination(100)
    assert spark.table("sorted").count() == 6
    with pytest.raises(UnsupportedQuery, match="Sort"):
        millstream.write_stream(df).format("noop").outputMode("complete").option("engine", "millstream").start()
    explained = millstream.explain(df, outputMode="complete")
    assert explained.engine == "structured-streaming"
    assert "Sort" in str(explained)


def test_rules_of_output_modes_are_sparks(spark, lines):
    from pyspark.errors import AnalysisException

    df = parsed(spark.readStream.text(lines)).groupBy("k").count()
    with pytest.raises(AnalysisException, match="append"):
        millstream.write_stream(df).format("noop").start()
    with pytest.raises(AnalysisException):
        millstream.write_stream(parsed(spark.readStream.text(lines))).format("noop").outputMode("complete").start()


def test_wrong_use_is_said_before_anything_runs(spark, lines):
    df = spark.readStream.text(lines)
    with pytest.raises(InvalidOption, match="not streaming"):
        millstream.write_stream(spark.range(3))
    with pytest.raises(InvalidOption, match="PySpark DataFrame"):
        millstream.write_stream([1, 2])
    with pytest.raises(InvalidOption, match="append, update, complete"):
        millstream.write_stream(df).outputMode("upsert")
    with pytest.raises(InvalidOption, match="duration"):
        millstream.write_stream(df).trigger(interval="soon")
    with pytest.raises(InvalidOption, match="exactly one"):
        millstream.write_stream(df).trigger()
    with pytest.raises(InvalidOption, match="where the rows go"):
        millstream.write_stream(df).start()
    with pytest.raises(InvalidOption, match="engine"):
        millstream.write_stream(df).format("noop").option("engine", "warp").start()
    with pytest.raises(InvalidOption, match="did you mean 'slots'"):
        millstream.write_stream(df).format("noop").option("slotz", 3).start()
    with pytest.raises(InvalidOption, match="name"):
        millstream.write_stream(df).format("memory").start()
    connect = type("DataFrame", (), {"__module__": "pyspark.sql.connect.dataframe"})()
    with pytest.raises(MillstreamError, match="Connect"):
        millstream.write_stream(connect)


def test_a_function_that_raises_ends_the_query_with_its_traceback(spark, lines):
    def bad(n):
        if n == 42:
            raise ValueError("not forty-two")
        return n

    df = parsed(spark.readStream.text(lines)).select(F.udf(bad, "int")("n"))
    query = millstream.write_stream(df).format("noop").option("slots", 2).trigger(availableNow=True).start()
    with pytest.raises(QueryFailed, match="not forty-two") as error:
        query.awaitTermination(100)
    assert "in bad" in str(error.value)


def test_a_query_has_the_fields_of_structured_streamings(spark):
    millstream.register(spark)
    df = spark.readStream.format("millstream-rate").option("rowsPerSecond", 1000).load()
    counted = df.withWatermark("timestamp", "1 second").groupBy(F.window("timestamp", "1 second")).count()
    query = (
        millstream.write_stream(counted)
        .format("memory")
        .queryName("fields")
        .outputMode("update")
        .option("slots", 2)
        .start()
    )
    try:
        wait_for(lambda: query.lastProgress is not None and query.lastProgress["eventTime"])
        query.processAllAvailable()
        progress = query.lastProgress
        for field in (
            "id",
            "runId",
            "name",
            "timestamp",
            "batchId",
            "numInputRows",
            "inputRowsPerSecond",
            "durationMs",
            "sink",
        ):
            assert field in progress
        (source,) = progress["sources"]
        assert source["description"] == "millstream-rate"
        assert source["numInputRows"] == progress["numInputRows"]
        (state,) = progress["stateOperators"]
        assert state["numRowsTotal"] >= 1
        assert query in millstream.active()
        with pytest.raises(InvalidOption, match="running already"):
            millstream.write_stream(counted).format("memory").queryName("fields").outputMode("update").start()
        total = sum(row["count"] for row in last_of_each(spark.table("fields").collect(), ["window"]))
        assert total > 0
    finally:
        query.stop()
    assert query not in millstream.active()
    with pytest.raises(AssertionError):
        assert query.isActive


class Totals(millstream.KeyedProcess):
    def init(self, key, window):
        return 0

    def update(self, key, value, state, time):
        return state + (value or 0), [(key, None, state + (value or 0))]

    def finalize(self, key, window, state):
        return [(key, window.end, state)]


def test_a_keyed_process_keeps_state_and_is_processed_again(spark, lines):
    df = parsed(spark.readStream.text(lines)).withWatermark("t", "10 seconds").where("k is not null and t is not null")
    totals = millstream.process(
        df, key="k", value="n", process=Totals(), output="k string, until timestamp, total long",
        window=millstream.tumbling("1 minute"), time="t",
    )  # fmt: skip
    ended = [row for row in run(spark, totals) if row["until"] is not None]
    batch = parsed(spark.read.text(lines)).where("k is not null and t is not null")
    expected = (
        batch.groupBy("k", F.window("t", "1 minute").alias("w"))
        .agg(F.sum(F.coalesce("n", F.lit(0))).alias("s"))
        .collect()
    )
    sums = {(row["k"], row["w"].end): row["s"] for row in expected}
    assert len(ended) > 100
    assert all(sums[row["k"], row["until"]] == row["total"] for row in ended)

    doubled = millstream.flat_map(df, lambda row: [(row["k"],), (row["k"],)], "k string")
    counted = millstream.process(doubled, key="k", process=Totals1(), output="k string, c long")
    last = {row["k"]: row["c"] for row in run(spark, counted)}
    assert last == {row["k"]: 2 * row["count"] for row in batch.groupBy("k").count().collect()}


class Totals1(millstream.KeyedProcess):
    def init(self, key, window):
        return 0

    def update(self, key, value, state, time):
        return state + 1, [(key, state + 1)]


@pytest.mark.parametrize("name", ["by key", "tumbling"])
def test_partial_aggregation_can_be_turned_off(spark, lines, name):
    _, build = AGGREGATES[name]
    frame = build(spark.readStream.text(lines))
    rows = run(spark, frame, "complete", partialAggregation=False)
    assert len(rows) == build(spark.read.text(lines)).count()


@pytest.mark.parametrize("mode", ["bsp", "prescheduled", "spark"])
def test_every_mode_of_execution_gives_the_same(spark, lines, mode):
    build = AGGREGATES["by key"][1]
    rows = run(spark, build(spark.readStream.option("maxFilesPerTrigger", 3).text(lines)), "complete", mode=mode)
    assert as_counter(rows) == as_counter(build(spark.read.text(lines)).collect())


def test_queries_of_several_sessions_run_side_by_side(spark, lines):
    other = spark.newSession()
    for session in (other, spark, other):
        rows = run(session, parsed(session.readStream.text(lines)).where("n > 90").select("n"))
        assert as_counter(rows) == as_counter(parsed(session.read.text(lines)).where("n > 90").select("n").collect())
