"""Files as a sink: slots write part files, the driver's commit log says which of them count.

A part file's name says its partition and epoch, so what is written again after a failure replaces itself.
"""

from __future__ import annotations

import json
import os
import re
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import ArrayType, MapType, StringType, StructType

from millstream.errors import InvalidOption
from millstream.io.commitlog import CommitLog, entry
from millstream.io.discovery import local_path
from millstream.io.sink import SlotSinkFactory
from millstream.kernels.batch import Batch, rows_of
from millstream.kernels.functions.casting import Casting
from millstream.kernels.functions.conversions import converter

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_UNSAFE = re.compile(r"[\x01-\x1f\"#%'*/:=?\\\x7f{\[\]^]")


class FileWriter(Protocol):
    """How rows become the bytes of a file. It travels to the slots."""

    @property
    def suffix(self) -> str:
        """How the files' names end."""

    def write(self, batch: Batch, path: str) -> None:
        """Write one file."""


@dataclass(frozen=True)
class PartFiles:
    """Makes the slots' halves."""

    folder: str
    run: str
    schema: StructType
    writer: FileWriter
    by: tuple[str, ...]
    zone: str
    java: int

    def __call__(self, partition: int) -> PartFilesSlot:
        """The half of one partition."""
        return PartFilesSlot(self, partition)


class PartFilesSlot:
    """Writes a file for each epoch, or one for each folder of the partitioning."""

    def __init__(self, parts: PartFiles, partition: int) -> None:
        self._parts = parts
        self._partition = partition
        self._data = StructType([f for f in parts.schema if f.name not in parts.by])
        self._text = [_text_of(parts.schema[name].dataType, parts) for name in parts.by]

    def write(self, epoch: int, batch: Batch) -> bytes | None:
        """The files' entries for the log go to the driver."""
        parts = self._parts
        name = f"part-{self._partition:05d}-{parts.run}-{epoch:08d}.c000{parts.writer.suffix}"
        folders = self._folders(batch) if parts.by else {"": batch}
        return json.dumps([self._file(Path(parts.folder) / f / name, b) for f, b in sorted(folders.items())]).encode()

    def close(self) -> None:
        """No file stays open."""

    def _file(self, path: Path, batch: Batch) -> str:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
        try:
            self._parts.writer.write(batch, str(temporary))
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        found = path.stat()
        return entry(str(path), found.st_size, found.st_mtime_ns // 1_000_000)

    def _folders(self, batch: Batch) -> dict[str, Batch]:
        """The rows of each folder, without the columns that its name says."""
        table, by = batch.arrow, self._parts.by
        keys = rows_of(table.select(list(by)))
        names = {key: self._folder(key) for key in dict.fromkeys(keys)}
        codes = pa.array([names[key] for key in keys]).dictionary_encode()
        data = table.select(self._data.names)
        return {
            str(name): Batch.of_arrow(self._data, data.filter(pc.equal(codes.indices, i)))
            for i, name in enumerate(codes.dictionary.to_pylist())
        }

    def _folder(self, key: Sequence[Any]) -> str:
        return "/".join(f"{escaped(n)}={escaped(t(v) or NO_VALUE)}" for n, t, v in zip(self._parts.by, self._text, key))


def _text_of(kind: Any, parts: PartFiles) -> Callable[[Any], str | None]:
    cast = converter(Casting(kind, StringType(), "ANSI", parts.zone, parts.java)) if kind != StringType() else str
    return lambda value: None if value is None else cast(value)


def escaped(text: str) -> str:
    """A name or value as it stands in a folder's name.

    >>> escaped("a/b=c d")
    'a%2Fb%3Dc d'
    """
    return _UNSAFE.sub(lambda found: f"%{ord(found.group()):02X}", text)


class FileSink:
    """The driver's half: files count from the moment at which their epoch is committed."""

    modes = frozenset({"append"})

    def __init__(self, spark: Any, schema: StructType, writer: FileWriter, path: str, by: Sequence[str]) -> None:
        for name in by:
            if name not in schema.names:
                raise InvalidOption(f"partitionBy: there is no column {name!r}; columns are {', '.join(schema.names)}")
            if isinstance(schema[name].dataType, (ArrayType, MapType, StructType)):
                raise InvalidOption(f"partitionBy: {name!r} is of type {schema[name].dataType.simpleString()}")
        if len(by) == len(schema):
            raise InvalidOption("partitionBy names all columns: at least one must be left for the files")
        folder = local_path(path)
        zone = spark.conf.get("spark.sql.session.timeZone")
        self.name = f"FileSink[{folder}]"
        java = int(spark._jvm.java.lang.Runtime.version().feature())  # numbers look different from 19 on
        self._parts = PartFiles(folder, str(uuid.uuid4()), schema, writer, tuple(by), zone, java)
        self._log = CommitLog(Path(folder))
        self._log.folder.mkdir(parents=True, exist_ok=True)
        self._waiting: dict[int, list[str]] = {}

    def slot_half(self) -> SlotSinkFactory:
        return self._parts

    def take(self, partition: int, epoch: int, payload: bytes) -> None:
        self._waiting.setdefault(epoch, []).extend(json.loads(payload))

    def commit(self, epoch: int) -> None:
        ready = sorted(e for e in self._waiting if e <= epoch)
        entries = [line for e in ready for line in self._waiting.pop(e)]
        if entries:
            self._log.append(entries)

    def close(self) -> None:
        """Files of epochs that were not committed stay, and nobody counts them."""
