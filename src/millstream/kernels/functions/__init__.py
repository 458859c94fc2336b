"""What Spark's expressions mean: one entry for each class, in Python and, where DuckDB agrees exactly, in SQL.

Each module of this package holds the entries of one subject in its `FUNCTIONS`.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module

from millstream.kernels.functions.function import Function, Functions


def _all() -> Functions:
    found: dict[str, Function] = {}
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda m: m.name):
        entries: Functions = getattr(import_module(f"{__name__}.{module.name}"), "FUNCTIONS", {})
        twice = found.keys() & entries.keys()
        assert not twice, f"{module.name} repeats {twice}"
        found |= entries
    return found


FUNCTIONS: Functions = _all()
