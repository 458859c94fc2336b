"""A slot: what runs inside a PySpark task for as long as the query does."""

from __future__ import annotations

import gc
import logging
import os
import secrets
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import zmq

from millstream.core.courier import Courier, Envelope
from millstream.core.messages import COORDINATOR, Stop, TaskFailed
from millstream.core.node import Posted, SlotNode
from millstream.core.scheduler import LocalScheduler
from millstream.plan.plan import Plan
from millstream.runtime.blocks import BlockStore
from millstream.runtime.body import SlotBody
from millstream.runtime.options import Options
from millstream.runtime.transport import Address, Keys, Mailbox, Oversized
from millstream.runtime.wire import Hello, Refused, Welcome, encode

log = logging.getLogger("millstream")

TICK = 0.1
FLUSH_AFTER = 300e-6
"""Blocks wait no longer than this for the next task's blocks to travel with,"""
FLUSH_BEHIND = 2e-3
"""or this, when epochs are behind and throughput is what counts."""
SETTLE = 1e-3
"""At most this long, and at most a fortieth of an epoch, a slot sleeps after it has sent its blocks:
those of its peers then arrive together, and one waking serves them all."""
COLLECT = (50_000, 20, 100)
"""An epoch's rows are many objects and no cycles: collections at every 700th would be a tenth of the work."""
DRIVER_TIMEOUT = 15.0
PATIENCE = 3
"""Heartbeats that the loop may leave out, in a long task, before the watch sends them in its place."""

MOST_PLANS = 8
_plans: dict[str, Plan] = {}
"""Plans that this process holds, by hash: Spark reuses its workers, so the next query may find its own here."""


class Offer(NamedTuple):
    """What the driver puts into the Spark task that becomes a slot."""

    driver: str
    keys: Keys
    options: Options
    loopback: bool


