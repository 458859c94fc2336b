"""Reliable, ordered delivery between slots and the coordinator, over a network that promises neither.

Messages for one destination gather in an outbox and leave together in one envelope: at low load
that is one message at once, at high load many for the price of one. Envelopes are numbered,
acknowledged by traffic in the other direction, and sent again when no acknowledgement comes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

ASIDE = -1


class Envelope(NamedTuple):
    """What travels: numbered if it carries messages, otherwise only an acknowledgement."""

    sender: int
    seq: int
    """1, 2, 3, ...; 0 when there are no messages; `ASIDE` for messages that may be lost."""
    ack: int
    frontier: int
    """The sender has finished all its tasks up to this epoch."""
    messages: tuple[Any, ...]


class Link:
    """The two directions between this node and one other."""

    __slots__ = ("acked_at", "frontier_told", "outbox", "quiet", "received", "reported", "sent", "unacked")

    def __init__(self) -> None:
        self.outbox: list[Any] = []
        self.sent = 0
        self.received = 0
        self.reported = 0
        self.frontier_told: int | None = None
        self.quiet = False
        """Nothing was sent since the last tick."""
        self.unacked: deque[tuple[int, tuple[Any, ...]]] = deque()
        self.acked_at = 0.0


class Courier:
    """All links of one node.

    >>> alice, bob = Courier(1), Courier(2)
    >>> alice.post(2, "hello")
    >>> [(to, envelope)] = alice.flush(now=0.0)
    >>> bob.accept(envelope, now=0.0), bob.accept(envelope, now=0.0)
    (('hello',), ())
    """

    RESEND_AT_ONCE = 32

    def __init__(self, me: int, *, resend_after: float = 0.5) -> None:
        self.me = me
        self.frontier = -1
        self.resend_after = resend_after
        self.resent = 0
        self.messages_out = 0
        self.messages_in = 0
        """Messages without heartbeats and repetitions."""
        self._links: dict[int, Link] = {}
        self._closed: set[int] = set()
        self._posted: dict[int, None] = {}

    def post(self, to: int, message: Any) -> None:
        """Put a message for `to` into its outbox; it leaves with the next flush."""
        if to in self._closed:
            return
        self._link(to).outbox.append(message)
        self._posted[to] = None

    def flush(self, now: float) -> list[tuple[int, Envelope]]:
        """One envelope for each destination with something in its outbox."""
        if not self._posted:
            return []
        envelopes = []
        for to in self._posted:
            link = self._links[to]
            if not link.unacked:
                link.acked_at = now
            link.sent += 1
            messages = tuple(link.outbox)
            link.outbox.clear()
            self.messages_out += len(messages)
            link.unacked.append((link.sent, messages))
            envelopes.append((to, self._seal(link, link.sent, messages)))
        self._posted.clear()
        return envelopes

    def accept(self, envelope: Envelope, now: float) -> tuple[Any, ...]:
        """The messages of an envelope, if it is the next from its sender; otherwise none."""
        if envelope.sender in self._closed:
            return ()
        if envelope.seq == ASIDE:
            return envelope.messages
        link = self._link(envelope.sender)
        unacked = link.unacked
        if unacked and unacked[0][0] <= envelope.ack:
            while unacked and unacked[0][0] <= envelope.ack:
                unacked.popleft()
            link.acked_at = now
        if envelope.seq == link.received + 1:
            link.received = envelope.seq
            self.messages_in += len(envelope.messages)
            return envelope.messages
        if envelope.seq:
            link.reported = -1  # it was sent twice, or one before it is missing: say what arrived
            link.quiet = True
        return ()

    def aside(self, message: Any) -> Envelope:
        """An envelope outside the order of the link: a heartbeat, a word to a stranger."""
        return Envelope(self.me, ASIDE, 0, self.frontier, (message,))

    def nudge(self, to: int) -> tuple[int, Envelope]:
        """An envelope without messages, for its acknowledgement and frontier."""
        return to, self._seal(self._link(to), 0, ())

    def lagging(self, peers: Iterator[int] | frozenset[int], by: int) -> list[int]:
        """The peers whose last word of our frontier is older than `by` epochs."""
        told = []
        for peer in peers:
            last = self._link(peer).frontier_told
            if peer != self.me and peer not in self._closed and (last is None or not 0 <= self.frontier - last < by):
                told.append(peer)
        return told

    def tick(self, now: float, watchers: frozenset[int] = frozenset()) -> list[tuple[int, Envelope]]:
        """Envelopes to send again, and words that found nothing to travel with.

        Those are acknowledgements, and our frontier for the peers that pace themselves by it: the
        last one may have been lost.
        """
        envelopes = []
        for to, link in self._links.items():
            if link.unacked and now - link.acked_at >= self.resend_after:
                link.acked_at = now
                for seq, messages in list(link.unacked)[: self.RESEND_AT_ONCE]:
                    self.resent += 1
                    envelopes.append((to, self._seal(link, seq, messages)))
            elif link.quiet and (link.reported != link.received or to in watchers):
                envelopes.append((to, self._seal(link, 0, ())))
            link.quiet = True
        return envelopes

    def close(self, peer: int) -> None:
        """Forget a peer for ever: nothing goes to it, nothing from it is accepted."""
        self._links.pop(peer, None)
        self._posted.pop(peer, None)
        self._closed.add(peer)

    def is_closed(self, peer: int) -> bool:
        return peer in self._closed

    def unacknowledged(self, peer: int) -> int:
        """How many envelopes a peer has not acknowledged yet."""
        return len(self._link(peer).unacked)

    def _link(self, peer: int) -> Link:
        link = self._links.get(peer)
        if link is None:
            link = self._links[peer] = Link()
        return link

    def _seal(self, link: Link, seq: int, messages: tuple[Any, ...]) -> Envelope:
        link.reported = link.received
        link.frontier_told = self.frontier
        link.quiet = False
        return Envelope(self.me, seq, link.received, self.frontier, messages)
