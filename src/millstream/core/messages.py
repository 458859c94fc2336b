"""What slots and the coordinator say to one another.

All are named tuples: immutable, cheap to make, and encoded as plain arrays on the wire. Offsets are
opaque to the core; it only knows that an epoch's range ends where the next one starts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from millstream.core.placement import Owners

COORDINATOR = 0
"""The coordinator's address among the slots, whose numbers start at 1 and are never used twice."""

Offset = Any


class Range(NamedTuple):
    """The slice of a source partition that an epoch covers; decided once, by its owner."""

    stage: int
    partition: int
    epoch: int
    start: Offset
    end: Offset


# --- between slots -------------------------------------------------------------------------------


class Output(NamedTuple):
    """What a finished task tells one downstream slot: its blocks, or their sizes if they must be pulled.

    `lineage` holds the source ranges that the blocks derive from, so that whoever has used a block
    can tell how to make it again.
    """

    stage: int
    partition: int
    epoch: int
    consumer: int
    input: int
    blocks: dict[int, bytes | int]
    watermark: int | None
    lineage: tuple[Range, ...]


class Fetch(NamedTuple):
    """A consumer asks a producer for blocks that were announced with their size only."""

    stage: int
    partition: int
    epoch: int
    consumer: int
    input: int
    targets: tuple[int, ...]


class Handoff(NamedTuple):
    """A partition changes slots at a group's boundary: where its next epoch starts, and its state."""

    stage: int
    partition: int
    epoch: int
    position: Offset
    watermark: int | None
    state: bytes | None


# --- coordinator to slot -------------------------------------------------------------------------


class Group(NamedTuple):
    """Consecutive epochs dispatched together, and the clock that closes them."""

    id: int
    first: int
    epochs: int
    starts_at: float
    interval: float

    @property
    def last(self) -> int:
        return self.first + self.epochs - 1


class Dispatch(NamedTuple):
    """Run a group, or (in bsp mode) one stage of it. Only what changed since the last one is set."""

    version: int
    group: Group
    covered: int
    stages: tuple[int, ...] | None = None
    owners: Owners | None = None
    members: dict[int, str] | None = None
    relay: bool = False
    """Report outputs to the coordinator instead of telling downstream slots (bsp mode)."""
    announced: tuple[tuple[int, Output], ...] = ()
    """Outputs that finished before this dispatch, each with the slot that holds its blocks."""


class Fence(NamedTuple):
    """Some slots are lost: accept nothing more from them and say which ranges you know.

    The partitions that have to start again stop at once, so that no range of theirs is decided
    after the answer.
    """

    version: int
    lost: tuple[int, ...]
    partitions: tuple[tuple[int, int], ...]


class Restart(NamedTuple):
    """After a loss: the partitions to run again from `covered + 1`, where, and on which ranges."""

    version: int
    covered: int
    partitions: tuple[tuple[int, int], ...]
    placements: tuple[tuple[int, Owners], ...]
    groups: tuple[Group, ...]
    members: dict[int, str]
    ranges: tuple[Range, ...]
    positions: tuple[tuple[int, int, Offset], ...]


class Stop(NamedTuple):
    """Leave: the query has ended."""


# --- slot to coordinator -------------------------------------------------------------------------


class Report(NamedTuple):
    """A slot has finished all its tasks of a dispatch."""

    version: int
    group: int
    stages: tuple[int, ...] | None
    ranges: tuple[Range, ...]
    """Per source partition, from its start in the group's first epoch to its end in the last."""
    watermark: int | None
    rows: int
    tasks: int
    busy: float
    more: bool
    """Some source partition left rows for later in the group's last epoch."""
    counts: dict[str, int]
    produced: tuple[Output, ...] = ()


class Known(NamedTuple):
    """Answer to a fence: every uncovered range that this slot has seen."""

    version: int
    ranges: tuple[Range, ...]


class Result(NamedTuple):
    """A task's output for a sink that the driver holds."""

    stage: int
    partition: int
    epoch: int
    payload: bytes
    watermark: int | None
    lineage: tuple[Range, ...]


class TaskFailed(NamedTuple):
    """A task could not be done; the story begins with the error and goes on with its traceback."""

    stage: int
    partition: int
    epoch: int
    story: str


class Beat(NamedTuple):
    """A slot is alive, and how far it is."""

    frontier: int
    backlog: int
