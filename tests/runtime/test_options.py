import pytest

from millstream.errors import InvalidOption, MillstreamError
from millstream.runtime.options import Options


def test_strings_are_fine():
    options = Options.parse({"slots": "3", "interval": "0.5", "mode": "bsp", "epochs": "9"})
    assert (options.slots, options.interval, options.mode, options.epochs) == (3, 0.5, "bsp", 9)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"mode": "turbo"}, "unknown mode 'turbo'.*spark, bsp, prescheduled, grouped"),
        ({"slot": 2}, "did you mean 'slots'"),
        ({"colour": "red"}, "unknown option 'colour'.*Valid options"),
        ({"slots": 0}, "slots must be at least 1"),
        ({"slots": "many"}, "'slots' takes int"),
        ({"interval": -1}, "interval must be 0"),
        ({"epochs": 0}, "epochs must be at least 1"),
        ({"groupSize": 0}, "groupSize must be at least 1"),
        ({"heartbeat": 0}, "more than 0 seconds"),
    ],
)
def test_wrong_options_say_what_is_right(given, says):
    with pytest.raises(InvalidOption, match=says) as error:
        Options.parse(given)
    assert isinstance(error.value, MillstreamError)
