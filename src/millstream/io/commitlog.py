"""The commit log of a file sink, in Spark's own format: its readers see just the files that it names."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

from millstream.errors import MillstreamError

FOLDER = "_spark_metadata"
VERSION = "v1"
COMPACT_EVERY = 10
"""As Spark by default: every so many batches, one file says all that those before it say."""


class CommitLog:
    """Batches of entries, numbered without gaps; each `<number>` or, with all before it, `<number>.compact`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / FOLDER

    def entries(self) -> list[str]:
        """All files that are committed, one line of JSON each."""
        batches = self._batches()
        if not batches:
            return []
        latest = max(batches)
        start = max((n for n, path in batches.items() if path.suffix), default=0)
        missing = [n for n in range(start, latest + 1) if n not in batches]
        if missing:
            raise MillstreamError(f"{self.folder} has no batch {missing[0]}: restore it, or write to another folder")
        return [line for n in range(start, latest + 1) for line in _lines(batches[n])]

    def append(self, entries: list[str]) -> None:
        """Commit files."""
        self.folder.mkdir(parents=True, exist_ok=True)
        number = max(self._batches(), default=-1) + 1
        name = str(number)
        if (number + 1) % COMPACT_EVERY == 0:
            entries, name = self.entries() + entries, f"{number}.compact"
        temporary = self.folder / f".{name}.{os.getpid()}.tmp"
        temporary.write_text("\n".join([VERSION, *entries]))
        temporary.replace(self.folder / name)

    def _batches(self) -> dict[int, Path]:
        """The batches that are there; a number's compact file stands for both."""
        found: dict[int, Path] = {}
        for path in self.folder.iterdir() if self.folder.is_dir() else ():
            if path.stem.isdigit() and path.suffix in ("", ".compact") and (path.suffix or int(path.stem) not in found):
                found[int(path.stem)] = path
        return found


def _lines(path: Path) -> Iterator[str]:
    version, *lines = path.read_text().splitlines()
    if version != VERSION:
        raise MillstreamError(f"{path} is a log of version {version!r}, and only {VERSION} is known")
    return iter(lines)


def entry(path: str, size: int, time_ms: int) -> str:
    """The line that commits a file."""
    return json.dumps(
        {
            "path": Path(path).as_uri(),
            "size": size,
            "isDir": False,
            "modificationTime": time_ms,
            "blockReplication": 1,
            "blockSize": 33554432,
            "action": "add",
        },
        separators=(",", ":"),
    )
