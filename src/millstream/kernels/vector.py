"""Operators as SQL over Arrow: DuckDB runs many rows at a time, at a fixed cost of about a millisecond a call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import DoubleType, FloatType

from millstream.kernels.aggregates import buffers_of
from millstream.kernels.batch import arrow_schema, internal_table
from millstream.kernels.expressions import sql
from millstream.plan.algebra import (
    Columns,
    Expand,
    Expr,
    Filter,
    Generate,
    Node,
    PartialAggregate,
    Project,
    Static,
    StaticJoin,
    Unsupported,
    Watermark,
    schema_of,
)

Refusal = duckdb.Error
"""DuckDB raises where it can't give Spark's answer; the scalar kernel then has the word."""


class VectorCode:
    """The statements of some operators: one, and one more after each watermark."""

    def __init__(self, columns: Columns, nodes: Sequence[Node]) -> None:
        self.statements: list[str] = []
        self.marks: list[tuple[str, int]] = []
        """Between one statement and the next: the event-time column, and the delay."""
        self.statics: dict[str, Static] = {}
        self.output = columns
        self._start()
        for node in nodes:
            getattr(self, f"_{type(node).__name__.lower()}", self._unknown)(node)
            self.output = node.output
        self.statements.append(self._query)

    def _start(self) -> None:
        self._query = "SELECT * FROM input"
        self._env = {c.id: f"c{c.id}" for c in self.output}

    def _sql(self, e: Expr) -> str:
        return sql(e, self._env)

    def _unknown(self, node: Node) -> None:
        raise Unsupported(type(node).__name__, "no vector kernel")

    def _select(self, named: Sequence[tuple[Expr, int]]) -> str:
        return ", ".join(f"{self._sql(e)} AS c{id}" for e, id in named)

    def _project(self, node: Project) -> None:
        self._query = (
            f"SELECT {self._select([(e, c.id) for c, e in zip(node.output, node.exprs)])}\nFROM ({self._query})"
        )
        self._env = {c.id: f"c{c.id}" for c in node.output}

    def _filter(self, node: Filter) -> None:
        self._query = f"SELECT * FROM ({self._query})\nWHERE {self._sql(node.condition)}"

    def _watermark(self, node: Watermark) -> None:
        self.statements.append(self._query)
        self.marks.append((f"c{node.column.id}", node.delay))
        self._start()

    def _expand(self, node: Expand) -> None:
        parts = [
            f"SELECT {self._select([(e, c.id) for c, e in zip(node.output, exprs)])} FROM expanded"
            for exprs in node.projections
        ]
        self._query = f"WITH expanded AS MATERIALIZED ({self._query})\n" + "\nUNION ALL ".join(parts)
        self._env = {c.id: f"c{c.id}" for c in node.output}

    def _generate(self, node: Generate) -> None:
        made = node.output[len(node.kept) :]
        if node.generator.op != "Explode" or node.outer or len(made) != 1:
            raise Unsupported(node.generator.op, "no vector kernel")
        kept = "".join(f"c{c.id}, " for c in node.kept)
        array = self._sql(node.generator.args[0])
        self._query = f"SELECT {kept}unnest({array}) AS c{made[0].id}\nFROM ({self._query})"
        self._env = {c.id: f"c{c.id}" for c in node.output}

    def _staticjoin(self, node: StaticJoin) -> None:
        name = f"static{len(self.statics)}"
        self.statics[name] = node.static
        self._env |= {c.id: f"c{c.id}" for c in node.static.output}
        on = [f"{self._sql(a)} = {self._sql(b)}" for a, b in zip(node.left_keys, node.right_keys)]
        if node.condition is not None:
            on.append(self._sql(node.condition))
        kind = {"inner": "INNER", "left": "LEFT", "semi": "SEMI", "anti": "ANTI"}[node.kind]
        self._query = f"SELECT * FROM ({self._query})\n{kind} JOIN {name} ON {' AND '.join(on) or 'TRUE'}"

    def _partialaggregate(self, node: PartialAggregate) -> None:
        keys = [f"{self._group_key(e)} AS k{c.id}" for c, e in node.keys]
        self._query = f"SELECT *{''.join(', ' + key for key in keys)}\nFROM ({self._query})" if keys else self._query
        made = [f"k{c.id} AS c{c.id}" for c, _ in node.keys]
        buffers = iter(node.output[len(node.keys) :])
        for call in node.calls:
            b = buffers_of(call)
            if b.sql is None or not (call.filter is None or b.filterable):
                raise Unsupported(call.function.op, "no vector kernel")
            condition = f" FILTER (WHERE {self._sql(call.filter)})" if call.filter is not None else ""
            for text in b.sql([self._sql(arg) for arg in call.function.args]):
                made.append(f"{text}{condition} AS c{next(buffers).id}")
        groups = ", ".join(f"k{c.id}" for c, _ in node.keys)
        by = f"\nGROUP BY {groups}" if groups else "\nHAVING count(*) > 0"
        self._query = f"SELECT {', '.join(made)}\nFROM ({self._query}){by}"
        self._env = {c.id: f"c{c.id}" for c in node.output}

    def _group_key(self, e: Expr) -> str:
        if isinstance(e.type, (DoubleType, FloatType)):
            return f"({self._sql(e)} + 0.0)"
        return self._sql(e)


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    """This process's DuckDB: one thread, and queries as they were written (a filter must not repeat a parse)."""
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.execute("SET disabled_optimizers = 'filter_pushdown'")
    return connection


Vector = Callable[[pa.Table], tuple[pa.Table, int | None]]


def vector_function(columns: Columns, nodes: Sequence[Node]) -> Vector:
    """The function of some operators; raises `Unsupported` if one of them has no SQL."""
    code = VectorCode(columns, nodes)
    schema = arrow_schema(schema_of(code.output))
    connection = _connection()
    tables = {
        name: internal_table(static.table.rename_columns([f"c{c.id}" for c in static.output]))
        for name, static in code.statics.items()
    }
    names = [f"c{c.id}" for c in columns]
    after = [f"c{c.id}" for c in code.output]

    def run(table: pa.Table) -> tuple[pa.Table, int | None]:
        for name, static in tables.items():
            connection.register(name, static)
        current = internal_table(table.rename_columns(names))
        mark: int | None = None
        for number, statement in enumerate(code.statements):
            connection.register("input", current)
            current = connection.execute(statement).to_arrow_table()
            if number < len(code.marks):
                name, delay = code.marks[number]
                reached = pc.max(current[name]).as_py()
                mark = None if reached is None else reached - delay
        return _external(current.select(after), schema), mark

    return run


def _external(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The types and names that Spark gives to what DuckDB returned."""
    columns: list[Any] = []
    for column, field in zip(table.columns, schema):
        columns.append(column if column.type.equals(field.type) else column.cast(field.type))
    return pa.Table.from_arrays(columns, schema=schema)
