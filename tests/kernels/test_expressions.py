from pyspark.sql.types import LongType, StringType

from millstream.kernels.expressions import Code, python
from millstream.plan.algebra import Column, Expr

X = Column(1, "x", LongType())


def test_an_expression_may_be_nested_deeper_than_pythons_parser_allows():
    deep, one = X.ref(), Expr("Literal", LongType(), (), {"value": 1})
    for _ in range(300):
        deep = Expr("Add", LongType(), (deep, one), {"ansi": True, "mode": "ANSI"})
    code = Code()
    source = f"def run(c):\n    return {python(deep, {X.id: 'c'}, code)}\n"
    run = code.compile(source, "run")
    assert (run(7), run(None)) == (307, None)


def test_text_with_quotes_and_braces_is_a_literal():
    code = Code()
    literal = Expr("Literal", StringType(), (), {"value": "{0}'\"{a}\n"})
    both = Expr("Coalesce", StringType(), (Expr("Literal", StringType(), (), {"value": None}), literal))
    assert code.compile(f"def run():\n    return {python(both, {}, code)}\n", "run")() == "{0}'\"{a}\n"
