"""docs/coverage.md is up to date."""

import re
from pathlib import Path

from millstream.kernels.functions import FUNCTIONS

PAGE = Path(__file__).parents[2] / "docs" / "coverage.md"


def test_the_page_lists_exactly_the_functions_that_have_kernels():
    listed = re.findall(r"^\| ([A-Z]\S*) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(FUNCTIONS), "run `make coverage`"
