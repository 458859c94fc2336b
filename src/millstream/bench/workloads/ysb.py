"""The Yahoo streaming benchmark: views of advertisements, counted for each campaign and window."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (everybody's name for it)

from millstream.bench.workloads.workload import Variant, Workload
from millstream.io.ysb import EVENT_SCHEMA, YsbSource, campaigns

WINDOW = "10 seconds"


def query(spark: SparkSession, lines: DataFrame, variant: Variant) -> DataFrame:
    """Parse, keep the views, project, join with the campaigns, count per campaign and window."""
    window = variant.window or WINDOW
    ads, names = zip(*campaigns())
    table = pa.table({"ad_id": ads, "campaign_id": names})  # a local relation costs Spark's batches least
    static = F.broadcast(spark.createDataFrame(table))
    views = (
        lines.select(F.from_json("value", EVENT_SCHEMA).alias("event"))
        .where(_is_view(variant.udf))
        .select("event.ad_id", F.timestamp_millis("event.event_time").alias("event_time"))
        .withWatermark("event_time", window)
    )
    return (
        views.join(static, "ad_id")
        .groupBy("campaign_id", F.window("event_time", window))
        .count()
        .select("campaign_id", F.col("window.end").alias("window_end"), "count")
    )


def _is_view(udf: bool) -> Column:
    kind = F.col("event.event_type")
    if not udf:
        return kind == "view"
    return F.udf(lambda text: text == "view", "boolean")(kind)


def ysb(variant: Variant) -> Workload:
    """The workload."""
    return Workload("ysb", YsbSource, query, variant, due="window_end", keys=("campaign_id", "window_end"))
