import json
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.io.clicks import CLICK_SCHEMA, ClickSource
from millstream.io.events import POOL, write_events
from millstream.io.tweets import TWEET_SCHEMA, TweetSource
from millstream.io.video import HEARTBEAT_SCHEMA, VideoSource

SCHEMAS = {ClickSource: CLICK_SCHEMA, TweetSource: TWEET_SCHEMA, VideoSource: HEARTBEAT_SCHEMA}
START = 1_700_000_000
by_source = pytest.mark.parametrize("source", SCHEMAS, ids=lambda source: source.name)


@by_source
def test_every_event_is_json_of_its_schema_and_has_the_instant_of_its_row(source):
    made = source({"rowsPerSecond": 1000, "startTime": START})
    rows = made.reader(1, 2).rows(START * 10**6, 0, 300).rows
    events = [json.loads(row[0]) for row in rows]
    assert {tuple(sorted(event)) for event in events} == {tuple(sorted(SCHEMAS[source].names))}
    assert [event["time"] for event in events] == [START * 1000 + 2 * i + 1 for i in range(300)]


@by_source
@settings(deadline=None)  # the first case makes the pool
@given(first=st.integers(0, 3 * POOL), left=st.integers(0, 200), right=st.integers(0, 200))
def test_a_range_is_the_same_however_it_is_cut_and_in_either_form(source, first, left, right):
    made = source({"rowsPerSecond": 30_000, "startTime": START})
    reader = pickle.loads(pickle.dumps(made)).reader(1, 3)
    whole = reader.rows(reader.start, first, first + left + right).rows
    parts = [
        *reader.rows(reader.start, first, first + left).rows,
        *reader.rows(reader.start, first + left, first + left + right).rows,
    ]
    assert list(whole) == parts


def test_visitors_do_not_come_again_in_the_next_pass():
    reader = ClickSource({"startTime": START}).reader(0, 1)
    rows = reader.rows(START * 10**6, POOL - 200, POOL + 200).rows
    visitors = [json.loads(row[0])["visitor"] for row in rows]
    assert {v[-6:] for v in visitors[:200]} == {"000000"}
    assert {v[-6:] for v in visitors[200:]} == {"000001"}


def test_a_few_video_sessions_have_most_heartbeats():
    rows = VideoSource({"startTime": START}).reader(0, 1).rows(START * 10**6, 0, POOL).rows
    sessions = [json.loads(row[0])["session_id"] for row in rows]
    counts = sorted((sessions.count(s) for s in set(sessions)), reverse=True)
    assert sum(counts[: len(counts) // 10]) > len(rows) / 2
    assert sum(len(row[0]) for row in rows) / len(rows) > 500


@by_source
def test_files_hold_the_events_of_the_stream(source, tmp_path):
    paths = write_events(tmp_path, POOL + 10, source, files=3, rate=1000, start=START)
    lines = [line for path in paths for line in path.read_text().splitlines()]
    made = source({"rowsPerSecond": 1000, "startTime": START})
    assert lines == [row[0] for row in made.reader(0, 1).rows(START * 10**6, 0, POOL + 10).rows]
