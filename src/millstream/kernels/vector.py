"""Operators as SQL over Arrow: DuckDB runs many rows at a time, at a fixed cost of about a millisecond a call."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import DoubleType, FloatType

from millstream.kernels.aggregates import buffers_of
from millstream.kernels.batch import arrow_schema, internal_table, internal_type
from millstream.kernels.expressions import sql
from millstream.plan.algebra import (
    Column,
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

# Prepared statements give their results by a copy, and DuckDB says so each time. The copy costs a fiftieth of a
# microsecond a row, preparing anew half a millisecond a call.
warnings.filterwarnings("ignore", message="Arrow output on a DB-API result", category=UserWarning)

Refusal = duckdb.Error
"""DuckDB raises where it can't give Spark's answer; the scalar kernel then has the word."""


def _name(column: Column) -> str:
    """What a column is called in SQL: its number, which may be negative if Spark's plan does not know it."""
    return f"c{column.id}" if column.id >= 0 else f"c_{-column.id}"


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
        self._query = f"SELECT * FROM input{len(self.statements)}"
        self._env = {c.id: _name(c) for c in self.output}

    def _sql(self, e: Expr) -> str:
        return sql(e, self._env)

    def _unknown(self, node: Node) -> None:
        raise Unsupported(type(node).__name__, "no vector kernel")

    def _select(self, named: Sequence[tuple[Expr, Column]]) -> str:
        return ", ".join(f"{self._sql(e)} AS {_name(c)}" for e, c in named)

    def _project(self, node: Project) -> None:
        self._query = f"SELECT {self._select([(e, c) for c, e in zip(node.output, node.exprs)])}\nFROM ({self._query})"
        self._env = {c.id: _name(c) for c in node.output}

    def _filter(self, node: Filter) -> None:
        self._query = f"SELECT * FROM ({self._query})\nWHERE {self._sql(node.condition)}"

    def _watermark(self, node: Watermark) -> None:
        self.statements.append(self._query)
        self.marks.append((_name(node.column), node.delay))
        self._start()

    def _expand(self, node: Expand) -> None:
        parts = [
            f"SELECT {self._select([(e, c) for c, e in zip(node.output, exprs)])} FROM expanded"
            for exprs in node.projections
        ]
        self._query = f"WITH expanded AS MATERIALIZED ({self._query})\n" + "\nUNION ALL ".join(parts)
        self._env = {c.id: _name(c) for c in node.output}

    def _generate(self, node: Generate) -> None:
        made = node.output[len(node.kept) :]
        if node.generator.op != "Explode" or node.outer or len(made) != 1:
            raise Unsupported(node.generator.op, "no vector kernel")
        kept = "".join(f"{_name(c)}, " for c in node.kept)
        array = self._sql(node.generator.args[0])
        self._query = f"SELECT {kept}unnest({array}) AS {_name(made[0])}\nFROM ({self._query})"
        self._env = {c.id: _name(c) for c in node.output}

    def _staticjoin(self, node: StaticJoin) -> None:
        name = f"static{len(self.statics)}"
        self.statics[name] = node.static
        self._env |= {c.id: _name(c) for c in node.static.output}
        on = [f"{self._sql(a)} = {self._sql(b)}" for a, b in zip(node.left_keys, node.right_keys)]
        if node.condition is not None:
            on.append(self._sql(node.condition))
        kind = {"inner": "INNER", "left": "LEFT", "semi": "SEMI", "anti": "ANTI"}[node.kind]
        self._query = f"SELECT * FROM ({self._query})\n{kind} JOIN {name} ON {' AND '.join(on) or 'TRUE'}"

    def _partialaggregate(self, node: PartialAggregate) -> None:
        if not node.combine:
            raise Unsupported("PartialAggregate", "no vector kernel when rows are not combined")
        keys = [f"{self._group_key(e)} AS k{_name(c)}" for c, e in node.keys]
        self._query = f"SELECT *{''.join(', ' + key for key in keys)}\nFROM ({self._query})" if keys else self._query
        made = [f"k{_name(c)} AS {_name(c)}" for c, _ in node.keys]
        buffers = iter(node.output[len(node.keys) :])
        for call in node.calls:
            b = buffers_of(call)
            if b.sql is None or not (call.filter is None or b.filterable):
                raise Unsupported(call.function.op, "no vector kernel")
            condition = f" FILTER (WHERE {self._sql(call.filter)})" if call.filter is not None else ""
            for text in b.sql([self._sql(arg) for arg in call.function.args]):
                made.append(f"{text}{condition} AS {_name(next(buffers))}")
        groups = ", ".join(f"k{_name(c)}" for c, _ in node.keys)
        by = f"\nGROUP BY {groups}" if groups else ""
        self._query = f"SELECT {', '.join(made)}\nFROM ({self._query}){by}"
        self._env = {c.id: _name(c) for c in node.output}

    def _group_key(self, e: Expr) -> str:
        if isinstance(e.type, (DoubleType, FloatType)):
            return f"({self._sql(e)} + 0.0)"
        return self._sql(e)


