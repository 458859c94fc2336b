"""Operators as one generated Python function: a loop over rows, and inside it whatever the operators do.

Each operator's code stands in the body of the one before it, so a row goes through all of them without
being stored in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from pyspark.sql.types import DoubleType, FloatType, StructType

from millstream.kernels.aggregates import buffers_of
from millstream.kernels.batch import Row
from millstream.kernels.expressions import Code, python
from millstream.kernels.functions.generators import generator_of
from millstream.kernels.keys import key_part
from millstream.kernels.lookup import Lookup
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
    StaticJoin,
    Unsupported,
    Watermark,
)

Scalar = Callable[[Iterable[Row]], tuple[list[Row], int | None]]
"""From rows to rows, and the event time that they have reached."""


class ScalarCode:
    """The source of one function, as it grows operator by operator."""

    def __init__(self, columns: Columns, nodes: Sequence[Node]) -> None:
        self.code = Code()
        self._lines: list[str] = []
        self._before: list[str] = []
        self._after: list[str] = []
        self._depth = 1
        self._marked = False
        self._result = "out"
        self._env: dict[int, str] = {}
        for column in columns:
            self._env[column.id] = self.code.fresh("c")
        names = ", ".join(self._env[c.id] for c in columns)
        self._open(f"for ({names},) in rows:" if columns else "for _ in rows:")
        for node in nodes:
            getattr(self, f"_{type(node).__name__.lower()}", self._unknown)(node)
        output = nodes[-1].output if nodes else columns
        if self._result == "out":
            self._before.append("out = []")
            self._before.append("emit = out.append")
            self._line(f"emit(({''.join(self._env[c.id] + ', ' for c in output)}))")

    @property
    def source(self) -> str:
        """The function `run`."""
        mark = "mark" if self._marked else "None"
        body = [*self._before, *(["mark = None"] if self._marked else [])]
        lines = ["def run(rows):", *(f"    {line}" for line in body), *self._lines]
        return "\n".join([*lines, *(f"    {line}" for line in self._after), f"    return {self._result}, {mark}", ""])

    def function(self) -> Scalar:
        """Compile it."""
        return self.code.compile(self.source, "run")

    def _line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    def _open(self, text: str) -> None:
        self._line(text)
        self._depth += 1

    def _python(self, e: Expr) -> str:
        return python(e, self._env, self.code)

    def _value(self, e: Expr) -> str:
        """The name of a variable that holds an expression's value; a mere renaming costs nothing."""
        text = self._python(e)
        if text.isidentifier():
            return text
        name = self.code.fresh("c")
        self._line(f"{name} = {text}")
        return name

    def _unknown(self, node: Node) -> None:
        raise Unsupported(type(node).__name__, "not an operator of a fused stage")

    def _project(self, node: Project) -> None:
        taken = self._taken_apart(node)
        self._env = {c.id: taken[c.id] if c.id in taken else self._value(e) for c, e in zip(node.output, node.exprs)}

    def _taken_apart(self, node: Project) -> dict[int, str]:
        """Structs all of whose fields are wanted, taken apart at once; the names of the fields' columns."""
        wanted: dict[int, dict[int, Column]] = {}
        for column, e in zip(node.output, node.exprs):
            if e.op == "GetStructField" and e.args[0].op == "Column":
                wanted.setdefault(e.args[0].params["id"], {})[e.params["ordinal"]] = column
        names: dict[int, str] = {}
        for e in (e.args[0] for e in node.exprs if e.op == "GetStructField"):
            fields = wanted.pop(e.params.get("id", -1), {})
            if isinstance(e.type, StructType) and fields.keys() == set(range(len(e.type))):
                parts = [self.code.fresh("c") for _ in fields]
                names |= {fields[i].id: part for i, part in enumerate(parts)}
                nothing = "(" + "None, " * len(parts) + ")"
                self._line(f"{', '.join(parts)}, = {self._python(e)} or {nothing}")
        return names

    def _filter(self, node: Filter) -> None:
        for part in node.condition.conjuncts():
            self._open(f"if {self._python(part)}:")

    def _watermark(self, node: Watermark) -> None:
        self._marked = True
        time = self._env[node.column.id]
        self._line(f"if {time} is not None and (mark is None or {time} > mark):")
        self._line(f"    mark = {time}")
        self._after.append(f"if mark is not None:\n        mark = mark // 1000 * 1000 - {node.delay}")

    def _expand(self, node: Expand) -> None:
        names = [self.code.fresh("c") for _ in node.output]
        rows = ", ".join("(" + "".join(f"{self._python(e)}, " for e in exprs) + ")" for exprs in node.projections)
        self._open(f"for ({', '.join(names)},) in ({rows},):")
        self._env.update(zip((c.id for c in node.output), names))

    def _generate(self, node: Generate) -> None:
        generate = self.code.bind(generator_of(node.generator), "generate")
        args = ", ".join(self._python(arg) for arg in node.generator.args)
        made = node.output[len(node.kept) :]
        names = [self.code.fresh("c") for _ in made]
        empty = f" or ({(None,) * len(made)!r},)" if node.outer else ""
        self._open(f"for ({', '.join(names)},) in {generate}({args}){empty}:")
        self._env.update(zip((c.id for c in made), names))

    def _staticjoin(self, node: StaticJoin) -> None:
        lookup = self.code.bind(Lookup(node), "lookup")
        keys = ", ".join(self._python(e) for e in node.left_keys)
        key = keys if len(node.left_keys) == 1 else f"({keys})"
        if any(isinstance(e.type, (DoubleType, FloatType)) for e in node.left_keys):
            key = f"{lookup}.normal({key})"
        found = self.code.fresh("found")
        find = self.code.fresh("find")
        self._before.append(f"{find} = {lookup}.rows.get")
        matches = f"{find}({key}, ())"
        inner = dict(self._env)
        row = self.code.fresh("row")
        inner.update({c.id: f"{row}[{i}]" for i, c in enumerate(node.static.output)})
        if node.condition is not None:
            test = python(node.condition, inner, self.code)
            matches = f"[{row} for {row} in {matches} if {test}]"
        if node.kind in ("semi", "anti"):
            self._open(f"if {'not ' if node.kind == 'anti' else ''}{matches}:")
            return
        self._line(f"{found} = {matches}")
        nothing = f" or ({(None,) * len(node.static.output)!r},)" if node.kind == "left" else ""
        self._open(f"for {row} in {found}{nothing}:")
        self._env = inner

    def _partialaggregate(self, node: PartialAggregate) -> None:
        buffers = [buffers_of(call, self.code) for call in node.calls]
        initial = ", ".join(text for b in buffers for text in b.initial)
        keys = "".join(f"{self._key(e)}, " for _, e in node.keys)
        self._line(f"key = ({keys})")
        if node.combine:
            # Without keys there is one group, whether rows get this far or not.
            self._before += [f"groups = {'{}' if node.keys else f'{{(): [{initial}]}}'}", "find = groups.get"]
            self._line("s = find(key)")
            self._open("if s is None:")
            self._line(f"s = groups[key] = [{initial}]")
            self._depth -= 1
            self._after.append("groups = [(*key, *s) for key, s in groups.items()]")
        else:
            self._before.append("groups = []")
            self._line(f"s = [{initial}]")
        position = 0
        for call, b in zip(node.calls, buffers):
            names = [f"s[{position + i}]" for i in range(len(b.initial))]
            position += len(b.initial)
            depth = self._depth
            if call.filter is not None:
                self._open(f"if {self._python(call.filter)}:")
            for line in b.update(names, [self._value(arg) for arg in call.function.args]):
                self._line(line)
            self._depth = depth
        if not node.combine:
            self._line("groups.append((*key, *s))")
        self._result = "groups"

    def _key(self, e: Expr) -> str:
        """A grouping key: of floating-point numbers, all NaNs are one, and so are both zeros."""
        value = self._value(e)
        return key_part(e.type, value, self.code)
