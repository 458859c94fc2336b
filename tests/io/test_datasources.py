import pytest

from millstream.io.registry import find_source, register
from millstream.kernels.batch import rows_of

OPTIONS = {"rowsPerSecond": "1000", "startTime": "1700000000", "rows": "301"}


@pytest.mark.parametrize(("format", "many"), [("millstream-rate", "numPartitions"), ("millstream-ysb", "partitions")])
def test_a_stream_that_ends_gives_so_many_rows_and_is_done(format, many):
    source = find_source(format, {**OPTIONS, many: "2", "maxRowsPerEpoch": "100"}, None)
    readers = [source.reader(p, source.partitions(5)) for p in range(2)]
    for reader, share in zip(readers, (151, 150)):
        at = reader.latest(reader.initial(), 1_800_000_000.0)
        assert reader.more
        assert at[1] == 100
        at = reader.latest(at, 1_800_000_000.0)
        assert not reader.more
        assert at[1] == share
        assert reader.latest(at, 1_900_000_000.0) is at


def test_frozen_it_gives_what_was_made_by_then():
    source = find_source("millstream-rate", {"rowsPerSecond": "10", "startTime": "100"}, None)
    reader = source.reader(1, 2)
    reader.freeze(reader.initial(), 102.0)
    assert reader.latest(reader.initial(), 200.0) == [100_000_000, 10]


@pytest.mark.spark
@pytest.mark.parametrize(("format", "many"), [("millstream-rate", "numPartitions"), ("millstream-ysb", "partitions")])
def test_spark_reads_the_same_rows_in_batch_and_in_a_stream(spark, format, many):
    register(spark)
    options = {**OPTIONS, many: "2"}
    source = find_source(format, options, None)
    ours = sorted(row for p in range(2) for row in source.reader(p, 2).rows(1_700_000_000_000_000, 0, 151 - p).rows)
    table = spark.read.format(format).options(**options).load()
    assert sorted(rows_of(table.toArrow())) == ours
    stream = spark.readStream.format(format).options(**options).load()
    name = format.replace("-", "_")
    query = stream.writeStream.format("memory").queryName(name).trigger(availableNow=True).start()
    query.awaitTermination()
    assert sorted(rows_of(spark.table(name).toArrow())) == ours


@pytest.mark.spark
def test_wrong_options_are_said_where_the_frame_is_made(spark):
    register(spark)
    with pytest.raises(Exception, match="did you mean 'rowsPerSecond'"):
        spark.readStream.format("millstream-ysb").option("rowPerSecond", 1).load()
    with pytest.raises(Exception, match="needs the option 'rows'"):
        spark.read.format("millstream-ysb").load().count()
