import datetime as dt
import pickle
import threading
import time
import traceback
from array import array
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Row
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType

from millstream.errors import FunctionFailed
from millstream.kernels.batch import Batch
from millstream.kernels.udfs import PythonSegment
from millstream.plan.algebra import Expr, Unsupported, schema_of
from tests.kernels.pythoneval import Case, check

pytestmark = pytest.mark.spark

ROWS = [
    (1, "a", 1.5, True, dt.datetime(2024, 3, 10, 7, 30, 0, 1), dt.date(1969, 12, 31), Decimal("1.50"), b"\x00"),
    (-(2**31), "", float("nan"), False, dt.datetime(1900, 1, 1), dt.date(2024, 2, 29), Decimal("-9.99"), b""),
    (None,) * 8,
    (7, "zürich", -0.0, None, dt.datetime(2024, 11, 3, 5, 30, 59, 999999), dt.date(1, 1, 1), Decimal(0), b"abc"),
]
SCHEMA = "i int, s string, d double, b boolean, t timestamp, y date, m decimal(5,2), x binary"


@pytest.fixture(scope="module")
def frame(spark):
    return spark.createDataFrame(ROWS, SCHEMA).coalesce(1)


@pytest.fixture(scope="module")
def nested(frame, spark):
    rows = frame.select(
        "i",
        F.array("i", F.lit(3)).alias("a"),
        F.create_map(F.lit("k"), "t").alias("m"),
        F.struct("i", "t", F.struct("y").alias("inner")).alias("r"),
        F.col("t").cast("timestamp_ntz").alias("n"),
        F.expr("make_dt_interval(0, 0, 1, i)").alias("v"),
        F.array(F.struct("s", "x")).alias("ar"),
    )
    return spark.createDataFrame(rows.collect(), rows.schema).coalesce(1)


@pytest.fixture
def zone(spark):
    """A session whose zone isn't the Python processes' own."""
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    yield
    spark.conf.set("spark.sql.session.timeZone", before)


@pytest.mark.parametrize("arrow", [False, True])
def test_values_are_seen_as_spark_shows_them(frame, nested, arrow):
    seen = F.udf(lambda v: f"{type(v).__name__} {v!r}", "string", useArrow=arrow)
    check(frame.select(*[seen(name) for name in frame.columns]))
    check(nested.select(*[seen(name) for name in nested.columns]))


@pytest.mark.parametrize("arrow", [False, True])
def test_values_come_back_as_they_went(frame, nested, arrow):
    for rows in (frame, nested):
        check(rows.select(*[F.udf(lambda v: v, f.dataType, useArrow=arrow)(f.name) for f in rows.schema]))


RESULTS = [
    (300, "tinyint"),
    (-129, "tinyint"),
    (2**40, "int"),
    (10**20, "bigint"),
    (1, "float"),
    (1, "double"),
    (1.1, "float"),
    (1e300, "float"),
    (1.0, "int"),
    (1.5, "int"),
    ("1", "int"),
    ("x", "int"),
    (True, "int"),
    (1, "boolean"),
    (True, "string"),
    (1, "string"),
    (1.5, "string"),
    ("a\ud800b", "string"),
    (1e10, "string"),
    (float("nan"), "string"),
    (10**20, "string"),
    ([1, "a", None], "string"),
    ({"a": 1}, "string"),
    (Decimal("1.50"), "string"),
    (np.int64(3), "int"),
    (np.float64(3), "double"),
    (Decimal("1.005"), "decimal(5,2)"),
    (Decimal("-1.005"), "decimal(5,2)"),
    (Decimal("12345.6"), "decimal(5,2)"),
    (Decimal("NaN"), "decimal(5,2)"),
    (1, "decimal(5,2)"),
    ("ab", "binary"),
    (bytearray(b"x"), "binary"),
    ((1, 2), "array<int>"),
    ([1, 2.5, None, "x"], "array<int>"),
    ({1, 2}, "array<int>"),
    (array("i", [1, 2]), "array<int>"),
    (range(2), "array<int>"),
    ({"a": None}, "map<string,int>"),
    ([1], "map<string,int>"),
    ({"a": 1}, "struct<a:int,b:string>"),
    ((1, 2), "struct<a:int,b:string>"),
    ([1, "x"], "struct<a:int,b:string>"),
    (Row(b="x", a=1), "struct<a:int,b:string>"),
    ((1,), "struct<a:int,b:string>"),
    (5, "struct<a:int,b:string>"),
    (1, "date"),
    (dt.date(2024, 1, 1), "timestamp"),
    (dt.datetime(2024, 1, 1, 23), "date"),
    (dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=5))), "timestamp"),
    (dt.datetime(2024, 1, 1, tzinfo=dt.UTC), "timestamp_ntz"),
    (dt.datetime(1960, 1, 1, 0, 0, 0, 7), "timestamp"),
    (dt.timedelta(days=-1, microseconds=3), "interval day to second"),
    ("2024-01-01", "timestamp"),
]


