import socket
import threading
import time

import pytest

from millstream.errors import MillstreamError
from millstream.io import sockets
from millstream.io.registry import find_source


def serve(*pieces, port=0):
    """A server that sends pieces, pausing a little between them."""
    server = socket.create_server(("127.0.0.1", port))

    def run():
        connection, _ = server.accept()
        with connection, server:
            for piece in pieces:
                connection.sendall(piece)
                time.sleep(0.02)

    threading.Thread(target=run, daemon=True).start()
    return {"host": "127.0.0.1", "port": str(server.getsockname()[1])}


def all_lines(reader, count):
    at, rows = reader.initial(), []
    while len(rows) < count:
        end = reader.latest(at, 0.0)
        rows += reader.read(at, end).rows
        at = end
        time.sleep(0.001)
    return rows


def test_lines_come_as_they_are_sent():
    options = serve(b"one\ntw", b"o\r", b"\nthree\rgr\xc3", b"\xbc\xc3\x9f\n\n", b"last")
    source = find_source("socket", options, None)
    assert source.partitions(8) == 1
    reader = source.reader(0, 1)
    assert all_lines(reader, 6) == [("one",), ("two",), ("three",), ("gr\u00fc\u00df",), ("",), ("last",)]
    assert reader.read(2, 4).rows == [("three",), ("gr\u00fc\u00df",)]
    reader.close()


def test_timestamps():
    before = time.time()
    source = find_source("socket", serve(b"x\n") | {"includeTimestamp": "true"}, None)
    reader = source.reader(0, 1)
    ((value, stamp),) = all_lines(reader, 1)
    reader.close()
    assert source.schema.names == ["value", "timestamp"]
    assert value == "x"
    assert int(before * 1000) * 1000 <= stamp <= time.time() * 1e6


def test_another_reader_goes_on_with_the_same_numbers_and_says_what_is_lost():
    reader = find_source("socket", serve(b"a\nb\n"), None).reader(0, 1)
    at = 10
    while (end := reader.latest(at, 0.0)) < 12:
        time.sleep(0.001)
    assert reader.read(10, end).rows == [("a",), ("b",)]
    with pytest.raises(MillstreamError, match="can't be read again"):
        reader.read(9, 10)
    reader.close()


def test_the_server_waits_while_too_much_is_unread(monkeypatch):
    monkeypatch.setattr(sockets, "WAITING", 10)
    monkeypatch.setattr(sockets, "KEPT", 5)
    reader = find_source("socket", serve(b"x\n" * 400_000), None).reader(0, 1)
    time.sleep(0.1)
    assert len(reader._lines) < 100_000
    assert len(all_lines(reader, 400_000)) == 400_000
    assert len(reader._lines) <= 5
    reader.close()


def test_no_server():
    options = serve(b"")
    socket.create_connection((options["host"], int(options["port"]))).close()
    time.sleep(0.1)
    with pytest.raises(MillstreamError, match="nc -lk"):
        find_source("socket", options, None).reader(0, 1)
