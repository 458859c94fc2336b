"""Comparisons, three-valued logic, tests for null and choices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NoReturn

from pyspark.sql.types import (
    ArrayType,
    CalendarIntervalType,
    DataType,
    DoubleType,
    FloatType,
    MapType,
    NullType,
    StructType,
    VariantType,
)

from millstream.errors import DataError
from millstream.kernels.functions.function import Function, Functions, Python, Template, inline
from millstream.kernels.functions.ordering import identity, itself, rank
from millstream.kernels.sqltypes import sql_literal
from millstream.plan.algebra import Expr

NESTED = (ArrayType, MapType, StructType, VariantType)
FLOATING = (FloatType, DoubleType)
FLOAT_TESTS = {
    "<": "({0} < {1} or ({1} != {1} and {0} == {0}))",
    "<=": "({0} <= {1} or {1} != {1})",
    ">": "({0} > {1} or ({0} != {0} and {1} == {1}))",
    ">=": "({0} >= {1} or {0} != {0})",
    "==": "({0} == {1} or ({0} != {0} and {1} != {1}))",
}
"""NaN equals itself and is greater than any other number."""


def _comparison(sign: str) -> Function:
    def python(e: Expr) -> Python:
        kind = e.args[0].type
        if isinstance(kind, FLOATING):
            return _float_test(sign, e.args[1])
        key = identity(kind) if sign == "==" else rank(kind)
        if key is itself:
            return f"({{0}} {sign} {{1}})"
        return Template(f"({{key}}({{0}}) {sign} {{key}}({{1}}))", {"key": key})

    return Function(python, _flat(f"({{0}} {'=' if sign == '==' else sign} {{1}})"))


def _float_test(sign: str, right: Expr) -> str:
    """Shorter if the right side is a number that can't be NaN."""
    if right.op == "Literal" and right.params["value"] == right.params["value"]:
        return (
            "({0} > {1} or {0} != {0})"
            if sign == ">"
            else FLOAT_TESTS[sign]
            if sign == ">="
            else f"({{0}} {sign} {{1}})"
        )
    return FLOAT_TESTS[sign]


def _flat(template: str) -> Any:
    """SQL for values that are not nested: DuckDB compares nulls inside arrays and structs in another way."""

    def sql(e: Expr, args: Sequence[str]) -> str | None:
        if any(isinstance(arg.type, (*NESTED, NullType, CalendarIntervalType)) for arg in e.args):
            return None
        return template.format(*args, all=", ".join(args))

    return sql


def _null_safe_equal(e: Expr) -> Python:
    kind = e.args[0].type
    if isinstance(kind, FLOATING):
        return "(({a} := {0}) == ({b} := {1}) or ({a} != {a} and {b} != {b}))"
    key = identity(kind)
    return "({0} == {1})" if key is itself else Template("({key}({0}) == {key}({1}))", {"key": key})


def _in(e: Expr) -> Python:
    """Evaluates the list's elements one by one, and only until one is equal."""
    value, *others = e.args
    if all(other.op == "Literal" for other in others):
        return _in_values(value.type, [other.params["value"] for other in others])
    test = "{b} == {a}"
    key = identity(value.type)
    values = {}
    if key is not itself:
        test, values = "{key}({b}) == {key}({a})", {"key": key}
    tests = [
        f"((({{b}} := {{{i + 1}}}) is None and ({{c}} := True) is None) or ({{b}} is not None and {test}))"
        for i in range(len(others))
    ]
    text = "(None if ({a} := {0}) is None or ({c} := False) else True if " + " or ".join(tests)
    return Template(text + " else None if {c} else False)", values)


def _in_values(kind: DataType, values: Sequence[Any]) -> Python:
    key = identity(kind)
    known = frozenset(key(value) for value in values if value is not None)
    named = {"known": known} if key is itself else {"known": known, "key": key}
    test = "({a} in {known})" if key is itself else "({key}({a}) in {known})"
    missing = f"({test} or None)" if None in values else test
    return Template(f"(None if ({{a}} := {{0}}) is None else {missing})", named)


def _in_sql(e: Expr, args: Sequence[str]) -> str | None:
    """Not SQL's own IN, for which DuckDB may join, and then the rows come in another order."""
    value, *others = e.args
    if isinstance(value.type, (*NESTED, *FLOATING)):
        return None
    if all(other.op == "Literal" for other in others):
        return _in_list_sql(value.type, args[0], [other.params["value"] for other in others])
    return f"({' OR '.join(f'{args[0]} = {arg}' for arg in args[1:])})"


def _in_set_sql(e: Expr, args: Sequence[str]) -> str | None:
    kind = e.args[0].type
    return None if isinstance(kind, (*NESTED, *FLOATING)) else _in_list_sql(kind, args[0], e.params["values"])


