"""PySpark streaming queries in milliseconds, on the Spark cluster that you already have."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from millstream.api.process import KeyedProcess, flat_map, process, sliding, tumbling
    from millstream.api.query import Query
    from millstream.api.session import local_session
    from millstream.api.writer import active, explain, write_stream
    from millstream.errors import (
        DataError,
        FunctionFailed,
        InvalidOption,
        MillstreamError,
        NotEnoughCores,
        NotShippable,
        QueryFailed,
        SlotsUnavailable,
        StateLost,
        UnsupportedQuery,
    )
    from millstream.io.registry import register

__version__ = "0.1.0"

__all__ = [
    "DataError",
    "FunctionFailed",
    "InvalidOption",
    "KeyedProcess",
    "MillstreamError",
    "NotEnoughCores",
    "NotShippable",
    "Query",
    "QueryFailed",
    "SlotsUnavailable",
    "StateLost",
    "UnsupportedQuery",
    "__version__",
    "active",
    "explain",
    "flat_map",
    "local_session",
    "process",
    "register",
    "sliding",
    "tumbling",
    "write_stream",
]

_HOMES = {
    **dict.fromkeys(("KeyedProcess", "flat_map", "process", "sliding", "tumbling"), "millstream.api.process"),
    "Query": "millstream.api.query",
    "active": "millstream.api.writer",
    "explain": "millstream.api.writer",
    "local_session": "millstream.api.session",
    "register": "millstream.io.registry",
    "write_stream": "millstream.api.writer",
}


def __getattr__(name: str) -> object:
    """Import a public name on first use: a slot on an executor needs none of them."""
    if name not in __all__:
        raise AttributeError(f"module 'millstream' has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "millstream.errors")), name)
