"""Spark's streaming relations as sources of ours."""

from __future__ import annotations

from millstream.io.registry import find_source
from millstream.io.relation import relation
from millstream.plan.algebra import Source, Unsupported
from millstream.plan.expressions import Java, column_of, items


def read_source(plan: Java) -> Source:
    """The source of a `StreamingRelation` (files) or a `StreamingRelationV2` (everything newer)."""
    found = relation(plan)
    source = find_source(found.format, found.options, found.schema, found.pickled)
    if source.schema.names != found.schema.names:
        raise Unsupported(found.format, f"with columns {', '.join(found.schema.names)}")
    return Source(tuple(column_of(a) for a in items(plan.output())), found.format, found.options, source)
