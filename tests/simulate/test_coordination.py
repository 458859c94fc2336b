from millstream.core.graph import Graph, Input, Stage
from millstream.simulate.cluster import Costs
from millstream.simulate.coordination import epoch_ms, run

COSTS = {
    "task": 20.0, "schedule": 10.0, "send": 50.0, "receive": 50.0, "wire": 50.0,
    "spark_job": 50_000.0, "spark_task": 500.0, "spark_python_task": 20_000.0,
}  # fmt: skip


def test_the_result_has_the_contracts_shape():
    result = run([1, 2], 4, 5, COSTS)
    assert result["machines"] == [1, 2]
    assert set(result["single_stage"]) == {"spark", "grouped"}
    assert set(result["two_stage"]) == {"spark", "prescheduled", "grouped"}
    assert all(len(values) == 2 for job in ("single_stage", "two_stage") for values in result[job].values())
    assert result["costs_us"] == COSTS


def test_grouping_amortises_what_the_driver_says():
    graph = Graph((Stage("sum", 32), Stage("reduce", 16, (Input(0),))))
    costs = Costs(send=50e-6, receive=50e-6)
    assert epoch_ms(graph, 32, "grouped", 20, costs) < epoch_ms(graph, 32, "prescheduled", 20, costs)


def test_128_machines_of_four_slots_run():
    graph = Graph((Stage("sum", 512), Stage("reduce", 16, (Input(0),))))
    assert epoch_ms(graph, 512, "grouped", 5, Costs()) > 0
