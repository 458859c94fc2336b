"""Options as a user writes them: names in any case, values as strings, checked before anything starts."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from millstream.errors import InvalidOption
from millstream.plan.algebra import Unsupported

T = TypeVar("T")

_SECONDS = {
    "us": 1e-6,
    "microsecond": 1e-6,
    "ms": 1e-3,
    "millisecond": 1e-3,
    "s": 1,
    "sec": 1,
    "second": 1,
    "m": 60,
    "min": 60,
    "minute": 60,
    "h": 3600,
    "hour": 3600,
    "d": 86400,
    "day": 86400,
    "week": 604800,
}


class Given:
    """The options of one source or sink.

    >>> given = Given("rate", {"RowsPerSecond": "5"})
    >>> given.whole("rowsPerSecond", 1), given.flag("x", False)
    (5, False)
    """

    def __init__(self, owner: str, options: Mapping[str, Any] | None) -> None:
        self.owner = owner
        self._values = {name.lower(): (name, value) for name, value in (options or {}).items() if value is not None}

    def check_names(self, known: Iterable[str]) -> None:
        """Raise for a name that isn't among the known ones."""
        by_lower = {name.lower(): name for name in known}
        for lower, (name, _) in self._values.items():
            if lower not in by_lower:
                close = difflib.get_close_matches(lower, by_lower, 1)
                hint = f"; did you mean {by_lower[close[0]]!r}?" if close else "."
                valid = ", ".join(sorted(by_lower.values()))
                raise InvalidOption(f"{self.owner} has no option {name!r}{hint} Valid options: {valid}")

    def check_supported(self, known: Iterable[str]) -> None:
        """Raise `Unsupported` for an option that Spark may know, but that isn't among ours."""
        names = {name.lower() for name in known}
        for lower, (name, value) in self._values.items():
            if lower not in names:
                raise Unsupported(f"option {name}={value} of {self.owner}", "it has no native meaning")

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._values

    def items(self) -> Iterator[tuple[str, str]]:
        """All options as text, with the names that were given."""
        return ((name, str(value)) for name, value in self._values.values())

    def get(self, name: str, default: str | None = None) -> str | None:
        """An option as text."""
        found = self._values.get(name.lower())
        return default if found is None else str(found[1])

    def text(self, name: str, default: str) -> str:
        """An option as text that is never missing."""
        found = self.get(name)
        return default if found is None else found

    def whole(self, name: str, default: int, least: int = 0) -> int:
        """A whole number."""
        value = self._convert(name, default, int, "a whole number")
        if value < least:
            raise InvalidOption(f"option {name!r} of {self.owner} must be at least {least}, not {value}")
        return value

    def number(self, name: str, default: float) -> float:
        """A number."""
        return self._convert(name, default, float, "a number")

    def flag(self, name: str, default: bool) -> bool:
        """True or false."""
        return self._convert(name, default, _flag, "true or false")

    def seconds(self, name: str, default: float) -> float:
        """A duration in seconds; a number without a unit is seconds."""
        return self._convert(name, default, seconds, "a duration such as '10s' or '5 minutes'")

    def required(self, name: str) -> str:
        """An option that must be there."""
        found = self.get(name)
        if not found:
            raise InvalidOption(f"{self.owner} needs the option {name!r}: add .option({name!r}, ...)")
        return found

    def one_of(self, name: str, default: str, allowed: Iterable[str]) -> str:
        """One of several words, in any case."""
        value = self.text(name, default).lower()
        if value not in allowed:
            raise InvalidOption(f"option {name!r} of {self.owner} is one of {', '.join(allowed)}, not {value!r}")
        return value

    def _convert(self, name: str, default: T, convert: Callable[[str], T], kind: str) -> T:
        found = self.get(name)
        if found is None:
            return default
        try:
            return convert(found)
        except ValueError as error:
            raise InvalidOption(f"option {name!r} of {self.owner} takes {kind}, not {found!r}") from error


def _flag(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


def seconds(text: str) -> float:
    """A duration as Spark's options have it, in seconds.

    >>> seconds("10s"), seconds("5 minutes"), seconds("1h30m"), seconds("2")
    (10.0, 300.0, 5400.0, 2.0)
    """
    text = text.strip().lower().removeprefix("interval ")
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*([a-z]+)\s*", text)
    if not parts or "".join(re.findall(r"\d+(?:\.\d+)?\s*[a-z]+\s*", text)) != text:
        raise ValueError(text)
    total = 0.0
    for amount, unit in parts:
        scale = _SECONDS.get(unit, _SECONDS.get(unit.removesuffix("s")))
        if scale is None:
            raise ValueError(text)
        total += float(amount) * scale
    return total
