"""Spark's expressions, read from its JVM objects, as typed ones of ours.

Every class keeps its name and its children; what else fixes its meaning (time zone, ANSI mode,
options) is read by an entry of `PARAMS`. A class without an entry has no parameters. Whether an
expression can run is for the kernels to say.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from pyspark.sql.types import DataType, _parse_datatype_json_value

from millstream.plan.algebra import Column, Expr, Unsupported

Java = Any
Reader = Callable[[Java], dict[str, Any]]


def items(sequence: Java) -> Iterator[Java]:
    """The elements of a Scala sequence."""
    for i in range(sequence.length()):
        yield sequence.apply(i)


def type_of(jvm_type: Java) -> DataType:
    """A Scala data type as PySpark's."""
    return _parse_datatype_json_value(json.loads(jvm_type.json()))


def column_of(attribute: Java) -> Column:
    """An attribute as a column."""
    number = int(attribute.exprId().id())
    return Column(number, str(attribute.name()), type_of(attribute.dataType()), bool(attribute.nullable()))


def option(value: Java) -> Any:
    """A Scala Option: its value, or None."""
    return value.get() if value.isDefined() else None


def string_map(scala_map: Java) -> dict[str, str]:
    """A Scala map of strings."""
    entries = scala_map.toSeq()
    return {str(entry._1()): str(entry._2()) for entry in items(entries)}


def _zone(e: Java) -> dict[str, Any]:
    return {"timezone": option(e.timeZoneId())}


def _ansi(e: Java) -> dict[str, Any]:
    return {"ansi": bool(e.failOnError())}


def _mode(e: Java) -> dict[str, Any]:
    return {"ansi": str(e.evalMode().toString()) == "ANSI", "mode": str(e.evalMode().toString())}


def _cast(e: Java) -> dict[str, Any]:
    return _mode(e) | _zone(e)


def _json(e: Java) -> dict[str, Any]:
    return {"schema": type_of(e.schema()), "options": string_map(e.options())} | _zone(e)


def _literal(e: Java) -> dict[str, Any]:
    value = e.value()
    kind = str(e.dataType().typeName())
    if value is None or isinstance(value, (bool, int, float, str, bytes, bytearray)):
        return {"value": bytes(value) if isinstance(value, bytearray) else value}
    if kind == "string" or kind.startswith(("char", "varchar")):
        return {"value": str(value.toString())}
    if kind.startswith("decimal"):
        from decimal import Decimal  # noqa: PLC0415 (rare)

        return {"value": Decimal(value.toString())}
    return {"value": None, "sql": str(e.sql())}


PARAMS: dict[str, Reader] = {
    "Literal": _literal,
    "Cast": _cast,
    **dict.fromkeys(("Add", "Subtract", "Multiply", "Divide", "IntegralDivide", "Remainder", "Pmod"), _mode),
    **dict.fromkeys(("UnaryMinus", "Abs", "GetArrayItem", "ElementAt", "Elt", "Size"), _ansi),
    "GetStructField": lambda e: {"ordinal": int(e.ordinal())},
    "JsonToStructs": _json,
}
"""How to read what a class needs beside its children."""


def expression(e: Java) -> Expr:
    """A typed expression from Spark's; attributes become `Column`, aliases vanish."""
    name = str(e.getClass().getSimpleName())
    if name == "AttributeReference":
        return column_of(e).ref()
    if name in ("Alias", "KnownNullable", "KnownNotNull", "TempResolvedColumn"):
        return expression(e.child())
    children = e.children()
    if name == "StaticInvoke":
        name = f"{str(e.staticObject().getSimpleName()).rstrip('$')}.{e.functionName()}"
    elif name == "Invoke":
        children = e.arguments()
        name = f"{_receiver(e.targetObject())}.{e.functionName()}"
    read = PARAMS.get(name)
    try:
        params = read(e) if read else {}
    except Exception as error:
        raise Unsupported(name, f"its parameters can't be read: {type(error).__name__}") from error
    return Expr(name, type_of(e.dataType()), tuple(expression(child) for child in items(children)), params)


def _receiver(target: Java) -> str:
    """The class whose method an `Invoke` calls."""
    if str(target.getClass().getSimpleName()) == "Literal":
        return str(target.value().getClass().getSimpleName())
    return str(target.getClass().getSimpleName())
