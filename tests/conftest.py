import pytest

from millstream.api.session import local_session

SLOTS = 3


@pytest.fixture(scope="session")
def spark():
    """One local session for all tests of a process, with room for three slots."""
    session = local_session(SLOTS)
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
