"""The memory sink: rows stay at the driver, and `spark.table(name)` shows those that are there when it is read.

The table is a PySpark Python Data Source. Its reader asks the driver for the rows over a connection
that both ends authenticate by a key which is made for each table.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from millstream.errors import InvalidOption
from millstream.io.collected import HandOver
from millstream.io.sink import ALL_MODES, SlotSinkFactory
from millstream.kernels.batch import Batch

FORMAT = "millstream-memory"
PIECE = 65_536
"""Rows in one message to a reader."""


class MemoryTable:
    """The rows, and the door at which readers ask for them."""

    def __init__(self, schema: StructType, complete: bool, host: str) -> None:
        self.schema = schema
        self.token = secrets.token_hex(32)
        self._complete = complete
        self._lock = threading.Lock()
        self._parts: dict[int, bytes] = {}
        self._new: list[bytes] = []
        self._rows: list[Batch] = []
        self._listener = Listener((host, 0), backlog=64, authkey=self.token.encode())
        self.address: tuple[str, int] = self._listener.address
        threading.Thread(target=self._serve, name="millstream-memory", daemon=True).start()

    def put(self, partition: int, payload: bytes) -> None:
        """Add a partition's rows, or replace them in output mode `complete`."""
        with self._lock:
            if self._complete:
                self._parts[partition] = payload
            else:
                self._new.append(payload)

    def batch(self) -> Batch:
        """All rows that are there now."""
        with self._lock:
            payloads = [self._parts[p] for p in sorted(self._parts)] if self._complete else self._new
            batch = Batch.concat(self.schema, self._rows + [Batch.from_bytes(self.schema, p) for p in payloads])
            if not self._complete:
                self._rows, self._new = [Batch.of_arrow(self.schema, batch.arrow)], []
            return batch

    def close(self) -> None:
        """Forget the rows; a reader that comes now is refused."""
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                connection = self._listener.accept()
            except (AuthenticationError, EOFError, ConnectionError):
                continue
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: Connection) -> None:
        with connection, suppress(ConnectionError):
            table = self.batch().arrow
            for first in range(0, table.num_rows, PIECE):
                piece = pa.BufferOutputStream()
                with pa.ipc.new_stream(piece, table.schema) as writer:
                    writer.write_table(table.slice(first, PIECE))
                connection.send_bytes(memoryview(piece.getvalue()))
            connection.send_bytes(b"")


class MemorySink:
    """The driver's half: rows are in the table as soon as they are at the driver."""

    name = "MemorySink"
    modes = ALL_MODES
    tables: dict[str, MemoryTable] = {}
    """By the names of their views; a table outlives its query, until another takes its name."""

    def __init__(self, spark: Any, schema: StructType, mode: str, query: str | None) -> None:
        if not query:
            raise InvalidOption("the memory sink needs a name for its table: add .queryName('...')")
        twice = {name for name in schema.names if schema.names.count(name) > 1}
        if twice:
            raise InvalidOption(f"a table can't have two columns of one name ({', '.join(sorted(twice))}): rename one")
        self.table = MemoryTable(schema, mode == "complete", spark.conf.get("spark.driver.host"))
        old, self.tables[query] = self.tables.get(query), self.table
        if old is not None:
            old.close()
        if not spark._jsparkSession.sessionState().dataSourceManager().dataSourceExists(FORMAT):
            spark.dataSource.register(MemoryDataSource)
        host, port = self.table.address
        reader = spark.read.format(FORMAT).schema(schema).options(host=host, port=port, token=self.table.token)
        reader.load().createOrReplaceTempView(query)

    def slot_half(self) -> SlotSinkFactory:
        return HandOver

    def take(self, partition: int, epoch: int, payload: bytes) -> None:
        self.table.put(partition, payload)

    def commit(self, epoch: int) -> None:
        """What is taken is there already."""

    def close(self) -> None:
        """The table stays readable, as Spark's does."""


class MemoryDataSource(DataSource):
    """What Spark reads the view from."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def reader(self, schema: StructType) -> MemoryReader:
        return MemoryReader(dict(self.options))


class MemoryReader(DataSourceReader):
    """Fetches the rows when a job runs, not before."""

    def __init__(self, options: dict[str, str]) -> None:
        self.options = options

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Every message is a whole Arrow stream; an empty one says that there are no more."""
        options = self.options
        address = (options["host"], int(options["port"]))
        with Client(address, authkey=options["token"].encode()) as connection:
            while piece := connection.recv_bytes():
                yield from pa.ipc.open_stream(piece)
