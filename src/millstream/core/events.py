"""What happens to the state machines of the core, and what they ask of the body that drives them."""

from __future__ import annotations

from typing import Any, NamedTuple

from millstream.core.messages import Group, Offset, Range

NO_COUNTS: dict[str, int] = {}

# --- events: to a local scheduler -----------------------------------------------------------------


class Received(NamedTuple):
    """A message arrived from another slot or the coordinator."""

    sender: int
    message: Any


class PeerAt(NamedTuple):
    """Another slot has finished its tasks up to an epoch."""

    slot: int
    frontier: int


class Clock(NamedTuple):
    """Time has passed."""

    now: float


class Pressure(NamedTuple):
    """The driver falls behind in taking results (or has caught up): pause sources (or go on)."""

    high: bool


class Finished(NamedTuple):
    """A task that was asked for has run."""

    ticket: int
    stage: int
    partition: int
    epoch: int
    outputs: tuple[dict[int, bytes], ...]
    """Per outgoing edge of the stage, the blocks by consumer partition; none means an empty block."""
    watermark: int | None = None
    end: Offset = None
    """Of a source task: where its range ends."""
    result: bytes | None = None
    rows: int = 0
    """Rows that were read from a source."""
    more: bool = False
    """Of a source task: more rows were there than the range took."""
    counts: dict[str, int] = NO_COUNTS
    """Whatever else the task counted; the sums are reported with the group."""
    seconds: float = 0.0


# --- effects: of a local scheduler ----------------------------------------------------------------


class Run(NamedTuple):
    """Run an active task now; then feed `Finished` with the same ticket."""

    ticket: int
    stage: int
    partition: int
    epoch: int
    blocks: list[bytes]
    """In the order of the stage's inputs and their upstream partitions."""
    watermark: int | None
    start: Offset = None
    end: Offset = None
    """Of a source task: set if the range was decided before, otherwise the task decides."""


class Send(NamedTuple):
    """Send a message to a slot or to the coordinator."""

    to: int
    message: Any


class Host(NamedTuple):
    """A partition is placed here: make its kernel, or restore it from a handed-over state."""

    stage: int
    partition: int
    state: bytes | None = None


class Drop(NamedTuple):
    """A partition is placed here no longer."""

    stage: int
    partition: int


class HandOver(NamedTuple):
    """Send a partition's position and state to its next owner, then drop it."""

    to: int
    stage: int
    partition: int
    epoch: int
    position: Offset
    watermark: int | None


class Serve(NamedTuple):
    """Send stored blocks of a finished task to a slot (possibly this one)."""

    to: int
    stage: int
    partition: int
    epoch: int
    consumer: int
    input: int
    targets: tuple[int, ...]
    watermark: int | None
    lineage: tuple[Range, ...]


class Release(NamedTuple):
    """Blocks up to an epoch are covered and can go."""

    epoch: int


class Forget(NamedTuple):
    """Close the link to a lost slot."""

    slot: int


class Leave(NamedTuple):
    """The query has ended, or this slot is not wanted any more."""


# --- events: to the coordinator -------------------------------------------------------------------


class Joined(NamedTuple):
    """A slot has registered and has the plan."""

    slot: int
    address: str


class Lost(NamedTuple):
    """A slot's connection closed, or its heartbeats stopped."""

    slot: int
    why: str


class Begin(NamedTuple):
    """Start with the slots that are there."""


class Hold(NamedTuple):
    """The sink falls behind (or has caught up): dispatch no more groups (or go on)."""

    high: bool


class End(NamedTuple):
    """The user asked to stop."""


# --- effects: of the coordinator ------------------------------------------------------------------


class Deliver(NamedTuple):
    """A result for the driver's sink; each task's comes once."""

    stage: int
    partition: int
    epoch: int
    payload: bytes
    watermark: int | None
    lineage: tuple[Range, ...]


class Committed(NamedTuple):
    """A group is finished on all slots: its epochs are covered."""

    group: Group
    ranges: tuple[Range, ...]
    watermark: int | None
    rows: int
    tasks: int
    busy: float
    drained: bool
    """No source had more rows than its last range of the group took."""
    counts: dict[str, int]


class Note(NamedTuple):
    """Something that a person who watches the query wants to know."""

    kind: str
    text: str


class Fail(NamedTuple):
    """The query can't go on."""

    kind: str
    text: str


class Complete(NamedTuple):
    """The query has run all the epochs it was given."""