@cache
def _process() -> duckdb.DuckDBPyConnection:
    """This process's DuckDB. A slot is one core, so it has one thread."""
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    return connection


def database() -> duckdb.DuckDBPyConnection:
    """A connection that runs queries as they were written."""
    connection = _process().cursor()
    # A filter that is pushed below a projection takes a copy of what it filters by, and parses twice. Membership
    # that becomes a join gives rows in another order.
    connection.execute("SET disabled_optimizers = 'filter_pushdown,in_clause'")
    return connection


class Feed:
    """What a prepared statement reads: whatever table is put in, under one name for the statement's life.

    Preparing is most of what a call costs otherwise, and a statement is bound to the very object that
    its name meant when it was prepared.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.table = schema.empty_table()

    def __arrow_c_schema__(self) -> Any:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)


class Statement:
    """A prepared statement from one table to another."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, number: int, text: str, input: pa.Schema) -> None:
        self._connection = connection
        self._feed = Feed(input)
        connection.register(f"input{number}", self._feed)
        connection.execute(f"PREPARE statement{number} AS {text}")
        self._execute = f"EXECUTE statement{number}"

    def run(self, table: pa.Table) -> pa.Table:
        """The statement's answer for a table."""
        self._feed.table = table
        try:
            return self._connection.execute(self._execute).to_arrow_table()
        finally:
            self._feed.table = None


class Vector:
    """The compiled form of some operators; raises `Unsupported` if one of them has no SQL."""

    def __init__(self, columns: Columns, nodes: Sequence[Node]) -> None:
        code = VectorCode(columns, nodes)
        connection = database()
        for name, static in code.statics.items():
            renamed = static.table.rename_columns([_name(c) for c in static.output])
            connection.register(name, internal_table(renamed))
        self._columns = _Internal(columns)
        self._schema = arrow_schema(schema_of(code.output))
        self._output = [_name(c) for c in code.output]
        self._marks = code.marks
        self._statements: list[Statement] = []
        input = self._columns.schema
        for number, text in enumerate(code.statements):
            statement = Statement(connection, number, text, input)
            self._statements.append(statement)
            if number < len(code.marks):
                input = statement.run(input.empty_table()).schema

    def __call__(self, table: pa.Table) -> tuple[pa.Table, int | None]:
        """The rows that come out, and the event time that they have reached."""
        current = self._columns.of(table)
        mark: int | None = None
        for number, statement in enumerate(self._statements):
            current = statement.run(current)
            if number < len(self._marks):
                name, delay = self._marks[number]
                reached = pc.max(current[name]).as_py()
                mark = None if reached is None else reached // 1000 * 1000 - delay
        return self._external(current), mark

    def _external(self, table: pa.Table) -> pa.Table:
        """The types and names that Spark gives to what DuckDB returned."""
        columns = [table.column(name) for name in self._output]
        cast = [c if c.type.equals(f.type) else c.cast(f.type) for c, f in zip(columns, self._schema)]
        return pa.Table.from_arrays(cast, schema=self._schema)


class _Internal:
    """Tables with the names and types by which statements know some columns."""

    def __init__(self, columns: Columns) -> None:
        given = arrow_schema(schema_of(columns))
        fields = [pa.field(_name(c), internal_type(f.type)) for c, f in zip(columns, given)]
        self.schema = pa.schema(fields)

    def of(self, table: pa.Table) -> pa.Table:
        """A table as statements want it."""
        pairs = zip(table.columns, self.schema)
        cast = [c if c.type.equals(f.type) else c.cast(f.type) for c, f in pairs]
        return pa.Table.from_arrays(cast, schema=self.schema)
