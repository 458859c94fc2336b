"""Random expressions over random rows: Spark, generated Python and DuckDB must agree to the last bit."""

import os
import random

import duckdb
import pytest
from pyspark.errors import PySparkException
from pyspark.sql.functions import expr

from millstream.kernels.expressions import Code, python, sql
from millstream.kernels.sqltypes import quoted
from millstream.plan.algebra import Unsupported
from tests.kernels.oracle import Case, internal_table, run_sql, same
from tests.kernels.random_expressions import COLUMNS, SCHEMA, random_expression, random_rows

pytestmark = pytest.mark.spark

ROWS = 40
TOGETHER = 50
"""Expressions in one Spark job."""
FAILURES = 2
"""How many of the expressions that fail in ANSI mode are tried in Spark for each job: each costs a job of its own."""


class Kernel:
    """One expression in Python and SQL, each with its rows or None if there is no answer."""

    def __init__(self, case, e, rows):
        names = {id: f"c{i}" for i, (id, _) in enumerate(case.columns)}
        code = Code()
        run = code.compile(f"def run({', '.join(names.values())}):\n    return {python(e, names, code)}\n", "run")
        self.failure = None
        try:
            self.scalar = [run(*row) for row in rows]
        except ArithmeticError as error:
            self.scalar, self.failure = None, error
        try:
            self.vector = sql(e, {id: f'"{quoted(name)}"' for id, name in case.columns})
        except Unsupported:
            self.vector = None


def run(spark, seed, ansi):
    """The number of expressions of one seed that were compared."""
    dice = random.Random(seed)
    spark.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    spark.conf.set("spark.sql.session.timeZone", dice.choice(["UTC", "Europe/Paris", "America/New_York"]))
    frame = spark.createDataFrame(random_rows(dice, ROWS), SCHEMA).coalesce(1).localCheckpoint()
    kinds = list(COLUMNS)
    texts = [random_expression(dice, dice.choice(kinds), dice.choice((1, 2, 2, 3))) for _ in range(TOGETHER)]
    case, texts = planned(frame, texts)
    table = case.input
    kernels = {}
    for i, e in enumerate(case.exprs):
        try:
            kernels[i] = Kernel(case, e, case.rows())
        except Unsupported:
            continue
        except Exception as error:
            raise AssertionError(f"seed {seed}, ansi {ansi}: {texts[i]} breaks the scalar kernel") from error
    fine = [i for i, kernel in kernels.items() if kernel.failure is None]
    expected = answers(frame, [texts[i] for i in fine], seed, ansi)
    for i, column in zip(fine, expected):
        compare(seed, ansi, "scalar", texts[i], case.rows(), kernels[i].scalar, column)
    for i, column in zip(fine, expected):
        if kernels[i].vector is not None:
            try:
                got = [row[0] for row in run_sql(internal_table(table), kernels[i].vector)]
            except duckdb.Error:
                continue
            compare(seed, ansi, "vector", texts[i], case.rows(), got, column)
    for i in [i for i in kernels if i not in fine][:FAILURES]:
        try:
            answer = Case(frame, [expr(texts[i])]).spark()
        except Exception:
            continue
        where = f"seed {seed}, ansi {ansi}: {texts[i]}"
        raise AssertionError(f"{where} raises {kernels[i].failure!r} in the scalar kernel, Spark says {answer}")
    return len(kernels), len(texts)


def planned(frame, texts):
    """A projection of those expressions that Spark takes: the generator's types are only nearly right."""
    try:
        return Case(frame, [expr(text).alias(f"r{i}") for i, text in enumerate(texts)]), texts
    except PySparkException:
        return planned(frame, [text for text in texts if accepted(frame, text)])


def accepted(frame, text):
    """Whether Spark plans an expression; in ANSI mode some constants are errors already."""
    try:
        frame.select(expr(text))._jdf.queryExecution().optimizedPlan()
    except PySparkException:
        return False
    return True


def answers(frame, texts, seed, ansi):
    """Spark's columns; if it raises an error, the expression that does is looked for and reported."""
    if not texts:
        return []
    try:
        return list(zip(*Case(frame, [expr(text).alias(f"r{i}") for i, text in enumerate(texts)]).spark()))
    except Exception as error:
        if len(texts) == 1:
            reason = str(error).splitlines()[0]
            raise AssertionError(f"seed {seed}, ansi {ansi}: {texts[0]} raises in Spark alone: {reason}") from error
    half = len(texts) // 2
    return answers(frame, texts[:half], seed, ansi) + answers(frame, texts[half:], seed, ansi)


def compare(seed, ansi, kernel, text, rows, got, expected):
    for row, g, e in zip(rows, got, expected):
        assert same(g, e), f"seed {seed}, ansi {ansi}: {text}\n{kernel} kernel: {g!r}\nSpark: {e!r}\nrow: {row}"


@pytest.fixture
def settings(spark):
    yield spark
    for name in ("ansi.enabled", "session.timeZone"):
        spark.conf.unset(f"spark.sql.{name}")


@pytest.mark.parametrize("ansi", [True, False], ids=["ansi", "legacy"])
def test_random_expressions(settings, ansi):
    counts = [run(settings, seed, ansi) for seed in range(3)]
    with_kernel, all_of_them = map(sum, zip(*counts))
    assert with_kernel > 0.9 * all_of_them > 100


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_many_random_expressions(settings):
    cases = int(os.environ.get("MILLSTREAM_CASES", "20000"))
    seed = int(os.environ.get("MILLSTREAM_SEED", random.SystemRandom().randrange(10**6)))
    done = 0
    while done < cases:
        done += run(settings, seed, ansi=seed % 2 == 0)[0]
        seed += 1
