"""Envelopes as bytes: MessagePack, each message with a number for its type. Nothing is unpickled here."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from millstream.core import messages as m
from millstream.core.courier import Envelope


class Hello(NamedTuple):
    """A slot has started on some machine and asks to be taken in."""

    nonce: int
    address: str
    host: str
    pid: int
    cached: tuple[str, ...]
    """Hashes of the plans that its process already holds."""


class Welcome(NamedTuple):
    """The slot's number, and the plan unless the process holds it."""

    slot: int
    plan: str
    code: bytes | None


class Refused(NamedTuple):
    """A slot can't take part."""

    reason: str


MESSAGES: tuple[type, ...] = (
    m.Output, m.Fetch, m.Handoff, m.Dispatch, m.Fence, m.Restart, m.Stop, m.Report, m.Known, m.Result, m.TaskFailed,
    m.Beat, Hello, Welcome, Refused,
)  # fmt: skip

_numbers = {kind: number for number, kind in enumerate(MESSAGES)}
_decoders: list[msgspec.msgpack.Decoder[Any]] = [msgspec.msgpack.Decoder(kind) for kind in MESSAGES]
_encode = msgspec.msgpack.Encoder().encode
_outer = msgspec.msgpack.Decoder(tuple[int, int, int, int, list[tuple[int, msgspec.Raw]]])


class Malformed(Exception):
    """These bytes are no envelope."""


def encode(envelope: Envelope) -> bytes:
    """An envelope as bytes."""
    sender, seq, ack, frontier, messages = envelope
    return _encode((sender, seq, ack, frontier, [(_numbers[type(message)], message) for message in messages]))


def decode(data: bytes) -> Envelope:
    """An envelope from bytes.

    >>> decode(encode(Envelope(1, 2, 3, 4, (m.Stop(),))))
    Envelope(sender=1, seq=2, ack=3, frontier=4, messages=(Stop(),))
    """
    try:
        sender, seq, ack, frontier, raw = _outer.decode(data)
        messages: tuple[Any, ...] = tuple([_decoders[number].decode(body) for number, body in raw])
    except (msgspec.DecodeError, msgspec.ValidationError, IndexError) as error:
        raise Malformed(str(error)) from error
    return Envelope(sender, seq, ack, frontier, messages)
