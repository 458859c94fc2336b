# ruff: noqa: E501 (samples stand many to a line)
import datetime as dt
from decimal import Decimal

import pytest
from pyspark.sql import functions as F

from millstream.plan.algebra import Unsupported
from tests.kernels.oracle import check

pytestmark = pytest.mark.spark


def texts(spark, rows):
    return spark.createDataFrame([(row,) for row in rows], "s string")


FLAT = [
    None, "", "  ", "null", "{}", "[]", "1", '"x"', "abc", "{", '{"a":1', '{"a":"x","b":2', '{"a":"x","b":2,', '{"a":"x","b":2,}',
    '{"a":1.50}', '{"a":1e5}', '{"a":1E+05}', '{"a":-0}', '{"a":-0.0}', '{"a":100000000000000000000}', '{"a":1E400}', '{"a":1e-400}',
    '{"a":0.10000000000000000000000000001}', '{"a":12345678901234567890.123}',
    '{"a": { "x" : 1.50 , "y":[1, 2 ],"z":"\\u00e9é\\/\\u0001" , "n":null, "t" : true} }', '{"a":{}}', '{"a":[]}', '{"a":[ ]  }', '{"a":[1,{"q":1.0,"r":\'s\'}],"b":3}',
    "{'a':'b','b':2}", "{'a':'it\\'s','b':2}", '{"a":NaN}', '{"a":Infinity}', '{"a":-INF}', '{"a":+INF}', '{"a":[NaN,-Infinity]}', '{"a":+1}', '{"a":Nan}', '{"a":INF}',
    '{"a":true,"b":1} xyz', '{"a":"x"}}', '{"b":1}{"b":2}', '{"a":"x","b":1,"b":2}', '{"b":1,"b":"x"}', '{"b":"x","b":1}', '{"b":1,"b":null}', '{"\\u0062":7}', '{"b":"x","\\u0062":1}',
    '{"b":""}', '{"b":1.0}', '{"b":1e2}', '{"b":2147483647}', '{"b":2147483648}', '{"b":-2147483649}', '{"b":99999999999999999999999}', '{"b":-1}', '{"b":01}', '{"b":-0}', '{"b":true}', '{"b":[1]}',
    '{"b":{"b":7}}', '{"b":{"b":7},"a":"z"}', '[{"a":"x"}]', '{"a":bad,"b":2}', '{"b":2,"a":bad}', '{"a":"x\\q","b":2}', '{"a":"x\\q,"b":2}', '{"a":"x\ny","b":2}', '{"a":"x\ty","b":2}', '{"b":2,"a":"x',
    '{"a":"\\ud800x"}', '{"a":"\\ud83d\\ude00"}', '{"a":"x\\udc00"}', '{"c":"\\ud800","b":1}', '{"a":["\\ud83d\\ude00"]}', '{"a":["\\ud83d"],"b":2}', '{"a":"\\u0000"}', '\ufeff{"a":"x"}', '{"a":"x"/*c*/}', '{a:"x"}',
    '{"A":"x"}', '{"c":[1,x],"b":3}', '{"c":{"d":"e"},"b":3}', '{"a":[1,x,2],"b":3}', '{"a":null,"b":null}', '{"a":.5}', '{"a":5.}', '{"a":"tab\\tq\\"uote\\\\"}', '{"a":"é€😀\\u20AC"}',
    '{"a":' + "1" * 1000 + "}", '{"a":' + "1" * 1001 + "}", '{"c":' + "1" * 1001 + ',"b":1}', '{"c":0.' + "1" * 999 + ',"b":1}', '{"c":"' + "1" * 2000 + '","b":1}',
    '{"a":' + "[" * 999 + "]" * 999 + "}", '{"a":' + "[" * 1001 + "]" * 1001 + "}", '{"c":' + "[" * 1001 + "]" * 1001 + ',"b":1}',
    '{"a":"x"\x0b}', '{"a":"x"\r\n,\t"b" : 1 }', '{"a"\x00:"x"}', '{"a":"x",,"b":1}', '{"a" "x"}', '{"a":tru,"b":1}', '{"a":trueish}', '{"a":true1}', '{"a":nul}', '{"":"x","a":"y"}', '{"a":"\\u12"}', '{"a":"\\u00zz"}',
]  # fmt: skip


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"allowComments": "true", "allowUnquotedFieldNames": "true", "allowNumericLeadingZeros": "true"},
        {"allowSingleQuotes": "false", "allowNonNumericNumbers": "false"},
        {"allowBackslashEscapingAnyCharacter": "true", "allowUnquotedControlChars": "true"},
    ],
)
def test_flat_records_well_formed_and_not(spark, options):
    frame = texts(spark, FLAT)
    schemas = [
        "a string, b int",
        "a string, b int, _corrupt_record string",
        "_corrupt_record string, b int",
        "b int",
        "c int",
    ]
    check(frame, *[F.from_json("s", schema, options).alias(f"r{i}") for i, schema in enumerate(schemas)])


