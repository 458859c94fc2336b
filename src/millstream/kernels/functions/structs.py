"""Structs: tuples whose fields are known by number."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql.types import StructType

from millstream.kernels.functions.function import Function, Functions
from millstream.plan.algebra import Expr


def _names(kind: StructType) -> list[str] | None:
    """Quoted names of the fields, if DuckDB can tell them apart."""
    names = kind.fieldNames()
    if not names or len({name.lower() for name in names}) < len(names):
        return None
    return ['"' + name.replace('"', '""') + '"' for name in names]


def _create_python(e: Expr) -> str:
    return "(" + "".join(f"{{{i}}}, " for i in range(1, len(e.args), 2)) + ")"


def _create_sql(e: Expr, args: Sequence[str]) -> str | None:
    names = _names(e.type)
    if names is None:
        return None
    return f"struct_pack({', '.join(f'{name} := {arg}' for name, arg in zip(names, args[1::2]))})"


def _field_python(e: Expr) -> str:
    return f"{{0}}[{e.params['ordinal']}]"


def _field_sql(e: Expr, args: Sequence[str]) -> str | None:
    return f"struct_extract_at({args[0]}, {e.params['ordinal'] + 1})" if _names(e.args[0].type) else None


def _fields_python(e: Expr) -> str:
    return f"[None if {{a}} is None else {{a}}[{e.params['ordinal']}] for {{a}} in {{0}}]"


FUNCTIONS: Functions = {
    "CreateNamedStruct": Function(_create_python, _create_sql, nulls=True),
    "GetStructField": Function(_field_python, _field_sql),
    "GetArrayStructFields": Function(_fields_python),
}
