"""Finds the most frequent words of the last ten seconds, every second, in two rounds of keyed processing.

Run `python examples/top_words.py 1000` for a thousand generated messages a second, and stop it with Ctrl-C.
"""

import heapq
import sys
from datetime import timedelta

from pyspark.sql.functions import from_json, timestamp_millis

import millstream

TOP = 5
MOMENT = timedelta(microseconds=1)


class Count(millstream.KeyedProcess):
    """Counts a word in each window."""

    def init(self, key, window):
        """Not seen yet."""
        return 0

    def update(self, key, value, state, time):
        """Seen once more."""
        return state + 1, None

    def finalize(self, key, window, state):
        """The count, at the window's last moment: the next round's window ends together with this one."""
        return [(key, state, window.end - MOMENT)]


class Top(millstream.KeyedProcess):
    """Ranks the words that were counted by the same moment."""

    def init(self, key, window):
        """No word yet."""
        return []

    def update(self, key, value, state, time):
        """Keep the best."""
        return heapq.nlargest(TOP, [*state, (value["count"], value["word"])]), None

    def finalize(self, key, window, state):
        """The words by rank."""
        return [(window.end, rank + 1, word, count) for rank, (count, word) in enumerate(state)]


def split_words(row):
    """A message's words, each with the message's time."""
    return [(word, row["time"]) for word in row["text"].split()]


def top_words(lines, size: str, slide: str):
    """The most frequent words of each window in lines of JSON with a text and a time in milliseconds."""
    messages = lines.select(from_json("value", "text string, time long").alias("m"))
    timed = messages.select("m.text", timestamp_millis("m.time").alias("time")).withWatermark("time", "0 seconds")
    words = millstream.flat_map(timed, split_words, "word string, time timestamp")
    counts = millstream.process(
        words, key="word", value="word", process=Count(), output="word string, count long, counted timestamp",
        window=millstream.sliding(size, slide), time="time",
    )  # fmt: skip
    return millstream.process(
        counts, key="counted", value=["word", "count"], process=Top(),
        output="until timestamp, rank int, word string, count long",
        window=millstream.tumbling(slide), time="counted",
    )  # fmt: skip


def main(rate: int) -> None:
    """Print the ranks until Ctrl-C."""
    spark = millstream.local_session(slots=2, name="TopWords")
    millstream.register(spark)
    lines = spark.readStream.format("millstream-tweets").option("rowsPerSecond", rate).load()
    query = millstream.write_stream(top_words(lines, "10 seconds", "1 second")).format("console").start()
    try:
        query.awaitTermination()
    except KeyboardInterrupt:
        query.stop()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: top_words.py <messages per second>")
    main(int(sys.argv[1]))
