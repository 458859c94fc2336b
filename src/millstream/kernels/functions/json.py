"""Functions that read and write JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql.types import DataType, StructType

from millstream.errors import DataError
from millstream.kernels.functions.function import Function, Functions, Python
from millstream.kernels.functions.json_fast import fast_parser
from millstream.kernels.functions.json_reader import Partial, Reading, parser
from millstream.kernels.functions.json_sql import struct_sql
from millstream.kernels.functions.json_tokens import Leniency
from millstream.plan.algebra import Expr, Unsupported

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
        return _Plan(e.params["schema"], Reading(Leniency.of(options)), corrupt, fail)

    @property
    def place(self) -> int | None:
        """Where the column of corrupt records stands."""
        names = self.schema.names if isinstance(self.schema, StructType) else []
        return names.index(self.corrupt) if self.corrupt in names else None


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


FUNCTIONS: Functions = {"JsonToStructs": Function(_from_json, _from_json_sql)}
