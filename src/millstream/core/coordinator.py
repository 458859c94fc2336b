"""The coordinator: the driver's side of a query, which speaks only at group boundaries.

It dispatches groups (the next one before the last has ended), takes reports, decides placement when
slots have come or gone, and after a loss has the lost partitions run again elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Any

from millstream.core.events import (
    Begin,
    Committed,
    Complete,
    Deliver,
    End,
    Fail,
    Hold,
    Joined,
    Lost,
    Note,
    Received,
    Send,
)
from millstream.core.graph import Graph
from millstream.core.ledger import Ledger, OpenGroup
from millstream.core.messages import Dispatch, Fence, Group, Known, Output, Report, Restart, Result, Stop, TaskFailed
from millstream.core.placement import Owners, place, rebalance

MODES = ("bsp", "prescheduled", "grouped")


@dataclass(frozen=True, slots=True)
class Pace:
    """How epochs are dispatched."""

    mode: str = "grouped"
    interval: float = 0.02
    """Seconds from one epoch to the next; 0 runs them back to back."""
    group_size: int = 50
    epochs: int | None = None
    """Complete after so many epochs; None goes on until stopped."""
    drain: bool = False
    """Complete when the sources have given everything (which is what was there at the start)."""
    first_group: int | None = None
    """Epochs of the first group; it doubles from there to `group_size`, so that news comes early. None: no ramp."""

    @property
    def epochs_per_group(self) -> int:
        return self.group_size if self.mode == "grouped" else 1

    @property
    def ahead(self) -> int:
        """Groups out at once: one runs, and in grouped mode the next is already there."""
        return 2 if self.mode == "grouped" else 1


class Coordinator:
    """Decides for the whole query, as a pure state machine: `on(event, now)` returns effects."""

    def __init__(self, graph: Graph, pace: Pace) -> None:
        self.graph = graph
        self.pace = pace
        self.ledger = Ledger()
        self.members: dict[int, str] = {}
        self.version = 0
        self.state = "waiting"
        """waiting → running ⇄ recovering → ended"""
        self._history: list[tuple[int, Owners]] = []
        """Placements that uncovered epochs run under, each with its first epoch."""
        self._told: dict[int, tuple[Owners, dict[int, str]]] = {}
        self.groups = 0
        """Groups dispatched so far."""
        self._next_epoch = 0
        self._next_start = 0.0
        self._lost: set[int] = set()
        self._unanswered: set[int] = set()
        self._now = 0.0
        self._held = False
        self._drained = False
        self._effects: list[Any] = []
        self._handlers: dict[type, Callable[[Any], None]] = {
            Joined: self._joined,
            Lost: self._lose,
            Begin: self._begin,
            Hold: self._hold,
            End: self._end,
            Received: self._received,
        }
        self._receivers: dict[type, Callable[[int, Any], None]] = {
            Report: self._report,
            Known: self._known,
            Result: self._result,
            TaskFailed: self._failed,
        }

    def on(self, event: Any, now: float) -> list[Any]:
        """Take in one event at a time; return what the body has to do, in order."""
        self._now = now
        self._effects = []
        if self.state != "ended":
            self._handlers[type(event)](event)
        return self._effects

    @property
    def owners(self) -> Owners | None:
        """The newest placement."""
        return self._history[-1][1] if self._history else None

    def _send(self, slot: int, message: Any) -> None:
        self._effects.append(Send(slot, message))

    def _note(self, kind: str, text: str) -> None:
        self._effects.append(Note(kind, text))

    def _received(self, event: Received) -> None:
        if event.sender in self.members:
            self._receivers[type(event.message)](event.sender, event.message)

    # --- groups ---------------------------------------------------------------------------------

    def _joined(self, event: Joined) -> None:
        self.members[event.slot] = event.address
        self._note("joined", f"slot {event.slot} joined at {event.address}; {len(self.members)} slots")
        if self.state == "recovering" and not self._unanswered:
            self._restart()

    def _begin(self, _: Begin) -> None:
        if self.state == "waiting" and self.members:
            self.state = "running"
            self._next_start = self._grid(self._now)
            self._history = [(0, place(self.graph, self.members))]
            self._go_on()

    def _go_on(self) -> None:
        """Keep as many groups out as the mode wants, until the last epoch."""
        while (
            self.state == "running"
            and not self._held
            and len(self.ledger.open) < self.pace.ahead
            and self._next_size() > 0
        ):
            self._dispatch(self._next_size())

    def _grid(self, now: float) -> float:
        """Where the epochs' grid begins: on a multiple of the interval, so that time windows end with an epoch."""
        interval = self.pace.interval
        return now if interval == 0 else ceil(now / interval) * interval

    def _hold(self, event: Hold) -> None:
        self._held = event.high
        self._go_on()

    def _next_size(self) -> int:
        size = self.pace.epochs_per_group
        if self.pace.first_group is not None:
            size = min(size, self.pace.first_group << min(self.groups, 30))
        return size if self.pace.epochs is None else min(size, self.pace.epochs - self._next_epoch)

    def _dispatch(self, size: int) -> None:
        group = Group(self.groups, self._next_epoch, size, self._next_start, self.pace.interval)
        self.groups += 1
        self._next_epoch += size
        self._next_start += size * self.pace.interval
        self._rebalance(group.first)
        stage = 0 if self.pace.mode == "bsp" else None
        self.ledger.open.append(OpenGroup(group, self.members, stage))
        self._order(self.ledger.open[-1])

    def _rebalance(self, epoch: int) -> None:
        """Use new slots from this group on, unless an earlier move is still under way."""
        newest = self._history[-1][1]
        if len(self._history) > 1 or not self.members:
            return
        owners = rebalance(newest, self.members)
        if owners != newest:
            self._history.append((epoch, owners))
            moved = sum(a != b for old, new in zip(newest, owners) for a, b in zip(old, new))
            self._note("rebalanced", f"{moved} partitions move at epoch {epoch}")

    def _order(self, entry: OpenGroup) -> None:
        """Send a group, or its next stage, with what each slot does not know yet."""
        stages = None if entry.stage is None else (entry.stage,)
        owners = self._history[-1][1]
        for slot in entry.expected:
            known_owners, known_members = self._told.get(slot, (None, None))
            announced: tuple[tuple[int, Output], ...] = ()
            if stages is not None:
                announced = tuple(
                    (holder, out)
                    for holder, out in entry.produced
                    if out.consumer == entry.stage and owners[out.consumer][next(iter(out.blocks))] == slot
                )
            self._send(slot, Dispatch(
                self.version, entry.group, self.ledger.covered, stages,
                owners if owners is not known_owners else None,
                dict(self.members) if self.members != known_members else None,
                entry.stage is not None, announced,
            ))  # fmt: skip
            self._told[slot] = (owners, dict(self.members))

    def _report(self, slot: int, report: Report) -> None:
        entry = self.ledger.find(report.group)
        if self.state != "running" or entry is None or report.version != self.version:
            return
        if not entry.take(slot, report):
            return
        if entry.stage is not None and entry.stage + 1 < len(self.graph.stages):
            entry.next_stage()
            self._order(entry)
            return
        while self.ledger.open and not self.ledger.open[0].waiting_for:
            self._commit()
        if self.state == "running":
            self._go_on()

    def _commit(self) -> None:
        done = self.ledger.commit()
        while len(self._history) > 1 and self._history[1][0] <= self.ledger.covered:
            del self._history[0]  # only now is it certain that every moved partition has been handed over
        marks = [r.watermark for r in done.reports if r.watermark is not None]
        drained = not any(r.more for r in done.reports)
        counts: Counter[str] = Counter()
        for r in done.reports:
            counts.update(r.counts)
        self._effects.append(Committed(
            done.group, tuple(r for report in done.reports for r in report.ranges), min(marks, default=None),
            sum(r.rows for r in done.reports), sum(r.tasks for r in done.reports), sum(r.busy for r in done.reports),
            drained, dict(counts),
        ))  # fmt: skip
        enough = self.pace.epochs is not None and self.ledger.covered + 1 >= self.pace.epochs
        # A group without rows follows, so that event time comes to its end everywhere.
        empty, self._drained = drained and self._drained, drained
        if enough or (self.pace.drain and empty):
            self._effects.append(Complete())
            self._finish()

    def _result(self, _: int, result: Result) -> None:
        if self.ledger.first_delivery(result):
            self._effects.append(Deliver(*result))

    def _failed(self, slot: int, failure: TaskFailed) -> None:
        stage = self.graph.stages[failure.stage].name
        where = f"stage {stage!r}, partition {failure.partition}, epoch {failure.epoch} (slot {slot})"
        self._effects.append(Fail("task", f"{where} failed: {failure.story}"))
        self._finish()

    def _end(self, _: End) -> None:
        self._finish()

    def _finish(self) -> None:
        for slot in self.members:
            self._send(slot, Stop())
        self.state = "ended"

    # --- loss of slots ----------------------------------------------------------------------------

    def _lose(self, event: Lost) -> None:
        if self.members.pop(event.slot, None) is None:
            return
        self._note("lost", f"slot {event.slot} is lost ({event.why}); {len(self.members)} slots remain")
        self._told.pop(event.slot, None)
        involved = any(event.slot in entry.expected for entry in self.ledger.open)
        placed = any(event.slot in stage for _, owners in self._history for stage in owners)
        if self.state == "waiting" or not (involved or placed):
            return
        self._lost.add(event.slot)
        self.state = "recovering"
        self.version += 1
        self._unanswered = set(self._told)
        for slot in self._unanswered:
            self._send(slot, Fence(self.version, tuple(sorted(self._lost)), tuple(self._lost_partitions())))
        if not self._unanswered:
            self._restart()

    def _known(self, slot: int, answer: Known) -> None:
        if self.state != "recovering" or answer.version != self.version:
            return
        self.ledger.see(answer.ranges)
        self._unanswered.discard(slot)
        if not self._unanswered:
            self._restart()

    def _lost_partitions(self) -> list[tuple[int, int]]:
        """Partitions some of whose uncovered epochs ran, or were to run, on a lost slot."""
        return [
            (stage, partition)
            for stage, spec in enumerate(self.graph.stages)
            for partition in range(spec.partitions)
            if any(owners[stage][partition] not in self.members for _, owners in self._history)
        ]

    def _restart(self) -> None:
        """Give lost partitions to the slots that remain and have them run again from the last covered epoch."""
        if not self.members:
            self._note("waiting", "no slot is left; waiting for one to join")
            return
        newest = self._history[-1][1]
        lost = self._lost_partitions()
        stateful = next((s for s, _ in lost if self.graph.stages[s].stateful), None)
        if stateful is not None:
            name = self.graph.stages[stateful].name
            text = f"the state of stage {name!r} was lost with slots {sorted(self._lost)}, and no checkpoint holds it"
            self._effects.append(Fail("state", text))
            self._finish()
            return
        owners = rebalance(newest, self.members, spread=False)
        self._history = [(first, _replace(old, owners, lost)) for first, old in self._history]
        owners = self._history[-1][1]
        self.version += 1
        sources = [key for key in lost if self.graph.stages[key[0]].is_source]
        order = Restart(
            self.version, self.ledger.covered, tuple(lost), tuple(self._history),
            tuple(entry.group for entry in self.ledger.open), dict(self.members),
            tuple(r for key in sources for r in self.ledger.replay_ranges(key)),
            tuple((*key, self.ledger.positions[key]) for key in sources if key in self.ledger.positions),
        )  # fmt: skip
        for entry in self.ledger.open:
            entry.reopen(self.members)
        for slot in self.members:
            self._send(slot, order)
            self._told[slot] = (owners, order.members)
        self._note("recovered", f"{len(lost)} partitions run again from epoch {self.ledger.covered + 1}")
        self._lost.clear()
        self.state = "running"
        self._go_on()


def _replace(old: Owners, new: Owners, keys: list[tuple[int, int]]) -> Owners:
    chosen = set(keys)
    return tuple(
        tuple(new[s][p] if (s, p) in chosen else owner for p, owner in enumerate(stage)) for s, stage in enumerate(old)
    )
