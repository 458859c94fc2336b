"""Sharing one parse, and skipping those that can't matter, changes no row."""

import json

import hypothesis.strategies as st
from hypothesis import given, settings
from pyspark.sql.types import BooleanType, LongType, StringType, StructType

from millstream.kernels.scalar import ScalarCode
from millstream.plan.algebra import Column, Expr, Filter, Node, Project
from millstream.plan.rewrite import parse_once

VALUE = Column(1, "value", StringType())
BASE = (VALUE,)
TRUTH = BooleanType()


def parse(**fields):
    schema = StructType()
    for name, kind in fields.items():
        schema = schema.add(name, kind)
    return Expr(
        "JsonToStructs", schema, (VALUE.ref(),), {"schema": schema, "options": {}, "timezone": "UTC", "corrupt": "_bad"}
    )


def field(struct, name):
    ordinal = struct.type.names.index(name)
    return Expr("GetStructField", struct.type[name].dataType, (struct,), {"ordinal": ordinal})


def equal(a, text):
    return Expr("EqualTo", TRUTH, (a, Expr("Literal", StringType(), (), {"value": text})))


def both(*parts):
    return parts[0] if len(parts) == 1 else Expr("And", TRUTH, (parts[0], both(*parts[1:])))


def not_null(e):
    return Expr("IsNotNull", TRUTH, (e,))


WHOLE = parse(kind=StringType(), n=LongType(), other=StringType())
E = Column(2, "e", WHOLE.type)
KIND, N = Column(3, "kind", StringType()), Column(4, "n", LongType())
# What Spark's optimizer makes of select(from_json(value).alias("e")).where("e.kind = 'view'").select("e.kind", "e.n")
TYPICAL = [
    Filter(BASE, Node(BASE), both(not_null(VALUE.ref()), equal(field(parse(kind=StringType()), "kind"), "view"))),
    Project((E,), Node(BASE), (WHOLE,)),
    Project((KIND, N), Node((E,)), (field(E.ref(), "kind"), field(E.ref(), "n"))),
]  # fmt: skip


def rows_of(nodes, texts):
    function = ScalarCode(BASE, nodes).function()
    return function([(text,) for text in texts])[0]


def parses(nodes):
    exprs = [e for n in nodes for e in ([n.condition] if isinstance(n, Filter) else n.exprs)]
    return [part for e in exprs for part in e.walk() if part.op == "JsonToStructs"]


def test_a_typical_query_parses_once_and_only_what_is_read():
    (shared,) = parses(parse_once(BASE, TYPICAL))
    assert set(shared.type.names) == {"kind", "n"}
    assert len(parses(TYPICAL)) == 2


KINDS = st.sampled_from(["view", "click", "VIEW", "preview", "vi\u0435w"])
RECORD = st.fixed_dictionaries(
    {}, optional={"kind": KINDS | st.none() | st.integers(0, 9), "n": st.integers(0, 9) | st.text(max_size=2)}
)
ESCAPED = st.sampled_from(
    [
        '{"kind":"vi\\u0065w","n":1}',
        '{"kind":"view"',
        "{'kind':'view'}",
        '{"k\\u0069nd":"view"}',
        "[]",
        "view",
        "",
        None,
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(RECORD.map(json.dumps) | ESCAPED, max_size=8))
def test_the_rows_are_those_of_the_plan_as_spark_made_it(texts):
    assert rows_of(parse_once(BASE, TYPICAL), texts) == rows_of(TYPICAL, texts)


def test_a_struct_that_is_wanted_whole_is_left_alone():
    nodes = [Project((E,), Node(BASE), (WHOLE,))]
    assert parse_once(BASE, nodes) == nodes


def test_parses_whose_other_fields_matter_are_not_shared():
    strict = parse(kind=StringType())
    strict.params["options"]["mode"] = "FAILFAST"
    nodes = [
        Filter(BASE, Node(BASE), equal(field(strict, "kind"), "view")),
        Project((KIND,), Node(BASE), (field(strict, "kind"),)),
    ]
    assert parse_once(BASE, nodes) == nodes


def test_a_word_that_json_may_write_otherwise_is_no_reason_to_skip():
    for word in ('say "hi"', "a\\b", "[1]", "", "tab\there"):
        nodes = [Filter(BASE, Node(BASE), equal(field(parse(kind=StringType()), "kind"), word))]
        assert not [n for n in parse_once(BASE, nodes) if isinstance(n, Filter) and n.condition.op == "Or"]
    (skips, *_) = parse_once(BASE, TYPICAL)
    assert [arg.args[1].params["value"] for arg in skips.condition.args] == ["v", "\\"]
