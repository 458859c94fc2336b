import datetime as dt
from decimal import Decimal

import pytest
from pyspark.sql.types import ArrayType, DecimalType, IntegerType, MapType, StringType, StructType

from millstream.errors import FunctionFailed, InvalidOption
from millstream.io.registry import find_sink
from millstream.kernels.batch import Batch, rows_of
from tests.io.driving import write

INNER = StructType().add("x", "integer").add("at", "timestamp")
SCHEMA = (
    StructType()
    .add("at", "timestamp")
    .add("local", "timestamp_ntz")
    .add("day", "date")
    .add("d", DecimalType(10, 2))
    .add("m", MapType(StringType(), ArrayType(IntegerType())))
    .add("s", INNER)
    .add("b", "binary")
    .add("x", "double", False)
)
AT = 1_720_000_000_123_456
ROWS = [
    (AT, AT, 19_000, Decimal("1.50"), {"a": [1, None]}, (1, AT), b"\xff", -0.0),
    (None, None, None, None, None, None, None, float("inf")),
    (AT, None, -1, Decimal("-0.01"), {}, (None, None), b"", 1.5),
]


def test_foreach_opens_processes_and_closes():
    calls = []

    class Writer:
        def open(self, partition, epoch):
            calls.append(("open", partition, epoch))
            return epoch != 1

        def process(self, row):
            calls.append(row.x)
            if row.x == 13:
                raise ValueError("unlucky")

        def close(self, error):
            calls.append(("close", str(error)))

    schema = StructType().add("x", "long")
    sink = find_sink("foreach", {"function": Writer()}, schema, "append", None, None)
    slot = sink.slot_half()(3)
    assert slot.write(0, Batch.of_rows(schema, [(1,), (2,)])) is None
    slot.write(1, Batch.of_rows(schema, [(7,)]))
    with pytest.raises(ValueError, match="unlucky"):
        slot.write(2, Batch.of_rows(schema, [(13,), (14,)]))
    assert calls == [
        *[("open", 3, 0), 1, 2, ("close", "None")],
        *[("open", 3, 1), ("close", "None")],
        *[("open", 3, 2), 13, ("close", "unlucky")],
    ]
    with pytest.raises(Exception, match="process"):
        find_sink("foreach", {"function": 5}, schema, "append", None, None)


@pytest.mark.spark
def test_rows_of_foreach_are_those_that_collect_gives(spark):
    seen = []
    sink = find_sink("foreach", {"function": seen.append}, SCHEMA, "append", None, None)
    sink.slot_half()(0).write(0, Batch.of_rows(SCHEMA, ROWS))
    expected = spark.createDataFrame(Batch.of_rows(SCHEMA, ROWS).arrow, SCHEMA).collect()
    assert seen == expected
    assert repr(seen) == repr(expected).replace("bytearray(b'\\xff')", "b'\\xff'").replace("bytearray(b'')", "b''")
    assert seen[0].s.at == dt.datetime.fromtimestamp(AT // 10**6) + dt.timedelta(microseconds=AT % 10**6)


@pytest.mark.spark
@pytest.mark.parametrize("per", ["group", "epoch"])
def test_foreach_batch_gets_what_is_committed_once(spark, per):
    seen = []

    def function(frame, number):
        seen.append((number, frame.schema, rows_of(frame.toArrow())))

    sink = find_sink("foreachBatch", {"function": function, "foreachBatch.per": per}, SCHEMA, "append", spark, None)
    for epoch, row in enumerate(ROWS):
        write(sink, SCHEMA, epoch, epoch % 2, [row])
    sink.commit(1)
    assert [len(rows) for _, _, rows in seen] == ([2] if per == "group" else [1, 1])
    sink.commit(1)
    sink.commit(5)
    assert [number for number, _, _ in seen] == ([1, 5] if per == "group" else [0, 1, 2])
    assert {schema.json() for _, schema, _ in seen} == {SCHEMA.json()}
    rows = [row for _, _, rows in seen for row in rows]
    assert sorted(map(repr, rows)) == sorted(map(repr, ROWS))


@pytest.mark.spark
def test_complete_delivers_the_whole_result(spark):
    schema = StructType().add("x", "long")
    seen = []

    def function(frame, number):
        seen.append([row.x for row in frame.collect()])

    sink = find_sink("foreachBatch", {"function": function}, schema, "complete", spark, None)
    write(sink, schema, 0, 0, [(1,)])
    write(sink, schema, 0, 1, [(2,)])
    sink.commit(0)
    write(sink, schema, 1, 0, [(3,), (4,)])
    sink.commit(1)
    assert seen == [[1, 2], [3, 4, 2]]


@pytest.mark.spark
def test_what_the_function_raises_is_shown(spark):
    def fails(frame, number):
        raise KeyError("my mistake")

    schema = StructType().add("x", "long")
    sink = find_sink("foreachBatch", {"function": fails}, schema, "append", spark, None)
    write(sink, schema, 0, 0, [(1,)])
    with pytest.raises(FunctionFailed, match=r"(?s)epoch 7.*in fails.*my mistake"):
        sink.commit(7)


@pytest.mark.spark
def test_the_console_looks_like_sparks(spark, capsys):
    schema = StructType().add("word", "string").add("count", "long")
    sink = find_sink("console", {"numRows": "1", "truncate": "true"}, schema, "update", spark, None)
    write(sink, schema, 4, 0, [("x" * 30, 1), ("b", None)])
    sink.commit(8)
    assert capsys.readouterr().out == (
        "-------------------------------------------\n"
        "Batch: 0\n"
        "-------------------------------------------\n"
        "+--------------------+-----+\n"
        "|                word|count|\n"
        "+--------------------+-----+\n"
        "|xxxxxxxxxxxxxxxxx...|    1|\n"
        "+--------------------+-----+\n"
        "only showing top 1 row\n"
    )
    with pytest.raises(InvalidOption, match="did you mean 'numRows'"):
        find_sink("console", {"numRow": 1}, schema, "update", spark, None)
