"""The coordinator, event by event."""

from collections import Counter

import pytest

from millstream.core.coordinator import Coordinator, Pace
from millstream.core.events import Begin, Committed, Complete, Deliver, End, Fail, Hold, Joined, Lost, Received, Send
from millstream.core.graph import Graph, Input, Stage
from millstream.core.messages import (
    Dispatch,
    Fence,
    Known,
    Output,
    Range,
    Report,
    Restart,
    Result,
    Stop,
    TaskFailed,
)

TWO = Graph((Stage("map", 2), Stage("reduce", 4, (Input(0),))))


def start(graph=TWO, slots=(1, 2), **pace):
    coordinator = Coordinator(graph, Pace(**{"interval": 0.0, **pace}))
    for slot in slots:
        coordinator.on(Joined(slot, f"tcp://{slot}"), 0.0)
    return coordinator, coordinator.on(Begin(), 0.0)


def messages(effects, kind):
    return [(e.to, e.message) for e in effects if isinstance(e, Send) and isinstance(e.message, kind)]


def of(effects, kind):
    return [e for e in effects if isinstance(e, kind)]


def report(coordinator, slot, group, stages=None, ranges=(), version=None, produced=(), more=True):
    version = coordinator.version if version is None else version
    return coordinator.on(
        Received(slot, Report(version, group, stages, ranges, None, 5, 2, 0.1, more, {"x": 2}, produced)), 1.0
    )


@pytest.mark.parametrize("size", [1, 10, 1000])
def test_one_message_out_and_one_back_for_each_slot_and_group_of_any_size(size):
    coordinator, effects = start(group_size=size, epochs=size * 20)
    out = Counter(to for to, _ in messages(effects, Dispatch))
    for number in range(20):
        for slot in (1, 2):
            effects = report(coordinator, slot, number)
            out.update(e.to for e in effects if isinstance(e, Send) and not isinstance(e.message, Stop))
    assert out == {1: 20, 2: 20}


def test_the_next_group_is_out_before_the_current_one_ends():
    coordinator, effects = start(group_size=5)
    assert [m.group.first for to, m in messages(effects, Dispatch) if to == 1] == [0, 5]
    assert messages(report(coordinator, 1, 0), Dispatch) == []
    effects = report(coordinator, 2, 0)
    assert [m.group.first for to, m in messages(effects, Dispatch) if to == 1] == [10]
    (done,) = of(effects, Committed)
    assert (done.group.id, done.rows, done.tasks) == (0, 10, 4)


def test_placement_and_members_are_sent_only_when_they_change():
    _, effects = start(group_size=5)
    first, second = (m for to, m in messages(effects, Dispatch) if to == 1)
    assert first.owners is not None
    assert first.members == {1: "tcp://1", 2: "tcp://2"}
    assert (second.owners, second.members) == (None, None)


def test_a_query_that_drains_ends_one_group_after_the_first_that_left_nothing():
    coordinator, _ = start(group_size=5, drain=True)
    assert of(report(coordinator, 1, 0) + report(coordinator, 2, 0), Complete) == []
    report(coordinator, 1, 1, more=False)
    assert of(report(coordinator, 2, 1, more=True), Complete) == []
    report(coordinator, 1, 2, more=False)
    assert of(report(coordinator, 2, 2, more=False), Complete) == []
    report(coordinator, 1, 3, more=False)
    effects = report(coordinator, 2, 3, more=False)
    assert of(effects, Committed)[0].drained
    assert of(effects, Complete) == [Complete()]


def test_a_sink_that_falls_behind_holds_the_next_group_back():
    coordinator, _ = start(group_size=5)
    coordinator.on(Hold(True), 0.0)
    report(coordinator, 1, 0)
    assert messages(report(coordinator, 2, 0), Dispatch) == []
    assert {m.group.first for _, m in messages(coordinator.on(Hold(False), 0.0), Dispatch)} == {10}


def test_groups_grow_from_a_small_first_one():
    coordinator, effects = start(group_size=10, first_group=2)
    sizes = [m.group.epochs for to, m in messages(effects, Dispatch) if to == 1]
    for number in range(3):
        report(coordinator, 1, number)
        sizes += [m.group.epochs for to, m in messages(report(coordinator, 2, number), Dispatch) if to == 1]
    assert sizes == [2, 4, 8, 10, 10]


def test_epochs_end_on_multiples_of_the_interval():
    coordinator = Coordinator(TWO, Pace(interval=0.25))
    coordinator.on(Joined(1, "tcp://1"), 7.1)
    (sent,) = messages(coordinator.on(Begin(), 7.1), Dispatch)[:1]
    assert sent[1].group.starts_at == 7.25


def test_counts_of_a_group_are_added_up():
    coordinator, _ = start(group_size=5)
    report(coordinator, 1, 0)
    (done,) = of(report(coordinator, 2, 0), Committed)
    assert done.counts == {"x": 4}


def test_prescheduled_is_a_group_of_one_with_a_barrier():
    coordinator, effects = start(mode="prescheduled", group_size=50)
    assert [m.group.epochs for _, m in messages(effects, Dispatch)] == [1, 1]
    report(coordinator, 1, 0)
    assert len(messages(report(coordinator, 2, 0), Dispatch)) == 2


