"""A cluster in virtual time: slots and a driver, each a server with its own pace, and a network between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from millstream.core.coordinator import Coordinator, Pace
from millstream.core.courier import Courier, Envelope
from millstream.core.events import Joined
from millstream.core.graph import Graph
from millstream.core.liveness import Liveness
from millstream.core.messages import COORDINATOR, Dispatch
from millstream.core.node import Body, CoordinatorNode, Posted, SlotNode
from millstream.core.scheduler import LocalScheduler
from millstream.simulate.world import World

TICK = 0.05


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds of work for what a node does; measured ones come from `calibrate`."""

    task: float = 20e-6
    """Running a task's function."""
    schedule: float = 15e-6
    """The local scheduler's share of a task."""
    receive: float = 10e-6
    """Taking in an envelope."""
    send: float = 10e-6
    """Sending an envelope."""
    job: float = 0.0
    """The driver's work each time it starts a stage (or a group)."""
    dispatch: float = 0.0
    """The driver's work for each task that it starts."""
    remote_start: float = 0.0
    """A slot's work for each task that the driver starts there."""
    wire: float = 50e-6
    """One way through the network."""


class Network(Protocol):
    """Decides when (and whether, and how often) an envelope arrives."""

    def arrivals(self, now: float, sender: int, to: int) -> list[float]:
        """The times at which it arrives."""


class Steady:
    """A network that delivers everything once, in order, after the same time."""

    def __init__(self, wire: float) -> None:
        self.wire = wire

    def arrivals(self, now: float, sender: int, to: int) -> list[float]:
        """Once, after the wire's time."""
        return [now + self.wire]


class SimBody(Body, Protocol):
    """A slot's kernels and store in the simulator."""

    now: float
    """The simulator sets the time before it runs a task."""


class SimSlot:
    """A slot that takes in what has arrived, runs what is ready, sends what came of it, and starts over."""

    def __init__(self, cluster: SimCluster, number: int, body: SimBody, slowness: float) -> None:
        self.cluster = cluster
        self.number = number
        self.body = body
        self.slowness = slowness
        courier = Courier(number, resend_after=0.2)
        self.node = SlotNode(LocalScheduler(number, cluster.graph, in_flight=cluster.in_flight), courier, body)
        self.alive = True
        self._inbox: list[Envelope] = []
        self._free_at = 0.0
        self._awake_at: float | None = None
        self._heartbeat()

    def receive(self, envelope: Envelope) -> None:
        if self.alive:
            self._inbox.append(envelope)
            self._wake(self.cluster.world.now)

    def crash(self) -> None:
        self.alive = False

    def _wake(self, time: float) -> None:
        time = max(time, self._free_at)
        if self._awake_at is None or time < self._awake_at:
            self._awake_at = time
            self.cluster.world.at(time, lambda: self._pass(time))

    def _pass(self, scheduled: float) -> None:
        if not self.alive or self._awake_at != scheduled:
            return
        self._awake_at = None
        now, costs = self.cluster.world.now, self.cluster.costs
        inbox, self._inbox = self._inbox, []
        spent = 0.0
        for envelope in inbox:
            self.node.receive(envelope, now)
            spent += costs.receive + costs.remote_start * self.cluster.driver.tasks_started(self.number, envelope)
        self.node.clock(now)
        self.body.now = now
        while self.node.work():
            spent += costs.task + costs.schedule
            if spent > self.cluster.longest_pass:
                break
        posted = self.node.flush(now)
        spent = (spent + costs.send * len(posted)) * self.slowness
        self._free_at = now + spent
        self.cluster.carry(self._free_at, self.number, posted)
        if self.node.leaving:
            self.alive = False
        elif self.node.ready:
            self._wake(self._free_at)
        else:
            self._wake_for_clock()

    def _wake_for_clock(self) -> None:
        close = self.node.scheduler.clock.next_close
        if close < float("inf"):
            self._wake(close)

    def _heartbeat(self) -> None:
        if not self.alive:
            return
        now = self.cluster.world.now
        self.cluster.carry(now, self.number, [(COORDINATOR, self.node.beat()), *self.node.tick(now)])
        if self.node.ready:
            self._wake(now)
        self.cluster.world.at(now + TICK, self._heartbeat)


