import json
import os

import pyarrow as pa
import pytest
from pyspark.sql import Row
from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamArrowWriter,
    DataSourceStreamWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from millstream.errors import FunctionFailed
from millstream.io.registry import find_sink
from millstream.plan.algebra import Unsupported
from tests.io.driving import write

pytestmark = pytest.mark.spark

SCHEMA = StructType().add("x", "long").add("at", "timestamp")


class Written(WriterCommitMessage):
    def __init__(self, rows):
        self.rows = rows


def ledger(folder):
    return [json.loads(line) for line in open(os.path.join(folder, "ledger"))]


class Ledger(DataSource):
    """Writes down what is committed and what is aborted."""

    @classmethod
    def name(cls):
        return "our-ledger"

    def streamWriter(self, schema, overwrite):
        folder, kind = self.options["Folder"], self.options.get("kind")

        class Common:
            def note(self, what, messages, batch):
                with open(os.path.join(folder, "ledger"), "a") as file:
                    rows = sorted(row for message in messages for row in message.rows)
                    file.write(json.dumps([what, batch, overwrite, rows]) + "\n")

            def commit(self, messages, batchId):
                self.note("commit", messages, batchId)

            def abort(self, messages, batchId):
                self.note("abort", messages, batchId)

        class ByRow(Common, DataSourceStreamWriter):
            def write(self, iterator):
                rows = list(iterator)
                assert all(isinstance(row, Row) and row.at is None for row in rows)
                return None if kind == "wrong" else Written([row.x for row in rows])

        class ByArrow(Common, DataSourceStreamArrowWriter):
            def write(self, iterator):
                batches = list(iterator)
                assert all(isinstance(batch, pa.RecordBatch) for batch in batches)
                return Written([x for batch in batches for x in batch.column(0).to_pylist()])

        return ByArrow() if kind == "arrow" else ByRow()


@pytest.mark.parametrize("kind", ["row", "arrow"])
def test_epochs_are_committed_and_the_rest_is_aborted(spark, tmp_path, kind):
    spark.dataSource.register(Ledger)
    sink = find_sink("our-ledger", {"folder": str(tmp_path), "kind": kind}, SCHEMA, "append", spark, None)
    write(sink, SCHEMA, 0, 0, [(1, None)])
    write(sink, SCHEMA, 0, 1, [(2, None), (3, None)])
    write(sink, SCHEMA, 2, 0, [(4, None)])
    write(sink, SCHEMA, 3, 0, [(5, None)])
    sink.commit(2)
    sink.close()
    assert ledger(tmp_path) == [
        ["commit", 0, False, [1, 2, 3]],
        ["commit", 2, False, [4]],
        ["abort", 3, False, [5]],
    ]


def test_what_a_writer_must_return(spark, tmp_path):
    spark.dataSource.register(Ledger)
    sink = find_sink("our-ledger", {"folder": str(tmp_path), "kind": "wrong"}, SCHEMA, "complete", spark, None)
    with pytest.raises(FunctionFailed, match="WriterCommitMessage"):
        write(sink, SCHEMA, 0, 0, [(1, None)])


def test_an_unknown_sink_is_sparks_business(spark):
    with pytest.raises(Unsupported, match="no native sink"):
        find_sink("kafka", {}, SCHEMA, "append", spark, None)
