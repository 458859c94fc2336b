"""Typed expressions become code: Python for the scalar kernels, SQL for the vector ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructType

from millstream.kernels.functions import FUNCTIONS
from millstream.kernels.functions.function import Function, Python, Template
from millstream.kernels.sqltypes import sql_literal
from millstream.plan.algebra import Expr, Unsupported

TEMPORARIES = ("a", "b", "c")
"""Fields of a template that stand for fresh variables: `({a} := {0})` evaluates an argument once."""


DEEPEST = 50
"""How many parentheses may be open at once before a part of an expression becomes a function of its own."""


class Code:
    """What generated Python needs around it: names of values that were made beforehand, and fresh names.

    >>> code = Code()
    >>> code.bind(max, "f"), code.bind(max, "f"), code.fresh("t")
    ('f0', 'f0', 't1')
    """

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self.functions: list[str] = []
        self._known: dict[int, str] = {}
        self._count = 0

    def fresh(self, prefix: str) -> str:
        """A name that nothing else has."""
        name = f"{prefix}{self._count}"
        self._count += 1
        return name

    def bind(self, value: Any, prefix: str) -> str:
        """The name by which the code reaches a value."""
        name = self._known.get(id(value))
        if name is None:
            name = self._known[id(value)] = self.fresh(prefix)
            self.names[name] = value
        return name

    def compile(self, source: str, entry: str) -> Callable[..., Any]:
        """The function `entry` of generated source."""
        names = dict(self.names)
        exec(compile("".join(self.functions) + source, "<millstream scalar kernel>", "exec"), names)  # noqa: S102 (it is what a compiler does)
        function: Callable[..., Any] = names[entry]
        return function


def function_of(e: Expr) -> Function:
    """The entry of an expression class; raises `Unsupported` if there is none."""
    found = FUNCTIONS.get(e.op)
    if found is None:
        raise Unsupported(e.op, "this expression has no kernel")
    if any(_collated(kind) for kind in (e.type, *(arg.type for arg in e.args))):
        raise Unsupported(e.op, "its text has a collation other than UTF8_BINARY")
    return found


def _collated(kind: DataType) -> bool:
    if isinstance(kind, ArrayType):
        return _collated(kind.elementType)
    if isinstance(kind, MapType):
        return _collated(kind.keyType) or _collated(kind.valueType)
    if isinstance(kind, StructType):
        return any(_collated(f.dataType) for f in kind)
    return isinstance(kind, StringType) and not kind.isUTF8BinaryCollation()


def python(e: Expr, columns: Mapping[int, str], code: Code) -> str:
    """An expression as one of Python; None stands for null, and a null argument gives null where Spark's does.

    `columns` names the variable that holds each column.
    """
    if e.op == "Column":
        return columns[e.params["id"]]
    if e.op == "Literal":
        return _python_literal(e, code)
    if e.op == "LambdaVariable":
        return columns[e.params["id"]]
    function = function_of(e)
    body = function.python(e)
    if function.lambdas:
        return _with_lambdas(e, body, columns, code)
    args = [_shallow(arg, python(arg, columns, code), columns, code) for arg in e.args]
    tests: list[str] = []
    if not function.nulls:
        for i, (arg, text) in enumerate(zip(e.args, args)):
            if arg.op == "Literal":
                if arg.params["value"] is None:
                    return "None"
                continue
            if text.isidentifier():
                tests.append(f"{text} is None")
            else:
                args[i] = code.fresh("t")
                tests.append(f"({args[i]} := {text}) is None")
    call = _call(body, args, code)
    return f"(None if {' or '.join(tests)} else {call})" if tests else call


def _call(body: Python, args: Sequence[str], code: Code) -> str:
    if isinstance(body, str):
        body = Template(body, {})
    if not isinstance(body, Template):
        return f"{code.bind(body, 'f')}({', '.join(args)})"
    names = {name: code.fresh("t") for name in TEMPORARIES if f"{{{name}}}" in body.text}
    names |= {name: code.bind(value, name) for name, value in body.values.items()}
    return body.text.format(*args, **names)


def _shallow(e: Expr, text: str, columns: Mapping[int, str], code: Code) -> str:
    """The same, as a call of a function if it is nested so deeply that Python's parser would soon give up."""
    depth = deepest = 0
    for sign in text:
        depth += (sign == "(") - (sign == ")")
        deepest = max(deepest, depth)
    if deepest < DEEPEST:
        return text
    ids = (v.params["id"] for v in e.walk() if v.op in ("Column", "LambdaVariable"))
    variables = ", ".join(dict.fromkeys(columns[id] for id in ids if id in columns))
    name = code.fresh("g")
    code.functions.append(f"def {name}({variables}):\n    return {text}\n\n")
    return f"{name}({variables})"


def _with_lambdas(e: Expr, body: Any, columns: Mapping[int, str], code: Code) -> str:
    """A higher-order function: arguments that are lambdas become Python's; it tests for null itself."""
    args = []
    for arg in e.args:
        if arg.op != "LambdaFunction":
            args.append(python(arg, columns, code))
            continue
        inner = dict(columns)
        names = []
        for variable in arg.args[1:]:
            names.append(code.fresh("x"))
            inner[variable.params["id"]] = names[-1]
        args.append(f"(lambda {', '.join(names)}: {python(arg.args[0], inner, code)})")
    return f"{code.bind(body, 'f')}({', '.join(args)})"


def _python_literal(e: Expr, code: Code) -> str:
    value = e.params["value"]
    if value is None or isinstance(value, (bool, int, str, bytes)):
        return (
            repr(value) if not (isinstance(value, int) and not isinstance(value, bool) and value < 0) else f"({value})"
        )
    return code.bind(value, "literal")


def sql(e: Expr, columns: Mapping[int, str]) -> str:
    """An expression as DuckDB's SQL; raises `Unsupported` where DuckDB would not give Spark's answer."""
    if e.op in ("Column", "LambdaVariable"):
        return columns[e.params["id"]]
    if e.op == "Literal":
        return sql_literal(e)
    function = function_of(e)
    made = None
    if function.sql is not None and not function.lambdas:
        made = function.sql(e, [sql(arg, columns) for arg in e.args])
    if made is None:
        raise Unsupported(e.op, "no vector kernel")
    return made
