"""The generated code of grouped aggregation: how partial aggregates join a group, and what a group gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from millstream.kernels.aggregates import buffers_of
from millstream.kernels.batch import Row
from millstream.kernels.expressions import Code, python
from millstream.kernels.generated import Generated
from millstream.kernels.keys import key_part, time_part
from millstream.kernels.state import Deadlines
from millstream.plan.algebra import Aggregate, AggregateCall, Column, Expr

Group = list[Any]
"""A group's buffers."""


@dataclass(frozen=True)
class Groups(Generated):
    """What the code depends on; it is compiled where it is needed first."""

    keys: tuple[tuple[Column, Expr], ...]
    calls: tuple[AggregateCall, ...]
    exprs: tuple[Expr, ...]
    event_time: Column | None

    @staticmethod
    def of(node: Aggregate, *, endless: bool = False) -> Groups:
        """The groups of an aggregation; endless ones stay, whatever the watermark."""
        return Groups(node.keys, node.calls, node.exprs, None if endless else node.event_time)

    def write(self, code: Code) -> list[list[str]]:
        """All functions that the operators need."""
        return [
            self._key(code), self._end(), self._new(code), self._merge(code), self._fold(code), self._emit(code)
        ]  # fmt: skip

    @cached_property
    def key(self) -> Callable[[Row], Row]:
        """The key of a row."""
        return self.function("key")

    @cached_property
    def end(self) -> Callable[[Row], int | None]:
        """The event time at which a key's group ends; None if it doesn't."""
        return self.function("end")

    @cached_property
    def new(self) -> Callable[[], Group]:
        """A group without rows."""
        return self.function("new")

    @cached_property
    def merge(self) -> Callable[[Group, Sequence[Any]], None]:
        """Adds other buffers to a group."""
        return self.function("merge")

    @cached_property
    def fold(self) -> Callable[[Iterable[Row], dict[Row, Group], dict[Row, Group], Deadlines, int], int]:
        """Adds rows to their groups, notes which groups changed and when new ones end, and counts late rows."""
        return self.function("fold")

    @cached_property
    def emit(self) -> Callable[[Iterable[tuple[Row, Group]]], list[Row]]:
        """The output rows of keys and groups."""
        return self.function("emit")

    def _key(self, code: Code) -> list[str]:
        parts = [key_part(column.type, f"row[{i}]", code) for i, (column, _) in enumerate(self.keys)]
        return ["def key(row):", f"    return {_tuple(parts)}"]

    def _ends(self) -> str:
        """The expression of a key's end."""
        if self.event_time is None:
            return "None"
        position = [column for column, _ in self.keys].index(self.event_time)
        return time_part(self.event_time.type, f"key[{position}]")

    def _end(self) -> list[str]:
        return ["def end(key):", f"    return {self._ends()}"]

    def _buffers(self, code: Code, mine: str, theirs: str) -> tuple[list[str], list[str], list[str]]:
        """Initial values, the lines of a merge, and the names of the other part's buffers."""
        initial: list[str] = []
        lines: list[str] = []
        others: list[str] = []
        for call in self.calls:
            b = buffers_of(call, code)
            numbers = range(len(others), len(others) + len(b.types))
            lines += b.merge([mine.format(i) for i in numbers], [theirs.format(i) for i in numbers])
            others += [theirs.format(i) for i in numbers]
            initial += b.initial
        return initial, lines, others

    def _new(self, code: Code) -> list[str]:
        return ["def new():", f"    return [{', '.join(self._buffers(code, 'g[{}]', 'o[{}]')[0])}]"]

    def _merge(self, code: Code) -> list[str]:
        lines = self._buffers(code, "g[{}]", "o[{}]")[1]
        return ["def merge(g, o):", *(f"    {line}" for line in lines), "    return"]

    def _fold(self, code: Code) -> list[str]:
        initial, lines, others = self._buffers(code, "g[{}]", "o{}")
        keys = [f"k{i}" for i in range(len(self.keys))]
        parts = [key_part(column.type, name, code) for (column, _), name in zip(self.keys, keys)]
        timed = self.event_time is not None
        late = [
            f"        end = {self._ends()}",
            "        if end is not None and end <= late:",
            "            dropped += 1",
            "            continue",
        ]
        remember = ["            if end is not None:", "                ends.add(end, key)"]
        return [
            "def fold(rows, groups, changed, ends, late):",
            "    dropped = 0",
            "    find = groups.get",
            f"    for {_tuple([*keys, *others])} in rows:",
            f"        key = {_tuple(parts)}",
            *(late if timed else []),
            "        g = find(key)",
            "        if g is None:",
            f"            g = groups[key] = [{', '.join(initial)}]",
            *(remember if timed else []),
            "        changed[key] = g",
            *(f"        {line}" for line in lines),
            "    return dropped",
        ]

    def _emit(self, code: Code) -> list[str]:
        keys = [f"k{i}" for i in range(len(self.keys))]
        columns = {column.id: name for (column, _), name in zip(self.keys, keys)}
        buffers: list[str] = []
        results: list[str] = []
        for i, call in enumerate(self.calls):
            b = buffers_of(call, code)
            mine = [f"b{len(buffers) + j}" for j in range(len(b.types))]
            buffers += mine
            columns[call.result.id] = f"r{i}"
            results.append(f"        r{i} = {b.result(mine)}")
        return [
            "def emit(groups):",
            "    out = []",
            f"    for {_tuple(keys)}, {_tuple(buffers)} in groups:",
            *results,
            f"        out.append({_tuple([python(e, columns, code) for e in self.exprs])})",
            "    return out",
        ]


def _tuple(parts: Sequence[str]) -> str:
    return f"({''.join(f'{part}, ' for part in parts)})"
