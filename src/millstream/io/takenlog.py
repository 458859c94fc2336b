"""A file source's memory: which files were taken up, one line each, so that a restart takes none twice."""

from __future__ import annotations

import json
from pathlib import Path
from zlib import crc32

from millstream.errors import MillstreamError
from millstream.io.discovery import File


class TakenLog:
    """An append-only text file; a line is a checksum, the file's number, and the file.

    A number may come again after a failure: then the later line counts. A torn last line doesn't count.
    """

    def __init__(self, folder: str) -> None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        self.path = Path(folder) / "files.log"

    def append(self, first: int, files: list[File]) -> None:
        """Note files, the first of which has this number."""
        lines = [_line(number, file) for number, file in enumerate(files, first)]
        with self.path.open("ab") as out:
            torn = out.tell() and not self._ends_well()
            out.write((b"\n" if torn else b"") + b"".join(lines))

    def read(self, count: int) -> list[File]:
        """The files with numbers below `count`."""
        found: dict[int, File] = {}
        for line in self.path.read_bytes().splitlines() if self.path.exists() else ():
            checksum, _, text = line.partition(b" ")
            if checksum == b"%08x" % crc32(text):
                number, *file = json.loads(text)
                found[number] = File(*file)
        missing = [number for number in range(count) if number not in found]
        if missing:
            raise MillstreamError(
                f"{self.path} doesn't say which files were read ({len(missing)} of {count} are missing): "
                "restore it, or start the query with a new checkpointLocation"
            )
        return [found[number] for number in range(count)]

    def _ends_well(self) -> bool:
        with self.path.open("rb") as log:
            log.seek(-1, 2)
            return log.read(1) == b"\n"


def _line(number: int, file: File) -> bytes:
    text = json.dumps([number, *file]).encode()
    return b"%08x %s\n" % (crc32(text), text)
