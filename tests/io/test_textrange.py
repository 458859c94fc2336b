"""Lines of any file, cut anywhere, are each read once, in every form."""

import hypothesis.strategies as st
from hypothesis import given, settings
from pyspark.sql.types import StructType

from millstream.io.lines import lines
from millstream.io.textrange import TextRange

SCHEMA = StructType().add("value", "string")
PIECES = [b"a", b"\n", b"\n", b"\r", b"\xc3\xbc", b"\xff", b"long" * 5, b"\xef\xbb\xbf", b"\\"]
CONTENT = st.lists(st.sampled_from(PIECES), max_size=25).map(b"".join)


@settings(max_examples=300, deadline=None)
@given(CONTENT, st.integers(0, 60), st.integers(0, 60), st.integers(1, 30), st.sampled_from([None, b"\n"]))
def test_a_range_gives_the_lines_that_start_in_it(tmp_path_factory, data, first, second, block, separator):
    path = tmp_path_factory.mktemp("text") / "file"
    path.write_bytes(data)
    low, high = sorted((min(first, len(data)), min(second, len(data))))

    def read():
        return TextRange(SCHEMA, str(path), low, high, separator, block)

    expected = [text for array in lines(str(path), low, high, separator) for text in array.to_pylist()]
    assert [text for (text,) in read().stream] == expected
    assert [text for (text,) in read().rows] == expected
    assert read().arrow["value"].to_pylist() == expected
    assert len(read()) == len(expected)
    assert TextRange.from_bytes(SCHEMA, read().to_bytes()).rows == [(text,) for text in expected]
    some = read()
    found = [text for (text,) in some.candidates(["a"])]
    assert [text for text in found if "a" in text] == [text for text in expected if "a" in text]
    assert len(some) == len(expected)


def test_a_letter_that_most_lines_hold_is_not_looked_for_any_longer(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"w\n" * 100 + b"x\n" * 100)
    few = [text for (text,) in TextRange(SCHEMA, str(path), 0, 400, None, 50).candidates(["w"])]
    assert few == ["w"] * 100 + ["x"] * 100
    path.write_bytes(b"x\n" * 200 + b"w\n" * 10)
    few = [text for (text,) in TextRange(SCHEMA, str(path), 0, 420, None, 50).candidates(["w"])]
    assert few == ["w"] * 10
