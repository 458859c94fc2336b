"""Aggregate functions that keep the values of a group: lists, sets, and whatever is over distinct values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql.types import ArrayType, DataType, StructField, StructType

from millstream.errors import DataError
from millstream.kernels.aggregates.buffers import Buffers, Lines, Maker
from millstream.kernels.expressions import Code
from millstream.kernels.keys import normalizer
from millstream.plan.algebra import Expr

LIMIT = 1_000_000
"""How many values a group may keep."""


def bounded(values: Any) -> None:
    """Refuse a collection that grows without bound, before it takes the slot's memory."""
    if len(values) > LIMIT:
        raise DataError(
            f"A group keeps more than {LIMIT} values, for collect_list, collect_set or a distinct aggregate. "
            "Group by a window with a watermark, so that groups end, or use an aggregate that keeps less, "
            "such as approx_count_distinct"
        )


def append_bounded(values: list[Any], more: list[Any]) -> None:
    """Append a part's values."""
    values += more
    bounded(values)


def add_bounded(values: dict[Any, Any], more: dict[Any, Any]) -> None:
    """Add a part's values that are new; the first ones stay."""
    for key, value in more.items():
        values.setdefault(key, value)
    bounded(values)


def _list(f: Expr, code: Code) -> Buffers:
    append = code.bind(append_bounded, "append_bounded")

    def update(s: list[str], a: list[str]) -> Lines:
        add = f"{s[0]}.append({a[0]})"
        return [add] if f.params["nulls"] else [f"if {a[0]} is not None:", f"    {add}"]

    return Buffers((f.type,), ("[]",), update, lambda s, o: [f"{append}({s[0]}, {o[0]})"], lambda s: f"{s[0]}[:]")


def _set(f: Expr, code: Code) -> Buffers:
    def update(s: list[str], a: list[str]) -> Lines:
        add = f"{s[0]}.setdefault({key(a[0])}, {a[0]})"
        return [add] if f.params["nulls"] else [f"if {a[0]} is not None:", f"    {add}"]

    key = _key(f.args[0].type, code)
    merge = _merge(code)
    return Buffers((f.type,), ("{}",), update, merge, lambda s: f"list({s[0]}.values())")


def _key(kind: DataType, code: Code) -> Callable[[str], str]:
    normal = normalizer(kind)
    if normal is None:
        return lambda text: text
    name = code.bind(normal, "normal")
    return lambda text: f"{name}({text})"


def _merge(code: Code) -> Callable[[list[str], list[str]], Lines]:
    add = code.bind(add_bounded, "add_bounded")
    return lambda s, o: [f"{add}({s[0]}, {o[0]})"]


FUNCTIONS: dict[str, Maker] = {"CollectList": _list, "CollectSet": _set}


def distinct(f: Expr, make: Maker, code: Code) -> Buffers:
    """A function over the distinct values of its arguments: they are kept, and it sees them at the end."""
    values = [arg for arg in f.args if arg.op != "Literal"]
    keys = [_key(arg.type, code) for arg in values]
    row = StructType([StructField(f"v{i}", arg.type) for i, arg in enumerate(values)])

    def update(s: list[str], a: list[str]) -> Lines:
        used = [name for arg, name in zip(f.args, a) if arg.op != "Literal"]
        key = "".join(f"{key(name)}, " for key, name in zip(keys, used))
        return [f"{s[0]}[({key})] = None"]

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
