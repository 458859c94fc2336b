"""Functions that read and write JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql.types import DataType, DateType, StructType, TimestampType

from millstream.errors import DataError
from millstream.kernels.functions.calendar_text import read_date, timestamp_reader
from millstream.kernels.functions.function import Function, Functions, Python, calls
from millstream.kernels.functions.json_fast import fast_parser
from millstream.kernels.functions.json_output import writer
from millstream.kernels.functions.json_paths import array_length, get_json_object, object_keys
from millstream.kernels.functions.json_reader import Partial, Reading, parser
from millstream.kernels.functions.json_sql import struct_sql
from millstream.kernels.functions.json_tokens import JsonError, Leniency
from millstream.kernels.functions.timezones import zone
from millstream.plan.algebra import Expr, Unsupported

_DAYS = re.compile(r"[+-]?\d{1,5}", re.ASCII)
_NOT_SUPPORTED = ("locale", "singlevariantcolumn")


@dataclass(frozen=True)
class _Plan:
    """What fixes the meaning of a `from_json`."""

    schema: DataType
    reading: Reading
    corrupt: str
    fail: bool

    @staticmethod
    def of(e: Expr) -> _Plan:
        options = {name.lower(): value for name, value in e.params["options"].items()}
        for name in _NOT_SUPPORTED:
            if name in options:
                raise Unsupported(e.op, f"the option {name} is not supported")
        corrupt = options.get("columnnameofcorruptrecord", e.params["corrupt"])
        fail = options.get("mode", "PERMISSIVE").upper() == "FAILFAST"
        reading = Reading(Leniency.of(options), *_calendar(options, e.params["timezone"]))
        return _Plan(e.params["schema"], reading, corrupt, fail)

    @property
    def place(self) -> int | None:
        """Where the column of corrupt records stands."""
        names = self.schema.names if isinstance(self.schema, StructType) else []
        return names.index(self.corrupt) if self.corrupt in names else None


def _calendar(options: Mapping[str, str], timezone: str | None) -> tuple[dict[type[DataType], Any], dict[Any, Any]]:
    """How dates and timestamps are read out of strings and numbers; by a format they are not."""
    if "enabledatetimeparsingfallback" in options:
        return {}, {}
    here = zone(options.get("timezone", timezone or "UTC"))
    texts: dict[type[DataType], Any] = {}
    if "timestampformat" not in options:
        texts[TimestampType] = _read(timestamp_reader(here))
    if "dateformat" not in options:
        texts[DateType] = _read(read_date)
    return texts, {TimestampType: _seconds}


def _read(read: Callable[[str], int | None]) -> Callable[[str], int]:
    def value(text: str) -> int:
        found = read(text)
        if found is None:
            # Spark 1 wrote "GMT" before an offset, and a date as its number of days.
            found = read(text.replace("GMT", "", 1)) if "GMT" in text else None
        if found is None and read is read_date and _DAYS.fullmatch(text):
            found = int(text)
        if found is None:
            raise JsonError("not a date or timestamp")
        return found

    return value


def _seconds(seconds: int) -> int:
    """Java's product, which wraps around."""
    return (seconds * 1_000_000 + 2**63) % 2**64 - 2**63


def _from_json(e: Expr) -> Python:
    return from_json(_Plan.of(e))


def _from_json_sql(e: Expr, args: Sequence[str]) -> str | None:
    plan = _Plan.of(e)
    return struct_sql(plan.schema, plan.place, args[0]) if isinstance(plan.schema, StructType) else None


def from_json(plan: _Plan) -> Callable[[str], Any]:
    """A function that reads a text as Spark's `from_json` does."""
    schema, reading, place, fail = plan.schema, plan.reading, plan.place, plan.fail
    if isinstance(schema, StructType) and not len(schema) and not fail:
        return lambda text: ()
    kept = schema if place is None else StructType([f for i, f in enumerate(schema) if i != place])
    read = parser(kept, reading)
    nothing = (None,) * len(kept) if isinstance(schema, StructType) else None

    def careful(text: str) -> Any:
        fault = True
        try:
            value = read(text)
            fault = False
        except Partial as partial:
            value = partial.value
        except ValueError:
            value = nothing
        if fault and fail:
            raise DataError(f"MALFORMED_RECORD_IN_PARSING: from_json in FAILFAST mode can't read {text[:200]!r}")
        return value if place is None or value is None else (*value[:place], text if fault else None, *value[place:])

    quick = fast_parser(kept, reading, careful, place)
    if quick is None:
        return careful
    if place is None and not fail:
        return quick
    names = [f'"{name}"' for name in _names(kept)]

    def watchful(text: str) -> Any:
        # A value that a later one of the same name replaces is still a fault if it was of the wrong type.
        if "\\" in text or any(text.count(name) > 1 for name in names):
            return careful(text)
        return quick(text)

    return watchful


def _names(kind: Any) -> set[str]:
    """The names of all fields in a type."""
    if isinstance(kind, StructType):
        return set(kind.names).union(*[_names(f.dataType) for f in kind])
    inner = [getattr(kind, part) for part in ("elementType", "valueType") if hasattr(kind, part)]
    return set().union(*map(_names, inner))


def _to_json(e: Expr) -> Python:
    options = {name.lower(): value for name, value in e.params["options"].items()}
    write = writer(e.args[-1].type, options, e.params["timezone"])
    return lambda *args: write(args[-1])


FUNCTIONS: Functions = {
    "JsonToStructs": Function(_from_json, _from_json_sql),
    "StructsToJsonEvaluator.evaluate": Function(_to_json),
    "GetJsonObject": calls(get_json_object),
    "JsonExpressionUtils.lengthOfJsonArray": calls(array_length),
    "JsonExpressionUtils.jsonObjectKeys": calls(object_keys),
}
