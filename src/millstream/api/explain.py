"""What becomes of a DataFrame: which engine runs it, in which stages, with which kernels, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from millstream.kernels.segment import Segment
from millstream.kernels.stage import Deliver, Exchange, KeepState, Split
from millstream.plan.algebra import PythonEval, PythonMap, Unsupported
from millstream.plan.plan import Plan


@dataclass(frozen=True)
class Explanation:
    """How a DataFrame would run, or runs."""

    engine: str
    """`millstream` or `structured-streaming`."""
    plan: Plan | None = None
    mode: str = "append"
    why: Unsupported | None = None
    """What Millstream doesn't run itself, if the engine is Structured Streaming."""

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        reason = f", why={str(self.why)!r}" if self.why else f", stages={len(self.plan.stages) if self.plan else 0}"
        return f"Explanation(engine={self.engine!r}{reason})"

    def text(self, code: bool = False) -> str:
        """The explanation; `code` adds the kernels' SQL and Python."""
        if self.plan is None:
            return f"engine: {self.engine}\nnot native: {self.why}"
        lines = [f"engine: {self.engine}   output mode: {self.mode}"]
        for number, (stage, factory) in enumerate(zip(self.plan.stages, self.plan.kernels)):
            feeds = ", ".join(f"{i.structure.value} from stage {i.stage}" for i in stage.inputs) or "source"
            lines.append(f"stage {number}: {stage.name}   {stage.partitions} partitions   {feeds}")
            lines += [f"    {line}" for line in _details(factory, code)]
        return "\n".join(lines)


def _details(factory: Any, code: bool) -> list[str]:
    if isinstance(factory, Split):
        return [f"deals splits to {factory.readers} readers"]
    lines = []
    if isinstance(factory, KeepState):
        lines.append(f"state by key: {', '.join(c.name for c in factory.emitted)}")
        if code:
            lines += ["scalar kernel of the state:", *_indented(factory.keyed.source)]
    for step in factory.body.steps:
        lines += _segment(step, code) if isinstance(step, Segment) else [_functions(step.node)]
    outlet = factory.body.outlet
    if isinstance(outlet, Exchange):
        keys = ", ".join(factory.body.columns[k].name for k in outlet.keys) or "nothing (one partition)"
        lines.append(f"exchange by {keys}")
    elif isinstance(outlet, Deliver):
        lines.append("to the sink: " + ", ".join(c.name for c in factory.body.columns))
    return lines


def _functions(node: Any) -> str:
    """What Python functions a step calls."""
    if isinstance(node, PythonEval):
        return f"python functions in the slot: {', '.join(f.name for f in node.functions)}"
    name = node.function.name if isinstance(node, PythonMap) else getattr(node.function, "__name__", "function")
    return f"python function over rows in the slot: {name}"


def _segment(segment: Segment, code: bool) -> list[str]:
    operators = " → ".join(type(node).__name__.lower() for node in segment.nodes)
    missing = segment.why_not_vector()
    if segment.kernel != "auto":
        kernels = segment.kernel
    else:
        kernels = f"scalar (no vector kernel: {missing})" if missing else "vector and scalar"
    lines = [f"{operators}   kernels: {kernels}"]
    if code:
        if not missing:
            lines += ["vector kernel:", *_indented(segment.vector_source())]
        lines += ["scalar kernel:", *_indented(segment.scalar_source())]
    return lines


def _indented(text: str) -> list[str]:
    return [f"    {line}" for line in text.splitlines()]
