"""What several end-to-end tests need."""

import json
import time
from collections import Counter


class Results:
    """A sink that keeps everything, and does not take a task's result twice."""

    def __init__(self):
        self.by_task = {}

    def __call__(self, result):
        key = (result.stage, result.partition, result.epoch)
        assert key not in self.by_task
        self.by_task[key] = json.loads(result.payload)

    def records(self):
        return Counter(record for records in self.by_task.values() for record in records)


def wait_for(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def numbers(partitions, epochs=23, per_epoch=5):
    """What the sinks receive from `jobs.Numbers`."""
    return [p * 1_000_000 + i for p in partitions for i in range(epochs * per_epoch)]
