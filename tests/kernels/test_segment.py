"""Both kernels of fused operators give the same rows, batch after batch, and cost decides between them."""

import hypothesis.strategies as st
import pyarrow as pa
import pytest
from hypothesis import given, settings
from pyspark.sql.types import BooleanType, DoubleType, LongType, StringType, StructType, TimestampType

from millstream.errors import DataError
from millstream.kernels.batch import Batch
from millstream.kernels.segment import Cost, Segment
from millstream.plan.algebra import (
    Aggregate,
    AggregateCall,
    Column,
    Expand,
    Expr,
    Filter,
    Node,
    PartialAggregate,
    Project,
    Static,
    StaticJoin,
    Unsupported,
    Watermark,
    schema_of,
)

K, N, X, T = (
    Column(1, "k", StringType()),
    Column(2, "n", LongType()),
    Column(3, "x", DoubleType()),
    Column(4, "t", TimestampType()),
)
BASE = (K, N, X, T)
LONG, TRUTH = LongType(), BooleanType()


def lit(value, kind=LONG):
    return Expr("Literal", kind, (), {"value": value})


def op(name, kind, *args, **params):
    return Expr(name, kind, args, params)


def plus(a, b):
    return op("Add", LONG, a, b, mode="LEGACY", ansi=False)


def more(a, b):
    return op("GreaterThan", TRUTH, a, b)


def count(result=90):
    return AggregateCall(op("Count", LONG, lit(1)), False, None, Column(result, "count", LONG))


def static():
    columns = (Column(20, "k2", StringType()), Column(21, "v", LONG))
    table = pa.table({"k2": ["a", "b", "b", None], "v": [1, 2, 3, 4]})
    return Static(columns, table)


def join(kind, condition=None):
    table = static()
    output = BASE if kind in ("semi", "anti") else BASE + table.output
    return StaticJoin(output, Node(BASE), table, kind, (K.ref(),), (table.output[0].ref(),), condition)


N2 = Column(10, "n2", LONG)
PIPELINES = {
    "filter, project": [
        Filter(BASE, Node(BASE), op("And", TRUTH, more(N.ref(), lit(0)), op("IsNotNull", TRUTH, K.ref()))),
        Project((K, N2), Node(BASE), (K.ref(), plus(N.ref(), lit(7)))),
    ],
    "expand": [Expand((K, N2), Node(BASE), ((K.ref(), N.ref()), (K.ref(), plus(N.ref(), lit(1)))))],
    "inner": [join("inner")],
    "left": [join("left", more(N.ref(), Column(21, "v", LONG).ref()))],
    "semi": [join("semi")],
    "anti": [join("anti")],
    "watermark between filters": [
        Filter(BASE, Node(BASE), op("IsNotNull", TRUTH, N.ref())),
        Watermark(BASE, Node(BASE), T, 1_000_000),
        Filter(BASE, Node(BASE), more(N.ref(), lit(3))),
    ],
    "partial aggregate by float": [
        PartialAggregate((X, Column(90, "c", LONG)), Node(BASE), ((X, X.ref()),), (count(),)),
    ],
    "partial aggregate of all": [PartialAggregate((Column(90, "c", LONG),), Node(BASE), (), (count(),))],
}  # fmt: skip

ROW = st.tuples(
    st.none() | st.sampled_from(["a", "b", "c", "ü"]),
    st.none() | st.integers(-20, 20),
    st.none() | st.sampled_from([0.0, -0.0, 1.5, float("nan"), float("inf")]),
    st.none() | st.integers(1_700_000_000_000_000, 1_700_000_100_000_000),
)


@pytest.fixture(scope="module")
def steps():
    return {
        name: [Segment(BASE, tuple(nodes), kernel).start() for kernel in ("scalar", "vector")]
        for name, nodes in PIPELINES.items()
    }


@pytest.mark.parametrize("name", PIPELINES)
def test_scalar_and_vector_kernels_agree(steps, name):
    scalar, vector = steps[name]

    @settings(max_examples=25, deadline=None)
    @given(st.lists(ROW, max_size=30))
    def agree(rows):
        schema = schema_of(BASE)
        by_scalar, mark = scalar.run(Batch.of_rows(schema, rows))
        by_vector, vector_mark = vector.run(Batch.of_rows(schema, rows))
        assert vector.refused == 0
        assert sorted(map(repr, by_scalar.rows)) == sorted(map(repr, by_vector.rows))
        assert mark == vector_mark

    agree()


def test_a_watermark_is_in_whole_milliseconds_as_sparks(steps):
    rows = [("a", 1, None, 1_700_000_000_123_456)]
    for step in steps["watermark between filters"]:
        assert step.run(Batch.of_rows(schema_of(BASE), rows))[1] == 1_699_999_999_123_000


def test_the_code_is_readable():
    segment = Segment(BASE, tuple(PIPELINES["filter, project"]))
    assert "for (c" in segment.scalar_source()
    assert "WHERE" in segment.vector_source()


def test_what_the_vector_kernel_refuses_goes_to_the_scalar_one():
    divide = op("Divide", DoubleType(), X.ref(), X.ref(), mode="ANSI", ansi=True)
    step = Segment(BASE, (Project((X,), Node(BASE), (divide,)),), "vector").start()
    batch = Batch.of_rows(schema_of(BASE), [("a", 1, 0.0, 1)])
    with pytest.raises(DataError, match="DIVIDE_BY_ZERO"):
        step.run(batch)


def test_an_operator_without_kernel_is_named():
    with pytest.raises(Unsupported, match="Aggregate"):
        Segment(BASE, (Aggregate(BASE, Node(BASE), (), (), ()),)).scalar_source()
    unknown = Filter(BASE, Node(BASE), op("FlyToTheMoon", TRUTH, K.ref()))
    with pytest.raises(Unsupported, match="FlyToTheMoon"):
        Segment(BASE, (unknown,)).scalar_source()


def test_costs_are_learnt_from_what_calls_took():
    cost = Cost(fixed=1.0, row=1.0)
    for rows in (10, 1000, 50, 5000) * 200:
        cost.saw(rows, 0.002 + rows * 1e-6)
    assert cost.of(3000) == pytest.approx(0.005, rel=0.1)
    assert cost.of(0) == pytest.approx(0.002, rel=0.3)


def test_few_rows_go_to_the_scalar_kernel_and_many_to_the_vector_one():
    step = Segment(BASE, tuple(PIPELINES["filter, project"])).start()
    step._vector_cost, step._scalar_cost = Cost(1e-3, 1e-7), Cost(1e-5, 1e-6)
    assert not step._prefers_vector(100)
    tried = [step._prefers_vector(10_000) for _ in range(3)]
    assert tried == [False] * 3  # the scalar kernel is to be measured, too, before anything is believed
    for cost, seconds in ((step._scalar_cost, 1e-2), (step._vector_cost, 2e-3)):
        for _ in range(step.FIRST):
            cost.saw(10_000, seconds)
    assert step._prefers_vector(10_000)
    assert not step._prefers_vector(100)


def test_an_empty_batch_costs_nothing_and_keeps_the_schema():
    step = Segment(BASE, tuple(PIPELINES["filter, project"])).start()
    batch, mark = step.run(Batch.of_rows(schema_of(BASE), []))
    assert (len(batch), mark) == (0, None)
    assert batch.schema == StructType().add("k", "string").add("n2", "long")
