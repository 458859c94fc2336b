import gzip
import os
import time

import pytest
from pyspark.sql.types import StructType

from millstream.errors import InvalidOption, MillstreamError
from millstream.io import discovery
from millstream.io.registry import find_source
from millstream.plan.algebra import Unsupported
from tests.io.driving import drain

TEXT = StructType().add("value", "string")


def text(path, **options):
    return find_source("text", {"path": str(path), **{k: str(v) for k, v in options.items()}}, TEXT)


def put(folder, name, content, age=0.0):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    at = time.time() - age
    os.utime(path, (at, at))
    return path


def values(rows):
    return [row[0] for row in rows]


def test_new_files_come_once_in_order_of_their_times(tmp_path):
    put(tmp_path, "b", "2\n", age=20)
    put(tmp_path, "a", "3\n", age=10)
    put(tmp_path, "c", "1\n", age=30)
    put(tmp_path, ".hidden", "no\n")
    put(tmp_path, "_private", "no\n")
    put(tmp_path / "inner", "d", "no\n")
    source = text(tmp_path)
    splitter = source.splitter()
    rows, at = drain(source, splitter=splitter)
    assert values(rows) == ["1", "2", "3"]
    put(tmp_path, "old", "4\n", age=40)
    put(tmp_path, "a", "3 again\n")
    rows, at = drain(source, at, splitter, now=2e10)
    assert values(rows) == ["4"]
    assert source.name == f"FileStreamSource[file:{tmp_path}]"


def test_big_files_are_read_in_pieces_and_a_range_is_the_same_anywhere(tmp_path, monkeypatch):
    monkeypatch.setattr("millstream.io.files.LEAST_SPLIT", 64)
    lines = [f"line {n}" for n in range(1000)]
    put(tmp_path, "a", "\n".join(lines[:700]) + "\n", age=10)
    put(tmp_path, "b", "\n".join(lines[700:]), age=5)
    source = text(tmp_path, maxBytesPerTrigger=1000)
    splitter = source.splitter()
    start, rows, epochs = splitter.initial(), [], 0
    while (end := splitter.latest(start, 1e10 + epochs)) != start:
        other = source.splitter()
        assert other.splits(start, end, 3) == splitter.splits(start, end, 3)
        assert len(splitter.splits(start, end, 3)) == 3 or not splitter.more
        rows += [row for split in splitter.splits(start, end, 3) for b in source.read(split) for row in b.rows]
        start, epochs = end, epochs + 1
        splitter = other if epochs % 3 == 0 else splitter  # the source's slot dies
    assert values(rows) == lines
    assert epochs == len("\n".join(lines)) // 1000 + 1


def test_limits(tmp_path):
    for n in range(5):
        put(tmp_path, str(n), f"{n}\n", age=10 - n)
    splitter = text(tmp_path, maxFilesPerTrigger=2).splitter()
    end = splitter.latest(splitter.initial(), 1e10)
    assert [r[0][-1] for r in end[1]] == ["0", "1"]
    assert splitter.more
    newest_first = text(tmp_path, maxFilesPerTrigger=2, latestFirst="true").splitter()
    assert [r[0][-1] for r in newest_first.latest([0, [], None], 1e10)[1]] == ["4", "3"]
    with pytest.raises(InvalidOption, match="not both"):
        text(tmp_path, maxFilesPerTrigger=2, maxBytesPerTrigger=2)


def test_frozen_it_reads_what_is_there_now(tmp_path):
    put(tmp_path, "a", "1\n")
    source = text(tmp_path, maxFilesPerTrigger=1)
    splitter = source.splitter()
    splitter.freeze(splitter.initial(), 1e10)
    put(tmp_path, "b", "2\n")
    assert values(drain(source, splitter=splitter)[0]) == ["1"]


