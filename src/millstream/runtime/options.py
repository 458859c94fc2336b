"""The options of a query, checked before anything starts."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from millstream.core.coordinator import MODES as RESIDENT_MODES
from millstream.core.coordinator import Pace
from millstream.errors import InvalidOption
from millstream.runtime.transport import MAX_MESSAGE

MODES = ("spark", *RESIDENT_MODES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a user can set.

    >>> Options.parse({"mode": "bsp", "slots": "2"}).slots
    2
    """

    slots: int = 2
    """Resident slots to run on."""
    mode: str = "grouped"
    """`grouped`, `prescheduled` (groups of one), `bsp` (the driver starts each stage) or `spark` (a job an epoch)."""
    interval: float = 0.02
    """Seconds from one epoch to the next; 0 runs epochs back to back."""
    groupSize: int = 50  # noqa: N815 (Spark's style of option names)
    """Epochs that are dispatched together."""
    epochs: int | None = None
    """Stop after so many epochs."""
    epochsInFlight: int = 8  # noqa: N815
    """Epochs that a source may be ahead of the slowest task that depends on it."""
    inlineBytes: int = 32_768  # noqa: N815
    """Blocks up to this size travel inside the notification; larger ones are pulled."""
    maxMessageBytes: int = MAX_MESSAGE  # noqa: N815
    """No node accepts a larger message."""
    blockMemoryBytes: int = 256 << 20  # noqa: N815
    """Blocks of uncovered epochs that a slot keeps in memory; the rest goes to disk."""
    blockDiskBytes: int = 4 << 30  # noqa: N815
    """And on disk at most."""
    heartbeat: float = 0.05
    """Seconds between a slot's heartbeats."""
    missedHeartbeats: int = 8  # noqa: N815
    """A slot is lost after so many heartbeats without a word."""
    drain: bool = False
    """End when everything has been read that was there at the start."""
    firstGroup: int | None = None  # noqa: N815
    """Epochs of the first group; it doubles from there up to `groupSize`."""
    slotTimeout: float = 60.0  # noqa: N815
    """Seconds to wait for the first slot before the query fails."""

    @staticmethod
    def parse(given: Mapping[str, Any]) -> Options:
        """Options from names and values as a user writes them (strings are fine)."""
        known = {field.name: field for field in fields(Options)}
        values = {}
        for name, value in given.items():
            if name not in known:
                close = difflib.get_close_matches(name, known, 1)
                hint = f"; did you mean {close[0]!r}?" if close else ""
                raise InvalidOption(f"unknown option {name!r}{hint} Valid options: {', '.join(sorted(known))}")
            values[name] = _convert(name, str(known[name].type), value)
        options = Options(**values)
        options._check()
        return options

    def _check(self) -> None:
        if self.mode not in MODES:
            raise InvalidOption(f"unknown mode {self.mode!r}: choose one of {', '.join(MODES)}")
        if self.interval < 0:
            raise InvalidOption(f"interval must be 0 (back to back) or more seconds, not {self.interval}")
        for name in ("slots", "groupSize", "epochsInFlight", "missedHeartbeats", "maxMessageBytes"):
            if getattr(self, name) < 1:
                raise InvalidOption(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.epochs is not None and self.epochs < 1:
            raise InvalidOption(f"epochs must be at least 1, not {self.epochs}")
        if self.heartbeat <= 0 or self.slotTimeout <= 0:
            raise InvalidOption("heartbeat and slotTimeout must be more than 0 seconds")

    @property
    def pace(self) -> Pace:
        """How the coordinator dispatches."""
        return Pace(self.mode, self.interval, self.groupSize, self.epochs, self.drain, self.firstGroup)


_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "int": int,
    "float": float,
    "str": str,
    "bool": lambda value: str(value).lower() == "true",
    "int | None": lambda value: None if value is None else int(value),
}


def _convert(name: str, kind: str, value: Any) -> Any:
    try:
        return _CONVERTERS[kind](value)
    except (TypeError, ValueError) as error:
        raise InvalidOption(f"option {name!r} takes {kind}, not {value!r}") from error
