"""The local scheduler, event by event."""

from millstream.core.events import Clock, Finished, Host, PeerAt, Pressure, Received, Run, Send, Serve
from millstream.core.graph import Graph, Input, Stage, Structure
from millstream.core.messages import COORDINATOR, Dispatch, Fence, Fetch, Group, Handoff, Known, Output, Range, Report
from millstream.core.placement import place
from millstream.core.scheduler import LocalScheduler

TWO = Graph((Stage("map", 2), Stage("reduce", 2, (Input(0),))))


def group(number=0, first=0, epochs=10, interval=0.0):
    return Group(number, first, epochs, 0.0, interval)


def start(graph, me=1, slots=(1, 2), owners=None, epochs=10, interval=0.0, **settings):
    scheduler = LocalScheduler(me, graph, **settings)
    order = Dispatch(
        0, group(0, 0, epochs, interval), -1, None, owners or place(graph, slots), dict.fromkeys(slots, "")
    )
    return scheduler, scheduler.on(Received(COORDINATOR, order))


def runs(effects):
    return [(e.stage, e.partition, e.epoch) for e in effects if isinstance(e, Run)]


def sent(effects, kind):
    return [(e.to, e.message) for e in effects if isinstance(e, Send) and isinstance(e.message, kind)]


def finish(scheduler, run, outputs=None, **more):
    if outputs is None:
        outputs = tuple({} for _ in scheduler.graph.edges[run.stage])
    return scheduler.on(Finished(run.ticket, run.stage, run.partition, run.epoch, outputs, **more))


def output(epoch, partition=1, blocks=None, watermark=None, consumer=1, **more):
    lineage = (Range(0, partition, epoch, epoch, epoch + 1),)
    return Output(0, partition, epoch, consumer, 0, blocks or {0: b"x"}, watermark, lineage, **more)


def only(effects, kind=Run):
    (effect,) = [e for e in effects if isinstance(e, kind)]
    return effect


def test_one_dispatch_runs_a_group_and_one_report_ends_it():
    graph = Graph((Stage("only", 1),))
    scheduler, effects = start(graph, slots=(1,), epochs=50)
    ran, reports = 0, []
    while runs(effects):
        run = only(effects)
        ran += 1
        effects = finish(scheduler, run, end=run.epoch + 1, rows=3)
        reports += sent(effects, Report)
    assert ran == 50
    assert [(to, r.group, r.tasks, r.rows) for to, r in reports] == [(COORDINATOR, 0, 50, 150)]
    assert reports[0][1].ranges == (Range(0, 0, 49, None, 50),)


def test_a_reduce_task_is_inactive_until_its_last_block_has_come():
    scheduler, effects = start(TWO)
    effects = finish(scheduler, only(effects), ({0: b"own", 1: b"away"},), end=1)
    assert (1, 0, 0) not in runs(effects)
    assert sent(effects, Output) == [(2, Output(0, 0, 0, 1, 0, {1: b"away"}, None, (Range(0, 0, 0, None, 1),)))]
    run = only(scheduler.on(Received(2, output(0, blocks={0: b"theirs"}))))
    assert (run.stage, run.partition, run.blocks) == (1, 0, [b"own", b"theirs"])


def test_blocks_are_applied_in_upstream_order_and_once():
    graph = Graph((Stage("map", 3), Stage("reduce", 1, (Input(0),))))
    scheduler, _ = start(graph, me=4, owners=((1, 2, 3), (4,)), slots=(1, 2, 3, 4))
    for partition in (2, 0, 2, 0):
        effects = scheduler.on(Received(9, output(0, partition, {0: b"%d" % partition})))
        assert runs(effects) == []
    assert only(scheduler.on(Received(9, output(0, 1, {0: b"1"})))).blocks == [b"0", b"1", b"2"]


def test_a_tree_task_waits_for_its_own_branch_only():
    graph = Graph((Stage("map", 4), Stage("pairs", 2, (Input(0, Structure.TREE),))))
    scheduler, _ = start(graph, me=2, owners=((1, 1, 1, 1), (2, 2)), slots=(1, 2))
    assert runs(scheduler.on(Received(1, output(0, 2, {1: b"a"})))) == []
    assert runs(scheduler.on(Received(1, output(0, 3, {1: b"b"})))) == [(1, 1, 0)]


def test_a_broadcast_goes_to_each_slot_once():
    graph = Graph((Stage("map", 1), Stage("all", 4, (Input(0, Structure.BROADCAST),))))
    scheduler, effects = start(graph, owners=((1,), (2, 2, 3, 3)), slots=(1, 2, 3))
    effects = finish(scheduler, only(effects), (dict.fromkeys(range(4), b"x"),), end=1)
    assert [(to, set(m.blocks)) for to, m in sent(effects, Output)] == [(2, {0, 1}), (3, {2, 3})]


