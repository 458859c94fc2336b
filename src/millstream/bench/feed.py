"""Generated lines over TCP at the instants of their schedule, for an engine whose quickest source is a socket."""

from __future__ import annotations

import multiprocessing
import socket
import time
from collections.abc import Mapping
from typing import Any

from millstream.io.source import PartitionedSource

EVERY = 0.001
"""Seconds between two looks at what is due."""
LINGER = 30.0
"""Seconds that a connection stays open after the last line, since its end would end the query."""


class Feed:
    """A process that serves one connection; use it in a `with` block."""

    def __init__(self, source: type[Any], options: Mapping[str, Any]) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        context = multiprocessing.get_context("fork")
        self._process = context.Process(target=_serve, args=(self._listener, source(options)), daemon=True)

    def __enter__(self) -> Feed:
        self._process.start()
        self._listener.close()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.join()


def _serve(listener: socket.socket, source: PartitionedSource) -> None:
    count = source.partitions(1)
    readers = [source.reader(p, count) for p in range(count)]
    offsets = [reader.initial() for reader in readers]
    connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    idle_since = time.monotonic()
    with connection:
        while time.monotonic() - idle_since < LINGER:
            for i, reader in enumerate(readers):
                end = reader.latest(offsets[i], time.time())
                if end != offsets[i]:
                    rows = reader.read(offsets[i], end).stream
                    try:
                        connection.sendall("".join([f"{line}\n" for (line,) in rows]).encode())
                    except ConnectionError:
                        return  # the query has been stopped
                    offsets[i] = end
                    idle_since = time.monotonic()
            time.sleep(EVERY)
