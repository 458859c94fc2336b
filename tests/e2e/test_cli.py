"""The commands, as a person runs them."""

import json
import subprocess
import sys

import pytest

COMMANDS = [
    [], ["demo"], ["bench"], ["bench", "coordination"], ["bench", "idle"], ["bench", "memory"],
    *(["bench", name] for name in ("ysb", "video", "wordcount", "sessions", "grep")),
    ["simulate"], ["simulate", "coordination"], ["simulate", "faults"],
]  # fmt: skip


def millstream(*words, timeout=110):
    return subprocess.run(
        [sys.executable, "-m", "millstream.cli", *words], check=False, capture_output=True, text=True, timeout=timeout
    )


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_is_everywhere(words):
    done = millstream(*words, "--help")
    assert done.returncode == 0
    assert "Usage:" in done.stdout


def test_simulate_faults_prints_one_json_object():
    done = millstream("simulate", "faults", "--seeds", "12", "--json")
    assert done.returncode == 0
    result = json.loads(done.stdout)
    assert (result["simulate"], result["seeds"], result["failed"]) == ("faults", 12, [])
    assert result["epochs"] > 0
    assert "loss" in result["faults"]


def test_simulate_coordination_reads_costs_and_plots(tmp_path):
    costs = {
        "task": 20.0, "schedule": 10.0, "send": 50.0, "receive": 50.0, "wire": 50.0,
        "spark_job": 50_000.0, "spark_task": 500.0, "spark_python_task": 20_000.0,
    }  # fmt: skip
    (tmp_path / "costs.json").write_text(json.dumps(costs))
    plot = tmp_path / "figure.png"
    done = millstream(
        "simulate",
        "coordination",
        "--machines",
        "1,2",
        "--costs",
        str(tmp_path / "costs.json"),
        "--plot",
        str(plot),
        "--json",
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["machines"] == [1, 2]
    assert plot.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["bench", "coordination", "--slots", "0"], "0 is not in the range"),
        (["simulate", "coordination", "--machines", "four"], "takes whole numbers"),
        (["simulate", "faults", "--seeds", "none"], "not a valid integer"),
        (["bench", "nonsense"], "No such command"),
        (["bench", "ysb"], "say what to measure"),
        (["bench", "ysb", "--max", "--rate", "10"], "say what to measure"),
        (["bench", "ysb", "--rate", "10", "--engines", "kernel"], "structured-streaming here, not kernel"),
        (["bench", "ysb", "--max", "--window", "soon"], "a window's length is a duration"),
    ],
)
def test_bad_input_is_refused_with_a_reason(words, says):
    done = millstream(*words)
    assert done.returncode != 0
    assert says in done.stderr
    assert done.stdout == ""


@pytest.mark.spark
def test_demo_counts_and_ends_with_a_summary():
    done = millstream("demo", "--seconds", "5", "--rate", "2000")
    assert done.returncode == 0, done.stderr
    assert "p99 ms" in done.stdout
    assert "10,000" in done.stdout  # all events that were made
    assert "windows of 1 second" in done.stdout


@pytest.mark.spark
def test_bench_ysb_compares_all_engines_and_keeps_its_contract():
    done = millstream(
        "bench", "ysb", "--max", "--events", "30000", "--files", "4", "--slots", "2", "--repeat", "1",
        "--engines", "millstream,structured-streaming,kernel", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert (result["bench"], result["mode"], result["results_equal"]) == ("ysb", "max", True)
    assert set(result["engines"]) == {"millstream", "structured-streaming", "kernel"}
    assert set(result["ratio"]) == {"millstream/structured-streaming", "millstream/kernel"}
    for figures in result["engines"].values():
        assert figures["events_per_s"] > 0
        assert len(figures["repeats"]) == 1
        assert figures["result_rows"] == 100


@pytest.mark.spark
def test_bench_coordination_keeps_its_contract():
    done = millstream(
        "bench", "coordination", "--slots", "2", "--epochs", "20", "--repeat", "2", "--spark-epochs", "2",
        "--group-size", "10", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert (result["bench"], result["slots"], result["epochs"], result["repeat"]) == ("coordination", 2, 20, 2)
    for job in ("single_stage", "two_stage"):
        assert set(result[job]) == {"spark", "bsp", "prescheduled", "grouped"}
        for figures in result[job].values():
            assert 0 < figures["p5"] <= figures["p50"] <= figures["p95"]
        ratio = result[job]["spark"]["p50"] / result[job]["grouped"]["p50"]
        assert result["speedup"][job] == pytest.approx(ratio, abs=0.06)


@pytest.mark.spark
def test_bench_idle_reports_one_message_each_way():
    done = millstream("bench", "idle", "--slots", "2", "--seconds", "4", "--group-size", "10", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["cpu_share_of_a_core"] > 0
    assert result["messages_per_group_and_slot"]["back"] == pytest.approx(1.0, abs=0.2)