def test_epochs_of_a_partition_run_in_order():
    scheduler, _ = start(TWO, me=2, owners=((1, 1), (2, 2)))
    for partition in (0, 1):
        assert runs(scheduler.on(Received(1, output(1, partition)))) == []
    assert runs(scheduler.on(Received(1, output(0, 0)))) == []
    run = only(scheduler.on(Received(1, output(0, 1))))
    assert run.epoch == 0
    assert runs(finish(scheduler, run)) == [(1, 0, 1)]


def test_the_watermark_is_the_least_of_the_inputs_that_are_not_idle_and_never_falls():
    scheduler, _ = start(TWO, me=2, owners=((1, 1), (2, 2)))

    def epoch(number, *marks):
        for partition, mark in enumerate(marks):
            effects = scheduler.on(Received(1, output(number, partition, watermark=mark)))
        run = only(effects)
        finish(scheduler, run)
        return run.watermark

    assert epoch(0, 50, 40) == 40
    assert epoch(1, 60, None) == 60
    assert epoch(2, None, None) == 60
    assert epoch(3, 55, 70) == 60


def test_when_all_inputs_are_idle_event_time_is_where_the_furthest_was():
    scheduler, _ = start(TWO, me=2, owners=((1, 1), (2, 2)))
    marks = []
    for number, (left, right) in enumerate(((50, 40), (None, None), (None, None), (45, None))):
        scheduler.on(Received(1, output(number, 0, watermark=left)))
        run = only(scheduler.on(Received(1, output(number, 1, watermark=right))))
        marks.append(run.watermark)
        finish(scheduler, run)
    assert marks == [40, 50, 50, 50]


def test_idleness_passes_through_a_stage():
    graph = Graph((Stage("a", 1), Stage("b", 1, (Input(0),)), Stage("c", 1, (Input(1),))))
    scheduler, _ = start(graph, me=2, owners=((1,), (2,), (3,)), slots=(1, 2, 3))
    marks = []
    for number, mark in enumerate((10, None)):
        run = only(scheduler.on(Received(1, output(number, 0, watermark=mark))))
        marks += [m.watermark for _, m in sent(finish(scheduler, run, watermark=run.watermark), Output)]
    assert marks == [10, None]


def test_a_large_block_is_announced_and_pulled():
    producer, effects = start(TWO, inline_limit=3)
    effects = finish(producer, only(effects), ({1: b"large"},), end=1)
    ((_, announced),) = sent(effects, Output)
    assert announced.blocks == {1: 5}
    consumer, _ = start(TWO, me=2)
    effects = consumer.on(Received(1, announced))
    assert sent(effects, Fetch) == [(1, Fetch(0, 0, 0, 1, 0, (1,)))]
    serve = only(producer.on(Received(2, Fetch(0, 0, 0, 1, 0, (1,)))), Serve)
    assert (serve.to, serve.targets) == (2, (1,))


def test_sources_stay_within_the_window_of_the_slots_that_depend_on_them():
    scheduler, effects = start(TWO, epochs=100, in_flight=4)
    ran = 0

    def run_all(effects):
        nonlocal ran
        for run in [e for e in effects if isinstance(e, Run)]:
            ran += run.stage == 0
            run_all(finish(scheduler, run, end=run.epoch + 1))

    run_all(effects)
    assert ran == 4
    for epoch in range(4):
        run_all(scheduler.on(Received(2, output(epoch))))
    assert ran == 8
    for epoch in range(4, 8):
        run_all(scheduler.on(Received(2, output(epoch))))
    assert ran == 8  # slot 2 may be two windows behind, not more
    run_all(scheduler.on(PeerAt(2, 3)))
    assert ran == 12


def test_pressure_pauses_sources():
    graph = Graph((Stage("only", 1),))
    scheduler, effects = start(graph, slots=(1,))
    scheduler.on(Pressure(True))
    assert runs(finish(scheduler, only(effects), end=1)) == []
    assert runs(scheduler.on(Pressure(False))) == [(0, 0, 1)]


def test_a_source_waits_for_its_epoch_to_close():
    graph = Graph((Stage("only", 1),))
    scheduler, effects = start(graph, slots=(1,), interval=1.0)
    assert runs(effects) == []
    assert runs(scheduler.on(Clock(1.01))) == [(0, 0, 0)]


def test_the_next_group_follows_without_a_word_from_the_coordinator_between():
    graph = Graph((Stage("only", 1),))
    scheduler, effects = start(graph, slots=(1,), epochs=1)
    assert runs(scheduler.on(Received(COORDINATOR, Dispatch(0, group(1, 1, 1), -1)))) == []
    assert runs(finish(scheduler, only(effects), end=1)) == [(0, 0, 1)]


