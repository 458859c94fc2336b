"""Sessionisation of a click stream: clicks of a visitor belong together until none comes for a while."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (everybody's name for it)

from millstream.bench.workloads.workload import Variant, Workload
from millstream.io.clicks import CLICK_SCHEMA, ClickSource

GAP = "2 seconds"
DELAY = 1.0
"""Seconds that the watermark holds a session back."""


def query(spark: SparkSession, lines: DataFrame, variant: Variant) -> DataFrame:
    """Parse, and summarise each session when it has ended; `window` is the gap that ends one."""
    clicks = (
        lines.select(F.from_json("value", CLICK_SCHEMA).alias("click"))
        .select("click.visitor", _traffic(variant.udf).alias("bytes"), F.timestamp_millis("click.time").alias("time"))
        .withWatermark("time", f"{DELAY} seconds")
    )
    return (
        clicks.groupBy("visitor", F.session_window("time", variant.window or GAP).alias("session"))
        .agg(F.count("*").alias("clicks"), F.sum("bytes").alias("bytes"))
        .select("visitor", "session.start", F.col("session.end").alias("session_end"), "clicks", "bytes")
    )


def _traffic(udf: bool) -> Column:
    size = F.col("click.bytes")
    return F.udf(lambda count: count + 40, "long")(size) if udf else size + 40


def sessions(variant: Variant) -> Workload:
    """The workload."""
    return Workload("sessions", ClickSource, query, variant, due="session_end", delay=DELAY)
