"""Word count over short messages: over all time, or in windows if a length is given."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (everybody's name for it)

from millstream.bench.workloads.workload import Variant, Workload
from millstream.io.tweets import TWEET_SCHEMA, TweetSource


def query(spark: SparkSession, lines: DataFrame, variant: Variant) -> DataFrame:
    """Split the texts into words and count them; `due` is the window's end, or the time of the last message."""
    tweets = lines.select(F.from_json("value", TWEET_SCHEMA).alias("tweet")).select(
        F.timestamp_millis("tweet.time").alias("time"), _words(variant.udf).alias("words")
    )
    if variant.window is None:
        words = tweets.select("time", F.explode("words").alias("word"))
        return words.groupBy("word").agg(F.count("*").alias("count"), F.max("time").alias("due"))
    words = tweets.withWatermark("time", variant.window).select("time", F.explode("words").alias("word"))
    counts = words.groupBy("word", F.window("time", variant.window)).count()
    return counts.select("word", F.col("window.end").alias("due"), "count")


def _words(udf: bool) -> Column:
    text = F.col("tweet.text")
    return F.udf(lambda text: text.split(" "), "array<string>")(text) if udf else F.split(text, " ")


def wordcount(variant: Variant) -> Workload:
    """The workload."""
    keys = ("word",) if variant.window is None else ("word", "due")
    return Workload("wordcount", TweetSource, query, variant, due="due", keys=keys)
