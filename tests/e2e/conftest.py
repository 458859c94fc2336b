import sys

import pytest
from pyspark import cloudpickle

from millstream.api.session import local_session
from tests.e2e import jobs

SLOTS = 3


@pytest.fixture(scope="session")
def spark():
    cloudpickle.register_pickle_by_value(sys.modules[jobs.__name__])
    session = local_session(SLOTS)
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
