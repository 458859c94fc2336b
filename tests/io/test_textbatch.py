"""Lines of any file, cut anywhere, are each read once."""

import hypothesis.strategies as st
from hypothesis import given, settings
from pyspark.sql.types import StructType

from millstream.io.lines import lines
from millstream.io.textbatch import TextBatch, text_batches

SCHEMA = StructType().add("value", "string")
CONTENT = st.lists(
    st.sampled_from([b"a", b"\n", b"\n", b"\r", b"\xc3\xbc", b"\xff", b"long" * 5, b"\xef\xbb\xbf"]), max_size=25
)


@settings(max_examples=300, deadline=None)
@given(
    CONTENT.map(b"".join), st.integers(0, 60), st.integers(0, 60), st.integers(1, 30), st.sampled_from([None, b"\n"])
)
def test_a_range_gives_the_lines_that_start_in_it(tmp_path_factory, data, first, second, block, separator):
    path = tmp_path_factory.mktemp("text") / "file"
    path.write_bytes(data)
    low, high = sorted((min(first, len(data)), min(second, len(data))))
    expected = [text for array in lines(str(path), low, high, separator) for text in array.to_pylist()]
    batches = list(text_batches(SCHEMA, str(path), low, high, separator, block))
    assert [text for batch in batches for (text,) in batch.rows] == expected
    assert [text for batch in batches for text in batch.arrow["value"].to_pylist()] == expected
    assert sum(map(len, batches)) == len(expected)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(["", "a", "ü" * 3, "x" * 9]), min_size=1, max_size=20))
def test_a_batch_of_text_is_the_same_in_every_form(texts):
    data = "\n".join(texts).encode() + b"\n"
    batch = TextBatch(SCHEMA, data, len(data))
    assert [text for (text,) in batch.stream] == texts == batch.arrow["value"].to_pylist()
    assert len(batch) == len(texts)
    assert TextBatch.from_bytes(SCHEMA, batch.to_bytes()).rows == [(text,) for text in texts]
