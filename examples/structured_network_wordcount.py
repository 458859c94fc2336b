"""Counts words that arrive at a TCP socket: Spark's quick example, with another writer.

Run a server with `nc -lk 9999`, then `python examples/structured_network_wordcount.py localhost 9999`,
and type some lines into the server.
"""

import sys

from pyspark.sql.functions import explode, split

import millstream


def word_counts(lines):
    """The running count of every word."""
    words = lines.select(explode(split(lines.value, " ")).alias("word"))
    return words.groupBy("word").count()


def main(host: str, port: int) -> None:
    """Print the counts until Ctrl-C."""
    spark = millstream.local_session(slots=2, name="StructuredNetworkWordCount")
    lines = spark.readStream.format("socket").option("host", host).option("port", port).load()

    # The only change: Spark's script has `word_counts(lines).writeStream` here.
    query = millstream.write_stream(word_counts(lines)).outputMode("complete").format("console").start()
    try:
        query.awaitTermination()
    except KeyboardInterrupt:
        query.stop()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: structured_network_wordcount.py <hostname> <port>")
    main(sys.argv[1], int(sys.argv[2]))
