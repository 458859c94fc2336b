"""Clicks on a site, as JSON lines: visits of very different lengths, each of a visitor who doesn't come again."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from pyspark.sql.types import StructType

from millstream.io.events import POOL, EventSource, Line

CLICK_SCHEMA = (
    StructType()
    .add("visitor", "string")
    .add("time", "long")
    .add("url", "string")
    .add("referrer", "string")
    .add("status", "integer")
    .add("bytes", "long")
)
VISIT = 12
"""Clicks of a visit on average; few have many more."""
SPREAD = POOL // 8
"""A visit's clicks are so many events apart at most, from first to last."""
PAGES = 800
SECTIONS = ("news", "teams", "venues", "tickets", "history", "images")


class ClickSource(EventSource):
    """Clicks with their visitor; `time` is the instant in milliseconds."""

    name = "millstream-clicks"

    @classmethod
    def lines(cls, shape: tuple[int, ...]) -> Iterator[Line]:
        random = Random(f"clicks-{shape[0]}")
        for _, visitor in sorted(_clicks(random)):
            page = f"/{random.choice(SECTIONS)}/{random.randrange(PAGES)}.html"
            status = 200 if random.random() < 0.95 else 404
            yield (
                f'{{"visitor":"{visitor}-',
                '","time":',
                f',"url":"{page}","referrer":"https://www.example.com/{random.choice(SECTIONS)}",'
                f'"status":{status},"bytes":{random.randrange(200, 60_000)}}}',
            )


def _clicks(random: Random) -> list[tuple[float, str]]:
    """The place of every click in the pool, and whose it is."""
    clicks: list[tuple[float, str]] = []
    visits = 0
    while len(clicks) < POOL:
        visits += 1
        count = min(1 + int(random.expovariate(1 / (VISIT - 1))), POOL - len(clicks))
        first = random.uniform(0, POOL - SPREAD)
        clicks += [(first + random.uniform(0, SPREAD), f"v{visits:05d}") for _ in range(count)]
    return clicks
