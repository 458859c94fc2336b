import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.core import messages as m
from millstream.core.courier import Envelope
from millstream.runtime.wire import MESSAGES, Hello, Malformed, Refused, Welcome, decode, encode

R = m.Range(0, 1, 7, None, 9)
GROUP = m.Group(3, 7, 10, 1.5, 0.02)
OUTPUT = m.Output(0, 1, 7, 1, 0, {0: b"inline", 3: 70_000}, 123, (R,))
SAMPLES = (
    OUTPUT,
    m.Fetch(0, 1, 7, 1, 0, (1, 2)),
    m.Handoff(0, 1, 7, {"any": "offset"}, None, b"state"),
    m.Dispatch(1, GROUP, 6, (1,), ((1, 2), (2,)), {1: "tcp://a"}, True, ((2, OUTPUT),)),
    m.Fence(2, (1,), ((0, 1),)),
    m.Restart(2, 6, ((0, 1),), ((0, ((1,),)),), (GROUP,), {1: "tcp://a"}, (R,), ((0, 1, "offset"),)),
    m.Stop(),
    m.Report(1, 3, None, (R,), None, 5, 6, 0.5, True, {"rows": 2}, (OUTPUT,)),
    m.Known(2, (R,)),
    m.Result(1, 0, 7, b"rows", 5, (R,)),
    m.TaskFailed(1, 0, 7, "Traceback"),
    m.Beat(7, 0),
    Hello(1 << 61, "tcp://a", "host", 1, ("hash",)),
    Welcome(1, "hash", b"code"),
    Refused("reason"),
)


def test_every_message_survives_the_wire():
    assert {type(sample) for sample in SAMPLES} == set(MESSAGES)
    envelope = Envelope(1, 2, 3, 4, SAMPLES)
    assert decode(encode(envelope)) == envelope
    assert [type(message) for message in decode(encode(envelope)).messages] == [type(s) for s in SAMPLES]


@given(st.binary(max_size=200))
def test_garbage_is_malformed_and_nothing_else(data):
    with pytest.raises(Malformed):
        decode(data)


@given(st.data())
def test_damaged_envelopes_never_raise_anything_else(data):
    good = bytearray(encode(Envelope(1, 2, 3, 4, (OUTPUT,))))
    for _ in range(data.draw(st.integers(1, 4))):
        good[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(Malformed):
        assert isinstance(decode(bytes(good)), Envelope)
