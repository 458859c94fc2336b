"""A plan: the graph of a query and the kernels of its stages, ready to be shipped to slots."""

from __future__ import annotations

import hashlib
import pickle
from dataclasses import dataclass, field

from pyspark import cloudpickle

from millstream.core.graph import Graph, Stage
from millstream.errors import NotShippable
from millstream.kernels.kernel import KernelFactory


@dataclass(frozen=True)
class Plan:
    """Stages in order, each with the factory of its kernels.

    >>> from millstream.kernels.python import MergeCounts
    >>> plan = Plan((Stage("count", 1, stateful=True),), (lambda partition: MergeCounts(),))
    >>> Plan.load(plan.ship()[1]).graph == plan.graph
    True
    """

    stages: tuple[Stage, ...]
    kernels: tuple[KernelFactory, ...]
    graph: Graph = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "graph", Graph(self.stages))

    def ship(self) -> tuple[str, bytes]:
        """The plan as bytes, and the hash that names them."""
        for stage, factory in zip(self.stages, self.kernels):
            try:
                cloudpickle.dumps(factory)
            except Exception as error:
                raise NotShippable(
                    f"the code of stage {stage.name!r} can't be sent to the slots: {error}. Open connections, locks "
                    "and sessions inside the function, not outside, and take plain values into it"
                ) from error
        code = cloudpickle.dumps(self, 5)
        return hashlib.sha256(code).hexdigest(), code

    @staticmethod
    def load(code: bytes) -> Plan:
        """The plan that was shipped."""
        plan = pickle.loads(code)
        assert isinstance(plan, Plan)
        return plan
