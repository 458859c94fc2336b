"""A slot and a coordinator as they face the network: envelopes in, envelopes out.

These two classes interpret the effects of the state machines. The runtime and the simulator both
drive them, so that what the simulator proves is what runs.
"""

from __future__ import annotations

import traceback
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

from millstream.core.coordinator import Coordinator
from millstream.core.courier import Courier, Envelope
from millstream.core.events import (
    NO_COUNTS,
    Clock,
    Drop,
    Finished,
    Forget,
    HandOver,
    Host,
    Leave,
    Lost,
    PeerAt,
    Pressure,
    Received,
    Release,
    Run,
    Send,
    Serve,
)
from millstream.core.liveness import Liveness
from millstream.core.messages import COORDINATOR, Beat, Handoff, Offset, Output, Stop, TaskFailed
from millstream.core.scheduler import LocalScheduler

Posted = list[tuple[int, Envelope]]


class Product(NamedTuple):
    """What a task made."""

    outputs: tuple[dict[int, bytes], ...] = ()
    """Per outgoing edge, the blocks by consumer partition; a partition without one gets an empty block."""
    watermark: int | None = None
    end: Offset = None
    result: bytes | None = None
    rows: int = 0
    more: bool = False
    counts: dict[str, int] = NO_COUNTS
    seconds: float = 0.0


class Body(Protocol):
    """What a slot needs from the world: kernels that run, a store that keeps blocks."""

    def host(self, stage: int, partition: int, state: bytes | None) -> None:
        """Make the kernel of a partition, from a handed-over state if there is one."""

    def drop(self, stage: int, partition: int) -> None:
        """Let the kernel of a partition go."""

    def snapshot(self, stage: int, partition: int) -> bytes | None:
        """The state of a partition, for its next owner."""

    def run(self, task: Run) -> Product:
        """Run a task; what it raises ends the query."""

    def keep(self, stage: int, partition: int, epoch: int, outputs: tuple[dict[int, bytes], ...]) -> None:
        """Keep a task's blocks until they are released."""

    def kept(self, stage: int, partition: int, epoch: int) -> tuple[dict[int, bytes], ...]:
        """The blocks of a task."""

    def release(self, epoch: int) -> None:
        """Blocks up to an epoch are not needed any more."""

    def disconnect(self, slot: int) -> None:
        """A slot is lost; nothing goes to it any more."""


