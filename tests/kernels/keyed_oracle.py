"""Spark's own answer to an aggregation, and ours over the same rows in random epochs and partial aggregates."""

import pickle
import random

from pyspark.sql import DataFrame

from millstream.kernels.aggregation import aggregation
from millstream.kernels.batch import rows_of
from millstream.kernels.scalar import ScalarCode
from millstream.kernels.sessions import sessions
from millstream.plan.aggregates import read_aggregate
from millstream.plan.algebra import Node, PartialAggregate
from tests.kernels.oracle import same


def optimized(frame):
    """The optimised plan; of a stream too."""
    state = frame.sparkSession._jsparkSession.sessionState()
    return state.optimizer().execute(frame._jdf.queryExecution().analyzed())


def input_rows(frame):
    """What the plan's top operator takes."""
    spark = frame.sparkSession
    child = optimized(frame).child()
    return rows_of(
        DataFrame(spark._jvm.org.apache.spark.sql.classic.Dataset.ofRows(spark._jsparkSession, child), spark).toArrow()
    )


def partial(node):
    """The function that makes partial aggregates of rows."""
    columns = node.input.output
    output = tuple(column for column, _ in node.keys)
    run = ScalarCode(columns, [PartialAggregate(output, Node(columns), node.keys, node.calls)]).function()
    return lambda rows: run(rows)[0]


def operator(node, mode):
    """The factory of an aggregation, after a journey."""
    make = sessions if node.session else aggregation
    return pickle.loads(pickle.dumps(make(node, mode)))


def moved(keyed, factory):
    """The same state on another slot."""
    other = factory()
    other.restore(keyed.snapshot())
    return other


def ours(frame, *seeds):
    """Our answers to a batch; with a seed, rows are split at random into epochs and partial aggregates."""
    node = read_aggregate(optimized(frame))
    factory, make = operator(node, "complete"), partial(node)
    rows = input_rows(frame)
    return [_answer(factory, make, list(rows), seed) for seed in seeds or (None,)]


def _answer(factory, make, rows, seed):
    rng = random.Random(seed)
    keyed = factory()
    answer = []
    while rows:
        epoch = []
        for _ in range(1 if seed is None else rng.randint(1, 3)):
            size = len(rows) if seed is None else rng.randint(0, 4)
            epoch += make(rows[:size])
            del rows[:size]
        answer = keyed.update(pickle.loads(pickle.dumps(epoch)), None, 0) or answer
        keyed = moved(keyed, factory)
    return answer


def check(frame, seeds=(None, 1, 2), equal=same):
    """Ours must be Spark's, however the rows are split."""
    expected = sorted(rows_of(frame.toArrow()), key=_identity)
    for seed, answer in zip(seeds, ours(frame, *seeds)):
        got = sorted(answer, key=_identity)
        assert len(got) == len(expected), f"seed {seed}: {got} instead of {expected}"
        for g, e in zip(got, expected):
            assert equal(tuple(g), tuple(e)), f"seed {seed}: {g}, Spark says {e}"


def _identity(row):
    return repr(tuple(row[0]) if isinstance(row[0], list) else row[0])
