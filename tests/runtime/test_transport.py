"""Mailboxes against friends, strangers and enemies, on real sockets."""

import socket

import pytest
import zmq

from millstream.core.courier import Envelope
from millstream.core.messages import Beat, Result
from millstream.runtime.transport import Address, Keys, Mailbox, Oversized

HELLO = Envelope(1, 1, 0, 0, (Beat(1, 2),))


@pytest.fixture
def keys():
    return Keys.new()


@pytest.fixture
def mailbox(keys):
    box = Mailbox(keys, "127.0.0.1", max_message=10_000)
    yield box
    box.close()


@pytest.fixture
def friend(keys, mailbox):
    box = Mailbox(keys, "127.0.0.1", max_message=10_000)
    box.connect(7, mailbox.address)
    yield box
    box.close()


def take(mailbox, turns=40):
    got = []
    for _ in range(turns):
        got += mailbox.receive(0.05)[0]
        if got:
            break
    return got


def proves_alive(mailbox, friend):
    friend.send(7, HELLO)
    assert take(mailbox) == [HELLO]


def test_a_member_is_heard(mailbox, friend):
    proves_alive(mailbox, friend)


def test_a_peer_with_other_keys_is_refused(mailbox, friend, keys):
    stranger = Mailbox(Keys.new(), "127.0.0.1")
    stranger.keys = stranger.keys._replace(server_public=keys.server_public)
    stranger.connect(7, mailbox.address)
    stranger.send(7, HELLO)
    assert take(mailbox, turns=10) == []
    stranger.close()
    assert mailbox.refused > 0
    proves_alive(mailbox, friend)


def test_a_peer_without_keys_is_not_heard(mailbox, friend):
    with zmq.Context() as context, context.socket(zmq.PUSH) as plain:
        plain.linger = 0
        for endpoint in (Address.parse(mailbox.address).tcp, Address.parse(mailbox.address).local):
            plain.connect(endpoint)
            plain.send(b"hello")
        assert take(mailbox, turns=10) == []
    proves_alive(mailbox, friend)


@pytest.mark.parametrize("data", [b"", b"GET / HTTP/1.1\r\n\r\n", b"\x00" * 4096, bytes(range(256)) * 16])
def test_a_port_scanner_harms_nothing(mailbox, friend, data):
    host, port = Address.parse(mailbox.address).tcp.removeprefix("tcp://").split(":")
    for _ in range(5):
        with socket.create_connection((host, int(port))) as scanner:
            scanner.sendall(data)
    assert take(mailbox, turns=5) == []
    proves_alive(mailbox, friend)


def test_garbage_from_a_member_is_dropped_and_counted(mailbox, friend):
    outbox = friend.outbox(mailbox.address)
    outbox.send(b"not an envelope")
    for _ in range(40):
        mailbox.receive(0.05)
        if mailbox.malformed:
            break
    outbox.close()
    assert mailbox.malformed == 1
    proves_alive(mailbox, friend)


def test_an_oversized_message_is_refused_at_both_ends(mailbox, friend):
    big = Envelope(1, 1, 0, 0, (Result(0, 0, 0, b"x" * 20_000, None, ()),))
    with pytest.raises(Oversized, match="maxMessageBytes"):
        friend.send(7, big)
    friend.max_message = 1 << 20
    friend.send(7, big)
    assert take(mailbox, turns=10) == []
    proves_alive(mailbox, friend)


def test_peers_on_one_machine_take_the_local_way_and_others_tcp(mailbox):
    address = Address.parse(mailbox.address)
    assert address.nearest == address.local
    assert address._replace(machine="elsewhere").nearest == address.tcp


def test_a_member_from_another_machine_is_heard(mailbox, friend):
    friend.connect(8, str(Address.parse(mailbox.address)._replace(machine="elsewhere")))
    friend.send(8, HELLO)
    assert take(mailbox) == [HELLO]


def test_a_closed_connection_is_noticed(keys):
    driver = Mailbox(keys, "127.0.0.1", watch=True)
    slot = Mailbox(keys, "127.0.0.1")
    driver.connect(3, slot.address)
    driver.send(3, HELLO)
    assert take(slot) == [HELLO]
    slot.close()
    closed = []
    for _ in range(40):
        closed += driver.receive(0.05)[1]
        if closed:
            break
    driver.close()
    assert closed == [3]
