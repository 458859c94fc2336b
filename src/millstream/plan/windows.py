"""Spark spells a time window out as dozens of expressions; here each becomes one again."""

from __future__ import annotations

from dataclasses import replace

from millstream.plan.algebra import Expr


def recognised(e: Expr) -> Expr:
    """An expression with every spelt-out window in it replaced by `TimeWindow(time)`.

    Its parameters are `size`, `slide`, `start` and `back` (by how many microseconds the window lies before
    the one that begins last), as the expression says them.
    """
    window = _window(e) if e.op == "CreateNamedStruct" else None
    if window is not None:
        return window
    return replace(e, args=tuple(recognised(arg) for arg in e.args)) if e.args else e


def _window(e: Expr) -> Expr | None:
    """The window that a struct is, if rebuilding it from what it seems to be gives the same expression."""
    try:
        name, begin, _, end = e.args
        last_start = begin.args[0].args[0]
        time, remainder = last_start.args[0], last_start.args[1].args[2]
        numbers = {
            "size": _number(end.args[0].args[1]),
            "slide": _number(remainder.args[1]),
            "start": _number(remainder.args[0].args[1]),
            "back": _number(begin.args[0].args[1]),
        }
    except (IndexError, ValueError, KeyError):
        return None
    if name.params.get("value") != "start" or not time.args or _spelt_out(e, time, numbers) != e:
        return None
    return Expr("TimeWindow", e.type, time.args, numbers)


def _number(e: Expr) -> int:
    value = e.params["value"]
    if not isinstance(value, int):
        raise ValueError(value)
    return value


def _spelt_out(e: Expr, time: Expr, numbers: dict[str, int]) -> Expr:
    """How Spark writes a window with these numbers, in the shape of `e`."""
    begin, end = e.args[1], e.args[3]
    back = begin.args[0]
    case = back.args[0].args[1]
    below, plus, remainder = case.args[0], case.args[1], case.args[2]

    def literal(like: Expr, value: int) -> Expr:
        return replace(like, params={**like.params, "value": value})

    since = replace(remainder.args[0], args=(time, literal(remainder.args[0].args[1], numbers["start"])))
    modulo = replace(remainder, args=(since, literal(remainder.args[1], numbers["slide"])))
    added = replace(plus, args=(modulo, literal(remainder.args[1], numbers["slide"])))
    negative = replace(below, args=(modulo, literal(below.args[1], 0)))
    shift = replace(case, args=(negative, added, modulo))
    start = replace(back, args=(replace(back.args[0], args=(time, shift)), literal(back.args[1], numbers["back"])))
    stop = replace(end.args[0], args=(start, literal(end.args[0].args[1], numbers["size"])))
    operators = (back.op, back.args[0].op, case.op, below.op, plus.op, remainder.op, remainder.args[0].op, stop.op)
    expected = ("Subtract", "Subtract", "CaseWhen", "LessThan", "Add", "Remainder", "Subtract", "Add")
    if operators != expected or {begin.op, end.op, time.op} != {"PreciseTimestampConversion"}:
        return time
    return replace(e, args=(e.args[0], replace(begin, args=(start,)), e.args[2], replace(end, args=(stop,))))
