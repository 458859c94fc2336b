import os
import time
from decimal import Decimal

import pytest
from pyspark.sql.types import ArrayType, DecimalType, IntegerType, MapType, StringType, StructType

from millstream.errors import InvalidOption
from millstream.io.commitlog import CommitLog, entry
from millstream.io.registry import find_sink, find_source
from millstream.kernels.batch import Batch, rows_of
from millstream.plan.algebra import Unsupported
from tests.io.driving import drain, write

SCHEMA = (
    StructType()
    .add("at", "timestamp")
    .add("local", "timestamp_ntz")
    .add("day", "date")
    .add("d", DecimalType(20, 2))
    .add("m", MapType(StringType(), ArrayType(IntegerType())))
    .add("s", StructType().add("x", "short").add("at", "timestamp"))
    .add("b", "binary")
    .add("f", "float")
    .add("x", "double")
    .add("y", "byte")
)
AT = 1_720_000_000_123_456
ROWS = [
    (AT, AT, 19_000, Decimal("1.50"), {"a": [1, None]}, (1, AT), b"\xff", 0.5, -0.0, -128),
    (None,) * 10,
    (-1, None, -719162, Decimal("-0.01"), {}, (None, None), b"", 1.5, float("inf"), 0),
]


def sink_of(spark, path, format="parquet", schema=SCHEMA, **options):
    return find_sink(format, {"path": str(path), **options}, schema, "append", spark, None)


@pytest.mark.spark
def test_spark_reads_what_is_committed_and_nothing_else(spark, tmp_path):
    sink = sink_of(spark, tmp_path)

    def read():
        return rows_of(spark.read.schema(SCHEMA).parquet(str(tmp_path)).toArrow())

    write(sink, SCHEMA, 0, 0, ROWS[:1])
    write(sink, SCHEMA, 0, 1, ROWS[1:2])
    write(sink, SCHEMA, 1, 0, ROWS[2:])
    sink.commit(0)
    assert sorted(map(repr, read())) == sorted(map(repr, ROWS[:2]))
    half = sink.slot_half()(1)
    half.write(0, Batch.of_rows(SCHEMA, ROWS[1:2]))  # a replay
    sink.commit(1)
    sink.commit(1)
    assert sorted(map(repr, read())) == sorted(map(repr, ROWS))
    assert spark.read.parquet(str(tmp_path)).schema == SCHEMA


@pytest.mark.spark
def test_the_log_is_compacted_as_sparks(spark, tmp_path):
    schema = StructType().add("value", "string")
    for first in (0, 13):  # the second query goes on with the log of the first
        sink = sink_of(spark, tmp_path, "text", schema)
        for epoch in range(13):
            write(sink, schema, epoch, 0, [(str(first + epoch),)])
            sink.commit(epoch)
    names = sorted(os.listdir(tmp_path / "_spark_metadata"))
    assert names == sorted([*(str(n) for n in range(26) if n not in (9, 19)), "9.compact", "19.compact"])
    rows = [row.value for row in spark.read.text(str(tmp_path)).collect()]
    assert sorted(rows, key=int) == [str(n) for n in range(26)]
    ours = find_source("text", {"path": str(tmp_path)}, schema)
    assert sorted(int(value) for (value,) in drain(ours)[0]) == list(range(26))


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["string", "date", "timestamp", "double", "boolean"])
def test_folders_of_a_partitioning_are_sparks(spark, tmp_path, kind):
    values = {
        "string": ["a b", "a/b=c%", "", None, "\u00fc"],
        "date": [0, -719162, None],
        "timestamp": [AT, 0, None],
        "double": [1e10, -0.5, None],
        "boolean": [True, False, None],
    }[kind]
    schema = StructType().add("k", kind).add("value", "long")
    rows = [(k, n) for n, k in enumerate(values)]
    sink = sink_of(spark, tmp_path / "ours", schema=schema, partitionBy=("k",))
    write(sink, schema, 0, 0, rows + rows)
    sink.commit(0)
    frame = spark.createDataFrame(Batch.of_rows(schema, rows + rows).arrow, schema)
    frame.write.partitionBy("k").parquet(str(tmp_path / "sparks"))

    def folders(path):
        return sorted(name for name in os.listdir(path) if name.startswith("k="))

    assert folders(tmp_path / "ours") == folders(tmp_path / "sparks")
    got = spark.read.schema(schema).parquet(str(tmp_path / "ours")).select("k", "value")
    expected = spark.read.schema(schema).parquet(str(tmp_path / "sparks")).select("k", "value")
    assert sorted(map(repr, rows_of(got.toArrow()))) == sorted(map(repr, rows_of(expected.toArrow())))


@pytest.mark.spark
def test_text_lines(spark, tmp_path):
    schema = StructType().add("value", "string")
    sink = sink_of(spark, tmp_path, "text", schema)
    write(sink, schema, 0, 0, [("a",), (None,), ("gr\u00fc\u00df",)])
    sink.commit(0)
    assert [row.value for row in spark.read.text(str(tmp_path)).collect()] == ["a", "", "gr\u00fc\u00df"]


@pytest.mark.spark
def test_what_can_not_be_written_is_said(spark, tmp_path):
    with pytest.raises(InvalidOption, match="no column 'z'"):
        sink_of(spark, tmp_path, partitionBy=("z",))
    with pytest.raises(InvalidOption, match="needs the option 'path'"):
        find_sink("parquet", {}, SCHEMA, "append", spark, None)
    with pytest.raises(InvalidOption, match="one column"):
        sink_of(spark, tmp_path, "text")
    with pytest.raises(Unsupported):
        sink_of(spark, tmp_path, compression="lzo")
    with pytest.raises(Unsupported):
        sink_of(spark, "hdfs://somewhere/x")


def test_a_gap_in_the_log_is_no_silent_loss(tmp_path):
    log = CommitLog(tmp_path)
    for n in range(3):
        log.append([entry(f"/x/{n}", 1, int(time.time() * 1000))])
    (log.folder / "1").unlink()
    with pytest.raises(Exception, match="no batch 1"):
        log.entries()


@pytest.mark.spark
@pytest.mark.parametrize("options", [{}, {"ignoreNullFields": "false"}])
def test_json_files_hold_what_spark_writes(spark, tmp_path, options):
    schema = StructType([f for f in SCHEMA if f.name in ("at", "day", "d", "m", "s", "f", "y")])
    rows = [tuple(v for v, f in zip(row, SCHEMA) if f.name in schema.names) for row in ROWS]
    sink = sink_of(spark, tmp_path / "ours", "json", schema, **options)
    write(sink, schema, 0, 0, rows)
    sink.commit(0)
    table = Batch.of_rows(schema, rows).arrow
    spark.createDataFrame(table).write.options(**options).json(str(tmp_path / "sparks"))

    def lines(name):
        return sorted(row.value for row in spark.read.text(str(tmp_path / name)).collect())

    assert lines("ours") == lines("sparks")
    read = spark.read.schema(schema).json(str(tmp_path / "ours"))
    assert read.count() == len(rows)
