import pytest
from pyspark.sql import functions as F

from millstream.kernels.batch import rows_of
from millstream.kernels.expressions import Code, python
from millstream.kernels.functions.generators import generator_of
from millstream.plan.algebra import Expr, Unsupported
from millstream.plan.expressions import column_of, expression, items
from tests.kernels.oracle import same

pytestmark = pytest.mark.spark


def generated(frame, *columns):
    """What our generator makes of the rows of a frame, and what Spark makes of them."""
    answer = frame.select(*columns)
    plan = answer._jdf.queryExecution().optimizedPlan()
    while plan.nodeName() != "Generate":
        plan = plan.children().apply(0)
    generator = expression(plan.generator())
    inputs = [column_of(a) for a in items(plan.children().apply(0).output())]
    code = Code()
    args = ", ".join(python(arg, {c.id: f"c{c.id}" for c in inputs}, code) for arg in generator.args)
    entry = code.compile(f"def run({', '.join(f'c{c.id}' for c in inputs)}):\n    return ({args},)\n", "run")
    make = generator_of(generator)
    rows = rows_of(frame.select(*[c.name for c in inputs]).toArrow())
    return [tuple(made) for row in rows for made in make(*entry(*row))], rows_of(answer.toArrow())


@pytest.fixture(scope="module")
def frame(spark):
    rows = [
        ([1, None, 2], {"a": 1, "b": None}, [(1, "x"), None, (None, None)], 7, '{"a": 1, "b": "x"}'),
        ([], {}, [], None, None),
        (None, None, None, 1, "{"),
    ]
    schema = "a array<int>, m map<string, int>, r array<struct<x: int, y: string>>, i int, s string"
    return spark.createDataFrame(rows, schema).localCheckpoint()


@pytest.mark.parametrize(
    "generator",
    [
        *("explode(a)", "explode(m)", "posexplode(a)", "posexplode(m)", "inline(r)", "explode(r)"),
        *("stack(2, i, 1, i)", "stack(3, i, s, 1, 'z', 2)"),
    ],
)
def test_rows(frame, generator):
    got, expected = generated(frame, F.expr(generator))
    assert expected
    assert same(got, expected)


def test_fields_of_json(spark):
    texts = (
        '{"a": 1, "b": "x\\u0041", "c": {"d": [1.0, 1e10, null, "y"]}, "a": 2}',
        '{"a": null, "b": true, "c": 1.50}',
        "{'a': 'b', \"c\": -0}",
        '{"a": 1, "b"',
        '{"a": "1", "b": "}',
        '{"a": 1} {"b": 2}',
        '{"a": 1, "c": NaN}',
        "[1]",
        "null",
        "",
        '{"b": "\t", "c": "😀", "x": [{"a": 3}]}',
        None,
    )
    frame = spark.createDataFrame([(text, "b") for text in texts], "s string, n string").localCheckpoint()
    got, expected = generated(frame, F.expr("json_tuple(s, 'a', n, 'c', 'a', 'zz')"))
    assert same(got, expected)


def test_a_generator_without_kernel():
    with pytest.raises(Unsupported):
        generator_of(Expr("ReplicateRows", None))
