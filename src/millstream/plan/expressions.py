"""Spark's expressions, read from its JVM objects, as typed ones of ours.

Every class keeps its name and its children; what else fixes its meaning (time zone, ANSI mode,
options) is read by an entry of `PARAMS`. A class without an entry has no parameters. Whether an
expression can run is for the kernels to say.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cache
from struct import pack, unpack
from typing import Any

from py4j.java_gateway import get_field
from pyspark.sql import SparkSession
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
    try:
        return _parse_datatype_json_value(json.loads(jvm_type.json()))
    except Exception as error:
        raise Unsupported(str(jvm_type.getClass().getSimpleName()), "a type that PySpark doesn't know") from error


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
    return _mode(e) | _zone(e) | {"java": java_version()}


def _rounding(e: Java) -> dict[str, Any]:
    return {"ansi": bool(e.ansiEnabled()), "java": java_version()}


@cache
def java_version() -> int:
    """The major version of the driver's JVM: it decides which digits a floating-point number is written with."""
    system = SparkSession.active().sparkContext._jvm.System
    return int(system.getProperty("java.specification.version").split(".")[-1])


def _json(e: Java) -> dict[str, Any]:
    settings = {"corrupt": SparkSession.active().conf.get("spark.sql.columnNameOfCorruptRecord")}
    return {"schema": type_of(e.schema()), "options": string_map(e.options())} | _zone(e) | settings


def _to_json(e: Java) -> dict[str, Any]:
    evaluator = e.targetObject().value()
    return {"options": string_map(evaluator.options()), "timezone": option(evaluator.timeZoneId())}


def _patterns(e: Java) -> dict[str, Any]:
    return {"patterns": [None if p is None else str(p.toString()) for p in items(e.patterns())]}


def _literal(e: Java) -> dict[str, Any]:
    return {"value": internal(e.value(), e.dataType())}


def _in_set(e: Java) -> dict[str, Any]:
    kind = e.child().dataType()
    return {"values": tuple(internal(value, kind) for value in items(e.hset().toSeq()))}


def internal(value: Java, kind: Java) -> Any:  # noqa: PLR0911 (one for each kind)
    """A value of Spark's, of a Scala data type, as our internal one."""
    if value is None:
        return None
    match str(kind.typeName()).split("(", maxsplit=1)[0].split(" ", maxsplit=1)[0]:
        case "string" | "char" | "varchar":
            return str(value.toString())
        case "binary":
            return bytes(value)
        case "decimal":
            return Decimal(value.toString())
        case "float":
            return unpack("f", pack("f", value))[0]
        case "array":
            return _elements(value, kind.elementType())
        case "map":
            keys = _elements(value.keyArray(), kind.keyType())
            return dict(zip(keys, _elements(value.valueArray(), kind.valueType())))
        case "struct":
            fields = enumerate(items(kind.toSeq()))
            return tuple(internal(value.get(i, f.dataType()), f.dataType()) for i, f in fields)
        case "interval":
            if isinstance(value, int):
                return value
            return tuple(int(get_field(value, part)) for part in ("months", "days", "microseconds"))
    if isinstance(value, (bool, int, float)):
        return value
    raise Unsupported("Literal", f"of type {kind.simpleString()}")


def _elements(array: Java, kind: Java) -> list[Any]:
    return [internal(array.get(i, kind), kind) for i in range(array.numElements())]


def _map_policy(e: Java) -> dict[str, Any]:
    return {"last_wins": SparkSession.active().conf.get("spark.sql.mapKeyDedupPolicy") == "LAST_WIN"}


def _pattern_policy() -> dict[str, Any]:
    return {"policy": SparkSession.active().conf.get("spark.sql.legacy.timeParserPolicy")}


MAP_BUILDERS = ("CreateMap", "MapFromArrays", "MapFromEntries", "MapConcat", "StringToMap", "TransformKeys")
CLOCKS = ("Hour", "Minute", "Second", "SecondWithFraction", "TruncTimestamp")
TIME_ARITHMETIC = ("SubtractTimestamps", "TimestampAddInterval", "TimestampAddYMInterval", "MonthsBetween", "Sequence")
TIME_READERS = ("GetTimestamp", "UnixTimestamp", "ToUnixTimestamp")
DECIMAL_CHECKS = ("CheckOverflow", "CheckOverflowInSum", "MakeDecimal", "DecimalDivideWithOverflowCheck")
PARAMS: dict[str, Reader] = {
    "Literal": _literal,
    "Cast": _cast,
    "InSet": _in_set,
    "AtLeastNNonNulls": lambda e: {"n": int(e.n())},
    "Conv": lambda e: {"ansi": bool(e.ansiEnabled())},
    **dict.fromkeys(("Floor", "Ceil"), _ansi),
    **dict.fromkeys(("Round", "BRound", "RoundCeil", "RoundFloor"), _rounding),
    **dict.fromkeys(("Add", "Subtract", "Multiply", "Divide", "IntegralDivide", "Remainder", "Pmod"), _mode),
    **dict.fromkeys(
        ("UnaryMinus", "Abs", "GetArrayItem", "ElementAt", "Elt", "MakeDate", "NextDay", "MakeInterval"), _ansi
    ),
    **dict.fromkeys(("GetStructField", "GetArrayStructFields"), lambda e: {"ordinal": int(e.ordinal())}),
    **dict.fromkeys(DECIMAL_CHECKS, lambda e: {"null_on_overflow": bool(e.nullOnOverflow())}),
    "Size": lambda e: {"null_is_negative": bool(e.legacySizeOfNull())},
    **dict.fromkeys(MAP_BUILDERS, _map_policy),
    **dict.fromkeys((*CLOCKS, *TIME_ARITHMETIC), _zone),
    **dict.fromkeys(("TimestampAdd", "TimestampDiff"), lambda e: {"unit": str(e.unit())} | _zone(e)),
    **dict.fromkeys(("FromUnixTime", "DateFormatClass"), lambda e: _zone(e) | _pattern_policy()),
    **dict.fromkeys(TIME_READERS, lambda e: _ansi(e) | _zone(e) | _pattern_policy()),
    "MakeTimestamp": lambda e: _ansi(e) | _zone(e),
    "DateAddInterval": lambda e: {"ansi": bool(e.ansiEnabled())} | _zone(e),
    "ArrayExists": lambda e: {"three_valued": bool(e.followThreeValuedLogic())},
    "ArraySort": lambda e: {"null_is_equal": bool(e.allowNullComparisonResult())},
    "LambdaVariable": lambda e: {"id": int(e.exprId().id()), "name": str(e.name())},
    "JsonToStructs": _json,
    **dict.fromkeys(("Murmur3Hash", "XxHash64"), lambda e: {"seed": int(e.seed())}),
    **dict.fromkeys(("Like", "ILike"), lambda e: {"escape": str(e.escapeChar())}),
    **dict.fromkeys(("LikeAll", "LikeAny", "NotLikeAll", "NotLikeAny"), _patterns),
    "StructsToJsonEvaluator.evaluate": _to_json,
}
"""How to read what a class needs beside its children."""


def expression(e: Java) -> Expr:
    """A typed expression from Spark's; attributes become `Column`, aliases vanish."""
    name = str(e.getClass().getSimpleName())
    if name == "AttributeReference":
        return column_of(e).ref()
    if name in ("Alias", "KnownNullable", "KnownNotNull", "KnownNotContainsNull", "TempResolvedColumn"):
        return expression(e.child())
    if name == "NamedLambdaVariable":
        name = "LambdaVariable"
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
