from hypothesis import example, given
from hypothesis import strategies as st

from millstream.core.graph import Graph, Input, Stage, Structure
from millstream.core.placement import Placement, place, rebalance

owners = st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=12).map(tuple), min_size=1, max_size=4).map(tuple)
slots = st.sets(st.integers(1, 9), min_size=1, max_size=6)


@given(owners, slots)
def test_rebalance_is_even_and_uses_only_members(before, members):
    after = rebalance(before, members)
    for stage in after:
        load = [stage.count(slot) for slot in members]
        assert set(stage) <= members
        assert max(load) - min(load) <= 1


@given(owners, slots)
@example(((1,) * 10 + (2, 2),), {1, 2, 3})
def test_rebalance_moves_no_more_than_evenness_asks(before, members):
    after = rebalance(before, members)
    for old, new in zip(before, after):
        most = -(-len(old) // len(members))
        lost = sum(owner not in members for owner in old)
        surplus = sum(max(0, old.count(slot) - len(old) // len(members)) for slot in members)
        assert sum(a != b for a, b in zip(old, new)) <= lost + surplus
        assert max(new.count(slot) for slot in members) <= most


@given(owners, slots)
def test_without_spreading_only_lost_partitions_move(before, members):
    after = rebalance(before, members, spread=False)
    for old, new in zip(before, after):
        assert all(a == b for a, b in zip(old, new) if a in members)


def test_equal_partition_numbers_share_a_slot():
    graph = Graph((Stage("a", 6), Stage("b", 6, (Input(0, Structure.ONE_TO_ONE),))))
    first, second = place(graph, [3, 1, 2])
    assert first == second


def test_routes_group_targets_by_slot_and_are_computed_once():
    graph = Graph((Stage("a", 2), Stage("b", 4, (Input(0),))))
    placement = Placement(graph, 0, place(graph, [1, 2]))
    (route,) = placement.routes(0, 1)
    assert dict(route.by_slot) == {1: (0, 2), 2: (1, 3)}
    assert placement.routes(0, 1)[0] is route


def test_sources_are_paced_by_the_slots_that_depend_on_them():
    graph = Graph((Stage("a", 4), Stage("b", 2, (Input(0, Structure.TREE),))))
    placement = Placement(graph, 0, ((1, 2, 3, 4), (1, 3)))
    assert placement.watched_by(2) == {1}
    assert placement.watched_by(3) == set()
    assert placement.watching(1) == {2}
    assert placement.watching(4) == set()
