"""Where rows go is the same for rows in Python's form and in Arrow's."""

from decimal import Decimal

import hypothesis.strategies as st
from hypothesis import given, settings
from pyspark.sql.types import ArrayType, IntegerType, StructType

from millstream.kernels.batch import Batch
from millstream.kernels.exchange import partition_of, scatter

SCHEMA = (
    StructType()
    .add("l", "long")
    .add("s", "string")
    .add("d", "double")
    .add("w", StructType().add("start", "timestamp").add("end", "timestamp"))
    .add("n", "decimal(10,2)")
    .add("b", "binary")
    .add("a", ArrayType(IntegerType()))
)
INT64 = st.integers(-(1 << 63), (1 << 63) - 1) | st.sampled_from([-1, 0, (1 << 61) - 1, 1 - (1 << 61)])
TIME = st.integers(-(10**15), 10**15)
ROW = st.tuples(
    st.none() | INT64,
    st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
    st.none() | st.floats(),
    st.none() | st.tuples(TIME, TIME),
    st.none() | st.decimals(-9999, 9999, places=2),
    st.none() | st.binary(max_size=4),
    st.none() | st.lists(st.none() | st.integers(-5, 5), max_size=3),
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(ROW, min_size=65, max_size=80),
    st.lists(st.integers(0, 6), min_size=1, max_size=3, unique=True),
    st.booleans(),
)
def test_both_forms_of_a_batch_are_scattered_alike(rows, keys, nulls):
    if not nulls:
        blank = (7, "x", 0.5, (1, 2), Decimal("1.25"), b"y", [1])
        rows = [tuple(b if v is None else v for v, b in zip(row, blank)) for row in rows]
    in_python = scatter(Batch.of_rows(SCHEMA, rows), keys, 5)
    in_arrow = scatter(Batch.of_arrow(SCHEMA, Batch.of_rows(SCHEMA, rows).arrow), keys, 5)
    assert in_python.keys() == in_arrow.keys()
    for p, block in in_python.items():
        assert repr(Batch.from_bytes(SCHEMA, block).rows) == repr(Batch.from_bytes(SCHEMA, in_arrow[p]).rows)


def test_every_row_of_a_key_goes_to_the_keys_partition():
    rows = [(i, str(i % 7)) for i in range(200)]
    schema = StructType().add("i", "long").add("k", "string")
    for block in scatter(Batch.of_rows(schema, rows), [1], 4).items():
        p, data = block
        assert {partition_of([k], 4) for _, k in Batch.from_bytes(schema, data).rows} == {p}
