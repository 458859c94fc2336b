"""The local scheduler: what one slot runs, when, and whom it tells.

It holds the slot's partitions with their pre-scheduled tasks, counts the inputs that each task still
misses, makes a task active when none is missing, and passes its blocks on to the slots that wait for
them. The coordinator speaks once per group; nothing here waits for it in between.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from millstream.core.clock import EpochClock
from millstream.core.events import (
    Clock,
    Drop,
    Finished,
    Forget,
    HandOver,
    Host,
    Leave,
    PeerAt,
    Pressure,
    Received,
    Release,
    Run,
    Send,
    Serve,
)
from millstream.core.graph import Graph
from millstream.core.hosted import Hosted
from millstream.core.memory import Kept, Memory
from millstream.core.messages import (
    COORDINATOR,
    Dispatch,
    Fence,
    Fetch,
    Group,
    Handoff,
    Known,
    Output,
    Range,
    Report,
    Restart,
    Result,
    Stop,
)
from millstream.core.placement import Owners, Placement, Route

Key = tuple[int, int]


class LocalScheduler:
    """One slot's part of the query, as a pure state machine: `on(event)` returns effects."""

    def __init__(self, slot: int, graph: Graph, *, in_flight: int = 8, inline_limit: int = 32_768) -> None:
        self.slot = slot
        self.graph = graph
        self.in_flight = in_flight
        self.half_window = max(1, in_flight // 2)
        self.inline_limit = inline_limit
        self.version = 0
        self.memory = Memory()
        self.members: dict[int, str] = {}
        self.clock = EpochClock()
        self.hosted: dict[Key, Hosted] = {}
        self.frontier = -1
        self.watchers: frozenset[int] = frozenset()
        """The slots that pace their sources by this slot's frontier."""
        self._placements: list[Placement] = []
        self._horizon = [-1] * len(graph.stages)
        self._relay = False
        self._pending: deque[Dispatch] = deque()
        self._orphans: dict[Key, list[tuple[int, Output]]] = {}
        self._handoffs: dict[Key, Handoff] = {}
        self._produced: list[Output] = []
        self._peers: dict[int, int] = {}
        self._credit = -1
        self._pressure = False
        self._tickets = 0
        self._rows = self._tasks = 0
        self._busy = 0.0
        self._counts: dict[str, int] = {}
        self._more: set[int] = set()
        """Epochs in which a source partition had more rows than it took."""
        self._effects: list[Any] = []
        self._handlers: dict[type, Callable[[Any], None]] = {
            Received: self._received,
            PeerAt: self._peer_at,
            Clock: self._tick,
            Pressure: self._pressed,
            Finished: self._finished,
        }
        self._receivers: dict[type, Callable[[int, Any], None]] = {
            Output: self._output,
            Fetch: self._fetch,
            Handoff: self._handoff,
            Dispatch: self._dispatch,
            Fence: self._fence,
            Restart: self._restart,
            Stop: self._stop,
        }

    def on(self, event: Any) -> list[Any]:
        """Take in one event; return what the body has to do, in order."""
        self._effects = []
        self._handlers[type(event)](event)
        return self._effects

    @property
    def behind(self) -> bool:
        """Whether epochs are due that could not start yet."""
        return self.clock.due > self._credit

    def is_current(self, run: Run) -> bool:
        """Whether a task that was asked for is still wanted (a restart may have revoked it)."""
        hosted = self.hosted.get((run.stage, run.partition))
        return hosted is not None and hosted.active == run.ticket

    # --- data: the way of every block ------------------------------------------------------------

    def _received(self, event: Received) -> None:
        self._receivers[type(event.message)](event.sender, event.message)

    def _output(self, sender: int, out: Output) -> None:
        if out.epoch <= self.memory.covered:
            return
        if out.lineage:
            self.memory.see(out.epoch, out.lineage)
        missing = []
        for target, block in out.blocks.items():
            hosted = self.hosted.get((out.consumer, target))
            if hosted is None:
                only = out._replace(blocks={target: block})
                self._orphans.setdefault((out.consumer, target), []).append((sender, only))
                continue
            position = hosted.position_of(out.input, out.partition)
            if not hosted.wants(out.epoch, position):
                continue
            if isinstance(block, int):
                missing.append(target)
            elif hosted.deposit(out.epoch, position, block, out.watermark):
                self._activate(hosted)
        if missing:
            want = Fetch(out.stage, out.partition, out.epoch, out.consumer, out.input, tuple(missing))
            self._effects.append(Send(sender, want))

    def _fetch(self, sender: int, want: Fetch) -> None:
        task = self.memory.find(want.stage, want.partition, want.epoch)
        if task is not None:
            self._effects.append(Serve(sender, *want, task.watermark, task.lineage))

    def _activate(self, hosted: Hosted) -> None:
        """Run the partition's next task if everything that it waits for is there."""
        epoch = hosted.next
        if hosted.active or not hosted.ready or epoch > self._horizon[hosted.stage] or epoch > hosted.stop:
            return
        if hosted.is_source:
            if epoch > self._credit or epoch > self.clock.due or self._pressure:
                return
            decided = hosted.fixed.get(epoch)
            blocks: list[Any] = []
            start, end = (decided.start, decided.end) if decided else (hosted.position, None)
        else:
            waiting = hosted.waiting.get(epoch)
            if waiting is None or waiting.missing:
                return
            del hosted.waiting[epoch]
            blocks = waiting.blocks
            start = end = None
            hosted.take(waiting)
        self._tickets += 1
        hosted.active = self._tickets
        self._effects.append(
            Run(self._tickets, hosted.stage, hosted.partition, epoch, blocks, hosted.watermark, start, end)
        )

    def _finished(self, done: Finished) -> None:
        hosted = self.hosted.get((done.stage, done.partition))
        if hosted is None or hosted.active != done.ticket:
            return
        epoch = done.epoch
        hosted.active = 0
        hosted.next = epoch + 1
        self._tasks += 1
        self._busy += done.seconds
        self._rows += done.rows
        for name, count in done.counts.items():
            self._counts[name] = self._counts.get(name, 0) + count
        lineage: tuple[Range, ...] = ()
        if hosted.is_source:
            decided = hosted.fixed.pop(epoch, None)
            start = decided.start if decided else hosted.position
            lineage = (Range(done.stage, done.partition, epoch, start, done.end),)
            self.memory.see(epoch, lineage)
            hosted.position = done.end
            if done.more or decided:  # of a range that was decided before, nobody knows any more
                self._more.add(epoch)
        elif done.result is not None or done.outputs:
            lineage = self.memory.lineage(epoch)
        mark = done.watermark
        if hosted.marks:
            if mark is not None and (hosted.watermark is None or mark > hosted.watermark):
                hosted.watermark = mark
        elif hosted.idle:
            mark = None
        if done.outputs:
            self.memory.keep(epoch, Kept(done.stage, done.partition, mark, lineage))
            self._pass_on(done, mark, lineage)
        if done.result is not None:
            result = Result(done.stage, done.partition, epoch, done.result, hosted.watermark, lineage)
            self._effects.append(Send(COORDINATOR, result))
        if hosted.next > hosted.stop:
            self._leave(hosted)
        if epoch == self.frontier + 1:
            self._advance()
        self._activate(hosted)

    def _pass_on(self, done: Finished, mark: int | None, lineage: tuple[Range, ...]) -> None:
        for route, blocks in zip(self._placement_at(done.epoch).routes(done.stage, done.partition), done.outputs):
            consumer, input = route.edge.consumer, route.edge.input
            for slot, targets in route.by_slot:
                if slot == self.slot:
                    local: dict[int, bytes | int] = {target: blocks.get(target, b"") for target in targets}
                    self._output(slot, Output(*done[1:4], consumer, input, local, mark, ()))
                    continue
                sized: dict[int, bytes | int] = {}
                for target in targets:
                    block = blocks.get(target, b"")
                    sized[target] = len(block) if self._relay or len(block) > self.inline_limit else block
                out = Output(done.stage, done.partition, done.epoch, consumer, input, sized, mark, lineage)
                if self._relay:
                    self._produced.append(out)
                else:
                    self._effects.append(Send(slot, out))

    # --- pace: when sources may go on -------------------------------------------------------------

    def _tick(self, event: Clock) -> None:
        if self.clock.at(event.now):
            self._pump()

    def _peer_at(self, event: PeerAt) -> None:
        if self._peers.get(event.slot, event.frontier) != event.frontier:
            self._peers[event.slot] = event.frontier
            self._update_credit()

    def _pressed(self, event: Pressure) -> None:
        self._pressure = event.high
        self._pump()

    def _advance(self) -> None:
        """Move this slot's frontier, and report what is finished."""
        self.frontier = min((h.next for h in self.hosted.values()), default=max(self._horizon) + 1) - 1
        self._update_credit()
        self._report()

    def _update_credit(self) -> None:
        """Let sources go on as the slowest slot that depends on them does.

        Other slots get a second window, so that the frontiers which their blocks bring along are
        fresh enough. When only credit holds sources back, it is given half a window at a time: the
        blocks of several epochs then share an envelope, most of what an epoch costs at full speed.
        """
        slowest = min(self._peers.values(), default=self.frontier)
        credit = min(slowest + self.in_flight, self.frontier) + self.in_flight
        gain = credit - self._credit
        if gain < 0 or credit > self.clock.due or gain >= self.half_window:
            self._credit = credit
            if gain > 0:
                self._pump()

    def _pump(self) -> None:
        for hosted in list(self.hosted.values()):
            if hosted.is_source:
                self._activate(hosted)

    # --- groups ---------------------------------------------------------------------------------

    def _dispatch(self, _: int, order: Dispatch) -> None:
        group = order.group
        self.version = order.version
        self._relay = order.relay
        self._cover(order.covered)
        if order.members is not None:
            self.members = order.members
        if order.owners is not None:
            self._move(group, order.owners)
        for stage in range(len(self._horizon)) if order.stages is None else order.stages:
            self._horizon[stage] = group.last
        self.clock.add(group)
        self._pending.append(order)
        for holder, out in order.announced:
            self._output(holder, out)
        for hosted in list(self.hosted.values()):
            self._activate(hosted)
        self._advance()

    def _move(self, group: Group, owners: Owners) -> None:
        placement = Placement(self.graph, group.first, owners)
        self._placements.append(placement)
        mine = placement.owned_by(self.slot)
        for key in mine:
            if key not in self.hosted:
                needs_handoff = self.graph.stages[key[0]].is_source or self.graph.stages[key[0]].stateful
                self._host(key, group.first, ready=group.id == 0 or not needs_handoff)
        for key in self.hosted.keys() - set(mine):
            hosted = self.hosted[key]
            hosted.stop = group.first - 1
            if hosted.next > hosted.stop:
                self._leave(hosted)
        self._meet(placement, group.first - 1)

    def _meet(self, placement: Placement, frontier: int) -> None:
        """Pace sources by the slots that depend on them; new ones stand just before their first epoch."""
        self.watchers = placement.watching(self.slot)
        self._peers = {slot: self._peers.get(slot, frontier) for slot in placement.watched_by(self.slot)}

    def _host(self, key: Key, first: int, *, ready: bool) -> Hosted:
        hosted = self.hosted[key] = Hosted(self.graph, *key, first, ready=ready)
        if ready:
            self._effects.append(Host(*key))
        for sender, out in self._orphans.pop(key, ()):
            self._output(sender, out)
        given = self._handoffs.pop(key, None)
        if given is not None and not ready:
            self._handoff(self.slot, given)
        return hosted

    def _leave(self, hosted: Hosted) -> None:
        del self.hosted[hosted.key]
        if hosted.is_source or hosted.stateful:
            owner = self._placement_at(hosted.next).owner(*hosted.key)
            self._effects.append(HandOver(owner, *hosted.key, hosted.next, hosted.position, hosted.watermark))
        else:
            self._effects.append(Drop(*hosted.key))

    def _handoff(self, _: int, given: Handoff) -> None:
        hosted = self.hosted.get((given.stage, given.partition))
        if hosted is None:
            self._handoffs[given.stage, given.partition] = given
        elif not hosted.ready and hosted.next == given.epoch:
            hosted.ready = True
            hosted.position = given.position
            hosted.watermark = given.watermark
            self._effects.append(Host(*hosted.key, given.state))
            self._activate(hosted)

    def _report(self) -> None:
        while self._pending:
            order = self._pending[0]
            group, stages = order.group, order.stages
            if stages is None:
                if self.frontier < group.last:
                    return
            elif any(h.next <= group.last for h in self.hosted.values() if h.stage in stages):
                return
            self._pending.popleft()
            marks = [h.watermark for h in self.hosted.values() if h.watermark is not None]
            mine = self._placement_at(group.first).owned_by(self.slot)
            sources = [key for key in mine if stages is None or key[0] in stages]
            ranges = self.memory.ranges_of(group, sources)
            more = group.last in self._more
            self._more = {epoch for epoch in self._more if epoch > group.last}
            report = Report(
                self.version, group.id, stages, ranges, min(marks, default=None),
                self._rows, self._tasks, self._busy, more, self._counts, tuple(self._produced),
            )  # fmt: skip
            self._rows = self._tasks = 0
            self._busy = 0.0
            self._counts = {}
            self._produced.clear()
            self._effects.append(Send(COORDINATOR, report))

    def _cover(self, epoch: int) -> None:
        """Blocks and ranges up to `epoch` will not be asked for again."""
        if not self.memory.cover(epoch):
            return
        for key, outs in list(self._orphans.items()):
            self._orphans[key] = [(sender, out) for sender, out in outs if out.epoch > epoch]
            if not self._orphans[key]:
                del self._orphans[key]
        while len(self._placements) > 1 and self._placements[1].first_epoch <= epoch + 1:
            del self._placements[0]
        self._effects.append(Release(epoch))

    def _placement_at(self, epoch: int) -> Placement:
        for placement in reversed(self._placements):
            if placement.first_epoch <= epoch:
                return placement
        return self._placements[0]

    # --- loss of a slot ---------------------------------------------------------------------------

    def _fence(self, _: int, fence: Fence) -> None:
        self.version = fence.version
        for slot in fence.lost:
            self.members.pop(slot, None)
            self._effects.append(Forget(slot))
        for key in fence.partitions:
            self._give_up(key)
        self._effects.append(Send(COORDINATOR, Known(fence.version, self.memory.seen())))

    def _restart(self, _: int, order: Restart) -> None:
        self.version = order.version
        self._cover(order.covered)
        self.members = order.members
        self._placements = [Placement(self.graph, first, owners) for first, owners in order.placements]
        newest = self._placements[-1]
        self._horizon = [order.groups[-1].last if order.groups else order.covered] * len(self._horizon)
        self.clock = EpochClock(self.clock.now)
        for group in order.groups:
            self.clock.add(group)
        self._pending = deque(Dispatch(order.version, group, order.covered) for group in order.groups)
        relayed, self._relay = self._relay, False
        self._produced.clear()
        positions = {(stage, partition): position for stage, partition, position in order.positions}
        for key in order.partitions:
            self._give_up(key)
            if newest.owner(*key) == self.slot:
                hosted = self._host(key, order.covered + 1, ready=True)
                hosted.position = positions.get(key)
                hosted.fixed = {r.epoch: r for r in order.ranges if (r.stage, r.partition) == key}
        self._meet(newest, order.covered)
        self._serve_again(set(order.partitions), everything=relayed)
        for hosted in list(self.hosted.values()):
            self._activate(hosted)
        self._advance()

    def _give_up(self, key: Key) -> None:
        """A partition starts again, here or elsewhere; blocks for it that arrive meanwhile wait as orphans."""
        hosted = self.hosted.pop(key, None)
        if hosted is not None and hosted.ready:
            self._effects.append(Drop(*key))
        self._handoffs.pop(key, None)

    def _serve_again(self, moved: set[Key], *, everything: bool) -> None:
        """Blocks that this slot still holds go to the partitions that have to start again."""
        for epoch, tasks in self.memory.kept():
            placement = self._placement_at(epoch)
            for task in tasks:
                if (task.stage, task.partition) not in moved:
                    for route in placement.routes(task.stage, task.partition):
                        self._serve_route(epoch, task, route, None if everything else moved)

    def _serve_route(self, epoch: int, task: Kept, route: Route, only: set[Key] | None) -> None:
        consumer, input = route.edge.consumer, route.edge.input
        for slot, targets in route.by_slot:
            again = tuple(target for target in targets if only is None or (consumer, target) in only)
            if again:
                where = (task.stage, task.partition, epoch, consumer, input, again)
                self._effects.append(Serve(slot, *where, task.watermark, task.lineage))

    def _stop(self, _: int, __: Stop) -> None:
        self._effects.append(Leave())