class SimDriver:
    """The coordinator on its machine: one thing at a time."""

    def __init__(self, cluster: SimCluster, pace: Pace, on_effect: Callable[[Any], None]) -> None:
        self.cluster = cluster
        self.coordinator = Coordinator(cluster.graph, pace)
        self.node = CoordinatorNode(self.coordinator, Courier(COORDINATOR, resend_after=0.2), Liveness(every=TICK))
        self.on_effect = on_effect
        self._free_at = 0.0
        self._load: dict[int, list[int]] = {}
        self._load_of: Any = None
        self._tick()

    def receive(self, envelope: Envelope) -> None:
        world = self.cluster.world
        start = max(world.now, self._free_at)
        self._free_at = start + self.cluster.costs.receive
        world.at(self._free_at, lambda: self._take(envelope))

    def _take(self, envelope: Envelope) -> None:
        now = self.cluster.world.now
        if envelope.sender not in self.coordinator.members:
            self.cluster.carry(now, COORDINATOR, [(envelope.sender, self.node.eviction())])
        else:
            self._finish(self.node.receive(envelope, now))

    def on(self, event: Any) -> None:
        if isinstance(event, Joined):
            self.node.liveness.heard(event.slot, self.cluster.world.now)
        self._finish(self.node.on(event, self.cluster.world.now))

    def lose(self, slot: int, why: str) -> None:
        self._finish(self.node.lose(slot, why, self.cluster.world.now))

    def _tick(self) -> None:
        posted, effects = self.node.tick(self.cluster.world.now)
        self.cluster.carry(self.cluster.world.now, COORDINATOR, posted)
        self._finish(effects)
        self.cluster.world.at(self.cluster.world.now + TICK, self._tick)

    def _finish(self, effects: list[Any]) -> None:
        for effect in effects:
            self.on_effect(effect)
        costs = self.cluster.costs
        time = max(self.cluster.world.now, self._free_at)
        posted = self.node.flush(self.cluster.world.now)
        if costs.job and any(isinstance(m, Dispatch) for _, envelope in posted for m in envelope.messages):
            time += costs.job
        for to, envelope in posted:
            time += costs.send + costs.dispatch * self.tasks_started(to, envelope)
            self.cluster.carry(time, COORDINATOR, [(to, envelope)])
        self._free_at = time

    def tasks_started(self, slot: int, envelope: Envelope) -> int:
        """How many tasks the driver starts on a slot with an envelope: a dispatch starts a stage's, or all."""
        owners = self.coordinator.owners
        if owners is not self._load_of:
            self._load_of, self._load = owners, {}
            for stage, partitions in enumerate(owners or ()):
                for owner in partitions:
                    self._load.setdefault(owner, [0] * len(owners or ()))[stage] += 1
        load = self._load.get(slot)
        if load is None:
            return 0
        return sum(
            sum(load) if m.stages is None else sum(load[stage] for stage in m.stages)
            for m in envelope.messages
            if isinstance(m, Dispatch)
        )


class SimCluster:
    """Everything together."""

    def __init__(
        self,
        graph: Graph,
        pace: Pace,
        costs: Costs,
        make_body: Callable[[], SimBody],
        network: Network | None = None,
        *,
        in_flight: int = 8,
        longest_pass: float = 1e-3,
        on_effect: Callable[[Any], None] = lambda effect: None,
    ) -> None:
        self.world = World()
        self.graph = graph
        self.costs = costs
        self.in_flight = in_flight
        self.longest_pass = longest_pass
        self.network = network or Steady(costs.wire)
        self.make_body = make_body
        self.slots: dict[int, SimSlot] = {}
        self.driver = SimDriver(self, pace, on_effect)

    def join(self, slowness: float = 1.0) -> int:
        """A new slot starts and registers."""
        number = len(self.slots) + 1
        self.slots[number] = SimSlot(self, number, self.make_body(), slowness)
        self.driver.on(Joined(number, f"slot-{number}"))
        return number

    def carry(self, time: float, sender: int, posted: Posted) -> None:
        """Give envelopes to the network."""
        for to, envelope in posted:
            receiver = self.driver if to == COORDINATOR else self.slots.get(to)
            if receiver is None:
                continue
            for arrival in self.network.arrivals(time, sender, to):
                self.world.at(arrival, lambda r=receiver, e=envelope: r.receive(e))  # type: ignore[misc]