NESTED = [
    '{"a":[1,x,2],"b":3}', '{"a":[1,"x",2],"b":3}', '{"a":[1,null],"b":3}', '{"a":{"b":1},"b":3}', '{"a":[[1]],"b":3}', '{"a":[1,],"b":3}', '{"a":[,1],"b":3}', '{"a":[1 2],"b":3}', '{"a":[1,"x"',
    '{"a":["x",{"b":5}],"b":3}', '{"a":["x",{"b":5}]}', '{"a":[1,"y\\q",2],"b":3}', '{"a":[1,tru,2],"b":3}', '{"a":[1,1x,2],"b":3}', '{"a":[1,-,2],"b":3}', '{"a":[1,01,2],"b":3}', '{"a":[1,2.,3],"b":3}',
    '{"a":[1,+INF,3],"b":3}', '{"a":[1,\'x\',3],"b":3}', '{"a":[],"b":3}', '{"a":[1,{"b":9},2],"b":3}', '{"a":[1,[2],3],"b":3}', '{"a":["x",[2,"y"],3],"b":3}',
    '{"m":{"a":1,"b":2}}', '{"m":{"a":1,"b":"x"}}', '{"m":{"a":null}}', '{"m":{}}', '{"m":[]}', '{"m":{"a":1,"b":x}}', '{"m":{"a":"x","b":1},"b":4}', '{"m":{"a":[1]},"b":4}',
    '{"s":{"x":1,"y":{"z":2,"w":3}}}', '{"s":{"x":"q","y":{"z":"r","w":3}}}', '{"s":{"x":1,"y":5}}', '{"s":{"x":1,"y":{"z":bad}},"b":1}', '{"s":null,"b":1}', '{"s":{"x":1,"x":"y"},"b":1}', '{"s":[{"x":1}],"b":1}',
    '{"t":[{"p":1},{"p":"x","q":"y"},null,{}]}', '{"t":[1]}', '{"t":{"p":1}}', '{"t":[{"p":1},5,{"p":2}],"m":{"a":1}}', '{"t":[{"p":[1]},{"q":[1]}]}', '{"t":[{"p":x},{"q":"y"}],"b":2}',
    '{"n":{"z":[{"k":{"v":"1"}}]}}', '{"n":{"z":[{"k":{"v":1}},{"k":{"w":2}}]}}', '{"n":{"z":[{"k":{"v":1.5}},{"k":3}]},"b":2}',
]  # fmt: skip


def test_nested_records_yield_what_can_be_read(spark):
    schema = (
        "a array<int>, b int, m map<string,int>, s struct<x:int,y:struct<z:int,w:string>>, t array<struct<p:int,q:string>>,"
        "n struct<z:array<struct<k:map<string,int>>>>"
    )
    check(
        texts(spark, NESTED), F.from_json("s", schema), F.from_json("s", schema + ",_corrupt_record string").alias("c")
    )


def test_arrays_and_maps_at_the_root(spark):
    rows = ["[1,2]", '[1,"x"]', "1", "{}", "[]", "null", "[1,null]", "", "[1,2", '{"a":1}', '{"a":"x","b":1}', '[{"a":1},{"a":"x"}]', '{"a":"x"}', "[null]", '{"a":[1,2],"b":null}', '{"a":[1,"x"]}', None]  # fmt: skip
    schemas = [
        "array<int>",
        "array<struct<a:int>>",
        "map<string,int>",
        "map<string,array<int>>",
        "array<string>",
        "array<array<int>>",
    ]
    check(texts(spark, rows), *[F.from_json("s", schema).alias(f"r{i}") for i, schema in enumerate(schemas)])


