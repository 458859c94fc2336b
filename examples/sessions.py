"""Finds the sessions of a site's visitors: clicks without a pause of more than two seconds between them.

Run `python examples/sessions.py 1000` for a thousand generated clicks a second, and stop it with Ctrl-C.
"""

import sys
from datetime import timedelta

from pyspark.sql.functions import from_json, timestamp_millis

import millstream

GAP = timedelta(seconds=2)
SLIDE = timedelta(seconds=1)
LENGTH = timedelta(seconds=12)
"""A session that lasts longer than this, less a gap and a slide, is told without its beginning."""


class Sessions(millstream.KeyedProcess):
    """Keeps the times of a visitor's clicks; the first window that has seen a session's pause tells the session."""

    def init(self, key, window):
        """No click yet."""
        return []

    def update(self, key, value, state, time):
        """One click more; nothing is told before the window's end."""
        state.append(time)
        return state, None

    def finalize(self, key, window, state):
        """The sessions whose pause has ended within the last slide, so that no other window tells them too."""
        for clicks in in_sessions(sorted(state)):
            if window.end - SLIDE < clicks[-1] + GAP <= window.end:
                yield key, clicks[0], clicks[-1], len(clicks)


def in_sessions(times):
    """Times in order, cut where nothing comes for a gap."""
    session = []
    for time in times:
        if session and time - session[-1] > GAP:
            yield session
            session = []
        session.append(time)
    if session:
        yield session


def sessions(lines):
    """The sessions in lines of JSON with a visitor and a time in milliseconds."""
    clicks = lines.select(from_json("value", "visitor string, time long").alias("click"))
    timed = clicks.select("click.visitor", timestamp_millis("click.time").alias("time"))
    return millstream.process(
        timed.withWatermark("time", "500 milliseconds"),
        key="visitor", value="time", process=Sessions(),
        output="visitor string, first timestamp, last timestamp, clicks int",
        window=millstream.sliding(f"{LENGTH.total_seconds()} seconds", f"{SLIDE.total_seconds()} seconds"),
    )  # fmt: skip


def main(rate: int) -> None:
    """Print sessions until Ctrl-C."""
    spark = millstream.local_session(slots=2, name="Sessions")
    millstream.register(spark)
    lines = spark.readStream.format("millstream-clicks").option("rowsPerSecond", rate).load()
    query = millstream.write_stream(sessions(lines)).format("console").option("truncate", False).start()
    try:
        query.awaitTermination()
    except KeyboardInterrupt:
        query.stop()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: sessions.py <clicks per second>")
    main(int(sys.argv[1]))
