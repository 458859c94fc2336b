import threading

import pytest

from millstream.bench.coordination import two_stages
from millstream.core.graph import Stage
from millstream.errors import NotShippable
from millstream.plan.plan import Plan


def test_a_plan_is_named_by_its_hash_and_comes_back_whole():
    name, code = two_stages(4).ship()
    assert two_stages(4).ship()[0] == name
    assert two_stages(5).ship()[0] != name
    loaded = Plan.load(code)
    assert loaded.graph == two_stages(4).graph
    assert loaded.kernels[1](0).count == 400


def test_code_that_cannot_be_pickled_is_refused_with_the_stage_and_a_remedy():
    lock = threading.Lock()
    plan = Plan((Stage("guarded", 1),), (lambda partition: lock,))
    with pytest.raises(NotShippable, match=r"'guarded'.*inside the function"):
        plan.ship()