def test_numbers_of_every_size(spark):
    values = ["NaN", '"NaN"', "Infinity", "-Infinity", '"-INF"', "+INF", "-NaN", '"1.5"', '""', "-0", "-0.0", "1e400", "123456789012345678901234567890", "9007199254740993", "1e40", "0.1", "16777217",
              "1.00000017881393432617187500", "1.00000017881393421514957253748434595763683319091796875001", "1.0000000596046448", "1.000000059604644775390625", "1e-46", "1e-40", "200", "127", "128", "-128", "256", "-129", "32768",
              "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "1.0", "1", "1.005", "-1.005", '"1.005"', "1000", "999.995", "999.994", '"x"', '"1,000.5"', '"1,0.5"', "1e2", '" 1"', '"+1"', "true",
              '".5"', '"5."', '"1e2"', "1e-10", "1e999999999", "0e99", "0.000", "-0.001", '"YWJj"', '"YQ"', '"YQ=="', '"!"', '"YWJj YWJj"', '"YW Jj"', "null", '"true"', "false", "[1]", "{}"]  # fmt: skip
    frame = texts(spark, [f'{{"a":{value}}}' for value in values])
    kinds = [
        "double",
        "float",
        "byte",
        "short",
        "int",
        "long",
        "decimal(5,2)",
        "decimal(38,0)",
        "decimal(20,10)",
        "binary",
        "boolean",
        "string",
        "void",
    ]
    check(
        frame, *[F.from_json("s", f"a {kind}, _corrupt_record string").alias(f"r{i}") for i, kind in enumerate(kinds)]
    )
    check(frame, *[F.from_json("s", f"a {kind}").alias(f"r{i}") for i, kind in enumerate(kinds)])


def test_failfast_raises_where_spark_does(spark):
    check(texts(spark, ['{"a":1}', "{}"]), F.from_json("s", "a int", {"mode": "FAILFAST"}))
    for bad in ("x", '{"a":"x"}', '{"a":"x","a":1}'):
        check(texts(spark, [bad]), F.from_json("s", "a int", {"mode": "FAILFAST"}))


def test_other_names_for_the_corrupt_record(spark):
    frame = texts(spark, ["x", '{"a":1}', '{"c":"y"}', '{"a":"z","c":"y"}'])
    check(frame, F.from_json("s", "a int, c string", {"columnNameOfCorruptRecord": "c"}))


def test_an_option_that_changes_numbers_is_refused(spark):
    with pytest.raises(Unsupported, match="locale"):
        check(texts(spark, ["{}"]), F.from_json("s", "a int", {"locale": "de-DE"}))


def test_the_vector_kernel_answers_for_well_formed_records(spark):
    rows = ['{"a":"x","b":1,"c":2,"d":1.5,"e":true}', '{ "e" : false, "d":-0.0, "c":-5 ,"b":9007199254740993, "a":"\\u00e9\\n\\\\\\"\\u0000😀","z":[{"a":[]},NaN0]}'.replace("NaN0", "null"),
            '{"a":null,"b":null,"c":null,"d":null,"e":null}', None, '{"a":"","b":-9223372036854775808,"c":0,"d":1e22,"e":true,"f":{"a":1,"b":{"b":2}}}', '{"a":"a","b":0,"c":1,"d":12345678901234567890123,"e":false}']  # fmt: skip
    frame = texts(spark, rows)
    schema = "a string, b long, c int, d double, e boolean"
    check(frame, F.from_json("s", schema), vector=True)
    check(frame, F.from_json("s", schema + ", _corrupt_record string"), vector=True)
    check(frame, F.from_json("s", schema)["b"], vector=True)


ODD = ['{"a":"x","b":1,}', '{"a":"x","b":1,\n }', '{"c":nan,"a":"x","b":1}', '{"a":"x","b":1,"c": -inf}', '{"a":"x","b":1,"c":[INFINITY]}', '{"a":"x","b":1,"c":[1, naN]}', '{"a":"x","b":1,"c":[1,]}', '{"a":"x","a":"y","b":1}',
       '{"\\u0061":"x","a":"y","b":1}', '{"a":1,"b":1}', '{"a":1.5,"b":1}', '{"a":"x","b":1.0}', '{"a":"x","b":1e2}', '{"a":"x","b":"1"}', '{"a":"x","b":true}', '{"a":"x"}', "null", "[]", "1", "", '{"a":"x","b":9223372036854775808}',
       '{"a":["x"],"b":1}', '{"a":"x","b":1} y', '{"a":"x","b":1,"c":' + "1" * 1001 + "}", '{"a":"x","b":1,"c":' + "[" * 1001 + "]" * 1001 + "}", '{"a":"x","b":NaN}', '{"a":"x","b":100000000000000000000}']  # fmt: skip


