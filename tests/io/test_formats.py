"""Formats of files: the rows that spark.read gives for the same files."""

from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.types import ArrayType, DecimalType, IntegerType, StringType, StructType

from millstream.errors import DataError, MillstreamError
from millstream.io.registry import find_source
from millstream.io.relation import relation
from millstream.kernels.batch import rows_of
from millstream.plan.algebra import Unsupported
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


CSV = r"""i,s,d
1,a,2.5
"2","b ""q"" c",x
,,

3, sp ,1e3
4,"multi\\"esc",NaN,extra
5
abc,d,-Inf
6,"open quote,1
7,a"b"c,2
8,"x"y,3
9,'s',3f
#c,1,2
10,"",3
11, "q" ,0x10
+12,t,05
 13 ,u, 6
128,"a,b","7"
-32769,"a""b,c",d
2147483648,"" ,.5
14,"x" ,-0.0
15,"a\\\\",1
16,"a\\\\"b",1
17,"\\n\\x",1
18,"a\\
19,a\\"b,Infinity
20,"a"",1
21,"","",
"""
TIMES = """true,2024-01-02,2024-01-02 03:04:05,1.255,2024-01-02T03:04:05Z
TRUE,2024-1-2,2024-01-02T03:04:05.123456,12345678.9,x
False,20240102,2024-01-02,1e2,2024-01-02T03:04:05.1
false,2024-01-02 01:00:00,2024-01-02 03:04,.5,2024
t, 2024-03-31 ,2024-03-31 02:30:00,-0.001,2024-03-31 02:30:00
yes,x,2024-01-02 03:04:05 America/New_York,"1,000.5",
"""


@pytest.mark.parametrize("options", [{}, {"header": "true"}, {"mode": "DROPMALFORMED", "nullValue": "a"}], ids=str)
def test_csv(spark, tmp_path, options):
    (tmp_path / "a.csv").write_text(CSV)
    (tmp_path / "b.csv").write_text("\n\nonly\n")
    for first in ("integer", "short", "byte"):
        schema = StructType().add("i", first).add("s", "string").add("d", "double")
        check(spark, "csv", schema, tmp_path, **options)
    schema = StructType().add("i", "long").add("_corrupt_record", "string").add("s", "string").add("d", "float")
    check(spark, "csv", schema, tmp_path, **options)


@pytest.mark.parametrize("zone", ["UTC", "Europe/Paris"])
def test_csv_types(spark, tmp_path, zone):
    (tmp_path / "a.csv").write_text(TIMES)
    schema = StructType().add("b", "boolean").add("d", "date").add("t", "timestamp").add("x", DecimalType(6, 2))
    check(spark, "csv", schema.add("n", "timestamp_ntz").add("bad", "string"), tmp_path, timeZone=zone)


def test_csv_dialects(spark, tmp_path):
    (tmp_path / "a.csv").write_text("1;'a;b';x\r\n2;'it''s';\n3;'it^'s';N\n")
    schema = StructType().add("i", "integer").add("s", "string").add("t", "string")
    check(spark, "csv", schema, tmp_path, sep=";", quote="'", escape="'")
    check(spark, "csv", schema, tmp_path, delimiter=";", quote="'", escape="^", nullValue="N")
    with pytest.raises(Unsupported):
        ours(spark, "csv", schema, tmp_path, multiLine="true")
    with pytest.raises(Unsupported):
        ours(spark, "csv", schema.add("a", ArrayType(IntegerType())), tmp_path)
