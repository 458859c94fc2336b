"""Which source or sink a format's name means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql.types import StructType

from millstream.io.clicks import ClickSource
from millstream.io.datasources import GENERATED
from millstream.io.delimited import csv_source
from millstream.io.delivered import ConsoleSink, ForeachBatchSink
from millstream.io.foreach import ForeachSink
from millstream.io.jsonlines import json_source
from millstream.io.memory import MemorySink
from millstream.io.noop import NoopSink
from millstream.io.options import Given
from millstream.io.parquet import parquet_source
from millstream.io.python import PythonSource
from millstream.io.pythonsink import PythonSink
from millstream.io.rate import RateMicroBatchSource, RateSource, SparkRateSource
from millstream.io.sink import StreamSink
from millstream.io.sockets import SocketSource
from millstream.io.source import StreamSource
from millstream.io.text import text_source
from millstream.io.tweets import TweetSource
from millstream.io.video import VideoSource
from millstream.io.writers import file_sink
from millstream.io.ysb import YsbSource
from millstream.plan.algebra import Unsupported

Options = Mapping[str, str]

SOURCES: dict[str, Callable[[Options, StructType], StreamSource]] = {
    "millstream-rate": lambda options, schema: RateSource(options),
    "millstream-ysb": lambda options, schema: YsbSource(options),
    "millstream-video": lambda options, schema: VideoSource(options),
    "millstream-tweets": lambda options, schema: TweetSource(options),
    "millstream-clicks": lambda options, schema: ClickSource(options),
    "rate": lambda options, schema: SparkRateSource(options),
    "rate-micro-batch": lambda options, schema: RateMicroBatchSource(options),
    "socket": lambda options, schema: SocketSource(options),
    "csv": lambda options, schema: csv_source(Given("csv", options), schema),
    "json": lambda options, schema: json_source(Given("json", options), schema),
    "parquet": lambda options, schema: parquet_source(Given("parquet", options), schema),
    "text": lambda options, schema: text_source(Given("text", options), schema),
}


def find_source(format: str, options: Options, schema: StructType, pickled: bytes | None = None) -> StreamSource:
    """The source of a format, to be read with these options and this schema.

    `pickled` is the instance of a Python Data Source, as `relation` reads it from Spark's plan.
    """
    make = SOURCES.get(format.lower())
    if make is not None:
        return make(options, schema)
    if pickled is not None:
        return PythonSource(format, pickled, schema)
    raise Unsupported(format, "there is no native source of this format")


Sinks = dict[str, Callable[[Mapping[str, Any], StructType, str, Any, str | None], StreamSink]]

SINKS: Sinks = {
    "noop": lambda options, schema, mode, spark, name: NoopSink(),
    "memory": lambda options, schema, mode, spark, name: MemorySink(spark, schema, mode, name),
    "console": lambda options, schema, mode, spark, name: ConsoleSink(spark, schema, mode, options),
    "foreach": lambda options, schema, mode, spark, name: ForeachSink(options["function"]),
    "foreachbatch": lambda options, schema, mode, spark, name: ForeachBatchSink(spark, schema, mode, options),
    "json": lambda options, schema, mode, spark, name: file_sink("json", options, schema, spark),
    "parquet": lambda options, schema, mode, spark, name: file_sink("parquet", options, schema, spark),
    "text": lambda options, schema, mode, spark, name: file_sink("text", options, schema, spark),
}


def find_sink(
    format: str, options: Mapping[str, Any], schema: StructType, mode: str, spark: Any, name: str | None
) -> StreamSink:
    """The sink of a format for rows of this schema in an output mode (append, update or complete).

    Beside Spark's options there are `function`, for `foreach` and `foreachBatch`, and `partitionBy`.
    """
    make = SINKS.get(format.lower())
    if make is not None:
        return make(options, schema, mode, spark, name)
    return PythonSink(spark, format, options, schema, mode)


def register(spark: Any) -> None:
    """Let a session read the generated sources, such as `millstream-rate` and `millstream-ysb`, also in batch."""
    for source in GENERATED:
        spark.dataSource.register(source)
