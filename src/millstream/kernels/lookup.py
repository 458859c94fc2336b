"""A static table as the scalar kernels see it: rows by key."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from millstream.kernels.batch import Row, rows_of
from millstream.kernels.expressions import Code, python
from millstream.plan.algebra import StaticJoin


class Lookup:
    """The rows of a join's static side by their key; rows whose key has a null match nothing."""

    def __init__(self, join: StaticJoin) -> None:
        self._join = join

    @cached_property
    def rows(self) -> dict[Any, list[Row]]:
        """The rows by key: by its value if it is one column, otherwise by the tuple."""
        static = self._join.static
        code = Code()
        env = {c.id: f"row[{i}]" for i, c in enumerate(static.output)}
        keys = [python(e, env, code) for e in self._join.right_keys]
        key_of = code.compile(f"def key_of(row):\n    return ({''.join(f'{k}, ' for k in keys)})\n", "key_of")
        found: dict[Any, list[Row]] = {}
        for row in rows_of(static.table):
            key = key_of(row)
            if None not in key:
                found.setdefault(self.normal(key if len(key) > 1 else key[0]), []).append(row)
        return found

    @staticmethod
    def normal(key: Any) -> Any:
        """A key with one NaN and one zero."""
        if isinstance(key, tuple):
            return tuple([Lookup.normal(part) for part in key])
        if isinstance(key, float):
            return "NaN" if key != key else key + 0.0  # noqa: PLR0124 (that is what NaN is)
        return key
