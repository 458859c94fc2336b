"""The workloads by name."""

from collections.abc import Callable

from millstream.bench.workloads.grep import grep
from millstream.bench.workloads.sessions import sessions
from millstream.bench.workloads.video import video
from millstream.bench.workloads.wordcount import wordcount
from millstream.bench.workloads.workload import Variant, Workload
from millstream.bench.workloads.ysb import ysb

WORKLOADS: dict[str, Callable[[Variant], Workload]] = {
    make.__name__: make for make in (ysb, video, wordcount, sessions, grep)
}

__all__ = ["WORKLOADS", "Variant", "Workload"]