def test_bsp_starts_a_stage_when_all_have_reported_the_one_before():
    coordinator, effects = start(mode="bsp")
    assert [m.stages for _, m in messages(effects, Dispatch)] == [(0,), (0,)]
    made = Output(0, 0, 0, 1, 0, {1: 8, 3: 8}, None, ())
    assert messages(report(coordinator, 1, 0, (0,), produced=(made,)), Dispatch) == []
    effects = report(coordinator, 2, 0, (0,))
    orders = dict(messages(effects, Dispatch))
    assert {slot: order.stages for slot, order in orders.items()} == {1: (1,), 2: (1,)}
    assert orders[1].announced == ()
    assert orders[2].announced == ((1, made),)


def test_a_new_slot_is_used_from_the_next_group_on():
    coordinator, _ = start(group_size=5)
    coordinator.on(Joined(3, "tcp://3"), 0.5)
    report(coordinator, 1, 0)
    orders = dict(messages(report(coordinator, 2, 0), Dispatch))
    assert set(orders) == {1, 2, 3}
    assert 3 in orders[3].owners[1]
    assert orders[1].group.first == 10


def test_a_loss_fences_restarts_the_lost_partitions_and_leaves_the_others_alone():
    coordinator, _ = start(slots=(1, 2, 3), group_size=5)
    mine = [(s, p) for s, stage in enumerate(coordinator.owners) for p, owner in enumerate(stage) if owner == 2]
    effects = coordinator.on(Lost(2, "killed"), 1.0)
    fences = dict(messages(effects, Fence))
    assert set(fences) == {1, 3}
    assert set(fences[1].partitions) == set(mine)
    known = Range(0, 1, 0, None, 4)
    assert messages(coordinator.on(Received(1, Known(coordinator.version, (known,))), 1.1), Restart) == []
    orders = dict(messages(coordinator.on(Received(3, Known(coordinator.version, ())), 1.1), Restart))
    assert set(orders) == {1, 3}
    assert set(orders[1].partitions) == set(mine)
    assert orders[1].ranges == (known,)
    assert 2 not in {owner for _, owners in orders[1].placements for stage in owners for owner in stage}


def test_reports_from_before_a_restart_do_not_count():
    coordinator, _ = start(slots=(1, 2, 3), group_size=5)
    old = coordinator.version
    coordinator.on(Lost(2, "killed"), 1.0)
    for slot in (1, 3):
        coordinator.on(Received(slot, Known(coordinator.version, ())), 1.1)
    for slot in (1, 3):
        assert report(coordinator, slot, 0, version=old) == []
    report(coordinator, 1, 0)
    assert len(of(report(coordinator, 3, 0), Committed)) == 1


def test_lost_state_fails_the_query_and_says_so():
    graph = Graph((Stage("map", 2), Stage("count", 2, (Input(0),), stateful=True)))
    coordinator, _ = start(graph, group_size=5)
    coordinator.on(Lost(2, "killed"), 1.0)
    effects = coordinator.on(Received(1, Known(coordinator.version, ())), 1.1)
    (failure,) = of(effects, Fail)
    assert failure.kind == "state"
    assert "'count'" in failure.text
    assert messages(effects, Stop) == [(1, Stop())]


def test_when_no_slot_is_left_the_query_waits_for_one():
    coordinator, _ = start(slots=(1,), group_size=5)
    coordinator.on(Lost(1, "killed"), 1.0)
    orders = messages(coordinator.on(Joined(2, "tcp://2"), 2.0), Restart)
    assert [(to, len(order.partitions)) for to, order in orders] == [(2, 6)]


def test_a_slot_that_is_no_member_is_not_listened_to():
    coordinator, _ = start(group_size=5)
    assert coordinator.on(Received(9, Report(0, 0, None, (), None, 0, 0, 0.0, False, {})), 1.0) == []


def test_results_are_delivered_once():
    coordinator, _ = start(group_size=5)
    result = Result(1, 0, 0, b"x", None, ())
    assert len(of(coordinator.on(Received(1, result), 1.0), Deliver)) == 1
    assert of(coordinator.on(Received(2, result), 1.0), Deliver) == []


def test_the_last_epoch_completes_the_query():
    coordinator, effects = start(group_size=5, epochs=7)
    assert [m.group.epochs for to, m in messages(effects, Dispatch) if to == 1] == [5, 2]
    for number in (0, 1):
        report(coordinator, 1, number)
        effects = report(coordinator, 2, number)
    assert len(of(effects, Complete)) == 1
    assert len(messages(effects, Stop)) == 2
    assert coordinator.state == "ended"


def test_a_failed_task_fails_the_query_with_its_traceback_and_place():
    coordinator, _ = start(group_size=5)
    (failure,) = of(coordinator.on(Received(1, TaskFailed(1, 3, 17, "ZeroDivisionError: x")), 1.0), Fail)
    for part in ("'reduce'", "partition 3", "epoch 17", "ZeroDivisionError"):
        assert part in failure.text


def test_stop_tells_every_slot():
    coordinator, _ = start(group_size=5)
    assert {to for to, _ in messages(coordinator.on(End(), 1.0), Stop)} == {1, 2}
