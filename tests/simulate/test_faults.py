"""Seeded faults: the suite's seeds, those that once failed, and proof that the check can fail."""

import pytest

from millstream.core import scheduler
from millstream.simulate.faults import KINDS, run_seed, run_seeds

ONCE_FAILED = {
    92: "a handoff was lost with its sender after the old placement had been forgotten",
    621: "a source decided another range after it had answered a fence",
    1065: "the same",
    1785: "blocks that were served again came before the restart and were dropped with the old partition",
    2304: "the same",
    2366: "the same",
}


@pytest.mark.timeout(300)
def test_three_hundred_seeds_give_the_output_of_a_run_without_faults():
    result = run_seeds(300)
    assert result["failed"] == []
    assert result["epochs"] > 5000
    assert all(result["faults"][kind] > 0 for kind in KINDS)


@pytest.mark.parametrize("seed", ONCE_FAILED)
def test_seeds_that_once_failed(seed):
    assert run_seed(seed).problem is None


def test_a_seed_replays_exactly():
    first, second = run_seed(11, keep_trace=True), run_seed(11, keep_trace=True)
    assert first.trace == second.trace
    assert len(first.trace) > 10


def some_seed_fails(seeds=300):
    return any(run_seed(seed).problem for seed in range(seeds))


def test_the_check_notices_results_that_are_delivered_twice(monkeypatch):
    monkeypatch.setattr("millstream.core.ledger.Ledger.first_delivery", lambda self, result: True)
    assert some_seed_fails()


def test_the_check_notices_ranges_that_are_decided_again(monkeypatch):
    monkeypatch.setattr("millstream.core.ledger.Ledger.replay_ranges", lambda self, key: iter(()))
    assert some_seed_fails()


def test_the_check_notices_blocks_that_are_not_served_again(monkeypatch):
    monkeypatch.setattr(scheduler.LocalScheduler, "_serve_again", lambda self, moved, everything: None)
    assert some_seed_fails()
