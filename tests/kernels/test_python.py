import pickle
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from millstream.bench.wordcount import Lines, split
from millstream.kernels.kernel import Task
from millstream.kernels.python import MergeCounts, ReadAndCount, bucket


@given(st.integers(0, 500), st.integers(0, 200), st.integers(1, 7))
def test_partial_counts_merge_to_the_counts_of_all_records(start, length, targets):
    kernel = ReadAndCount(Lines(1, 10.0, 0.0), split, targets)
    product = kernel.run(Task(0, 0, (), None, start, start + length))
    merged = Counter()
    for target, block in product.outputs[0].items():
        part = pickle.loads(block)
        assert all(bucket(word, targets) == target for word in part)
        merged.update(part)
    assert merged == Counter(split(Lines(1, 10.0, 0.0).read(start, start + length)))
    assert product.rows == length


def test_counts_go_on_from_a_snapshot_and_only_changes_are_emitted():
    kernel = MergeCounts()
    assert pickle.loads(kernel.run(Task(0, 0, ([pickle.dumps({"a": 2, "b": 1}), b""],), None)).result) == {
        "a": 2,
        "b": 1,
    }
    other = MergeCounts()
    other.restore(kernel.snapshot())
    assert pickle.loads(other.run(Task(0, 1, ([b"", pickle.dumps({"a": 1})],), None)).result) == {"a": 3}
    assert other.run(Task(0, 2, ([b"", b""],), None)).result is None


def test_an_epoch_takes_a_bounded_number_of_lines():
    assert Lines(0, 1e9, 0.0).latest(7, now=100.0) == 7 + Lines.MOST_AT_ONCE
    assert Lines(0, 10.0, 100.0).latest(7, now=0.0) == 7
