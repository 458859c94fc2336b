import json
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.errors import InvalidOption
from millstream.io.events import POOL
from millstream.io.ysb import YsbSource, campaigns, write_events

SOURCE = YsbSource({"schedule": "1000:10s,50000:5s,10", "startTime": 1_700_000_000})


@settings(deadline=None)  # the first case makes the pool
@given(st.integers(0, 3 * POOL), st.integers(0, 200), st.integers(0, 200), st.integers(0, 2))
def test_a_range_is_the_same_however_it_is_cut_and_in_either_form(first, left, right, partition):
    reader = pickle.loads(pickle.dumps(SOURCE)).reader(partition, 3)
    origin = reader.start
    whole = reader.rows(origin, first, first + left + right).rows
    parts = [
        *reader.rows(origin, first, first + left).rows,
        *reader.rows(origin, first + left, first + left + right).rows,
    ]
    assert list(whole) == parts


def test_event_times_are_the_instants_of_the_schedule():
    reader = SOURCE.reader(1, 2)
    batch = reader.read([reader.start, 4_900], [reader.start, 70_000])
    assert batch.is_arrow
    times = [json.loads(row[0])["event_time"] for row in batch.rows]
    wanted = (SOURCE.schedule.times(4_900 * 2 + 1, 140_000, 2) + reader.start) // 1000
    assert times == wanted.tolist()


def test_rows_are_available_when_made_and_no_more_than_the_limit():
    source = YsbSource({"rowsPerSecond": 1000, "startTime": 1_700_000_000, "maxRowsPerEpoch": 10})
    reader = source.reader(0, 2)
    start = reader.initial()
    assert reader.latest(start, 1_700_000_000 - 1) is start
    assert reader.latest(start, 1_700_000_000.0) == [reader.start, 1]
    assert reader.latest(start, 1_700_000_000.0021) == [reader.start, 2]
    assert reader.latest(start, 1_700_000_100.0) == [reader.start, 10]


def test_a_restarted_source_goes_on_with_the_old_stream():
    old = YsbSource({"startTime": 1_700_000_000}).reader(0, 1)
    new = YsbSource({"startTime": 1_800_000_000}).reader(0, 1)
    start = [old.start, 5]
    assert new.latest(start, 1_700_000_001.0) == old.latest(start, 1_700_000_001.0)
    assert new.read(start, [old.start, 9]).rows == old.read(start, [old.start, 9]).rows


def test_every_event_is_well_formed_and_has_a_campaign():
    reader = SOURCE.reader(0, 1)
    known = {ad for ad, _ in SOURCE.campaign_rows()}
    events = [json.loads(row[0]) for row in reader.rows(reader.start, 0, POOL).rows]
    assert {event["ad_id"] for event in events} == known
    assert {event["event_type"] for event in events} == {"view", "click", "purchase"}
    assert list(events[0]) == ["user_id", "page_id", "ad_id", "ad_type", "event_type", "event_time", "ip_address"]


def test_campaigns():
    rows = campaigns(100, 10)
    assert len({ad for ad, _ in rows}) == 1000
    assert len({campaign for _, campaign in rows}) == 100


def test_files_hold_the_same_events_each_time(tmp_path):
    first = write_events(tmp_path / "a", 70_001, files=3, rate=10_000)
    second = write_events(tmp_path / "b", 70_001, files=3, rate=10_000)
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    lines = [line for path in first for line in path.read_text().splitlines()]
    assert [json.loads(line)["event_time"] for line in lines[::7000]] == [
        1_600_000_000_000 + n // 10 for n in range(0, 70_001, 7000)
    ]
    assert len(lines) == 70_001


def test_an_unknown_option_is_named():
    with pytest.raises(InvalidOption, match="did you mean 'rowsPerSecond'"):
        YsbSource({"rowPerSecond": 5})
    with pytest.raises(InvalidOption, match="after 2001"):
        YsbSource({"startTime": 5})
