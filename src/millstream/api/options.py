"""What a user sets on a writer, sorted into what the engine, the plan and the sink understand."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from millstream.errors import InvalidOption
from millstream.io.options import seconds
from millstream.kernels.segment import CHOICES
from millstream.runtime.options import Options

ENGINES = ("auto", "millstream", "structured-streaming")
OUTPUT_MODES = ("append", "update", "complete")
DEFAULT_INTERVAL = 0.02
GROUP_SECONDS = 0.25
"""Groups of a query whose user set none take about so long: news of it is never older."""
BACK_TO_BACK_GROUP = 20

OWN = ("engine", "kernel", "partitions", "partialAggregation", "checkpointLocation")
"""Options of the writer itself."""

_RUNTIME = {f.name.lower(): f.name for f in fields(Options) if f.name not in ("interval", "drain", "epochs")}


@dataclass(frozen=True)
class Trigger:
    """When epochs close."""

    interval: float | None = None
    """Seconds; 0 means back to back, None was not said."""
    available_now: bool = False

    @staticmethod
    def parse(
        *,
        interval: str | float | None = None,
        processingTime: str | None = None,  # noqa: N803 (Spark's name)
        availableNow: bool | None = None,  # noqa: N803 (Spark's name)
        once: bool | None = None,
    ) -> Trigger:
        """From what a user wrote: exactly one of the arguments.

        >>> Trigger.parse(interval="20 milliseconds").interval, Trigger.parse(availableNow=True).available_now
        (0.02, True)
        """
        given = [v for v in (interval, processingTime, availableNow, once) if v is not None]
        if len(given) != 1:
            raise InvalidOption(
                "trigger takes exactly one of interval='20 milliseconds', processingTime='...' and availableNow=True"
            )
        if availableNow is not None or once is not None:
            if not (availableNow or once):
                raise InvalidOption("availableNow and once can only be True")
            return Trigger(available_now=True)
        text = str(interval if interval is not None else processingTime)
        try:
            value = seconds(text)
        except ValueError:
            raise InvalidOption(
                f"a trigger's interval is a duration such as '20 milliseconds' or '1 second', not {text!r}"
            ) from None
        return Trigger(value)


@dataclass(frozen=True)
class Sorted:
    """All options of one writer."""

    runtime: dict[str, Any]
    sink: dict[str, str]
    engine: str = "auto"
    kernel: str = "auto"
    partitions: int = 0
    partial: bool = True
    checkpoint: str | None = None

    @staticmethod
    def of(options: Mapping[str, Any]) -> Sorted:
        """Sort them; names are understood in any case, as Spark's are."""
        runtime: dict[str, Any] = {}
        sink: dict[str, str] = {}
        own: dict[str, Any] = {}
        for name, value in options.items():
            low = name.lower()
            if low in _RUNTIME:
                runtime[_RUNTIME[low]] = value
            elif low in ("engine", "kernel"):
                own[low] = str(value).lower()
            elif low == "partitions":
                own["partitions"] = _whole(name, value)
            elif low == "partialaggregation":
                own["partial"] = _flag(name, value)
            elif low == "checkpointlocation":
                own["checkpoint"] = str(value)
            else:
                _check_spelling(name)
                sink[name] = _text(value)
        for name, allowed in (("engine", ENGINES), ("kernel", CHOICES)):
            if own.get(name, allowed[0]) not in allowed:
                raise InvalidOption(f"option {name!r} is one of {', '.join(allowed)}, not {own[name]!r}")
        return Sorted(runtime, sink, **own)

    def engine_options(self, trigger: Trigger, cores: int, default_interval: float = DEFAULT_INTERVAL) -> Options:
        """The options of the engine, with defaults for what was not said."""
        values = dict(self.runtime)
        interval = trigger.interval
        if trigger.available_now:
            interval = 0.0
        elif interval is None:
            interval = default_interval
        group = BACK_TO_BACK_GROUP if interval == 0 else max(1, round(GROUP_SECONDS / interval))
        values.setdefault("slots", max(1, cores // 2))
        values.setdefault("groupSize", group)
        values.setdefault("firstGroup", 1)
        return Options.parse({**values, "interval": interval, "drain": trigger.available_now})


def output_mode(text: str) -> str:
    """An output mode in any case; raises for anything else."""
    mode = text.lower()
    if mode not in OUTPUT_MODES:
        raise InvalidOption(f"output mode is one of {', '.join(OUTPUT_MODES)}, not {text!r}")
    return mode


def _check_spelling(name: str) -> None:
    """What is nearly an option of the engine is not meant for the sink."""
    known = {**_RUNTIME, **{own.lower(): own for own in OWN}}
    close = difflib.get_close_matches(name.lower(), known, 1, cutoff=0.8)
    if close:
        raise InvalidOption(f"unknown option {name!r}; did you mean {known[close[0]]!r}?")


def _whole(name: str, value: Any) -> int:
    if not re.fullmatch(r"\d+", str(value)) or int(value) < 1:
        raise InvalidOption(f"option {name!r} takes a whole number of at least 1, not {value!r}")
    return int(value)


def _flag(name: str, value: Any) -> bool:
    if str(value).lower() not in ("true", "false"):
        raise InvalidOption(f"option {name!r} takes true or false, not {value!r}")
    return str(value).lower() == "true"


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
