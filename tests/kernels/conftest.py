"""Writes docs/coverage.md from what was compared with Spark, when the environment names a file for it."""

import os
from pathlib import Path

import pytest

from tests.kernels.coverage import page

_names = {}


@pytest.fixture(scope="session", autouse=True)
def _function_names(request):
    """The SQL names of Spark's expression classes, asked while there is a session."""
    if os.environ.get("MILLSTREAM_COVERAGE"):
        spark = request.getfixturevalue("spark")
        registry = spark._jvm.org.apache.spark.sql.catalyst.analysis.FunctionRegistry.builtin()
        found = registry.listFunction()
        for i in range(found.length()):
            name = found.apply(i)
            info = registry.lookupFunction(name)
            if info.isDefined():
                _names.setdefault(info.get().getClassName().rsplit(".", 1)[-1].rstrip("$"), set()).add(name.funcName())


def pytest_sessionfinish(session):
    target = os.environ.get("MILLSTREAM_COVERAGE")
    if target and not session.testsfailed:
        Path(target).write_text(page(_names), encoding="utf-8")
