"""Grep: the messages in which a pattern is found. There is no state and no exchange."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (everybody's name for it)

from millstream.bench.workloads.workload import Variant, Workload
from millstream.io.tweets import TWEET_SCHEMA, TweetSource

PATTERN = "lozor(ka|mi)"


def query(spark: SparkSession, lines: DataFrame, variant: Variant) -> DataFrame:
    """Parse and keep what matches."""
    tweets = lines.select(F.from_json("value", TWEET_SCHEMA).alias("tweet"))
    return tweets.where(_matches(variant.udf)).select(
        "tweet.user", "tweet.text", F.timestamp_millis("tweet.time").alias("time")
    )


def _matches(udf: bool) -> Column:
    text = F.col("tweet.text")
    return F.udf(lambda text: "lozorka" in text or "lozormi" in text, "boolean")(text) if udf else text.rlike(PATTERN)


def grep(variant: Variant) -> Workload:
    """The workload."""
    return Workload("grep", TweetSource, query, variant, due="time")
