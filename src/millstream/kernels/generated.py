"""Generated functions that belong together: described by a small dataclass, compiled where they are used first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from millstream.kernels.expressions import Code


@dataclass(frozen=True)
class Generated:
    """The base of such dataclasses. Only the fields travel, never what was compiled."""

    def write(self, code: Code) -> list[list[str]]:
        """The lines of each function."""
        raise NotImplementedError

    @property
    def source(self) -> str:
        """All functions, for `explain(mode="code")`."""
        return self._written[0]

    def function(self, name: str) -> Callable[..., Any]:
        """One of them, compiled."""
        source, code = self._written
        return code.compile(source, name)

    @cached_property
    def _written(self) -> tuple[str, Code]:
        code = Code()
        return "\n\n".join("\n".join(lines) + "\n" for lines in self.write(code)), code

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}
