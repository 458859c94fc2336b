"""Which files of a directory or glob are new; listing costs little and is not done more often than it is worth."""

from __future__ import annotations

import fnmatch
import glob
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from millstream.io.commitlog import CommitLog
from millstream.io.options import Given, seconds
from millstream.plan.algebra import Unsupported

AT_MOST_EVERY = 0.010
SHARE = 0.05
"""Of the time that may go into listing."""
SETTLED = 1.0
"""A directory whose own time is older than that, and did not change, has nothing new."""


class File(NamedTuple):
    """A file as it was found; sorted by modification time, then name."""

    time: int
    path: str
    size: int


@dataclass(frozen=True)
class Where:
    """The place to look at, and which files there count."""

    pattern: str
    name_filter: str | None = None
    recursive: bool = False
    name_only: bool = False
    latest_first: bool = False
    max_age: float = 7 * 86400.0

    OPTIONS = ("path", "pathGlobFilter", "recursiveFileLookup", "fileNameOnly", "latestFirst", "maxFileAge")

    @staticmethod
    def of(given: Given) -> Where:
        """As the options say."""
        return Where(
            local_path(given.required("path")),
            given.get("pathGlobFilter"),
            given.flag("recursiveFileLookup", False),
            given.flag("fileNameOnly", False),
            given.flag("latestFirst", False),
            given.seconds("maxFileAge", seconds("7 days")),
        )


def local_path(path: str) -> str:
    """A path or `file:` URI as a path of this machine; other file systems are Spark's business.

    >>> local_path("file:///tmp/a%20b"), local_path("/tmp/x/*.json")
    ('/tmp/a b', '/tmp/x/*.json')
    """
    parts = urlsplit(path)
    if not parts.scheme:
        return str(Path(path).absolute())
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        raise Unsupported(path, "only files of the local file system are read natively")
    return unquote(parts.path)


class Discovery:
    """Finds each file once. What is known is kept by path, or by name if names alone count."""

    def __init__(self, where: Where) -> None:
        self.where = where
        self.newest = 0
        self._known: dict[str, int] = {}
        self._next = 0.0
        self._quiet: dict[str, int] = {}

    def know_up_to(self, file: File) -> None:
        """Take as known this file and all that come before it."""
        for found in list(self._listed()):
            if found <= file:
                self.know(found)
        self._quiet.clear()

    def know(self, file: File) -> None:
        """Don't find this file (again)."""
        self.newest = max(self.newest, file.time)
        self._known[self._key(file.path)] = file.time

    def new(self, now: float) -> list[File]:
        """The files that have appeared, in the order in which to read them; none if it was asked a moment ago."""
        if now < self._next:
            return []
        began = time.perf_counter()
        found = sorted(self._listed())
        self.newest = max([self.newest, *(file.time for file in found)])
        oldest = self.newest - int(self.where.max_age * 1e9)
        fresh = [file for file in found if file.time >= oldest]
        for file in fresh:
            self.know(file)
        if self.where.latest_first:
            fresh.reverse()
        if len(self._known) > 10_000:
            self._known = {key: at for key, at in self._known.items() if at >= oldest}
        self._next = now + max(AT_MOST_EVERY, (time.perf_counter() - began) / SHARE)
        return fresh

    def _key(self, path: str) -> str:
        return os.path.basename(path) if self.where.name_only else path

    def _listed(self) -> Iterator[File]:
        """All files that count and are not known."""
        pattern = self.where.pattern
        roots = sorted(glob.glob(pattern)) if glob.has_magic(pattern) else [pattern]
        for root in roots:
            committed = _committed(Path(root))
            if committed is not None:
                paths: Iterator[str] = iter(committed)
            elif os.path.isdir(root):
                paths = self._files(root)
            else:
                paths = iter([root])
            for path in paths:
                if self._key(path) in self._known or not self._wanted(path):
                    continue
                try:
                    found = os.stat(path)
                except FileNotFoundError:
                    continue  # it went away since the directory was read
                yield File(found.st_mtime_ns, path, found.st_size)

    def _wanted(self, path: str) -> bool:
        glob_ = self.where.name_filter
        return glob_ is None or fnmatch.fnmatchcase(os.path.basename(path), glob_)

    def _files(self, folder: str) -> Iterator[str]:
        try:
            changed = os.stat(folder).st_mtime_ns
        except FileNotFoundError:
            return
        if self._quiet.get(folder) == changed and not self.where.recursive:
            return
        settled = time.time() - changed / 1e9 > SETTLED
        folders = []
        with os.scandir(folder) as entries:
            for entry in entries:
                if _hidden(entry.name):
                    continue
                if entry.is_dir():
                    folders.append(entry.path)
                else:
                    yield entry.path
        if settled:
            self._quiet[folder] = changed
        for inner in folders if self.where.recursive else ():
            yield from self._files(inner)


def _hidden(name: str) -> bool:
    """As Spark has it: temporary and private names don't count, `_key=value` does."""
    private = (name.startswith("_") and "=" not in name) or name.startswith(".") or name.endswith("._COPYING_")
    return private and not name.startswith(("_common_metadata", "_metadata"))


def _committed(folder: Path) -> list[str] | None:
    """The files that a Spark sink's log has committed there; None if there is no log."""
    log = CommitLog(folder)
    if not log.folder.is_dir():
        return None
    return [local_path(json.loads(line)["path"]) for line in log.entries()]