def outcomes(one, arrow):
    """Columns whose results we take, and those that we refuse."""
    columns = [F.udf(lambda _, v=value: v, kind, useArrow=arrow)("i") for value, kind in RESULTS]
    taken, refused = [], []
    for column, part in zip(columns, Case(one.select(*columns)).parts()):
        try:
            part.slot(arrow=False)
        except FunctionFailed:
            refused.append(column)
        else:
            taken.append(column)
    return taken, refused


@pytest.mark.parametrize("arrow", [False, True])
def test_results_of_other_types_become_what_spark_makes_of_them(frame, arrow):
    one = frame.limit(1).select("i")
    taken, refused = outcomes(one, arrow)
    assert len(refused) == (19 if arrow else 9)
    check(one.select(*taken))


@pytest.mark.soak
@pytest.mark.parametrize("arrow", [False, True])
def test_results_that_are_refused_are_refused_by_spark_too(frame, arrow):
    one = frame.limit(1).select("i")
    for column in outcomes(one, arrow)[1]:
        with pytest.raises(PySparkException):
            one.select(column).collect()


@pytest.fixture
def new_york(spark, monkeypatch):
    """Python processes whose own clock goes back one hour in autumn."""
    monkeypatch.setenv("TZ", "America/New_York")
    monkeypatch.setitem(spark.sparkContext.environment, "TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.delenv("TZ")
    time.tzset()


@pytest.mark.parametrize("arrow", [False, True])
def test_the_python_process_has_a_time_zone_of_its_own(spark, new_york, arrow):
    micros = [(1_730_610_000_000_000 + 1_800_000_000 * n,) for n in range(8)]
    times = spark.createDataFrame(micros, "us bigint").selectExpr("timestamp_micros(us) t").localCheckpoint()
    columns = [F.udf(repr, "string", useArrow=arrow)("t")]
    if arrow:  # pickled ones ask C's mktime, whose answer depends on what it was asked before
        columns.append(F.udf(lambda v: dt.datetime(2024, 11, 3, 1, 30, fold=v.minute == 0), "timestamp")("t"))
        columns.append(F.udf(lambda v: v, "timestamp")("t"))
    check(times.select(*columns))


def test_pandas_and_arrow_functions_see_and_return_what_spark_has(frame, nested, zone):
    def typed(x: pd.Series) -> pd.Series:
        return pd.Series([f"{x.dtype} {v!r}" for v in x])

    def fields(x: pd.DataFrame) -> pd.Series:
        return pd.Series([f"{list(x.columns)} {x['i'].dtype} {x['t'].dtype} {v}" for v in x["t"]])

    def shifted(x: pd.Series) -> pd.Series:
        return x + pd.Timedelta("30min")

    def frames(x: pd.Series) -> pd.DataFrame:
        return pd.DataFrame({"b": x.dt.hour, "a": x})

    def arrow_typed(x: pa.Array) -> pa.Array:
        return pa.array([f"{x.type} {v}" for v in x])

    text, arrow_text = F.pandas_udf(typed, "string"), F.arrow_udf(arrow_typed, "string")
    check(frame.select(*[text(c) for c in frame.columns], F.pandas_udf(shifted, "timestamp")("t")))
    check(frame.select(*[arrow_text(c) for c in frame.columns], F.arrow_udf(lambda x: x, "timestamp")("t")))
    check(frame.select(F.pandas_udf(frames, "a timestamp, b double")("t")))
    check(nested.select(text("a"), text("m"), text("n"), text("v"), text("ar"), F.pandas_udf(fields, "string")("r")))


def test_functions_over_iterators_of_batches(frame):
    def pandas(parts: Iterator[tuple[pd.Series, pd.Series]]) -> Iterator[pd.Series]:
        for i, d in parts:
            yield i * 2 + d

    def arrow(parts: Iterator[pa.Array]) -> Iterator[pa.Array]:
        for part in parts:
            yield pc.utf8_upper(part)

    check(frame.select(F.pandas_udf(pandas, "double")("i", "d")))
    check(frame.select(F.arrow_udf(arrow, "string")("s")))


def test_several_functions_with_chains_expressions_names_and_no_arguments(frame, spark):
    table = spark.sparkContext.broadcast({1: "one", 7: "seven"})
    heavy = bytes(range(256)) * 8000
    for arrow in (False, True):
        plus = F.udf(lambda x: (x or 0) + 1, "bigint", useArrow=arrow)
        text = F.udf(lambda *xs, sep="?": sep.join(map(str, xs)), "string", useArrow=arrow)
        check(
            frame.select(
                plus(plus("i")),
                text("s", "i", sep=F.lit("-")),
                text(F.lit(None), F.col("i").isNull(), F.col("i") < 3),
                F.udf(lambda: 42, "int", useArrow=arrow)(),
                F.udf(lambda x: table.value.get(x, "none"), "string", useArrow=arrow)("i"),
                F.udf(lambda x: heavy[abs(x or 0) % 999], "int", useArrow=arrow)("i"),
            )
        )
    named = F.pandas_udf(lambda a, b: a + b, "double")
    check(frame.select(named("i", b=F.col("d")), named(b="i", a=F.lit(1))))


def test_maps_over_batches_may_change_the_number_of_rows(frame, spark, zone):
    def pandas(parts: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for part in parts:
            yield part.assign(hour=part["t"].dt.hour)[["hour", "s", "t"]]
            yield part[part["i"] == 1].assign(hour=-1.0)[["s", "t", "hour"]]

    def arrow(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for part in parts:
            yield part.slice(1)
            yield part

    check(frame.mapInPandas(pandas, "t timestamp, s string, hour double"))
    check(frame.mapInArrow(arrow, frame.schema))
    check(frame.mapInArrow(lambda parts: iter(()), "a int"))
    wrong = frame.mapInArrow(arrow, "a int")
    with pytest.raises(FunctionFailed, match="'arrow'"):
        Case(wrong).slot(arrow=True)


def test_a_batch_is_given_in_parts_of_the_size_that_the_session_says(spark, monkeypatch):
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "3")
    try:
        check(spark.range(8).coalesce(1).select(F.pandas_udf(lambda x: x * 0 + len(x), "int")("id")))
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")


def boom(x):
    raise ZeroDivisionError("no luck")


@pytest.mark.parametrize("make", [partial(F.udf, useArrow=False), F.udf, F.pandas_udf, F.arrow_udf])
def test_an_error_keeps_the_users_traceback_and_names_the_function(frame, make):
    with pytest.raises(FunctionFailed, match=r"'boom'.*ZeroDivisionError: no luck") as caught:
        Case(frame.select(make(boom, "int")("i"))).slot(arrow=False)
    assert 'raise ZeroDivisionError("no luck")' in "".join(traceback.format_exception(caught.value))


def raises_stop(x):
    if x is None:
        raise StopIteration
    return x


@pytest.mark.parametrize("arrow", [False, True])
def test_stop_iteration_loses_no_rows(frame, arrow):
    with pytest.raises(FunctionFailed, match="StopIteration"):
        Case(frame.select(F.udf(raises_stop, "int", useArrow=arrow)("i"))).slot(arrow=False)


def test_threads_for_functions_that_wait(frame, spark):
    spark.conf.set("spark.sql.execution.pythonUDF.arrow.concurrency.level", "2")
    try:
        case = Case(
            frame.select(F.udf(lambda x: threading.current_thread() is threading.main_thread(), "boolean")("i"))
        )
        assert [row[-1] for row in case.slot(arrow=False)] == [False] * 4
    finally:
        spark.conf.unset("spark.sql.execution.pythonUDF.arrow.concurrency.level")


def test_code_that_cannot_be_loaded_is_said_to_be_so(frame):
    case = Case(frame.select(F.udf(lambda x: x, "int")("i")))
    (node,) = case.nodes
    case.nodes = [replace(node, functions=(replace(node.functions[0], commands=(b"cnowhere\nnothing\n.",)),))]
    with pytest.raises(FunctionFailed, match="can't be unpickled"):
        case.slot(arrow=False)


def test_a_segment_runs_inside_a_spark_task(frame, spark):
    table = spark.sparkContext.broadcast({1: "one"})
    look = F.udf(lambda x: table.value.get(x, "none"), "string")
    (node,) = Case(frame.select(look(F.coalesce("i", F.lit(0))))).nodes
    shipped = pickle.dumps(PythonSegment(node))
    schema = schema_of(node.input.output)

    def task(_):
        step = pickle.loads(shipped).start()
        return [step.run(Batch.of_rows(schema, rows))[0].rows for rows in ([(1,), (None,)], [])]

    assert spark.sparkContext.parallelize([0], 1).map(task).collect() == [[[(1, "one"), (None, "none")], []]]


def test_arguments_without_a_kernel_are_refused_at_planning(frame):
    (node,) = Case(frame.select(F.udf(lambda x: x, "int")("i"))).nodes
    odd = Expr("NoSuchFunction", IntegerType(), node.arguments[0])
    with pytest.raises(Unsupported, match="NoSuchFunction"):
        PythonSegment(replace(node, arguments=((odd,),)))
