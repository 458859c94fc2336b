"""A DataFrame's Python functions as Spark calls them, and as the slot does."""

from copy import copy
from dataclasses import replace

from pyspark.sql import DataFrame

from millstream.kernels.batch import Batch, arrow_schema, rows_of
from millstream.kernels.udfs import PythonSegment
from millstream.plan.algebra import schema_of
from millstream.plan.udfs import read_python_eval, read_python_map
from tests.kernels.oracle import same

EVALS = ("ArrowEvalPython", "BatchEvalPython")
MAPS = ("MapInArrow", "MapInPandas")


def frame_of(plan, spark):
    return DataFrame(spark._jvm.org.apache.spark.sql.classic.Dataset.ofRows(spark._jsparkSession, plan), spark)


def calls_of(frame):
    """The nodes of Spark's plan that call Python, the last one first."""
    plan = frame._jdf.queryExecution().optimizedPlan()
    found = []
    while plan.children().length():
        if plan.nodeName() in EVALS + MAPS:
            found.append(plan)
        plan = plan.children().apply(0)
    assert found, frame._jdf.queryExecution().optimizedPlan().toString()
    return found


def read(plan, spark):
    return (read_python_eval if plan.nodeName() in EVALS else read_python_map)(plan, spark)


class Case:
    """The Python functions of a DataFrame, between the rows that they get and Spark's answer."""

    def __init__(self, frame):
        spark = frame.sparkSession
        plans = calls_of(frame)
        self._above = frame_of(plans[0], spark)
        self.nodes = [read(plan, spark) for plan in reversed(plans)]
        for below, node in zip(self.nodes, self.nodes[1:]):
            if [c.id for c in below.output] != [c.id for c in node.input.output]:
                raise AssertionError("there is a projection between the calls")
        self.schema = schema_of(self.nodes[0].input.output)
        self.input = frame_of(plans[-1].child(), spark).toArrow()

    def parts(self):
        """The same with one function only, for each function of the first node."""
        node = self.nodes[0]
        below = node.input.output
        for function, arguments, result in zip(node.functions, node.arguments, node.output[len(below) :]):
            part = copy(self)
            part.nodes = [replace(node, output=(*below, result), functions=(function,), arguments=(arguments,))]
            yield part

    def spark(self):
        """Spark's answer, in internal values."""
        return rows_of(self._above.toArrow())

    def slot(self, *, arrow):
        """Ours, from rows or from an Arrow table."""
        table = self.input.cast(arrow_schema(self.schema))
        batch = Batch.of_arrow(self.schema, table) if arrow else Batch.of_rows(self.schema, rows_of(table))
        for node in self.nodes:
            batch, mark = PythonSegment(node).start().run(batch)
            assert mark is None
        assert batch.arrow.schema.names == batch.schema.names
        return rows_of(batch.arrow)


def check(frame):
    """The slot must give Spark's answer, whichever form the rows come in."""
    case = Case(frame)
    expected = case.spark()
    for arrow in (False, True):
        got = case.slot(arrow=arrow)
        assert len(got) == len(expected)
        for g, e in zip(got, expected):
            for name, left, right in zip(case.nodes[-1].output, g, e):
                assert same(left, right), f"{name.name}: {left!r}, Spark says {right!r}"
