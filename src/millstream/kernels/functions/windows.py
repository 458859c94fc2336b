"""Time windows: the struct of start and end that a row's time falls into."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.kernels.functions.function import Function, Functions
from millstream.plan.algebra import Expr


def _python(e: Expr) -> str:
    size, slide, start, back = (e.params[name] for name in ("size", "slide", "start", "back"))
    since = f"({{0}} - {start})" if start else "{0}"
    begin = f"({{0}} - {since} % {slide}{f' - {back}' if back else ''})"
    return f"(({{a}} := {begin}), {{a}} + {size})"


def _sql(e: Expr, args: Sequence[str]) -> str:
    """DuckDB's remainder has the sign of its left side: adding a whole slide and taking it again has none."""
    size, slide, start, back = (e.params[name] for name in ("size", "slide", "start", "back"))
    begin = f"({args[0]} - (({args[0]} - {start}) % {slide} + {slide}) % {slide} - {back})"
    window = f"{{'start': {begin}, 'end': {begin} + {size}}}"
    return f"CASE WHEN {args[0]} IS NULL THEN NULL ELSE {window} END"


FUNCTIONS: Functions = {"TimeWindow": Function(_python, _sql)}
