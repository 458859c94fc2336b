"""The Yahoo streaming benchmark's advertising events, as JSON lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

from pyspark.sql.types import StructType

from millstream.io import events as generated
from millstream.io.events import POOL, EventSource, Line, uuid
from millstream.io.options import Given

EVENT_SCHEMA = (
    StructType()
    .add("user_id", "string")
    .add("page_id", "string")
    .add("ad_id", "string")
    .add("ad_type", "string")
    .add("event_type", "string")
    .add("event_time", "long")
    .add("ip_address", "string")
)
CAMPAIGN_SCHEMA = StructType().add("ad_id", "string").add("campaign_id", "string")
AD_TYPES = ("banner", "modal", "sponsored-search", "mail", "mobile")
EVENT_TYPES = ("view", "click", "purchase")


class YsbSource(EventSource):
    """Events of advertisements; `event_time` is the instant in milliseconds."""

    name = "millstream-ysb"
    OPTIONS = (*EventSource.OPTIONS, "campaigns", "adsPerCampaign")

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        super().__init__(options)
        given = Given(self.name, options)
        self.campaigns = given.whole("campaigns", 100, least=1)
        self.ads = given.whole("adsPerCampaign", 10, least=1)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.campaigns, self.ads, self.seed

    def campaign_rows(self) -> list[tuple[str, str]]:
        """The static table that goes with these events."""
        return campaigns(*self.shape)

    @classmethod
    def lines(cls, shape: tuple[int, ...]) -> Iterator[Line]:
        random = Random(f"ysb-pool-{shape[-1]}")
        ad_ids = [ad for ad, _ in campaigns(*shape)]
        for _ in range(POOL):
            ip = ".".join([str(random.randrange(1, 255)) for _ in range(4)])
            head = (
                f'{{"user_id":"{uuid(random)}","page_id":"{uuid(random)}","ad_id":"{random.choice(ad_ids)}",'
                f'"ad_type":"{random.choice(AD_TYPES)}","event_type":"{random.choice(EVENT_TYPES)}","event_time":'
            )
            yield head, f',"ip_address":"{ip}"}}'


def campaigns(campaigns: int = 100, ads_per_campaign: int = 10, seed: int = 0) -> list[tuple[str, str]]:
    """The rows of the static table `(ad_id, campaign_id)`.

    >>> rows = campaigns(2, 3)
    >>> len(rows), len({campaign for _, campaign in rows}), rows == campaigns(2, 3)
    (6, 2, True)
    """
    random = Random(f"ysb-{seed}")
    return [
        (uuid(random), campaign)
        for campaign in [uuid(random) for _ in range(campaigns)]
        for _ in range(ads_per_campaign)
    ]


def write_events(
    folder: str | Path,
    events: int,
    *,
    files: int = 8,
    rate: int = 10_000,
    start: float = 1_600_000_000.0,
    campaigns: int = 100,
    ads_per_campaign: int = 10,
    seed: int = 0,
) -> list[Path]:
    """Write so many of the events as files of JSON lines; see `millstream.io.events.write_events`."""
    shape = campaigns, ads_per_campaign, seed
    return generated.write_events(folder, events, YsbSource, *shape, files=files, rate=rate, start=start)