class SlotNode:
    """A slot: its local scheduler, its courier and the tasks that are ready to run."""

    PRESSURE = 512
    """Envelopes with results that the driver may leave unacknowledged before sources pause."""

    def __init__(self, scheduler: LocalScheduler, courier: Courier, body: Body) -> None:
        self.scheduler = scheduler
        self.courier = courier
        self.body = body
        self.ready: deque[Run] = deque()
        self.leaving = False
        self._pressed = False
        self._interpreters: dict[type, Callable[[Any], None]] = {
            Run: self.ready.append,
            Send: lambda e: courier.post(e.to, e.message),
            Serve: self._serve,
            Host: lambda e: body.host(*e),
            Drop: lambda e: body.drop(*e),
            HandOver: self._hand_over,
            Release: lambda e: body.release(e.epoch),
            Forget: self._forget,
            Leave: self._leave,
        }

    def on(self, event: Any) -> None:
        """Feed the scheduler and do what it asks."""
        interpreters = self._interpreters
        for effect in self.scheduler.on(event):
            interpreters[type(effect)](effect)

    def receive(self, envelope: Envelope, now: float) -> None:
        """Take in what another node sent."""
        sender = envelope.sender
        messages = self.courier.accept(envelope, now)
        if sender != COORDINATOR and not self.courier.is_closed(sender):
            self.on(PeerAt(sender, envelope.frontier))
        for message in messages:
            self.on(Received(sender, message))

    def work(self) -> bool:
        """Run one ready task; false if there was none."""
        while self.ready:
            task = self.ready.popleft()
            if self.scheduler.is_current(task):
                self._run(task)
                return True
        return False

    def _run(self, task: Run) -> None:
        try:
            product = self.body.run(task)
        except Exception as error:
            headline = "".join(traceback.format_exception_only(error))  # a traceback has it at its end
            story = f"{headline}\n{traceback.format_exc()}"
            self.courier.post(COORDINATOR, TaskFailed(task.stage, task.partition, task.epoch, story))
            return
        if product.outputs:
            self.body.keep(task.stage, task.partition, task.epoch, product.outputs)
        self.on(Finished(task.ticket, task.stage, task.partition, task.epoch, *product))

    def tick(self, now: float) -> Posted:
        """Move the clock on; returns envelopes that have to be sent again."""
        high = self.courier.unacknowledged(COORDINATOR) > self.PRESSURE
        if high is not self._pressed:
            self._pressed = high
            self.on(Pressure(high))
        self.courier.frontier = self.scheduler.frontier
        return self.courier.tick(now, self.scheduler.watchers)

    def clock(self, now: float) -> None:
        """Let the epochs close that are due."""
        if now >= self.scheduler.clock.next_close:
            self.on(Clock(now))

    def flush(self, now: float) -> Posted:
        """Everything that has to leave now."""
        scheduler, courier = self.scheduler, self.courier
        courier.frontier = scheduler.frontier
        posted = courier.flush(now)
        if scheduler.watchers:
            late = courier.lagging(scheduler.watchers, scheduler.in_flight)
            posted += [courier.nudge(peer) for peer in late]
        return posted

    def beat(self) -> Envelope:
        """A heartbeat."""
        return self.courier.aside(Beat(self.scheduler.frontier, len(self.ready)))

    def _serve(self, e: Serve) -> None:
        outputs = self.body.kept(e.stage, e.partition, e.epoch)
        edges = self.scheduler.graph.edges[e.stage]
        edge = next(i for i, edge in enumerate(edges) if (edge.consumer, edge.input) == (e.consumer, e.input))
        blocks: dict[int, bytes | int] = {target: outputs[edge].get(target, b"") for target in e.targets}
        output = Output(e.stage, e.partition, e.epoch, e.consumer, e.input, blocks, e.watermark, e.lineage)
        if e.to == self.scheduler.slot:
            self.on(Received(e.to, output))
        else:
            self.courier.post(e.to, output)

    def _hand_over(self, e: HandOver) -> None:
        state = self.body.snapshot(e.stage, e.partition)
        self.body.drop(e.stage, e.partition)
        self.courier.post(e.to, Handoff(e.stage, e.partition, e.epoch, e.position, e.watermark, state))

    def _forget(self, e: Forget) -> None:
        self.courier.close(e.slot)
        self.body.disconnect(e.slot)

    def _leave(self, _: Leave) -> None:
        self.leaving = True


class CoordinatorNode:
    """The driver's side: the coordinator, its courier, and who is alive."""

    def __init__(self, coordinator: Coordinator, courier: Courier, liveness: Liveness) -> None:
        self.coordinator = coordinator
        self.courier = courier
        self.liveness = liveness
        self.progress: dict[int, Beat] = {}
        """The last heartbeat of each slot."""

    def on(self, event: Any, now: float) -> list[Any]:
        """Feed the coordinator; returns the effects that are not messages."""
        return self._keep(self.coordinator.on(event, now))

    def receive(self, envelope: Envelope, now: float) -> list[Any]:
        """Take in what a slot sent."""
        self.liveness.heard(envelope.sender, now)
        effects = []
        for message in self.courier.accept(envelope, now):
            if isinstance(message, Beat):
                self.progress[envelope.sender] = message
            else:
                effects += self.on(Received(envelope.sender, message), now)
        return effects

    def lose(self, slot: int, why: str, now: float) -> list[Any]:
        """A slot is gone; whatever it still sends is ignored."""
        self.liveness.forget(slot)
        self.progress.pop(slot, None)
        self.courier.close(slot)
        return self.on(Lost(slot, why), now)

    def tick(self, now: float) -> tuple[Posted, list[Any]]:
        """Envelopes that have to be sent again, and what follows from heartbeats that stopped."""
        effects = []
        for slot in self.liveness.expired(now):
            effects += self.lose(slot, "its heartbeats stopped", now)
        return self.courier.tick(now), effects

    def flush(self, now: float) -> Posted:
        """Everything that has to leave now."""
        return self.courier.flush(now)

    def eviction(self) -> Envelope:
        """What a slot that is not (or no longer) a member is told."""
        return self.courier.aside(Stop())

    def _keep(self, effects: Iterable[Any]) -> list[Any]:
        others = []
        for effect in effects:
            if isinstance(effect, Send):
                self.courier.post(effect.to, effect.message)
            else:
                others.append(effect)
        return others