@pytest.mark.parametrize("row", ODD)
def test_the_vector_kernel_refuses_what_only_duckdb_reads(spark, row):
    columns = [
        F.from_json("s", "a string, b long").alias("r"),
        F.from_json("s", "a string, b long, _corrupt_record string"),
    ]
    check(texts(spark, [row]), *columns)


PATHS = ["$", "$.a", "$.b", "$.c[0]", "$.c[2].d", "$.e", "$.e.f", "$.h", "$.n", "$.i", "$['a']", "$.a[*].b", "$.c[*]", "$[0]", "$[*]", "$[*][0]", "$[*][*]", "$[*][*][0]", "$.a[0]", "$.a[0][*]", "a", "$.*", "$.a.*", "$.a[*]", "$.a.b", "$.", "$..a", "$[-1]", "$.a[1][*].b", "$['*']"]  # fmt: skip
DOCUMENTS = [None, '{"a":1,"b":"x","c":[1,2,{"d":3}],"e":{"f":"g"},"h":null,"n":1.50,"i":1E5,"t":true}', '{"a":[{"b":1},{"b":2}]}', "[1,2,3]", "[[1,2],[3]]", "[[[1],[2]],[[3]]]", "x", "", "{}", "null", '{"a":"x\\ny","b":"é😀"}', '{"a":1,"a":2}', '{"a":[1]}', '{"a":[]}',
             '{"a":{"b":"q"}} zz', '{"a":1', '{"a" : { "b" : [ 1 , 2.0 ] } }', '{"a":["x"]}', '{"a":[["x","y"],[{"b":[1,"z"]}]]}', "{'a':'x'}", '{"a":NaN}', '{"a":"\t"}', '{"a":["x",{"b":null}]}', "[", "[1,", '["a",{},[]]']  # fmt: skip


def test_paths_into_json(spark):
    frame = texts(spark, DOCUMENTS)
    others = [F.json_array_length("s").alias("length"), F.json_object_keys("s").alias("keys")]
    check(frame, *[F.get_json_object("s", path).alias(f"r{i}") for i, path in enumerate(PATHS)], *others)


@pytest.mark.parametrize("options", [{}, {"ignoreNullFields": "false", "timeZone": "America/Los_Angeles"}])
def test_to_json(spark, options):
    schema = "a int, b string, c timestamp, d date, e double, f float, g array<int>, h map<string,int>, i decimal(20,10), j binary, k struct<q:int>, l boolean, m timestamp_ntz, n map<int,array<string>>"
    moment = dt.datetime(2020, 1, 1, 1, 2, 3, 456789)
    rows = [
        (1, 'a"b/\n\x01é😀\x7f', moment, moment.date(), 1e20, 1.1, [1, None], {"x": 1, "y": None}, Decimal("0.001"), b"\1\2", (None,), True, moment, {1: ["a", None]}),
        (-5, "", dt.datetime(1900, 1, 1), dt.date(1, 1, 1), float("nan"), float("-inf"), [], {}, Decimal(12), b"", (7,), False, dt.datetime(1969, 12, 31, 23, 59, 59, 999999), {}),
        (None,) * 14,
    ]  # fmt: skip
    frame = spark.createDataFrame(rows, schema)
    check(
        frame,
        F.to_json(F.struct("*"), options).alias("all"),
        F.to_json("g").alias("g"),
        F.to_json("h").alias("h"),
        F.to_json("k").alias("k"),
    )


def test_dates_and_timestamps(spark):
    values = ['"2020-01-01T00:00:00Z"', '"2020-01-01 00:00:00"', '"2020"', "1", "1.5", '"1"', '"x"', '""', '"2020-01-01T00:00:00.123456789+05:30"', '"2020-01-01"', '"2020-1-1"', '"2020-01-01T12:00:00"', '"-5"', '"18000"', '"+7"', "-1", "null",
              '"2020-01-01T00:00GMT+05:30"', '"2020-01-01 00:00:00 GMT+01:00"', "100000000000", '" 2020-01-01 "', '"2020-13-01"', '"1582-10-10"', '"2020-03-08 02:30:00"', "true", '"1900-01-01 00:00:00"']  # fmt: skip
    frame = texts(spark, [f'{{"a":{value}}}' for value in values])
    columns = [
        F.from_json("s", f"a {kind}, _corrupt_record string", options)
        for kind in ("date", "timestamp")
        for options in ({}, {"timeZone": "America/Los_Angeles"})
    ]
    check(frame, *[c.alias(f"r{i}") for i, c in enumerate(columns)])
    check(texts(spark, ['{"a":[["2020-01-01"],null]}']), F.from_json("s", "a array<array<date>>"))
