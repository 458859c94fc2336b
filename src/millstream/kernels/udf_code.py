"""A user's pickled Python function becomes one that can be called."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark.core.broadcast import Broadcast, _broadcastRegistry
from pyspark.sql.types import DataType
from pyspark.worker_util import pickleSer, read_command

from millstream.errors import FunctionFailed
from millstream.plan.algebra import PythonFunction

Result = Any
"""The results of a function for a batch: a list of internal values, or an Arrow array."""


def load(function: PythonFunction) -> tuple[Callable[..., Any], DataType]:
    """The function, and the type of its results as Python knows it (user-defined types included)."""
    register_broadcasts(function.broadcasts)
    with failing(function.name, "can't be unpickled on the slot; is everything that it imports installed there?"):
        called, kind = read_command(pickleSer, function.commands[0])
        for command in function.commands[1:]:
            outer, kind = read_command(pickleSer, command)
            called = _chained(called, outer)
    return (_with_keywords(called, function.keywords) if function.keywords else called), kind


def register_broadcasts(broadcasts: Mapping[int, bytes]) -> None:
    """Put the values where unpickled functions look for them."""
    for number, pickled in broadcasts.items():
        if number not in _broadcastRegistry:
            broadcast: Any = Broadcast(path="")
            broadcast._value = broadcast.load(io.BytesIO(pickled))
            _broadcastRegistry[number] = broadcast


@contextmanager
def failing(name: str, what: str) -> Iterator[None]:
    """Say which function it was that an error comes from."""
    try:
        yield
    except FunctionFailed:
        raise
    except Exception as error:
        raise FunctionFailed(f"Python function {name!r} {what} ({type(error).__name__}: {error})") from error


def names_of(functions: Iterable[PythonFunction]) -> str:
    """The names of functions that run together."""
    return ", ".join(dict.fromkeys(function.name for function in functions))


def _chained(inner: Callable[..., Any], outer: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: outer(inner(*args))


def _with_keywords(function: Callable[..., Any], names: tuple[str, ...]) -> Callable[..., Any]:
    count = len(names)
    return lambda *args: function(*args[:-count], **dict(zip(names, args[-count:])))
