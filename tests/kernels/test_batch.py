"""Batches keep their rows through every form."""

import hypothesis.strategies as st
import pyarrow as pa
from hypothesis import given, settings
from pyspark.sql.types import StructType

from millstream.kernels.batch import Batch, rows_of

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@settings(max_examples=80, deadline=None)
@given(st.lists(TEXT | st.none(), max_size=12), st.integers(0, 12), st.integers(0, 12))
def test_strings_are_the_same_from_any_slice_of_a_column(texts, first, length):
    table = pa.table({"s": pa.array(texts, pa.string())}).slice(first, length)
    assert rows_of(table) == [(text,) for text in texts[first : first + length]]
    assert list(Batch.of_arrow(None, table).stream) == rows_of(table)


def test_a_batch_in_several_chunks_and_without_columns():
    chunks = pa.table({"s": pa.chunked_array([["a", "ü"], [], ["b"]])})
    assert rows_of(chunks) == [("a",), ("ü",), ("b",)]
    assert rows_of(chunks.select([])) == [(), (), ()]
    assert list(Batch.of_arrow(None, chunks.select([])).stream) == [(), (), ()]


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(st.none() | TEXT, st.none() | st.integers(-9, 9), st.none() | st.tuples(st.integers(0, 9))),
        max_size=9,
    )
)
def test_blocks_hold_what_was_put_in(rows):
    schema = StructType().add("s", "string").add("n", "integer").add("r", StructType().add("x", "long"))
    in_python, in_arrow = Batch.of_rows(schema, rows), Batch.of_arrow(schema, Batch.of_rows(schema, rows).arrow)
    assert list(Batch.from_bytes(schema, in_python.to_bytes()).rows) == rows
    assert list(Batch.from_bytes(schema, in_arrow.to_bytes()).rows) == rows
    both = Batch.concat(schema, [in_python, in_arrow, Batch.of_rows(schema, [])])
    assert list(both.rows) == rows + rows
