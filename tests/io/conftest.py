import pytest

from millstream.api.session import local_session


@pytest.fixture(scope="session")
def spark():
    session = local_session(2)
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
