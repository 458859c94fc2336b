"""Epochs by hand: what the engine does with a source, in one process."""

import pickle

from millstream.kernels.batch import Batch


def drain(source, start=None, splitter=None, wanted=2, now=1e10):
    """All rows until nothing more comes, and the offset that was reached; offsets travel through MessagePack."""
    import msgspec

    splitter = splitter or pickle.loads(pickle.dumps(source)).splitter()
    start = splitter.initial() if start is None else start
    rows = []
    while True:
        now += 100
        end = splitter.latest(start, now)
        end = msgspec.msgpack.decode(msgspec.msgpack.encode(end))
        if end == start:
            assert splitter.splits(start, end, wanted) == []
            return rows, start
        for split in splitter.splits(start, end, wanted):
            for batch in source.read(pickle.loads(pickle.dumps(split))):
                assert isinstance(batch, Batch)
                rows += batch.rows
        start = end


def write(sink, schema, epoch, partition, rows):
    """What a slot does with an epoch's rows, and the driver with what comes of it."""
    from pyspark import cloudpickle

    half = pickle.loads(cloudpickle.dumps(sink.slot_half()))(partition)
    payload = half.write(epoch, Batch.of_rows(schema, rows))
    half.close()
    if payload is not None:
        sink.take(partition, epoch, payload)