def test_a_partition_moves_with_its_position_at_a_boundary():
    graph = Graph((Stage("only", 2),))
    old, effects = start(graph, epochs=2)
    moved = Dispatch(0, group(1, 2, 2), -1, None, ((3, 2),), {})
    old.on(Received(COORDINATOR, moved))
    run = only(finish(old, only(effects), end=7))
    handed = [e for e in finish(old, run, end=9) if type(e).__name__ == "HandOver"]
    assert [(e.to, e.partition, e.epoch, e.position) for e in handed] == [(3, 0, 2, 9)]
    new = LocalScheduler(3, graph)
    assert runs(new.on(Received(COORDINATOR, moved))) == []
    effects = new.on(Received(1, Handoff(0, 0, 2, 9, None, b"state")))
    assert only(effects, Host).state == b"state"
    assert (only(effects).epoch, only(effects).start) == (2, 9)


def test_blocks_for_a_partition_that_is_still_on_its_way_wait_for_it():
    scheduler, _ = start(TWO, me=3, owners=((1, 2), (1, 2)), slots=(1, 2, 3), epochs=2)
    for partition in (0, 1):
        assert scheduler.on(Received(1, output(2, partition))) == []
    effects = scheduler.on(Received(COORDINATOR, Dispatch(0, group(1, 2, 2), -1, None, ((1, 2), (3, 2)), {})))
    assert runs(effects) == [(1, 0, 2)]


def test_a_fence_is_answered_with_what_is_known_and_stops_what_starts_again():
    scheduler, effects = start(TWO)
    run = only(effects)
    scheduler.on(Received(2, output(0)))
    effects = scheduler.on(Received(COORDINATOR, Fence(1, (2,), ((0, 0),))))
    assert sent(effects, Known) == [(COORDINATOR, Known(1, (Range(0, 1, 0, 0, 1),)))]
    assert not scheduler.is_current(run)
    assert finish(scheduler, run, end=5) == []


def test_what_is_covered_is_forgotten():
    scheduler, effects = start(TWO)
    effects = finish(scheduler, only(effects), ({},), end=1)
    scheduler.on(Received(COORDINATOR, Dispatch(0, group(1, 10, 10), 0)))
    assert scheduler.memory.seen() == ()
    assert scheduler.on(Received(2, Fetch(0, 0, 0, 1, 0, (1,)))) == []


def test_bsp_runs_only_the_stage_that_the_driver_started_and_reports_its_outputs():
    scheduler = LocalScheduler(1, TWO)
    order = Dispatch(0, group(0, 0, 1), -1, (0,), place(TWO, (1, 2)), {}, relay=True)
    effects = finish(scheduler, only(scheduler.on(Received(COORDINATOR, order))), ({0: b"own", 1: b"away"},), end=1)
    assert sent(effects, Output) == []
    ((_, report),) = sent(effects, Report)
    assert [out.blocks for out in report.produced] == [{1: 4}]
    announced = ((2, output(0, 1, {0: 3})),)
    effects = scheduler.on(
        Received(COORDINATOR, Dispatch(0, group(0, 0, 1), -1, (1,), relay=True, announced=announced))
    )
    assert sent(effects, Fetch) == [(2, Fetch(0, 1, 0, 1, 0, (0,)))]
    assert runs(scheduler.on(Received(2, output(0, 1, {0: b"got"})))) == [(1, 0, 0)]


def test_a_stage_that_marks_passes_on_event_time_even_when_its_inputs_are_idle():
    graph = Graph((Stage("split", 1), Stage("read", 1, (Input(0),), marks=True), Stage("sum", 1, (Input(1),))))
    scheduler, effects = start(graph, slots=(1,))
    run = only(effects)
    run = next(e for e in finish(scheduler, run, ({0: b"s"},), end=1) if isinstance(e, Run) and e.stage == 1)
    assert run.watermark is None
    effects = finish(scheduler, run, ({0: b"x"},), watermark=70)
    assert next(e for e in effects if isinstance(e, Run) and e.stage == 2).watermark == 70


def test_a_report_says_whether_the_groups_last_epoch_left_rows_and_what_was_counted():
    graph = Graph((Stage("only", 1),))
    scheduler, effects = start(graph, slots=(1,), epochs=2)
    effects = finish(scheduler, only(effects), end=1, more=True, counts={"late": 2})
    effects = finish(scheduler, only(effects), end=2, more=False, counts={"late": 3})
    report = only(effects, Send).message
    assert (report.more, report.counts) == (False, {"late": 5})


def test_a_source_that_ran_ahead_does_not_speak_for_the_group_before():
    graph = Graph((Stage("read", 1), Stage("slow", 1, (Input(0),))))
    scheduler, effects = start(graph, slots=(1,), epochs=1)
    second = scheduler.on(Received(COORDINATOR, Dispatch(0, group(1, 1, 1), -1)))
    slow = [e for e in finish(scheduler, only(effects), ({0: b"a"},), end=1, more=True) if isinstance(e, Run)]
    ahead = next(e for e in [*slow, *second] if isinstance(e, Run) and e.stage == 0)
    finish(scheduler, ahead, ({0: b"b"},), end=2, more=False)
    effects = finish(scheduler, next(e for e in slow if e.stage == 1))
    assert [r.more for _, r in sent(effects, Report)] == [True]
