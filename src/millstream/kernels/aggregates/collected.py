"""Aggregate functions that keep the values of a group: lists, sets, and whatever is over distinct values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql.types import ArrayType, StructField, StructType

from millstream.errors import DataError
from millstream.kernels.aggregates.buffers import Buffers, Lines, Maker
from millstream.kernels.expressions import Code
from millstream.kernels.keys import key_part
from millstream.plan.algebra import Expr

LIMIT = 1_000_000
"""How many values a group may keep."""


def bounded(values: Any) -> None:
    """Refuse a collection that grows without bound, before it takes the slot's memory."""
    if len(values) > LIMIT:
        raise DataError(
            f"A group keeps more than {LIMIT} values, for collect_list, collect_set, a percentile or a distinct "
            "aggregate. Group by a window with a watermark, so that groups end, or use an aggregate that keeps less, "
            "such as approx_count_distinct"
        )


def append_bounded(values: list[Any], more: list[Any]) -> None:
    """Append a part's values."""
    values += more
    bounded(values)


def add_bounded(values: dict[Any, None], more: dict[Any, None]) -> None:
    """Add a part's values that are new, after those that are there."""
    values |= more
    bounded(values)


def _list(f: Expr, code: Code) -> Buffers:
    append = code.bind(append_bounded, "append_bounded")

    def update(s: list[str], a: list[str]) -> Lines:
        add = f"{s[0]}.append({a[0]})"
        return [add] if f.params["nulls"] else [f"if {a[0]} is not None:", f"    {add}"]

    return Buffers((f.type,), ("[]",), update, lambda s, o: [f"{append}({s[0]}, {o[0]})"], lambda s: f"{s[0]}[:]")


def _set(f: Expr, code: Code) -> Buffers:
    kind = f.args[0].type

    def update(s: list[str], a: list[str]) -> Lines:
        add = f"{s[0]}[{key_part(kind, a[0], code)}] = None"
        return [add] if f.params["nulls"] else [f"if {a[0]} is not None:", f"    {add}"]

    return Buffers((f.type,), ("{}",), update, _merge(code), lambda s: f"list({s[0]})")


def _merge(code: Code) -> Callable[[list[str], list[str]], Lines]:
    """Sets are dicts, which keep their order, so that a replay gives the same rows."""
    add = code.bind(add_bounded, "add_bounded")
    return lambda s, o: [f"{add}({s[0]}, {o[0]})"]


FUNCTIONS: dict[str, Maker] = {"CollectList": _list, "CollectSet": _set}


def distinct(f: Expr, make: Maker, code: Code) -> Buffers:
    """A function over the distinct values of its arguments: they are kept, and it sees them at the end."""
    row = StructType([StructField(f"v{i}", arg.type) for i, arg in enumerate(f.args) if arg.op != "Literal"])

    def update(s: list[str], a: list[str]) -> Lines:
        parts = [key_part(arg.type, name, code) for arg, name in zip(f.args, a) if arg.op != "Literal"]
        return [f"{s[0]}[({''.join(f'{part}, ' for part in parts)})] = None"]

    apply = code.bind(_function(f, make), "apply")
    return Buffers((ArrayType(row),), ("{}",), update, _merge(code), lambda s: f"{apply}({s[0]})")


def _function(f: Expr, make: Maker) -> Callable[[Any], Any]:
    """The function of rows of arguments, as code of its own."""
    code = Code()
    b = make(f, code)
    names = [f"a{i}" for i in range(len(f.args))]
    s = [f"s{i}" for i in range(len(b.initial))]
    used = "".join(f"{name}, " for name, arg in zip(names, f.args) if arg.op != "Literal")
    lines = [
        "def apply(rows):",
        *(f"    {name} = {code.bind(arg.params['value'], 'value')}" for name, arg in zip(names, f.args)
          if arg.op == "Literal"),
        *(f"    {name} = {text}" for name, text in zip(s, b.initial)),
        f"    for ({used}) in rows:",
        *(f"        {line}" for line in b.update(s, names)),
        f"    return {b.result(s)}",
        "",
    ]  # fmt: skip
    return code.compile("\n".join(lines), "apply")
