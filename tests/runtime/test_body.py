"""A slot's kernels let go of what they hold."""

from millstream.core.graph import Stage
from millstream.kernels.python import Stateless
from millstream.plan.plan import Plan
from millstream.runtime.body import SlotBody


class Holding(Stateless):
    closed = []

    def __init__(self, partition):
        self.partition = partition

    def close(self):
        self.closed.append(self.partition)
        if self.partition == 1:
            raise OSError("already gone")


def test_a_kernel_is_closed_when_it_is_dropped_and_the_rest_at_the_end(caplog):
    body = SlotBody(Plan((Stage("hold", 4),), (Holding,)), None, None)
    for partition in range(4):
        body.host(0, partition, None)
    body.drop(0, 2)
    assert Holding.closed == [2]
    body.close()
    assert sorted(Holding.closed) == [0, 1, 2, 3]
    assert body.kernels == {}
    assert "partition 1 could not be closed" in caplog.text


def test_a_kernel_that_holds_nothing_needs_no_close():
    body = SlotBody(Plan((Stage("plain", 1),), (lambda partition: Stateless(),)), None, None)
    body.host(0, 0, None)
    body.close()
    assert body.kernels == {}
