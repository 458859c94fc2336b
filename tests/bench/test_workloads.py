import json

import pytest

from millstream.api.writer import explain
from millstream.bench import latency, throughput
from millstream.bench.workloads import WORKLOADS, Variant
from millstream.io.registry import register

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def own(spark):
    """A session with settings and tables of its own."""
    session = spark.newSession()
    register(session)
    return session


@pytest.mark.parametrize("udf", [False, True], ids=["", "udf"])
@pytest.mark.parametrize("window", [None, "1 second"])
@pytest.mark.parametrize("name", WORKLOADS)
def test_every_workload_is_native(own, name, window, udf):
    workload = WORKLOADS[name](Variant(window, udf))
    frame = workload.over(own, own.readStream.format(workload.source.name).load())
    assert explain(frame, outputMode=workload.mode).engine == "millstream"
    assert {workload.due, *workload.keys} <= set(frame.columns)


@pytest.mark.parametrize("name", ["video", "wordcount", "grep"])
@pytest.mark.parametrize("udf", [False, True], ids=["", "udf"])
def test_millstream_gives_sparks_results_from_files(own, name, udf):
    result = throughput.run(
        own, WORKLOADS[name](Variant(udf=udf)), engines=["millstream"], events=3000, files=3, slots=2, repeat=1,
        partial=not udf,
    )  # fmt: skip
    assert result["results_equal"]
    assert result["engines"]["millstream"]["result_rows"] > 0


@pytest.mark.parametrize("name", ["ysb", "sessions"])
def test_latency_at_a_rate_keeps_its_contract(own, name):
    result = latency.run(
        own, WORKLOADS[name](Variant("1 second")), engines=["millstream"], rate=1000, seconds=5, slots=2,
        interval=0.01, partial=True,
    )  # fmt: skip
    figures = result["engines"]["millstream"]
    assert (result["mode"], result["results_equal"], result["warm_up_s"]) == ("rate", True, 2)
    assert figures["result_rows"] > 0
    assert figures["windows"] > 0
    if not figures["behind"]:
        late = figures["final_window_ms"]
        assert late["p50"] <= late["p95"] <= late["p99"] <= late["max"]
    assert json.dumps(result)
