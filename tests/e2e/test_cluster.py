"""Slots on executors that are processes of their own, and die as such."""

import os
import signal
import sys
from collections import Counter

import psutil
import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession

from millstream.api.query import Query
from tests.e2e import jobs
from tests.e2e.helpers import Results, numbers, wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]


@pytest.fixture
def cluster(monkeypatch):
    cloudpickle.register_pickle_by_value(sys.modules[jobs.__name__])
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    session = (
        SparkSession.builder.master("local-cluster[3,1,1024]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def test_a_killed_executor_is_replaced_and_nothing_is_lost_or_doubled(cluster):
    wait_for(lambda: cluster.sparkContext._jsc.sc().getExecutorMemoryStatus().size() == 4)
    results = Results()
    options = {"slots": 2, "interval": 0.005, "groupSize": 20, "epochs": 1500}
    query = Query.start(cluster, jobs.shuffled(pace=0.001), options, sink=results)
    wait_for(lambda: query.epochs > 60)
    hosts = query.body.driver.hosts
    assert len(hosts) == 2
    worker = psutil.Process(hosts[min(hosts)][1])
    executor = next(p for p in worker.parents() if "java" in p.name())
    assert executor.pid != cluster.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
    os.kill(executor.pid, signal.SIGKILL)
    wait_for(lambda: len(query.body.driver.coordinator.members) == 1)
    wait_for(lambda: len(query.body.driver.coordinator.members) == 2)
    assert query.awaitTermination(120)
    assert results.records() == Counter(numbers(range(3), 1500))
    assert "recovered" in [note.kind for note in query.events]
