"""A streaming relation of Spark's analysed plan, as what it takes to read it.

| source | node | format | options |
|---|---|---|---|
| rate, rate-micro-batch, socket, Python Data Sources, Kafka | `StreamingRelationV2` | `sourceName` | `extraOptions` |
| text, json, csv, parquet and other files | `StreamingRelation` | `dataSource.className` | `dataSource.options` |

A Python Data Source's provider gives the pickled instance that Spark itself sends to its workers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql.types import StructType

from millstream.plan.algebra import Unsupported, schema_of
from millstream.plan.expressions import column_of, items, option, string_map

PARSED = ("json", "csv")
NODES = ("StreamingRelationV2", "StreamingRelation")


@dataclass(frozen=True)
class Relation:
    """Format, options and schema of a source; for a Python Data Source also its pickled instance."""

    format: str
    options: Mapping[str, str]
    schema: StructType
    pickled: bytes | None = None


def relation(node: Any) -> Relation:
    """The relation that a node of the JVM's plan stands for."""
    kind = str(node.getClass().getSimpleName())
    schema = schema_of(tuple(column_of(attribute) for attribute in items(node.output())))
    if kind == "StreamingRelationV2":
        return _from_v2(node, schema)
    if kind == "StreamingRelation":
        return _from_files(node.dataSource(), schema)
    raise Unsupported(kind, "it is no streaming source that Millstream knows")


def _from_v2(node: Any, schema: StructType) -> Relation:
    name = str(node.sourceName())
    given = {str(key): str(value) for key, value in node.extraOptions().asCaseSensitiveMap().items()}
    provider = option(node.source())
    if provider is None or str(provider.getClass().getSimpleName()) != "PythonDataSourceV2":
        return Relation(name, given, schema)
    no_schema = provider.getClass().getClassLoader().loadClass("scala.None$").getField("MODULE$").get(None)
    made = provider.getOrCreateDataSourceInPython(name, node.extraOptions(), no_schema)
    return Relation(name, given, schema, bytes(made.dataSource()))


def _from_files(source: Any, schema: StructType) -> Relation:
    format = str(source.className())
    if source.sourceInfo().partitionColumns().length():
        raise Unsupported(format, "files in partition folders (key=value) are not read natively")
    given = string_map(source.options())
    return Relation(format, _session(source) | given if format.lower() in PARSED else given, schema)


def _session(source: Any) -> dict[str, str]:
    """What the session's settings mean for files: as options, so that these say all."""
    settings = source.sparkSession().sessionState().conf()
    given = {name.lower() for name in string_map(source.options())}
    session = {
        "timeZone": str(settings.sessionLocalTimeZone()),
        "columnNameOfCorruptRecord": str(settings.columnNameOfCorruptRecord()),
    }
    return {name: value for name, value in session.items() if name.lower() not in given}
