"""Spark's streaming relations as sources of ours."""

from __future__ import annotations

from millstream.io.registry import find_source
from millstream.plan.algebra import Source, Unsupported, schema_of
from millstream.plan.expressions import Java, column_of, items, string_map


def read_source(plan: Java) -> Source:
    """The source of a `StreamingRelation` (files) or a `StreamingRelationV2` (everything newer)."""
    output = tuple(column_of(a) for a in items(plan.output()))
    if plan.getClass().getSimpleName() == "StreamingRelation":
        made_of = plan.dataSource()
        format, options = str(made_of.className()), string_map(made_of.options())
    else:
        format, options = str(plan.sourceName()), dict(plan.extraOptions().asCaseSensitiveMap())
        options = {str(name): str(value) for name, value in options.items()}
    schema = schema_of(output)
    source = find_source(format, options, schema)
    if source.schema.names != schema.names:
        raise Unsupported(format, f"with columns {', '.join(schema.names)}")
    return Source(output, format, options, source)