class Slot:
    """One slot's process: mailbox, node, and the loop that drives them."""

    def __init__(self, offer: Offer) -> None:
        self.offer = offer
        host = "127.0.0.1" if offer.loopback else _host_towards(offer.driver)
        self.mailbox = Mailbox(offer.keys, host, max_message=offer.options.maxMessageBytes)
        self.mailbox.connect(COORDINATOR, offer.driver)
        self.store = BlockStore(offer.options.blockMemoryBytes, offer.options.blockDiskBytes)
        self.node: SlotNode | None = None
        self.body: SlotBody | None = None
        self._stopping = threading.Event()
        self._heard = time.monotonic()
        self._last_beat = 0.0

    def run(self) -> None:
        """Register, work until told to leave, clean up."""
        watch = None
        try:
            welcome = self._register()
            if welcome is None:
                return
            self.node = self._make_node(welcome)
            gc.collect()
            gc.freeze()  # what is loaded by now stays: collections need not look at it again
            gc.set_threshold(*COLLECT)
            watch = threading.Thread(target=self._watch, name="millstream-watch", daemon=True)
            watch.start()
            self._loop(self.node)
        finally:
            self._stopping.set()
            if watch is not None:
                watch.join()
            self.mailbox.close(linger=0.2)
            self.store.close()
            if self.body is not None:
                self.body.close()

    def _register(self) -> Welcome | None:
        """Say hello until the driver answers; None if it does not want this slot."""
        nonce = secrets.randbits(62)
        hello = Hello(nonce, self.mailbox.address, socket.gethostname(), os.getpid(), tuple(_plans))
        deadline, next_hello = time.monotonic() + DRIVER_TIMEOUT, 0.0
        while time.monotonic() < deadline:
            if time.monotonic() >= next_hello:
                self.mailbox.send(COORDINATOR, Envelope(-nonce, -1, 0, -1, (hello,)))
                next_hello = time.monotonic() + 0.2
            for envelope in self.mailbox.receive(0.05)[0]:
                for message in envelope.messages:
                    if isinstance(message, Stop):
                        return None
                    if isinstance(message, Welcome):
                        return message
        return None

    def _make_node(self, welcome: Welcome) -> SlotNode:
        options = self.offer.options
        if welcome.code is not None:
            try:
                while len(_plans) >= MOST_PLANS:
                    del _plans[next(iter(_plans))]
                _plans[welcome.plan] = Plan.load(welcome.code)
            except Exception as error:
                reason = f"the query's code can't be loaded on {socket.gethostname()}: {type(error).__name__}: {error}"
                self.mailbox.send(COORDINATOR, Envelope(welcome.slot, -1, 0, -1, (Refused(reason),)))
                raise
        plan = _plans[welcome.plan]
        scheduler = LocalScheduler(
            welcome.slot, plan.graph, in_flight=options.epochsInFlight, inline_limit=options.inlineBytes
        )
        resend_after = options.heartbeat * options.missedHeartbeats
        self.body = SlotBody(plan, self.store, self.mailbox)
        return SlotNode(scheduler, Courier(welcome.slot, resend_after=resend_after), self.body)

    def _watch(self) -> None:
        """Send heartbeats while the loop is held up: a long task is no death.

        Waking is most of what an idle slot costs, so this thread wakes seldom, and only looks.
        """
        assert self.node is not None
        every = self.offer.options.heartbeat
        driver = self.mailbox.outbox(self.offer.driver)
        try:
            while not self._stopping.wait(max(every / 2, self._last_beat + PATIENCE * every - time.monotonic())):
                if time.monotonic() - self._last_beat >= PATIENCE * every:
                    self._last_beat = time.monotonic() - (PATIENCE - 1) * every
                    try:
                        driver.send(encode(self.node.beat()), zmq.NOBLOCK)
                    except zmq.Again:
                        log.debug("the driver does not take heartbeats")
        finally:
            driver.close(linger=0)

    def _beat(self, node: SlotNode) -> None:
        """A heartbeat, if it is time for one."""
        now = time.monotonic()
        if now - self._last_beat >= self.offer.options.heartbeat:
            self._last_beat = now
            self.mailbox.send(COORDINATOR, node.beat())

    def _wait_at_most(self, node: SlotNode, next_tick: float) -> float:
        """Seconds until something is due even if nothing arrives."""
        if node.ready:
            return 0.0
        next_beat = self._last_beat + self.offer.options.heartbeat - time.monotonic()
        return min(next_beat, min(next_tick, node.scheduler.clock.next_close) - time.time())

    def _loop(self, node: SlotNode) -> None:
        next_tick = 0.0
        settle = min(SETTLE, self.offer.options.interval / 40)
        while not node.leaving:
            envelopes, _ = self.mailbox.receive(self._wait_at_most(node, next_tick))
            now = time.time()
            for envelope in envelopes:
                if envelope.sender == COORDINATOR:
                    self._heard = time.monotonic()
                    if any(isinstance(message, Welcome) for message in envelope.messages):
                        continue  # the answer to a hello that was said twice
                node.receive(envelope, now)
            node.clock(now)
            flush_at = time.perf_counter() + (FLUSH_BEHIND if node.scheduler.behind else FLUSH_AFTER)
            while node.work():
                if time.perf_counter() > flush_at:
                    break
            posted = node.flush(now)
            self._post(node, posted)
            self._beat(node)
            if posted and not node.ready and not node.scheduler.behind:
                time.sleep(settle)
            if now >= next_tick:
                next_tick = now + TICK
                self._post(node, node.tick(now))
                if time.monotonic() - self._heard > DRIVER_TIMEOUT:
                    log.warning("slot %d leaves: the driver is silent", node.scheduler.slot)
                    return

    def _post(self, node: SlotNode, posted: Posted) -> None:
        for to, envelope in posted:
            if not self.mailbox.knows(to):
                address = node.scheduler.members.get(to)
                if address is None:
                    continue
                self.mailbox.connect(to, address)
            try:
                self.mailbox.send(to, envelope)
            except Oversized as error:
                failure = node.courier.aside(_failure(envelope, error))  # what is in order would wait for it forever
                self.mailbox.send(COORDINATOR, failure)


def _failure(envelope: Envelope, error: Oversized) -> TaskFailed:
    """Name the task whose blocks do not fit into a message."""
    task = next((m for m in envelope.messages if hasattr(m, "epoch")), None)
    stage, partition, epoch = (task.stage, task.partition, task.epoch) if task is not None else (0, 0, -1)
    return TaskFailed(stage, partition, epoch, str(error))


def _host_towards(address: str) -> str:
    """The address of the interface through which the driver is reached."""
    host, port = Address.parse(address).tcp.removeprefix("tcp://").rsplit(":", 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, int(port)))
        return str(probe.getsockname()[0])


def slot_task(offer: Offer) -> Any:
    """The function of the Spark task that becomes a slot."""

    def run(rows: Iterator[Any]) -> Iterator[Any]:
        deque(rows, maxlen=0)  # Spark gives a worker that has read its input to the next task
        Slot(offer).run()
        return iter(())

    return run
