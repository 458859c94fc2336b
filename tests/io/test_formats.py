"""Formats of files: the rows that spark.read gives for the same files."""

from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.types import ArrayType, DecimalType, StringType, StructType

from millstream.errors import DataError, MillstreamError
from millstream.io.registry import find_source
from millstream.io.relation import relation
from millstream.kernels.batch import rows_of
from tests.io.driving import drain

pytestmark = pytest.mark.spark


def ours(spark, format, schema, path, **options):
    frame = spark.readStream.schema(schema).format(format).options(**options).load(str(path))
    found = relation(frame._jdf.queryExecution().analyzed())
    return drain(find_source(found.format, found.options, found.schema))[0]


def check(spark, format, schema, path, **options):
    """As a multiset: Spark packs files into tasks in its own order."""
    expected = rows_of(spark.read.schema(schema).format(format).options(**options).load(str(path)).toArrow())
    assert sorted(map(repr, ours(spark, format, schema, path, **options))) == sorted(map(repr, expected))
    return expected


JSON = StructType().add("a", "long").add("b", ArrayType(StringType())).add("c", StructType().add("d", "double"))
CORRUPT = StructType().add("a", "long").add("_corrupt_record", "string").add("c", StructType().add("d", "double"))
LINES = r"""{"a": 1, "b": ["x", null], "c": {"d": 1.5}}
{"a": "text", "b": ["y"], "c": {"d": 2}}

BLANK
{"a": 2, "b": "no array"}
{"a": 3
nothing
[{"a": 4}, {"a": 5, "c": {"d": -0.0}}]
[{"a": 6}, {"a": "bad"}]
[]
[1, 2]
null
5
{"a": 7, "a": 8, "unknown": {"x": [1]}}
{"c": {"d": "NaN"}} trailing
{'a': 9}
{}
"""


@pytest.mark.parametrize("options", [{}, {"mode": "DROPMALFORMED"}, {"allowSingleQuotes": "false"}], ids=str)
def test_json(spark, tmp_path, options):
    (tmp_path / "a.json").write_text(LINES.replace("BLANK", " \t "))
    (tmp_path / "b.json").write_text('{"a": 10}\r\n{"a": 11}')
    expected = check(spark, "json", JSON, tmp_path, **options)
    assert len(expected) > 5
    check(spark, "json", CORRUPT, tmp_path, **options)
    other = StructType().add("bad", "string").add("a", "integer")
    check(spark, "json", other, tmp_path, columnNameOfCorruptRecord="bad", **options)


def test_json_failfast(spark, tmp_path):
    (tmp_path / "a.json").write_text('{"a": 1}\n')
    assert check(spark, "json", JSON, tmp_path, mode="FAILFAST") == [(1, None, None)]
    (tmp_path / "b.json").write_text('{"a": \n')
    with pytest.raises(DataError, match="MALFORMED"):
        ours(spark, "json", JSON, tmp_path, mode="FAILFAST")


def test_parquet(spark, tmp_path):
    frame = spark.range(2000).selectExpr(
        "id", "cast(id as string) s", "timestamp_micros(id * 1000003) t", "date_from_unix_date(cast(id as int)) d",
        "cast(id / 7 as decimal(12, 3)) x", "array(id, null) l", "struct(id as i, 'x' as j) r", "map('k', id) m",
        "if(id % 3 = 0, null, cast(id as smallint)) n", "timestamp_ntz '2024-01-01 00:00:00' z",
    )  # fmt: skip
    frame.repartition(3).write.option("parquet.block.size", 1 << 14).parquet(str(tmp_path / "in"))
    check(spark, "parquet", frame.schema, tmp_path / "in")
    check(spark, "parquet", frame.schema, tmp_path / "in", maxBytesPerTrigger="5000")
    fewer = StructType().add("N", "short").add("missing", "string").add("t", "timestamp")
    check(spark, "parquet", fewer, tmp_path / "in")
    with pytest.raises(MillstreamError, match="cast in the query"):
        ours(spark, "parquet", StructType().add("s", "long"), tmp_path / "in")


def test_parquet_of_others(spark, tmp_path):
    table = pa.table(
        {
            "i": pa.array([1, None], pa.int32()),
            "t": pa.array([1_000_001, None], pa.timestamp("ms", "UTC")),
            "s": pa.array(["x", None]).dictionary_encode(),
            "l": pa.array(["y", ""], pa.large_string()),
            "d": pa.array([Decimal("1.25"), None], pa.decimal128(8, 2)),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    schema = StructType().add("i", "long").add("t", "timestamp").add("s", "string").add("l", "string")
    check(spark, "parquet", schema.add("d", DecimalType(12, 2)), tmp_path)
