"""Changes of type."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql.types import (
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from millstream.kernels.functions.casting import WHOLE, Casting
from millstream.kernels.functions.conversions import converter
from millstream.kernels.functions.floats import float32
from millstream.kernels.functions.function import Function, Functions, Python, Template, inline
from millstream.kernels.functions.instants import floor_division
from millstream.kernels.functions.timezones import DAY_MICROS, MICROS, zone
from millstream.kernels.sqltypes import sql_type
from millstream.plan.algebra import Expr


def _cast(e: Expr) -> Python:
    source, target = e.args[0].type, e.type
    if _only_widens(source, target):
        return "{0}"
    if isinstance(target, DoubleType) and type(source) in WHOLE:
        return "float({0})"
    if isinstance(target, FloatType) and isinstance(source, DoubleType):
        return Template("{single}({0})", {"single": float32})
    if isinstance(target, StringType) and type(source) in WHOLE:
        return "str({0})"
    return converter(Casting(source, target, e.params["mode"], e.params["timezone"], e.params.get("java", 17)))


def _only_widens(source: DataType, target: DataType) -> bool:
    if type(source) in WHOLE and type(target) in WHOLE:
        return WHOLE[type(source)] <= WHOLE[type(target)]
    return source == target or (isinstance(source, FloatType) and isinstance(target, DoubleType))


def _cast_sql(e: Expr, args: Sequence[str]) -> str | None:  # noqa: PLR0911 (one for each kind)
    source, target, value = e.args[0].type, e.type, args[0]
    plain = f"CAST({value} AS {sql_type(target)})"
    whole = type(source) in WHOLE
    if source == target:
        return value
    if isinstance(target, BooleanType):
        return f"({value} <> 0)" if whole else None
    if type(target) in WHOLE:
        if whole or isinstance(source, BooleanType):
            return plain
        if isinstance(source, (FloatType, DoubleType)):
            return f"CAST(trunc({value}) AS {sql_type(target)})"
        if isinstance(source, TimestampType):
            return f"CAST({floor_division(value, MICROS)} AS {sql_type(target)})"
        return _read_sql(value, r"[+-]?[0-9]+", plain) if isinstance(source, StringType) else None
    if isinstance(target, DoubleType):
        if isinstance(source, StringType):
            return _read_sql(value, r"[+-]?[0-9]+(\.[0-9]+)?", plain)
        return plain if whole or isinstance(source, (FloatType, BooleanType)) else None
    if isinstance(target, FloatType):
        return plain if isinstance(source, (DoubleType, BooleanType)) else None
    if isinstance(target, DecimalType):
        return plain if whole or (isinstance(source, DecimalType) and source.scale <= target.scale) else None
    if isinstance(target, StringType):
        return plain if whole or isinstance(source, BooleanType) else None
    return _calendar_sql(e, value)


def _read_sql(text: str, pattern: str, plain: str) -> str:
    """Reads a number where DuckDB and Spark agree how it is written; an error elsewhere."""
    return (
        f"(CASE WHEN {text} IS NULL OR regexp_full_match({text}, '{pattern}') THEN {plain} "
        "ELSE error('not a plain number') END)"
    )


def _calendar_sql(e: Expr, value: str) -> str | None:
    """Dates and timestamps, where the offset between them never changes."""
    source, target = e.args[0].type, e.type
    offset = _offset(e)
    if offset is None:
        return None
    if isinstance(target, DateType) and isinstance(source, (TimestampType, TimestampNTZType)):
        local = value if isinstance(source, TimestampNTZType) else f"({value} + {offset})"
        return f"CAST({floor_division(local, DAY_MICROS)} AS INTEGER)"
    if isinstance(target, (TimestampType, TimestampNTZType)):
        shift = offset if isinstance(target, TimestampType) else 0
        if isinstance(source, DateType):
            return f"(CAST({value} AS BIGINT) * {DAY_MICROS} - {shift})"
        if isinstance(source, TimestampNTZType):
            return f"({value} - {shift})"
        if isinstance(source, TimestampType):
            return f"({value} + {offset})"
    return None


def _offset(e: Expr) -> int | None:
    name = e.params["timezone"]
    seconds = zone(name).fixed if name else None
    return None if seconds is None else seconds * MICROS


FUNCTIONS: Functions = {
    "Cast": Function(_cast, _cast_sql),
    "PreciseTimestampConversion": inline("{0}", "{0}"),
}
