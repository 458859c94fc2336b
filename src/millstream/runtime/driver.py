"""The driver's thread: it drives the coordinator, and nothing that a record waits for passes through it."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from millstream.core.coordinator import Coordinator
from millstream.core.courier import Courier, Envelope
from millstream.core.events import Begin, End, Fail, Joined, Note
from millstream.core.liveness import Liveness
from millstream.core.messages import COORDINATOR, Beat
from millstream.core.node import CoordinatorNode, Posted
from millstream.plan.plan import Plan
from millstream.runtime.options import Options
from millstream.runtime.transport import Keys, Mailbox, Oversized
from millstream.runtime.wire import Hello, Refused, Welcome

log = logging.getLogger("millstream")

TICK = 0.05
NUDGE = 1.0
"""Slots hear from the driver at least this often, and leave when they do not for long."""
GRACE = 5.0
"""After the first slot has joined, the others get this long before the query starts without them."""


class Driver:
    """One query's coordinator with its mailbox, on a thread of its own."""

    def __init__(self, plan: Plan, options: Options, host: str, on_effect: Callable[[Any], None]) -> None:
        self.plan_hash, self.code = plan.ship()
        self.options = options
        self.on_effect = on_effect
        self.keys = Keys.new()
        self.mailbox = Mailbox(self.keys, host, max_message=options.maxMessageBytes, watch=True)
        self.coordinator = Coordinator(plan.graph, options.pace)
        liveness = Liveness(every=options.heartbeat, missed=options.missedHeartbeats)
        self.node = CoordinatorNode(self.coordinator, Courier(COORDINATOR), liveness)
        self.found_cached = 0
        self.expected = 0
        """Slots to wait for before the first epoch."""
        self.hosts: dict[int, tuple[str, int]] = {}
        self._numbers: dict[int, int] = {}
        self._addresses: dict[int, str] = {}
        self._commands: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._first_joined: float | None = None
        self._began = False
        self._started_at = 0.0
        self._next_tick = self._next_nudge = 0.0
        self._leave_at: float | None = None
        self._thread = threading.Thread(target=self._run, name="millstream-driver", daemon=True)

    def start(self, expected: int) -> None:
        """Start, and begin when so many slots have joined (or some have, and the others take too long)."""
        self.expected = expected
        self._started_at = time.monotonic()
        self._thread.start()

    def stop(self) -> None:
        """End the query: tell the slots, then close."""
        self._commands.put(End())
        self._thread.join(5.0)

    def submit(self, event: Any) -> None:
        """Feed the coordinator from another thread."""
        self._commands.put(event)

    def _run(self) -> None:
        try:
            while self._leave_at is None or (time.monotonic() < self._leave_at and self.hosts):
                self._turn()
        except Exception as error:
            log.exception("the driver's thread failed")
            self.on_effect(Fail("internal", f"Millstream's driver thread failed: {error!r}. Please report this"))
        finally:
            self.mailbox.close(linger=0.5)

    def _turn(self) -> None:
        envelopes, closed = self.mailbox.receive(self._next_tick - time.monotonic())
        now = time.time()
        effects: list[Any] = []
        for envelope in envelopes:
            effects += self._take(envelope, now)
        for slot in closed:
            effects += self._lose(slot, "its connection closed", now)
        while not self._commands.empty():
            effects += self._command(self._commands.get(), now)
        if time.monotonic() >= self._next_tick:
            effects += self._tick(now)
        for effect in effects:
            if isinstance(effect, Note):
                log.info("%s: %s", effect.kind, effect.text)
            if isinstance(effect, Fail):
                self.node.on(End(), now)
            self.on_effect(effect)
        self._post(self.node.flush(now))
        if self.coordinator.state == "ended" and self._leave_at is None:
            self._leave_at = time.monotonic() + 1.0
            self._post([(slot, self.node.eviction()) for slot in self.hosts if slot not in self.coordinator.members])

    def _tick(self, now: float) -> list[Any]:
        self._next_tick = time.monotonic() + TICK
        posted, effects = self.node.tick(now)
        for slot in [slot for slot in self.hosts if self.node.courier.is_closed(slot)]:
            self._forget(slot)
        self._post(posted)
        if time.monotonic() >= self._next_nudge:
            self._next_nudge = time.monotonic() + NUDGE
            self._post([self.node.courier.nudge(slot) for slot in self.coordinator.members])
        return effects + self._begin(now)

    def _begin(self, now: float) -> list[Any]:
        """Begin once all expected slots are there, or some are and the grace has passed."""
        waited = time.monotonic() - self._started_at
        members = len(self.coordinator.members)
        if self._began:
            return []
        if members == 0:
            if waited > self.options.slotTimeout:
                self._began = True
                text = f"no slot has joined within {waited:.0f} s: look at the Spark UI for why its tasks do not start"
                return [Fail("slots", text)]
            return []
        if self._first_joined is None:
            self._first_joined = time.monotonic()
        if members < self.expected and time.monotonic() - self._first_joined < GRACE:
            return []
        self._began = True
        if members < self.expected:
            log.warning("starting with %d of %d slots; the others are used when they join", members, self.expected)
        return self.node.on(Begin(), now)

    def _take(self, envelope: Envelope, now: float) -> list[Any]:
        for message in envelope.messages:
            if isinstance(message, Hello):
                self._welcome(message)
                return []
            if isinstance(message, Refused):
                return [Fail("plan", message.reason)]
        slot = envelope.sender
        if slot in self.hosts and slot not in self.coordinator.members and any(
            isinstance(message, Beat) for message in envelope.messages
        ):  # fmt: skip
            self.node.liveness.heard(slot, now)
            return [*self.node.on(Joined(slot, self._addresses[slot]), now), *self._begin(now)]
        if slot in self.coordinator.members:
            return self.node.receive(envelope, now)
        if slot in self._addresses and slot not in self.hosts and not self.mailbox.knows(slot):
            self.mailbox.connect(slot, self._addresses[slot])
            self.mailbox.send(slot, self.node.eviction())
        return []

    def _welcome(self, hello: Hello) -> None:
        slot = self._numbers.get(hello.nonce)
        if slot is None:
            slot = self._numbers[hello.nonce] = len(self._numbers) + 1
            self._addresses[slot] = hello.address
            self.hosts[slot] = (hello.host, hello.pid)
            self.mailbox.connect(slot, hello.address)
        if slot not in self.hosts or self.coordinator.state == "ended":
            self.mailbox.send(slot, self.node.eviction())
            return
        cached = self.plan_hash in hello.cached
        self.found_cached += cached
        code = None if cached else self.code
        welcome = Welcome(slot, self.plan_hash, code)
        self.mailbox.send(slot, self.node.courier.aside(welcome))

    def _command(self, command: Any, now: float) -> list[Any]:
        if isinstance(command, Fail):
            return [command]
        return self.node.on(command, now)

    def _lose(self, slot: int, why: str, now: float) -> list[Any]:
        effects = self.node.lose(slot, why, now) if slot in self.hosts else []
        self._forget(slot)
        return effects

    def _forget(self, slot: int) -> None:
        self.hosts.pop(slot, None)
        self.mailbox.disconnect(slot)

    def _post(self, posted: Posted) -> None:
        for to, envelope in posted:
            if self.mailbox.knows(to):
                try:
                    self.mailbox.send(to, envelope)
                except Oversized as error:
                    self.submit(Fail("oversized", str(error)))
