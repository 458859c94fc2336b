import pytest

from millstream.errors import InvalidOption
from millstream.io.rate import RateMicroBatchSource, RateSource, SparkRateSource


@pytest.mark.parametrize("length", [10, 500])
def test_partitions_share_the_values(length):
    source = RateSource({"rowsPerSecond": 10, "startTime": 100})
    rows = [row for p in range(3) for row in source.reader(p, 3).read([100_000_000, 0], [100_000_000, length]).rows]
    assert sorted(rows) == [(100_000_000 + n * 100_000, n) for n in range(3 * length)]


def test_sparks_rate_rounds_to_milliseconds():
    source = SparkRateSource({"rowsPerSecond": 3})
    rows = source.reader(0, 1).read([0, 0], [0, 7]).rows
    assert [time for time, _ in rows] == [0, 333_000, 667_000, 1_000_000, 1_333_000, 1_667_000, 2_000_000]


def test_sparks_rate_ramps_up():
    source = SparkRateSource({"rowsPerSecond": 10, "rampUpTime": "4s"})
    assert [source.schedule.count(s * 1_000_000 - 1) for s in range(8)] == [0, 2, 6, 12, 20, 30, 40, 50]
    batch = source.reader(0, 1).read([0, 0], [0, 50])
    assert [time for time, _ in batch.rows][:6] == [0, 500_000, 1_000_000, 1_250_000, 1_500_000, 1_750_000]


def test_rate_micro_batch():
    source = RateMicroBatchSource({"rowsPerBatch": 10, "startTimestamp": 1000, "advanceMillisPerBatch": 50})
    reader = source.reader(1, 4)
    assert reader.latest(2, 0.0) == 3
    assert list(reader.read(2, 3).rows) == [(1_100_000, 21), (1_100_000, 25), (1_100_000, 29)]
    with pytest.raises(InvalidOption, match="rowsPerBatch"):
        RateMicroBatchSource({})


@pytest.mark.spark
def test_rate_micro_batch_is_sparks(spark, tmp_path):
    options = {"rowsPerBatch": "7", "startTimestamp": "5000", "advanceMillisPerBatch": "250", "numPartitions": "3"}
    frame = spark.readStream.format("rate-micro-batch").options(**options).load()
    seen = {}

    def keep(batch, number):
        seen[number] = sorted((round(row.timestamp.timestamp() * 1e6), row.value) for row in batch.collect())

    query = frame.writeStream.foreachBatch(keep).option("checkpointLocation", str(tmp_path)).start()
    query.processAllAvailable() if False else None
    while len(seen) < 3:
        query.awaitTermination(1)
    query.stop()
    source = RateMicroBatchSource(options)
    for batch in range(3):
        mine = sorted(row for p in range(3) for row in source.reader(p, 3).read(batch, batch + 1).rows)
        assert mine == seen[batch]
