"""Spark's own answer, and the kernels' over the same rows."""

import math
from dataclasses import replace
from decimal import Decimal
from functools import cached_property

import duckdb
import pyarrow as pa

from millstream.kernels.batch import internal_type, rows_of
from millstream.kernels.expressions import Code, python, sql
from millstream.kernels.sqltypes import quoted
from millstream.kernels.vector import database
from millstream.plan.algebra import Unsupported
from millstream.plan.expressions import column_of, expression, items

COVERED = {"scalar": set(), "vector": set()}
"""The expression classes that each kernel was compared with Spark on; docs/coverage.md is made from it."""


def _note(kernel, case):
    COVERED[kernel].update(part.op for e in case.exprs for part in e.walk())


class Case:
    """A projection of a DataFrame, read from Spark's optimised plan."""

    def __init__(self, frame, columns):
        self.frame = frame
        self.projected = frame.select(*columns)
        plan = self.projected._jdf.queryExecution().optimizedPlan()
        assert plan.nodeName() == "Project", plan.toString()
        self.exprs = [expression(e) for e in items(plan.projectList())]
        below = plan.child()
        while below.nodeName() == "Project":
            inner = {column_of(a).id: expression(e) for a, e in zip(items(below.output()), items(below.projectList()))}
            self.exprs = [_inlined(e, inner) for e in self.exprs]
            below = below.child()
        inputs = [column_of(a) for a in items(below.output())]
        names = {c.id: c.name for c in inputs}
        self.columns = [(c.id, names[c.id]) for c in inputs]
        self.schema = self.projected.schema

    @cached_property
    def input(self):
        """The input as an Arrow table."""
        return self.frame.select(*[name for _, name in self.columns]).toArrow()

    def rows(self):
        """The input, in internal values."""
        return rows_of(self.input)

    def spark(self):
        """Spark's answer in internal values."""
        return rows_of(self.projected.toArrow())

    def scalar(self):
        """The answer of generated Python."""
        code = Code()
        names = {id: f"c{i}" for i, (id, _) in enumerate(self.columns)}
        body = ", ".join(python(e, names, code) for e in self.exprs)
        source = f"def run({', '.join(names.values())}):\n    return ({body},)\n"
        run = code.compile(source, "run")
        return [run(*row) for row in self.rows()]

    def vector(self):
        """DuckDB's answer; raises `Unsupported` where an expression has no SQL, and DuckDB's errors."""
        names = {id: f'"{quoted(name)}"' for id, name in self.columns}
        exprs = ", ".join(f"{sql(e, names)} AS r{i}" for i, e in enumerate(self.exprs))
        return run_sql(internal_table(self.input), exprs)


def _inlined(e, columns):
    """An expression over the columns of the relation below, without Spark's common subexpressions."""
    if e.op == "Column":
        return columns.get(e.params["id"], e)
    return replace(e, args=tuple(_inlined(arg, columns) for arg in e.args))


def internal_table(table):
    """A table as DuckDB gets it: with whole numbers for times and dates."""
    return table.cast(pa.schema([f.with_type(internal_type(f.type)) for f in table.schema]))


def run_sql(table, exprs):
    """The rows that DuckDB makes of a table."""
    with database() as connection:
        connection.register("input", table)
        result = connection.execute(f"SELECT {exprs} FROM input").to_arrow_table()
    return rows_of(result)


def same(left, right):
    """Equality to the last bit: NaN is NaN, -0.0 is not 0.0, 1 is not True."""
    if isinstance(left, float) and isinstance(right, float):
        return (math.isnan(left) and math.isnan(right)) or (
            left == right and math.copysign(1, left) == math.copysign(1, right)
        )
    if isinstance(left, (tuple, list)) and isinstance(right, (tuple, list)):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left.items(), right.items()))
    if isinstance(left, Decimal) and isinstance(right, Decimal):
        return left == right
    return type(left) is type(right) and left == right


def check(frame, *columns, vector=None):
    """Both kernels must give Spark's answer, or raise where Spark raises.

    `vector=True` insists that there is a vector kernel and that it doesn't refuse; `False` that there is none.
    """
    case = Case(frame, columns)
    try:
        expected = case.spark()
    except Exception as error:
        reason = str(error).splitlines()[0]
        try:
            got = case.scalar()
        except Exception:
            pass
        else:
            raise AssertionError(f"Spark raises ({reason}), the scalar kernel gives {got}") from error
        try:
            got = case.vector()
        except (Unsupported, duckdb.Error):
            return
        raise AssertionError(f"Spark raises ({reason}), the vector kernel gives {got}") from error
    _compare("scalar", case, case.scalar(), expected)
    _note("scalar", case)
    try:
        got = case.vector()
    except (Unsupported, duckdb.Error):
        assert not vector, "the vector kernel does not answer"
        return
    assert vector is not False, "there is a vector kernel"
    _compare("vector", case, got, expected)
    _note("vector", case)


def _compare(kernel, case, got, expected):
    assert len(got) == len(expected)
    for row, g, e in zip(case.rows(), got, expected):
        assert same(tuple(g), tuple(e)), f"{kernel} kernel: {row} gives {g}, Spark says {e}"