def test_filters(tmp_path):
    put(tmp_path / "x", "a.log", "1\n", age=9)
    put(tmp_path / "y", "a.log", "2\n", age=8)
    put(tmp_path / "y", "b.txt", "3\n", age=7)
    put(tmp_path / "y", "ancient.log", "4\n", age=30 * 86400)
    assert values(drain(text(tmp_path, recursiveFileLookup="true", pathGlobFilter="*.log"))[0]) == ["1", "2"]
    assert values(drain(text(tmp_path / "*", maxFileAge="60d"))[0]) == ["4", "1", "2", "3"]
    by_name = text(tmp_path / "*", fileNameOnly="true")
    splitter = by_name.splitter()
    at = drain(by_name, splitter=splitter)[1]
    put(tmp_path / "x", "b.txt", "5\n")
    put(tmp_path / "x", "c.txt", "6\n")
    assert values(drain(by_name, at, splitter, now=2e10)[0]) == ["6"]
    assert values(drain(text(f"file://{tmp_path}/y/b.*"))[0]) == ["3"]


def test_a_restart_knows_what_was_read(tmp_path):
    folder = tmp_path / "in"
    source = text(folder).with_log(str(tmp_path / "log"))
    put(folder, "a", "1\n", age=5)
    _, at = drain(source)
    put(folder, "late", "2\n", age=50)  # older than what was read
    splitter = source.splitter()
    splitter.latest(at, 2e10)  # takes it up, and dies
    with (tmp_path / "log" / "files.log").open("ab") as log:
        log.write(b"0badc0de [9, torn")
    rows, at = drain(source, at)
    assert values(rows) == ["2"]
    assert drain(source, at)[0] == []
    assert len((tmp_path / "log" / "files.log").read_bytes().splitlines()) == 4
    (tmp_path / "log" / "files.log").unlink()
    with pytest.raises(MillstreamError, match="new checkpointLocation"):
        drain(source, at)


def test_a_quiet_directory_is_not_listed_again(tmp_path, monkeypatch):
    put(tmp_path, "a", "1\n")
    os.utime(tmp_path, (1e9, 1e9))
    found = discovery.Discovery(discovery.Where(str(tmp_path)))
    assert len(found.new(1.0)) == 1
    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", lambda path: pytest.fail("listed"))
        assert found.new(2.0) == []
    put(tmp_path, "b", "2\n")
    assert [file.path[-1] for file in found.new(3.0)] == ["b"]


@pytest.mark.parametrize(
    "options", [{"path": "s3://bucket/x"}, {"encoding": "latin1"}, {"cleanSource": "delete"}, {"modifiedAfter": "x"}]
)
def test_what_is_not_native_is_said(options):
    with pytest.raises(Unsupported):
        find_source("text", {"path": "/tmp", **options}, TEXT)


TEXTS = {
    "plain": b"a\nb\n\nc",
    "dos": b"a\r\nb\r\n\r\nc\r\n",
    "mac": b"a\rb\r\rc\r",
    "mixed": b"a\n\rb\r\r\nc",
    "bom": "\ufeffgr\u00fc\u00df\n\ufeffx\n".encode(),
    "invalid": b"ok\n\xff\xfe bad \xc3\n\xe2\x82\nlast\xf0\x9f",
    "nul": b"a\0b\nc",
    "empty": b"",
}


@pytest.mark.spark
@pytest.mark.parametrize("options", [{}, {"lineSep": "b"}, {"lineSep": "\r\n"}, {"wholetext": "true"}], ids=str)
def test_text_is_sparks(spark, tmp_path, options):
    for age, (name, content) in enumerate(TEXTS.items()):
        put(tmp_path, name, content, age=age)
    put(tmp_path, "packed.gz", gzip.compress(b"x\ny\n"))
    ours = values(drain(text(tmp_path, **options))[0])
    assert sorted(ours) == sorted(
        row.value for row in spark.read.format("text").options(**options).load(str(tmp_path)).collect()
    )


@pytest.mark.spark
def test_a_spark_sinks_log_says_which_files_count(spark, tmp_path):
    frame = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 3).load().selectExpr("'x' as value")
    query = (
        frame.writeStream.format("text").option("checkpointLocation", str(tmp_path / "c")).start(str(tmp_path / "o"))
    )
    while (query.lastProgress or {"batchId": 0})["batchId"] < 3:
        query.awaitTermination(0.2)
    query.stop()
    put(tmp_path / "o", "stray", "never committed\n")
    ours = drain(text(tmp_path / "o"))[0]
    assert len(ours) == spark.read.text(str(tmp_path / "o")).count() > 0
