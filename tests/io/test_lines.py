import gzip
import itertools

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from millstream.io import lines as module
from millstream.io.lines import lines

texts = st.text(alphabet="ab\r\n", max_size=30).map(str.encode)


def read(path, low, high, separator=None):
    return [line for array in lines(str(path), low, high, separator) for line in array.to_pylist()]


def plain(data):
    """The lines as anybody would cut them."""
    found = data.decode().replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return found if found[-1] else found[:-1]


@settings(deadline=None)
@given(texts, st.lists(st.integers(0, 30), max_size=4), st.sampled_from([1, 2, 65_536]))
@example(b"a\r\n\r\nb", [1, 2, 3], 1)
def test_ranges_of_a_file_give_each_line_once(tmp_path_factory, data, cuts, chunk):
    path = tmp_path_factory.getbasetemp() / "lines.txt"
    path.write_bytes(data)
    bounds = sorted({0, len(data), *(c for c in cuts if c < len(data))})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PEEK", chunk)
        patch.setattr(module, "PIECE", chunk)
        got = [line for low, high in itertools.pairwise(bounds) for line in read(path, low, high)]
    assert got == plain(data)


def test_a_separator_of_ones_own(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"x\ny;z;;w")
    assert read(path, 0, 8, b";") == ["x\ny", "z", "", "w"]
    assert read(path, 0, 2, b";") + read(path, 2, 5, b";") + read(path, 5, 8, b";") == ["x\ny", "z", "", "w"]
    assert read(path, 0, 8, b";;") == ["x\ny;z", "w"]


def test_packed_files_are_unpacked(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"x\ny"))
    assert read(path, 0, 10) == ["x", "y"]
    (tmp_path / "a.zst").write_bytes(b"?")
    with pytest.raises(module.MillstreamError, match="use gzip"):
        read(tmp_path / "a.zst", 0, 1)
