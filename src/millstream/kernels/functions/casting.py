"""What decides about a cast, and what it does with values that don't fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from pyspark.sql.types import ByteType, DataType, IntegerType, LongType, ShortType

from millstream.errors import DataError

Convert = Callable[[Any], Any]
WHOLE: dict[type[DataType], int] = {ByteType: 8, ShortType: 16, IntegerType: 32, LongType: 64}


@dataclass(frozen=True)
class Casting:
    """From which type to which, and what decides about the rest."""

    source: DataType
    target: DataType
    mode: str
    timezone: str | None
    java: int

    @property
    def ansi(self) -> bool:
        """Whether what can't be converted is an error, if only to become null where somebody tries."""
        return self.mode != "LEGACY"

    def malformed(self, text: str) -> None:
        """What to do about text that says nothing of the target's type."""
        if self.ansi:
            raise DataError(
                f"[CAST_INVALID_INPUT] The value '{text}' cannot be cast to {self.target.simpleString()}; "
                "use try_cast to get null."
            )

    def overflow(self, x: Any) -> NoReturn:
        """Raises the error for a number that the target's type can't hold."""
        raise DataError(
            f"[CAST_OVERFLOW] The value {x} cannot be cast to {self.target.simpleString()}; use try_cast to get null."
        )