def _in_list_sql(kind: DataType, value: str, values: Sequence[Any]) -> str:
    literals = [sql_literal(Expr("Literal", kind, (), {"value": v})) for v in values if v is not None]
    missing = "NULL" if None in values else "FALSE"
    found = f"list_contains([{', '.join(literals)}], {value})"
    return f"(CASE WHEN {value} IS NULL THEN NULL WHEN {found} THEN TRUE ELSE {missing} END)"


def _case(e: Expr) -> str:
    n = len(e.args)
    pairs = "".join(f"{{{i + 1}}} if {{{i}}} else " for i in range(0, n - 1, 2))
    return f"({pairs}{f'{{{n - 1}}}' if n % 2 else 'None'})"


def _case_sql(e: Expr, args: Sequence[str]) -> str:
    n = len(args)
    pairs = " ".join(f"WHEN {args[i]} THEN {args[i + 1]}" for i in range(0, n - 1, 2))
    return f"(CASE {pairs}{f' ELSE {args[-1]}' if n % 2 else ''} END)"


def _coalesce(e: Expr) -> str:
    last = len(e.args) - 1
    first = "".join(f"{{a}} if ({{a}} := {{{i}}}) is not None else " for i in range(last))
    return f"({first}{{{last}}})"


def _extreme(name: str, sign: str) -> Function:
    """The greatest or the least of the arguments that are not null; the first of equal ones."""

    def python(e: Expr) -> Python:
        key = rank(e.type)
        if key is itself:
            best = max if sign == ">" else min
            return lambda *values: best([v for v in values if v is not None], default=None)
        pick = max if sign == ">" else min
        return lambda *values: pick([v for v in values if v is not None], key=key, default=None)

    def sql(e: Expr, args: Sequence[str]) -> str | None:
        if isinstance(e.type, (*NESTED, *FLOATING, NullType)):
            return None
        return f"{name}({', '.join(args)})"

    return Function(python, sql, nulls=True)


def _at_least(e: Expr) -> Python:
    """Whether so many arguments are neither null nor NaN."""
    wanted = e.params["n"]
    return lambda *values: sum(map(_known, values)) >= wanted


def _known(value: Any) -> bool:
    return value is not None and not (isinstance(value, float) and math.isnan(value))


def _raise_error(error_class: str, parameters: dict[str, str | None]) -> NoReturn:
    text = next(iter(parameters.values()), None)
    raise DataError(f"[{error_class}] {text}")


FUNCTIONS: Functions = {
    "EqualTo": _comparison("=="),
    "LessThan": _comparison("<"),
    "LessThanOrEqual": _comparison("<="),
    "GreaterThan": _comparison(">"),
    "GreaterThanOrEqual": _comparison(">="),
    "EqualNullSafe": Function(_null_safe_equal, _flat("({0} IS NOT DISTINCT FROM {1})"), nulls=True),
    "In": Function(_in, _in_sql, nulls=True),
    "InSet": Function(lambda e: _in_values(e.args[0].type, e.params["values"]), _in_set_sql, nulls=True),
    "And": inline(
        "(False if ({a} := {0}) is False else {b} if ({b} := {1}) is False or {a} else None)",
        "({0} AND {1})",
        nulls=True,
    ),
    "Or": inline(
        "(True if ({a} := {0}) else {b} if ({b} := {1}) or {a} is False else None)",
        "({0} OR {1})",
        nulls=True,
    ),
    "Not": inline("(not {0})", "(NOT {0})"),
    "IsNull": inline("({0} is None)", "({0} IS NULL)", nulls=True),
    "IsNotNull": inline("({0} is not None)", "({0} IS NOT NULL)", nulls=True),
    "IsNaN": inline("(({a} := {0}) != {a})", "COALESCE(isnan({0}), FALSE)", nulls=True),
    "NaNvl": inline(
        "({a} if ({a} := {0}) == {a} else {1})", "(CASE WHEN isnan({0}) THEN {1} ELSE {0} END)", nulls=True
    ),
    "If": inline("({1} if {0} else {2})", "(CASE WHEN {0} THEN {1} ELSE {2} END)", nulls=True),
    "CaseWhen": Function(_case, _case_sql, nulls=True),
    "Coalesce": Function(_coalesce, lambda e, args: f"COALESCE({', '.join(args)})", nulls=True),
    "Greatest": _extreme("greatest", ">"),
    "Least": _extreme("least", "<"),
    "AtLeastNNonNulls": Function(_at_least, nulls=True),
    "RaiseError": Function(lambda e: _raise_error, nulls=True),
    "KnownFloatingPointNormalized": inline("{0}", "{0}", nulls=True),
    "KnownIndeterminateCollation": inline("{0}", "{0}", nulls=True),
    "PromotePrecision": inline("{0}", "{0}", nulls=True),
    "NormalizeNaNAndZero": inline("({0} + 0.0)", "({0} + 0)"),
    "Empty2Null": inline("({0} or None)", "NULLIF({0}, '')"),
}
