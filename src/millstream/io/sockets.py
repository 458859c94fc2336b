"""Spark's `socket` source: lines of text from a server. Nothing is replayable beyond what one reader still holds."""

from __future__ import annotations

import codecs
import socket
import threading
import time
from collections import deque
from collections.abc import Mapping
from itertools import islice
from typing import Any

from pyspark.sql.types import StructType

from millstream.errors import MillstreamError
from millstream.io.options import Given
from millstream.kernels.batch import Batch

MAX_ROWS = 65_536
WAITING = 1 << 18
"""Lines that may wait; then the server has to."""
KEPT = 1 << 12
"""Lines that stay, once read, for the same slot to read again."""
PATIENCE = 10.0
"""Seconds to wait for the server to accept."""


class SocketSource:
    """One partition; an offset counts lines."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        given = Given("socket", options)
        given.check_supported(("host", "port", "includeTimestamp"))
        self.host = given.required("host")
        given.required("port")
        self.port = given.whole("port", 0, least=1)
        self.stamped = given.flag("includeTimestamp", False)
        self.schema = StructType().add("value", "string")
        if self.stamped:
            self.schema = self.schema.add("timestamp", "timestamp")
        self.name = f"TextSocketV2[host: {self.host}, port: {self.port}]"

    def partitions(self, slots: int) -> int:
        """A server is asked by one."""
        return 1

    def reader(self, partition: int, partitions: int) -> SocketReader:
        """The one connection."""
        return SocketReader(self)


class SocketReader:
    """Receives in a thread of its own; lines before `_base` are gone."""

    def __init__(self, source: SocketSource) -> None:
        self.more = False
        self._source = source
        self._lines: deque[tuple[Any, ...]] = deque()
        self._base: int | None = None
        self._read = 0
        self._limit: int | None = None
        self._changed = threading.Condition()
        self._closed = False
        try:
            self._socket = socket.create_connection((source.host, source.port), PATIENCE)
        except OSError as error:
            raise MillstreamError(
                f"no server answers at {source.host}:{source.port} ({error}): start it before the query, "
                f"for example with `nc -lk {source.port}`"
            ) from error
        self._socket.settimeout(None)
        threading.Thread(target=self._receive, name="millstream-socket", daemon=True).start()

    def initial(self) -> int:
        """Before the first line."""
        return 0

    def latest(self, start: int, now: float) -> int:
        """What has come by now, up to a limit."""
        with self._changed:
            there = self._there(start)
            end = max(start, min(there, start + MAX_ROWS))
            self.more = there > end
            return end

    def freeze(self, start: int, now: float) -> None:
        """The lines that have come are all that there ever are."""
        with self._changed:
            self._limit = self._there(start)

    def read(self, start: int, end: int) -> Batch:
        """Lines that are still held."""
        with self._changed:
            self._there(start)
            assert self._base is not None
            if start < self._base:
                raise MillstreamError(
                    "lines from a socket were lost with the slot that had received them, and can't be read again: "
                    "use a replayable source such as files or Kafka where that matters"
                )
            first = start - self._base
            rows = list(islice(self._lines, first, first + end - start))
            self._read = max(self._read, end)
            while self._base < self._read - KEPT:
                self._lines.popleft()
                self._base += 1
            self._changed.notify()
        return Batch.of_rows(self._source.schema, rows)

    def close(self) -> None:
        """Hang up."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._socket.close()

    def _there(self, start: int) -> int:
        """How far the lines reach; a new connection's first line is the one that is asked for first."""
        if self._base is None:
            self._base = self._read = start
        there = self._base + len(self._lines)
        return there if self._limit is None else min(there, self._limit)

    def _receive(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        rest = ""
        while data := self._next():
            text = rest + decoder.decode(data)
            held = text.endswith("\r")  # the other half of its line end may follow
            parts = text.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n").split("\n")
            rest = parts.pop() + ("\r" if held else "")
            self._put(parts)
        if last := rest + decoder.decode(b"", final=True):
            self._put([last.removesuffix("\r")])

    def _next(self) -> bytes:
        try:
            return self._socket.recv(1 << 16)
        except OSError:
            return b""

    def _put(self, lines: list[str]) -> None:
        stamp = int(time.time() * 1000) * 1000
        rows = [(line, stamp) if self._source.stamped else (line,) for line in lines]
        with self._changed:
            self._lines.extend(rows)
            while not self._closed and len(self._lines) > WAITING + KEPT:
                self._changed.wait()
