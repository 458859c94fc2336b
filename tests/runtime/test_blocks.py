import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.runtime.blocks import BlockStore, StoreFull

puts = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 6), st.binary(max_size=50)), max_size=40)


@given(puts, st.integers(0, 200), st.integers(-1, 7))
def test_blocks_are_kept_until_released_in_memory_or_on_disk(tasks, memory, released):
    store = BlockStore(memory=memory)
    try:
        kept = {}
        for stage, partition, epoch, block in tasks:
            if (stage, partition, epoch) in kept:
                continue
            kept[stage, partition, epoch] = ({0: block},)
            store.put(stage, partition, epoch, ({0: block},))
            assert store.held <= memory
        store.release(released)
        for (stage, partition, epoch), outputs in kept.items():
            if epoch > released:
                assert store.get(stage, partition, epoch) == outputs
            else:
                with pytest.raises(KeyError):
                    store.get(stage, partition, epoch)
    finally:
        store.close()


def test_nothing_is_left_on_disk(tmp_path):
    store = BlockStore(memory=1, folder=str(tmp_path))
    for epoch in range(5):
        store.put(0, 0, epoch, ({0: b"xyz"},))
    assert list(tmp_path.iterdir())
    store.release(4)
    assert store.spilled == 0
    store.close()
    assert list(tmp_path.iterdir()) == []


def test_a_full_store_says_what_to_change(tmp_path):
    store = BlockStore(memory=1, disk=10, folder=str(tmp_path))
    with pytest.raises(StoreFull, match=r"groupSize.*blockDiskBytes"):
        store.put(0, 0, 0, ({0: b"x" * 100},))
    store.close()
