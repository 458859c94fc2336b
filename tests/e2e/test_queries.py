"""Queries on a real local Spark session, slots and all."""

import os
import signal
import threading
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest

from millstream.api.query import Query
from millstream.bench.coordination import two_stages
from millstream.bench.wordcount import Lines, split, word_count
from millstream.core.graph import Stage
from millstream.errors import InvalidOption, NotEnoughCores, NotShippable, QueryFailed, StateLost
from millstream.plan.plan import Plan
from millstream.runtime.offers import total_cores
from millstream.runtime.options import MODES
from tests.e2e import jobs
from tests.e2e.helpers import Results, numbers, wait_for

pytestmark = pytest.mark.spark


def run(spark, plan, **options):
    results = Results()
    query = Query.start(spark, plan, {"slots": 3, "interval": 0, "groupSize": 5, "epochs": 23, **options}, sink=results)
    try:
        assert query.awaitTermination(90)
    finally:
        query.stop()
    return results, query


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_gives_the_same_result(spark, mode):
    epochs = 4 if mode == "spark" else 23
    results, query = run(spark, jobs.shuffled(), mode=mode, epochs=epochs)
    assert results.records() == Counter(numbers(range(3), epochs))
    for (_, partition, epoch), records in results.by_task.items():
        assert all(r % 4 == partition and (r % 1_000_000) // 5 == epoch for r in records)
    assert query.epochs == epochs
    assert query.rows == epochs * 15
    assert query.exception() is None


@pytest.mark.parametrize("mode", MODES)
def test_state_is_kept_in_every_mode(spark, mode):
    epochs = 3 if mode == "spark" else 23
    results, _ = run(spark, jobs.totals(), mode=mode, epochs=epochs)
    last = {}
    for (_, partition, _epoch), total in sorted(results.by_task.items(), key=lambda item: item[0][2]):
        last[partition] = total
    everything = numbers(range(3), epochs)
    assert last == {p: sum(r for r in everything if r % 4 == p) for p in range(4)}


@pytest.mark.parametrize("mode", MODES)
def test_several_exchanges_fan_out_and_fan_in(spark, mode):
    epochs = 2 if mode == "spark" else 12
    results, _ = run(spark, jobs.diamond(), mode=mode, epochs=epochs)
    sources = [*numbers(range(2), epochs), *numbers(range(10, 13), epochs)]
    expected = Counter(r + 1 for r in sources)
    for _ in range(2):  # both copies of the broadcast
        expected.update(r + 2 for r in sources)
    assert results.records() == expected


def test_large_blocks_are_pulled_and_old_ones_go_to_disk(spark):
    plan = jobs.shuffled(pad=5_000)
    results, _ = run(spark, plan, inlineBytes=1000, blockMemoryBytes=50_000, groupSize=20, epochs=60)
    assert results.records() == Counter(numbers(range(3), 60))


def test_word_count_equals_a_count_of_the_same_lines(spark):
    counts, ends = Counter(), {}

    def sink(result):
        import pickle

        counts.update({word: n - counts[word] for word, n in pickle.loads(result.payload).items()})
        for r in result.lineage:
            ends[r.partition] = max(ends.get(r.partition, 0), r.end)

    plan = word_count(50_000.0, time.time(), readers=3, counters=6)
    query = Query.start(spark, plan, {"slots": 3, "interval": 0.005, "epochs": 100, "groupSize": 10}, sink=sink)
    assert query.awaitTermination(60)
    expected = Counter()
    for partition, end in ends.items():
        expected.update(split(Lines(partition, 1.0, 0.0).read(0, end)))
    assert sum(ends.values()) > 1000
    assert counts == expected


def test_a_query_has_the_manners_of_a_streaming_query(spark):
    query = Query.start(spark, jobs.source_only(), {"slots": 3, "interval": 0.01, "groupSize": 5}, name="named")
    try:
        assert (query.name, query.engine, query.isActive) == ("named", "millstream", True)
        wait_for(lambda: len(query.recentProgress) > 2)
        progress = query.lastProgress
        assert progress["batchId"] >= 4
        assert progress["numInputRows"] == 75
        assert progress["millstream"]["groupSize"] == 5
        assert query.status["isTriggerActive"]
        assert query.awaitTermination(0.05) is False
    finally:
        query.stop()
    assert (query.isActive, query.status["message"], query.exception()) == (False, "Stopped", None)


def test_stop_leaves_nothing_behind(spark):
    baseline = {t.name for t in threading.enumerate()}
    temp = set(Path("/tmp").glob("millstream-*"))
    query = Query.start(spark, jobs.shuffled(pad=2000), {"slots": 3, "interval": 0.001, "blockMemoryBytes": 1000})
    wait_for(lambda: query.epochs > 50)
    port = int(query.body.driver.mailbox.address.split()[0].rsplit(":", 1)[1])
    query.stop()
    assert {t.name for t in threading.enumerate() if t.name.startswith("millstream")} <= baseline
    assert port not in {c.laddr.port for c in psutil.Process().net_connections() if c.status == "LISTEN"}
    assert set(Path("/tmp").glob("millstream-*")) == temp
    assert list(spark.sparkContext.statusTracker().getActiveJobsIds()) == []
    query.stop()


def test_a_slot_that_hangs_in_user_code_is_ended_by_stop(spark):
    query = Query.start(spark, jobs.source_only(pace=600.0), {"slots": 3, "interval": 0})
    wait_for(lambda: len(query.body.driver.coordinator.members) == 3)
    query.stop()
    wait_for(lambda: not list(spark.sparkContext.statusTracker().getActiveJobsIds()), 10)


def test_an_exception_in_a_user_function_stops_the_query_and_names_its_place(spark):
    query = Query.start(spark, jobs.shuffled(fail_at=7), {"slots": 3, "interval": 0})
    with pytest.raises(QueryFailed) as error:
        query.awaitTermination(60)
    for part in ("stage 'collect'", "partition 1", "epoch 7", "ZeroDivisionError: one over nothing", "in run"):
        assert part in str(error.value)
    assert query.exception() is error.value
    assert not query.isActive


def test_an_exception_in_mode_spark_shows_the_same(spark):
    query = Query.start(spark, jobs.shuffled(fail_at=1), {"mode": "spark", "interval": 0})
    with pytest.raises(QueryFailed, match="one over nothing"):
        query.awaitTermination(60)


def test_a_sink_that_fails_stops_the_query(spark):
    def sink(result):
        raise OSError("disk full")

    query = Query.start(spark, jobs.shuffled(), {"slots": 3, "interval": 0}, sink=sink)
    with pytest.raises(QueryFailed, match="disk full"):
        query.awaitTermination(60)


def test_a_message_that_no_node_would_accept_stops_the_query_with_a_remedy(spark):
    query = Query.start(spark, jobs.shuffled(pad=300_000), {"slots": 3, "interval": 0, "maxMessageBytes": 100_000})
    with pytest.raises(QueryFailed, match="maxMessageBytes"):
        query.awaitTermination(60)


def test_code_that_the_slots_cannot_load_is_reported(spark):
    plan = Plan((Stage("numbers", 2),), (jobs.Unloadable(),))
    query = Query.start(spark, plan, {"slots": 2, "interval": 0})
    with pytest.raises(QueryFailed, match=r"can't be loaded.*only_on_the_driver"):
        query.awaitTermination(60)


def test_what_cannot_start_says_why_before_anything_runs(spark):
    with pytest.raises(InvalidOption, match="unknown mode"):
        Query.start(spark, jobs.source_only(), {"mode": "turbo"})
    lock = threading.Lock()
    with pytest.raises(NotShippable, match="'locked'"):
        Query.start(spark, Plan((Stage("locked", 1),), (lambda p: lock,)))
    assert list(spark.sparkContext.statusTracker().getActiveJobsIds()) == []


def test_more_slots_than_cores_starts_with_what_there_is_and_says_so(spark, caplog):
    cores = total_cores(spark.sparkContext)
    query = Query.start(spark, jobs.shuffled(), {"slots": 50, "interval": 0.005, "groupSize": 5})
    try:
        wait_for(lambda: query.epochs > 10)
        assert len(query.body.driver.coordinator.members) == cores - 1
        assert f"asked for 50 slots, but the cluster has room for {cores - 1}" in caplog.text
        assert spark.range(100).count() == 100  # the user's own job has a core
        with pytest.raises(NotEnoughCores, match="no core is free"):
            Query.start(spark, jobs.source_only(), {"slots": 1})
    finally:
        query.stop()


def test_a_killed_slot_is_replaced_and_nothing_is_lost_or_doubled(spark):
    results = Results()
    plan = jobs.shuffled(pace=0.001)
    query = Query.start(spark, plan, {"slots": 3, "interval": 0.005, "groupSize": 20, "epochs": 800}, sink=results)
    wait_for(lambda: query.epochs > 60)
    hosts = query.body.driver.hosts
    os.kill(hosts[min(hosts)][1], signal.SIGKILL)
    wait_for(lambda: len(hosts) == 2)
    wait_for(lambda: len(query.body.driver.coordinator.members) == 3)
    assert query.awaitTermination(90)
    assert results.records() == Counter(numbers(range(3), 800))
    kinds = [note.kind for note in query.events]
    assert "recovered" in kinds
    assert "rebalanced" in kinds


def test_a_stopped_slot_is_lost_and_finds_itself_fenced_off(spark):
    results = Results()
    query = Query.start(
        spark, jobs.shuffled(pace=0.001), {"slots": 3, "interval": 0.005, "groupSize": 20, "epochs": 600}, sink=results
    )
    wait_for(lambda: query.epochs > 60)
    hosts = query.body.driver.hosts
    slot = min(hosts)
    pid = hosts[slot][1]
    os.kill(pid, signal.SIGSTOP)
    try:
        wait_for(lambda: slot not in query.body.driver.coordinator.members)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert query.awaitTermination(90)
    assert results.records() == Counter(numbers(range(3), 600))


def test_lost_state_ends_the_query_with_the_reason(spark):
    query = Query.start(spark, jobs.totals(), {"slots": 3, "interval": 0.005, "groupSize": 10})
    wait_for(lambda: query.epochs > 30)
    hosts = query.body.driver.hosts
    os.kill(hosts[min(hosts)][1], signal.SIGKILL)
    with pytest.raises(StateLost, match="stage 'total'"):
        query.awaitTermination(60)


def test_a_plan_is_shipped_once_and_found_by_hash_afterwards(spark):
    run(spark, two_stages(3), epochs=12)
    query = Query.start(spark, two_stages(3), {"slots": 3, "interval": 0.01})
    try:
        wait_for(lambda: query.epochs > 0)
        assert query.body.driver.found_cached > 0
    finally:
        query.stop()


def test_one_message_for_each_slot_and_group_beside_heartbeats(spark):
    query = Query.start(spark, two_stages(3), {"slots": 3, "interval": 0, "groupSize": 50, "epochs": 2000})
    assert query.awaitTermination(60)
    courier = query.body.driver.node.courier
    assert courier.messages_in == 3 * 40
    assert courier.messages_out == 3 * 40 + 3  # and the word to stop
