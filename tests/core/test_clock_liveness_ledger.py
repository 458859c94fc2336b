from math import inf

from millstream.core.clock import EpochClock
from millstream.core.ledger import Ledger, OpenGroup
from millstream.core.liveness import Liveness
from millstream.core.messages import Group, Range, Report, Result


def test_epochs_fall_due_on_a_fixed_grid_and_together_when_late():
    clock = EpochClock()
    clock.add(Group(0, 0, 5, 100.0, 0.02))
    assert not clock.at(100.019)
    assert clock.at(100.021)
    assert clock.due == 0
    assert clock.at(100.085)
    assert (clock.due, clock.next_close) == (3, 100.1)


def test_the_next_group_continues_the_grid():
    clock = EpochClock()
    clock.add(Group(0, 0, 2, 0.0, 1.0))
    clock.add(Group(1, 2, 2, 2.0, 1.0))
    clock.at(2.5)
    assert (clock.due, clock.next_close) == (1, 3.0)
    clock.at(9.0)
    assert (clock.due, clock.next_close) == (3, inf)


def test_interval_zero_is_back_to_back():
    clock = EpochClock()
    clock.add(Group(0, 0, 7, 0.0, 0.0))
    assert (clock.due, clock.next_close) == (6, inf)


def test_a_watcher_that_was_held_up_gives_everyone_time():
    alive = Liveness(every=0.05, missed=8)
    for now in (0.0, 0.1, 0.15):
        alive.heard(1, now)
        assert alive.expired(now) == []
    assert alive.expired(5.0) == []
    assert alive.expired(5.1) == []
    assert alive.expired(5.25) == [1]
    assert alive.expired(5.3) == []


def committed(ledger, first, epochs, end):
    ledger.open.append(OpenGroup(Group(first, first, epochs, 0.0, 0.0), {1}, None))
    report = Report(0, first, None, (Range(0, 0, first + epochs - 1, 0, end),), None, 0, 0, 0.0, False, {})
    assert ledger.open[0].take(1, report)
    ledger.commit()


def test_a_replay_uses_known_ranges_and_fills_gaps_between_them():
    ledger = Ledger()
    committed(ledger, 0, 2, end=10)
    ledger.see([Range(0, 0, 3, 14, 20), Range(0, 0, 5, 25, 30), Range(0, 0, 1, 0, 99)])
    assert list(ledger.replay_ranges((0, 0))) == [
        Range(0, 0, 2, 10, 14),
        Range(0, 0, 3, 14, 20),
        Range(0, 0, 4, 20, 25),
        Range(0, 0, 5, 25, 30),
    ]
    assert list(ledger.replay_ranges((0, 1))) == []


def test_a_result_is_delivered_once_even_out_of_order():
    ledger = Ledger()
    results = [Result(1, 0, epoch, b"", None, ()) for epoch in (1, 0, 1, 0)]
    assert [ledger.first_delivery(r) for r in results] == [True, True, False, False]
    committed(ledger, 0, 2, end=1)
    assert not ledger.first_delivery(results[0])


def test_a_report_counts_once():
    entry = OpenGroup(Group(0, 0, 1, 0.0, 0.0), {1, 2}, None)
    report = Report(0, 0, None, (), None, 0, 0, 0.0, False, {})
    assert not entry.take(1, report)
    assert not entry.take(1, report)
    assert entry.take(2, report)
