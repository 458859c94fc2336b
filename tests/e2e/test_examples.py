"""The examples, run as a person runs them and ended by Ctrl-C."""

import importlib.util
import re
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import psutil
import pytest
from pyspark import cloudpickle
from pyspark.sql import Window
from pyspark.sql import functions as F

import millstream
from millstream.io.clicks import ClickSource
from millstream.io.events import write_events
from millstream.io.tweets import TweetSource
from tests.e2e.helpers import wait_for

pytestmark = pytest.mark.spark

EXAMPLES = Path(__file__).parents[2] / "examples"


@contextmanager
def example(name, *words):
    """A running example; gives what prints everything that it has printed so far."""
    process = subprocess.Popen(
        [sys.executable, str(EXAMPLES / name), *map(str, words)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    printed, errors = [], []
    readers = [
        threading.Thread(target=lambda stream=stream, to=to: to.extend(stream), daemon=True)
        for stream, to in ((process.stdout, printed), (process.stderr, errors))
    ]
    for reader in readers:
        reader.start()

    def output():
        assert process.poll() is None, "".join(errors)
        return "".join(printed)

    try:
        yield output
        family = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0, "".join(errors)
        assert "Traceback" not in "".join(errors)
        _, alive = psutil.wait_procs(family, 20)
        assert not alive
    finally:
        if process.poll() is None:
            for child in psutil.Process(process.pid).children(recursive=True):
                child.kill()
            process.kill()
            process.wait()
        for reader in readers:
            reader.join(10)
        process.stdout.close()
        process.stderr.close()


@contextmanager
def lines_to_send():
    """A server for one client: its port, and what sends lines to the client when it has come."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        clients = []

        def send(*lines):
            if not clients:
                clients.append(server.accept()[0])
            clients[0].sendall("".join(line + "\n" for line in lines).encode())

        try:
            yield server.getsockname()[1], send
        finally:
            for client in clients:
                client.close()


def cells(output):
    """The rows of all tables that the console sink has printed, as lists of text."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in output.splitlines() if line[:1] == "|"]
    return [row for row in rows if row != rows[0]]


def last_table(output):
    """The rows of the last table that is complete."""
    return cells(output.split("Batch: ")[-1])


def test_word_count():
    with lines_to_send() as (port, send), example("structured_network_wordcount.py", "127.0.0.1", port) as output:
        send("apache spark", "apache hadoop")
        wait_for(lambda: sorted(last_table(output())) == [["apache", "2"], ["hadoop", "1"], ["spark", "1"]])
        send("spark")
        wait_for(lambda: sorted(last_table(output())) == [["apache", "2"], ["hadoop", "1"], ["spark", "2"]])


def test_windowed_word_count():
    with (
        lines_to_send() as (port, send),
        example("structured_network_wordcount_windowed.py", "127.0.0.1", port, 10, 5) as output,
    ):
        send("cat dog", "dog")

        def counts():
            return {(window, word): int(count) for window, word, count in cells(output())}

        wait_for(lambda: sum(counts().values()) == 6)
        windows = {window for window, _ in counts()}
        for window in windows:
            start, end = (datetime.fromisoformat(text) for text in re.findall(r"[\d-]{10} [\d:]{8}", window))
            assert end - start == timedelta(seconds=10)
            assert start.second % 5 == 0
        assert sum(n for (_, word), n in counts().items() if word == "cat") == 2
        assert sum(n for (_, word), n in counts().items() if word == "dog") == 4


def function_of(name):
    """The function that an example is named for; what it needs travels to the slots by value."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    cloudpickle.register_pickle_by_value(module)
    return getattr(module, name)


def results(spark, frame):
    """What a frame gives for all that is there."""
    query = millstream.write_stream(frame).format("memory").queryName("example").option("slots", 2)
    query = query.trigger(availableNow=True).start()
    try:
        assert query.awaitTermination(60)
    finally:
        query.stop()
    return Counter(tuple(row) for row in spark.table("example").collect())


def test_sessions_are_sparks_session_windows(spark, tmp_path):
    write_events(tmp_path, 4000, ClickSource, 0, files=5, rate=400)
    stream = spark.readStream.option("maxFilesPerTrigger", 1).text(str(tmp_path))
    found = results(spark, function_of("sessions")(stream))
    clicks = spark.read.text(str(tmp_path)).select(F.from_json("value", "visitor string, time long").alias("c"))
    clicks = clicks.select("c.visitor", F.timestamp_millis("c.time").alias("time"))
    windows = clicks.groupBy("visitor", F.session_window("time", "2 seconds").alias("w"))
    expected = windows.agg(F.min("time"), F.max("time"), F.count("*")).collect()  # Spark would filter before it merges
    watermark = clicks.agg(F.max("time")).first()[0] - timedelta(milliseconds=500)
    ended = watermark.replace(microsecond=0)
    assert found == Counter((visitor, *rest) for visitor, w, *rest in expected if w.end <= ended)
    assert len(found) > 200


def test_top_words_are_ranked_as_in_batch(spark, tmp_path):
    write_events(tmp_path, 1200, TweetSource, 0, files=4, rate=100)
    stream = spark.readStream.option("maxFilesPerTrigger", 1).text(str(tmp_path))
    found = results(spark, function_of("top_words")(stream, "4 seconds", "1 second"))
    tweets = spark.read.text(str(tmp_path)).select(F.from_json("value", "text string, time long").alias("m"))
    words = tweets.select(F.timestamp_millis("m.time").alias("time"), F.explode(F.split("m.text", " ")).alias("word"))
    last = words.agg(F.max("time")).first()[0]
    counts = words.groupBy(F.window("time", "4 seconds", "1 second").end.alias("until"), "word").count()
    rank = F.row_number().over(Window.partitionBy("until").orderBy(F.desc("count"), F.desc("word")))
    expected = counts.select("until", rank.alias("rank"), "word", "count").where(
        (F.col("rank") <= 5) & (F.col("until") <= last)
    )
    assert found == Counter(tuple(row) for row in expected.collect())
    assert len(found) > 40


@pytest.mark.parametrize("name", ["sessions.py", "top_words.py"])
def test_generated_streams_are_shown(name):
    with example(name, 300) as output:
        wait_for(lambda: len(cells(output())) > 10)
