import pytest

from millstream.core.graph import Graph, GraphError, Input, Stage, Structure


def test_shuffle_and_broadcast_wait_for_every_upstream_partition():
    for structure in (Structure.SHUFFLE, Structure.BROADCAST):
        graph = Graph((Stage("a", 3), Stage("b", 2, (Input(0, structure),))))
        assert list(graph.upstream(1, 0, 1)) == [0, 1, 2]
        assert list(graph.downstream(0, graph.edges[0][0], 2)) == [0, 1]


def test_one_to_one_waits_for_one():
    graph = Graph((Stage("a", 3), Stage("b", 3, (Input(0, Structure.ONE_TO_ONE),))))
    assert list(graph.upstream(1, 0, 2)) == [2]
    assert list(graph.downstream(0, graph.edges[0][0], 2)) == [2]


@pytest.mark.parametrize(("up", "down"), [(8, 4), (7, 4), (5, 1), (9, 3)])
def test_tree_partitions_the_upstream_among_its_tasks(up, down):
    graph = Graph((Stage("a", up), Stage("b", down, (Input(0, Structure.TREE),))))
    fed = [p for target in range(down) for p in graph.upstream(1, 0, target)]
    assert fed == list(range(up))
    for target in range(down):
        for p in graph.upstream(1, 0, target):
            assert list(graph.downstream(0, graph.edges[0][0], p)) == [target]


def test_block_positions_follow_inputs_in_order():
    graph = Graph((Stage("a", 2), Stage("b", 3), Stage("c", 2, (Input(0), Input(1)))))
    assert graph.block_positions(2, 0) == [range(2), range(2, 5)]


@pytest.mark.parametrize(
    "stages",
    [
        (),
        (Stage("a", 0),),
        (Stage("a", 1, (Input(0),)),),
        (Stage("a", 2), Stage("b", 3, (Input(0, Structure.ONE_TO_ONE),))),
        (Stage("a", 2), Stage("b", 3, (Input(0, Structure.TREE),))),
    ],
)
def test_graphs_that_cannot_run_are_refused(stages):
    with pytest.raises(GraphError):
        Graph(stages)
