"""Counts words in sliding windows over the time of their arrival, with a watermark, from a TCP socket.

Run a server with `nc -lk 9999`, then
`python examples/structured_network_wordcount_windowed.py localhost 9999 10 5`
for windows of ten seconds, every five seconds.
"""

import sys

from pyspark.sql.functions import explode, split, window

import millstream


def windowed_counts(lines, size: str, slide: str):
    """The count of every word in every window; windows ten minutes behind the newest line are given up."""
    words = lines.select(explode(split(lines.value, " ")).alias("word"), lines.timestamp)
    timed = words.withWatermark("timestamp", "10 minutes")
    return timed.groupBy(window(timed.timestamp, size, slide), timed.word).count()


def main(host: str, port: int, size: int, slide: int) -> None:
    """Print the counts until Ctrl-C."""
    spark = millstream.local_session(slots=2, name="StructuredNetworkWordCountWindowed")
    lines = (
        spark.readStream.format("socket")
        .option("host", host).option("port", port).option("includeTimestamp", "true")
        .load()
    )  # fmt: skip
    counts = windowed_counts(lines, f"{size} seconds", f"{slide} seconds")

    # The only change: Spark's script has `counts.writeStream` here.
    query = millstream.write_stream(counts).outputMode("update").format("console").option("truncate", "false").start()
    try:
        query.awaitTermination()
    except KeyboardInterrupt:
        query.stop()


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit("usage: structured_network_wordcount_windowed.py <hostname> <port> <window seconds> [<slide seconds>]")
    length = int(sys.argv[3])
    main(sys.argv[1], int(sys.argv[2]), length, int(sys.argv[4]) if len(sys.argv) == 5 else length)
