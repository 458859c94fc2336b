from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.errors import DataError
from millstream.kernels.functions.gregorian import civil, days_of, plus_months
from millstream.kernels.functions.timezones import DAY_MICROS, zone

ZONES = ("America/Los_Angeles", "Asia/Kolkata", "Australia/Lord_Howe", "Africa/Casablanca", "America/Toronto", "UTC")
SECONDS = st.integers(-60_000_000_000, 250_000_000_000)
EPOCH = datetime(1970, 1, 1)


@given(st.sampled_from(ZONES), SECONDS)
def test_the_wall_clock_is_that_of_zoneinfo(name, second):
    moment = (EPOCH + timedelta(seconds=second)).replace(tzinfo=UTC).astimezone(ZoneInfo(name))
    local = (moment.replace(tzinfo=None) - EPOCH) // timedelta(microseconds=1)
    assert zone(name).to_local(second * 1_000_000) == local


@given(st.sampled_from(ZONES), SECONDS)
def test_a_time_by_the_wall_clock_has_the_earlier_offset(name, second):
    local = (EPOCH + timedelta(seconds=second)).replace(tzinfo=ZoneInfo(name), fold=0)
    utc = (local.astimezone(UTC).replace(tzinfo=None) - EPOCH) // timedelta(microseconds=1)
    assert zone(name).to_utc(second * 1_000_000) == utc


@given(st.sampled_from(ZONES), st.integers(-700_000, 2_900_000))
def test_midnight_is_the_first_moment_of_a_day(name, day):
    here = zone(name)
    start = here.midnight(day)
    assert here.to_local(start) // DAY_MICROS == day
    assert here.to_local(start - 1) < here.to_local(start)


@pytest.mark.parametrize("day", [datetime(1919, 3, 31), datetime(2018, 11, 4)])
def test_a_day_that_begins_late(day):
    here = zone("America/Toronto" if day.year == 1919 else "America/Sao_Paulo")
    number = (day - EPOCH).days
    start = here.midnight(number)
    assert here.to_local(start) > number * DAY_MICROS
    assert here.to_local(start - 1) < number * DAY_MICROS


@pytest.mark.parametrize(
    ("name", "hours"),
    [("Z", 0), ("GMT", 0), ("UTC+3", 3), ("GMT-08:00", -8), ("+5:30", 5.5), ("-0130", -1.5), ("EST", -5), ("+18", 18)],
)
def test_offsets(name, hours):
    assert zone(name).fixed == hours * 3600
    assert zone(name).to_utc(0) == -hours * 3_600_000_000


@pytest.mark.parametrize("name", ["", "Mars/Olympus", "+19:00", "UTC+5:99", "../etc/passwd", "America"])
def test_there_is_no_such_zone(name):
    with pytest.raises(DataError, match="INVALID_TIMEZONE"):
        zone(name)


@given(st.integers(-1_000_000_000, 1_000_000_000))
def test_dates_far_from_ours(days):
    assert days_of(*civil(days)) == days
    assert civil(days + 146_097) == (civil(days)[0] + 400, *civil(days)[1:])


@given(st.integers(-700_000, 2_900_000), st.integers(-5000, 5000))
def test_months_keep_the_day_or_end_earlier(days, months):
    year, month, day = civil(days)
    later = civil(plus_months(days, months))
    assert later[0] * 12 + later[1] == year * 12 + month + months
    assert later[2] == day or (later[2] < day and civil(plus_months(days, months) + 1)[2] == 1)
