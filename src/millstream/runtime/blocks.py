"""Blocks of uncovered epochs: in memory up to a limit, beyond it on disk, and not without bound there either."""

from __future__ import annotations

import pickle
import shutil
import tempfile
from pathlib import Path

Outputs = tuple[dict[int, bytes], ...]


class StoreFull(Exception):
    """Blocks take more room than the options allow."""


class BlockStore:
    """Keeps what tasks have produced until it is released; the oldest epochs go to disk first.

    >>> store = BlockStore(memory=10)
    >>> store.put(0, 0, 0, ({0: b"0123456789"},)); store.put(0, 0, 1, ({0: b"x"},))
    >>> store.spilled > 0, store.get(0, 0, 0)
    (True, ({0: b'0123456789'},))
    >>> store.close()
    """

    def __init__(self, memory: int = 256 << 20, disk: int = 4 << 30, folder: str | None = None) -> None:
        self.memory = memory
        self.disk = disk
        self.held = 0
        self.spilled = 0
        self._parent = folder
        self._folder: Path | None = None
        self._epochs: dict[int, dict[tuple[int, int], Outputs]] = {}
        self._sizes: dict[int, int] = {}
        self._files: dict[int, list[tuple[Path, int]]] = {}

    def put(self, stage: int, partition: int, epoch: int, outputs: Outputs) -> None:
        """Keep a task's blocks."""
        size = sum([len(block) for blocks in outputs for block in blocks.values()])
        self._epochs.setdefault(epoch, {})[stage, partition] = outputs
        self._sizes[epoch] = self._sizes.get(epoch, 0) + size
        self.held += size
        while self.held > self.memory and self._epochs:
            self._spill(min(self._epochs))

    def get(self, stage: int, partition: int, epoch: int) -> Outputs:
        """The blocks of a task."""
        found = self._epochs.get(epoch, {}).get((stage, partition))
        if found is not None:
            return found
        for path, _ in self._files.get(epoch, ()):
            tasks: dict[tuple[int, int], Outputs] = pickle.loads(path.read_bytes())
            if (stage, partition) in tasks:
                return tasks[stage, partition]
        raise KeyError(f"no blocks of stage {stage}, partition {partition}, epoch {epoch}")

    def release(self, epoch: int) -> None:
        """Blocks up to an epoch are not needed any more."""
        for old in [e for e in self._epochs if e <= epoch]:
            del self._epochs[old]
            self.held -= self._sizes.pop(old)
        for old in [e for e in self._files if e <= epoch]:
            for path, size in self._files.pop(old):
                path.unlink()
                self.spilled -= size

    def close(self) -> None:
        """Remove everything."""
        self._epochs.clear()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _spill(self, epoch: int) -> None:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="millstream-blocks-", dir=self._parent))
        data = pickle.dumps(self._epochs.pop(epoch), 5)
        self.held -= self._sizes.pop(epoch)
        if self.spilled + len(data) > self.disk:
            raise StoreFull(
                f"blocks of uncovered epochs take more than {self.memory:,} bytes of memory and {self.disk:,} of disk: "
                "make groups smaller (option groupSize) or allow more (blockMemoryBytes, blockDiskBytes)"
            )
        files = self._files.setdefault(epoch, [])
        path = self._folder / f"{epoch}-{len(files)}"
        path.write_bytes(data)
        files.append((path, len(data)))
        self.spilled += len(data)
