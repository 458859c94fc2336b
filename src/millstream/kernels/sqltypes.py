"""DuckDB's types and literals for Spark's."""

from __future__ import annotations

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    CalendarIntervalType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    YearMonthIntervalType,
)

from millstream.plan.algebra import Expr, Unsupported


def sql_literal(e: Expr) -> str:
    """A literal with its type."""
    value = e.params["value"]
    if isinstance(e.type, CalendarIntervalType) and value is not None:
        return "(to_months({}) + to_days({}) + to_microseconds({}))".format(*value)
    kind = sql_type(e.type)
    if value is None:
        return f"CAST(NULL AS {kind})"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        if "\0" in value:
            raise Unsupported("Literal", "no vector kernel for text with a zero byte")
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, bytes):
        return "'" + "".join(f"\\x{byte:02X}" for byte in value) + "'::BLOB"
    if isinstance(value, (tuple, list, dict)):
        raise Unsupported("Literal", "no vector kernel for nested literals")
    return f"CAST('{value!s}' AS {kind})"


_SQL_TYPES: dict[type[DataType], str] = {
    BooleanType: "BOOLEAN",
    ByteType: "TINYINT",
    ShortType: "SMALLINT",
    IntegerType: "INTEGER",
    LongType: "BIGINT",
    FloatType: "FLOAT",
    DoubleType: "DOUBLE",
    StringType: "VARCHAR",
    BinaryType: "BLOB",
    DateType: "INTEGER",
    TimestampType: "BIGINT",
    TimestampNTZType: "BIGINT",
    DayTimeIntervalType: "BIGINT",
    YearMonthIntervalType: "INTEGER",
    NullType: "INTEGER",
}


def sql_type(kind: DataType) -> str:
    """DuckDB's type for the internal values of one of Spark's.

    >>> from pyspark.sql.types import TimestampType
    >>> sql_type(TimestampType()), sql_type(ArrayType(DateType()))
    ('BIGINT', 'INTEGER[]')
    """
    if isinstance(kind, DecimalType):
        return f"DECIMAL({kind.precision},{kind.scale})"
    if isinstance(kind, ArrayType):
        return f"{sql_type(kind.elementType)}[]"
    if isinstance(kind, MapType):
        return f"MAP({sql_type(kind.keyType)}, {sql_type(kind.valueType)})"
    if isinstance(kind, StructType):
        return "STRUCT(" + ", ".join(f'"{quoted(f.name)}" {sql_type(f.dataType)}' for f in kind) + ")"
    found = _SQL_TYPES.get(type(kind))
    if found is None:
        raise Unsupported(kind.simpleString(), "no vector kernel for this type")
    return found


def quoted(name: str) -> str:
    """A name as it stands between double quotes."""
    return name.replace('"', '""')
