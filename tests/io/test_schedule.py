import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.errors import InvalidOption
from millstream.io.options import Given, seconds
from millstream.io.schedule import Schedule

phases = st.lists(st.tuples(st.integers(0, 100_000), st.floats(0, 3).map(lambda x: round(x, 4))), max_size=3)


@given(phases, st.integers(1, 1_000_000), st.integers(0, 10_000_000))
def test_a_row_is_counted_from_its_own_microsecond_on(before, last, row):
    schedule = Schedule([*before, (last, 0.0)])
    at = schedule.time(row)
    assert schedule.count(at) > row
    assert schedule.count(at - 1) <= row


@given(phases, st.integers(1, 1_000_000), st.integers(0, 100_000), st.integers(0, 300), st.integers(1, 9))
def test_many_times_are_the_single_ones(before, last, first, length, step):
    schedule = Schedule([*before, (last, 0.0)])
    rows = range(first, first + length, step)
    assert schedule.times(first, first + length, step).tolist() == [schedule.time(row) for row in rows]


@pytest.mark.parametrize("text", ["", "x", "10:", "10:5y", "-5:1s", "5;6"])
def test_a_bad_schedule_says_how_one_looks(text):
    if text == "10:":
        assert Schedule.parse(text).rates == [10]
        return
    with pytest.raises(InvalidOption, match="schedule"):
        Schedule.parse(text)


@pytest.mark.parametrize("text", ["", "abc", "5 parsecs", "5 s x"])
def test_bad_durations(text):
    with pytest.raises(ValueError, match=text or None):
        seconds(text)


def test_options_have_any_case_and_wrong_ones_are_named():
    given = Given("thing", {"MaxRows": "5", "bad": "x"})
    assert given.whole("maxrows", 1) == 5
    with pytest.raises(InvalidOption, match="did you mean 'maxRow'"):
        Given("thing", {"maxRows": 1}).check_names(["maxRow"])
    with pytest.raises(InvalidOption, match="takes a whole number"):
        given.whole("bad", 1)
    with pytest.raises(InvalidOption, match="at least 9"):
        given.whole("maxRows", 1, least=9)
    with pytest.raises(InvalidOption, match="needs the option 'path'"):
        given.required("path")
