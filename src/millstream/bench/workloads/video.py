"""Video heartbeats: a summary of every session, from records that are large and sessions that are skewed."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (everybody's name for it)

from millstream.bench.workloads.workload import Variant, Workload
from millstream.io.video import HEARTBEAT_SCHEMA, VideoSource

WINDOW = "10 seconds"


def query(spark: SparkSession, lines: DataFrame, variant: Variant) -> DataFrame:
    """Parse, and summarise each session's heartbeats of a window."""
    window = variant.window or WINDOW
    beats = (
        lines.select(F.from_json("value", HEARTBEAT_SCHEMA).alias("beat"))
        .select(
            "beat.session_id", "beat.content.cdn", "beat.client.city", "beat.bitrate_kbps", "beat.buffering_ms",
            "beat.played_ms", "beat.dropped_frames", _is_error(variant.udf).cast("int").alias("error"),
            F.timestamp_millis("beat.time").alias("time"),
        )
        .withWatermark("time", window)
    )  # fmt: skip
    return (
        beats.groupBy("session_id", "cdn", "city", F.window("time", window))
        .agg(
            F.count("*").alias("heartbeats"),
            F.sum("played_ms").alias("played_ms"),
            F.sum("buffering_ms").alias("buffering_ms"),
            F.sum("error").alias("errors"),
            F.avg("bitrate_kbps").alias("bitrate_kbps"),
            F.max("dropped_frames").alias("dropped_frames"),
            F.max("time").alias("last_seen"),
        )
        .withColumn("window_end", F.col("window.end"))
        .drop("window")
    )


def _is_error(udf: bool) -> Column:
    kind = F.col("beat.event")
    return F.udf(lambda text: text == "error", "boolean")(kind) if udf else kind == "error"


def video(variant: Variant) -> Workload:
    """The workload."""
    return Workload("video", VideoSource, query, variant, due="window_end", keys=("session_id", "window_end"))
