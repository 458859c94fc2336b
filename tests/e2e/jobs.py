"""Jobs whose results are easy to check: records are numbers, sinks emit what they received."""

import json
import os
import time

from millstream.core.graph import Input, Stage, Structure
from millstream.kernels.kernel import Product
from millstream.kernels.python import Stateless
from millstream.plan.plan import Plan


class Numbers(Stateless):
    """A source of numbers: so many an epoch, up to a limit."""

    def __init__(self, partition, targets, per_epoch=5, limit=10**9, pad=0, pace=0.0, spread=True):
        self.partition, self.targets, self.per_epoch, self.limit = partition, targets, per_epoch, limit
        self.pad, self.pace, self.spread = pad, pace, spread

    def initial(self):
        return 0

    def latest(self, start, now):
        return min(self.limit, start + self.per_epoch)

    def run(self, task):
        if self.pace:
            time.sleep(self.pace)
        records = [self.partition * 1_000_000 + i for i in range(task.start, task.end)]
        if not self.targets:
            return Product((), None, task.end, encode(records), len(records))
        return Product((spread(records, self.targets, self.pad, self.spread),), None, task.end, None, len(records))


class Relay(Stateless):
    """Adds one to each record and passes it on."""

    def __init__(self, targets, spread=True):
        self.targets, self.spread = targets, spread

    def run(self, task):
        records = [record + 1 for record in received(task)]
        return Product((spread(records, self.targets, 0, self.spread),), task.watermark)


class Collect(Stateless):
    """Emits what it received; fails or dies when told to."""

    def __init__(self, fail_at=None):
        self.fail_at = fail_at

    def run(self, task):
        if task.epoch == self.fail_at and task.partition == 1:
            raise ZeroDivisionError("one over nothing")
        return Product((), task.watermark, None, encode(received(task)))


class Total:
    """Keeps the sum and emits it when it changes."""

    def __init__(self):
        self.total = 0

    def run(self, task):
        records = received(task)
        self.total += sum(records)
        return Product((), task.watermark, None, encode(self.total) if records else None)

    def snapshot(self):
        return encode(self.total)

    def restore(self, state):
        self.total = json.loads(state)


def encode(value):
    return json.dumps(value).encode()


def spread(records, targets, pad, by_value):
    blocks = {}
    for record in records:
        for target in [record % targets] if by_value else range(targets):
            blocks.setdefault(target, []).append(record)
    return {target: encode(block) + b" " * pad for target, block in blocks.items()}


def received(task):
    return [record for blocks in task.inputs for block in blocks if block for record in json.loads(block)]


def source_only(**kw):
    return Plan((Stage("numbers", 3),), (lambda p: Numbers(p, 0, **kw),))


def shuffled(fail_at=None, sinks=4, **kw):
    return Plan(
        (Stage("numbers", 3), Stage("collect", sinks, (Input(0),))),
        (lambda p: Numbers(p, sinks, **kw), lambda p: Collect(fail_at)),
    )


def totals(**kw):
    return Plan(
        (Stage("numbers", 3), Stage("total", 4, (Input(0),), stateful=True)),
        (lambda p: Numbers(p, 4, **kw), lambda p: Total()),
    )


def diamond(**kw):
    """Two sources, fan-out, a broadcast, a shuffle after a shuffle, fan-in."""
    return Plan(
        (
            Stage("left", 2),
            Stage("right", 3),
            Stage("mixed", 4, (Input(0), Input(1))),
            Stage("copied", 2, (Input(2, Structure.BROADCAST),)),
            Stage("collect", 3, (Input(2), Input(3))),
        ),
        (
            lambda p: Numbers(p, 4, **kw),
            lambda p: Numbers(p + 10, 4, **kw),
            lambda p: Both(),
            lambda p: Relay(3),
            lambda p: Collect(),
        ),
    )


class Both(Stateless):
    """Feeds two consumers: a broadcast and a shuffle."""

    def run(self, task):
        records = [record + 1 for record in received(task)]
        to_copied, to_collect = spread(records, 2, 0, False), spread(records, 3, 0, True)
        return Product((to_copied, to_collect), task.watermark)


class Unloadable:
    """Can be sent, but not loaded elsewhere."""

    def __call__(self, partition):
        return Collect()

    def __reduce__(self):
        return explode, (os.getpid(),)


def explode(pid):
    if os.getpid() != pid:
        raise ImportError("no module named 'only_on_the_driver'")
    return Unloadable()
