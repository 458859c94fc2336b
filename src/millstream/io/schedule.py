"""At which instant each row of a generated stream is made, exactly, in whole microseconds."""

from __future__ import annotations

import bisect
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from millstream.errors import InvalidOption
from millstream.io.options import seconds

SECOND = 1_000_000
FOREVER = 1 << 62


class Schedule:
    """Rates that follow each other; the last one goes on for ever.

    Row `n` of a phase that starts at `t` with `r` rows a second is made at `t + floor(n / r)` microseconds.

    >>> schedule = Schedule([(1000, 2.0), (10, 1.0)])
    >>> schedule.count(0), schedule.count(1_999_999), schedule.count(2_000_000), schedule.count(2_100_000)
    (1, 2000, 2001, 2002)
    >>> schedule.times(1999, 2002).tolist()
    [1999000, 2000000, 2100000]
    """

    __slots__ = ("counts", "rates", "starts")

    def __init__(self, phases: Sequence[tuple[int, float]]) -> None:
        self.starts: list[int] = []
        self.counts: list[int] = []
        self.rates: list[int] = []
        start = count = 0
        for rate, length in phases:
            self.starts.append(start)
            self.counts.append(count)
            self.rates.append(rate)
            micros = round(length * SECOND)
            count += -(-micros * rate // SECOND)
            start += micros

    @staticmethod
    def parse(text: str) -> Schedule:
        """A schedule such as `1000:10s,50000:5s,1000`."""
        phases = []
        try:
            for part in text.split(","):
                rate, _, length = part.strip().partition(":")
                phases.append((int(rate), seconds(length) if length else 0.0))
        except ValueError as error:
            raise InvalidOption(f"a schedule looks like '1000:10s,50000:5s,1000', not {text!r}") from error
        if any(rate < 0 for rate, _ in phases):
            raise InvalidOption(f"rates in a schedule are 0 or more rows per second, not {text!r}")
        return Schedule(phases)

    def count(self, micros: int) -> int:
        """How many rows are made up to an instant, it included."""
        if micros < 0:
            return 0
        i = bisect.bisect_right(self.starts, micros) - 1
        return self.counts[i] - (-(micros - self.starts[i] + 1) * self.rates[i] // SECOND)

    def time(self, row: int) -> int:
        """The instant of one row."""
        i = bisect.bisect_right(self.counts, row) - 1
        if not self.rates[i]:
            return FOREVER
        return self.starts[i] + (row - self.counts[i]) * SECOND // self.rates[i]

    def times(self, first: int, stop: int, step: int = 1) -> npt.NDArray[np.int64]:
        """The instants of several rows."""
        rows = np.arange(first, stop, step, dtype=np.int64)
        if not len(rows):
            return rows
        low = bisect.bisect_right(self.counts, first) - 1
        high = bisect.bisect_right(self.counts, int(rows[-1])) - 1
        if low == high:
            return self._within(low, rows)
        bounds = np.searchsorted(rows, np.array(self.counts[low + 1 : high + 1], dtype=np.int64))
        pieces = np.split(rows, bounds)
        return np.concatenate([self._within(low + i, piece) for i, piece in enumerate(pieces)])

    def _within(self, phase: int, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        if not len(rows):
            return rows
        # Small products stay exact: row numbers in a phase times a million fit 63 bits up to nine billion rows.
        ahead = rows - self.counts[phase]
        whole, rest = np.divmod(ahead, self.rates[phase])
        times: npt.NDArray[np.int64] = self.starts[phase] + whole * SECOND + rest * SECOND // self.rates[phase]
        return times
