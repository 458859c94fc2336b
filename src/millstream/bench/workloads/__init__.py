"""The workloads by name."""

from millstream.bench.workloads.workload import Variant, Workload
from millstream.bench.workloads.ysb import YSB

WORKLOADS = {workload.name: workload for workload in (YSB,)}

__all__ = ["WORKLOADS", "Variant", "Workload"]
