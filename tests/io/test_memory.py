import datetime as dt
from decimal import Decimal
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client

import pytest
from pyspark.sql.types import ArrayType, DecimalType, IntegerType, MapType, StringType, StructType

from millstream.errors import InvalidOption
from millstream.io.memory import MemorySink
from millstream.kernels.batch import Batch

pytestmark = pytest.mark.spark

LISTS = MapType(StringType(), ArrayType(IntegerType()))
SCHEMA = StructType().add("at", "timestamp").add("m", LISTS).add("d", DecimalType(10, 2))
ROW = (1_000_000, {"a": [1, None]}, Decimal("1.50"))


def run(sink, epoch, partition, rows, arrow=False):
    batch = Batch.of_rows(sink.table.schema, rows)
    if arrow:
        batch = Batch.of_arrow(batch.schema, batch.arrow)
    sink.take(partition, epoch, sink.slot_half()(partition).write(epoch, batch))


def test_the_table_shows_what_is_there_now(spark):
    sink = MemorySink(spark, SCHEMA, "append", "live")
    table = spark.table("live")
    assert table.schema == SCHEMA
    assert table.count() == 0
    run(sink, 0, 1, [ROW])
    run(sink, 0, 0, [ROW, (None, None, None)], arrow=True)
    assert table.count() == 3
    utc = dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC).astimezone().replace(tzinfo=None)
    assert [tuple(row) for row in spark.sql("select * from live where at is not null").collect()] == [
        (utc, {"a": [1, None]}, Decimal("1.50"))
    ] * 2
    run(sink, 1, 1, [ROW] * 100_000, arrow=True)
    assert table.count() == 100_003
    sink.close()
    assert table.groupBy("d").count().count() == 2


def test_complete_replaces_a_partitions_rows_and_a_new_query_the_table(spark):
    schema = StructType().add("x", "long")
    sink = MemorySink(spark, schema, "complete", "again")
    run(sink, 0, 0, [(1,), (2,)])
    run(sink, 0, 1, [(3,)])
    run(sink, 1, 0, [(4,)])
    assert sorted(row.x for row in spark.table("again").collect()) == [3, 4]
    MemorySink(spark, schema, "append", "again")
    assert spark.table("again").count() == 0


def test_strangers_are_refused(spark):
    sink = MemorySink(spark, StructType().add("x", "long"), "append", "private")
    with (
        pytest.raises((AuthenticationError, EOFError, ConnectionError)),
        Client(sink.table.address, authkey=b"no") as c,
    ):
        c.recv_bytes()
    assert spark.table("private").count() == 0


def test_a_name_is_needed(spark):
    with pytest.raises(InvalidOption, match="queryName"):
        MemorySink(spark, SCHEMA, "append", None)
