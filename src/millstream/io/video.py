"""Heartbeats of video players, as JSON lines: large records, and a few sessions that have most of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from random import Random

from pyspark.sql.types import StructType

from millstream.io.events import POOL, EventSource, Line, uuid

HEARTBEAT_SCHEMA = (
    StructType()
    .add("session_id", "string")
    .add("viewer_id", "string")
    .add("event", "string")
    .add("bitrate_kbps", "integer")
    .add("buffering_ms", "integer")
    .add("played_ms", "integer")
    .add("dropped_frames", "integer")
    .add("time", "long")
    .add(
        "client",
        StructType()
        .add("device", "string")
        .add("os", "string")
        .add("player", "string")
        .add("user_agent", "string")
        .add("country", "string")
        .add("city", "string")
        .add("isp", "string"),
    )
    .add(
        "content", StructType().add("title", "string").add("url", "string").add("cdn", "string").add("live", "boolean")
    )
)
SESSIONS = 2000
SKEW = 1.1
"""Session `k` has a share of heartbeats in proportion to `k ** -SKEW`."""
EVENTS = ("playing", "playing", "playing", "playing", "buffering", "seek", "pause", "error")
DEVICES = (("tv", "Tizen 7.0"), ("phone", "Android 14"), ("phone", "iOS 17.4"), ("desktop", "Windows 11"))
PLACES = (("DE", "Berlin"), ("US", "Boston"), ("IN", "Pune"), ("BR", "Recife"), ("JP", "Osaka"), ("FR", "Lyon"))
ISPS = ("Northern Fibre", "Coastal Cable", "Metro Mobile", "Rural Radio")
CDNS = ("cdn-a", "cdn-b", "cdn-c")
BITRATES = (800, 1500, 3000, 6000, 12000)


class VideoSource(EventSource):
    """Heartbeats with metadata of the client and of what it plays; `time` is the instant in milliseconds."""

    name = "millstream-video"

    @classmethod
    def lines(cls, shape: tuple[int, ...]) -> Iterator[Line]:
        random = Random(f"video-{shape[0]}")
        sessions = [_session(random) for _ in range(SESSIONS)]
        weights = list(accumulate((rank + 1) ** -SKEW for rank in range(SESSIONS)))
        for head, tail in random.choices(sessions, cum_weights=weights, k=POOL):
            event = random.choice(EVENTS)
            buffering = random.randrange(50, 4000) if event == "buffering" else 0
            played = random.randrange(8000, 10_001) if event == "playing" else random.randrange(8000)
            beat = (
                f'"event":"{event}","bitrate_kbps":{random.choice(BITRATES)},"buffering_ms":{buffering},'
                f'"played_ms":{played},"dropped_frames":{random.randrange(30)},"time":'
            )
            yield head + beat, tail


def _session(random: Random) -> tuple[str, str]:
    """What all heartbeats of a session have in common: what stands before and after the rest."""
    device, system = random.choice(DEVICES)
    country, city = random.choice(PLACES)
    title, cdn = random.randrange(500), random.choice(CDNS)
    player, version = f"web-{random.randrange(1, 9)}.{random.randrange(20)}", random.randrange(90, 120)
    agent = f"Mozilla/5.0 ({device}; {system}) AppleWebKit/605.1.15 (KHTML, like Gecko) Player/{version}.0"
    client = (
        f'"client":{{"device":"{device}","os":"{system}","player":"{player}",'
        f'"user_agent":"{agent}","country":"{country}","city":"{city}","isp":"{random.choice(ISPS)}"}}'
    )
    content = (
        f'"content":{{"title":"title {title}","url":"https://{cdn}.example.com/vod/{title}/{uuid(random)}/master.m3u8",'
        f'"cdn":"{cdn}","live":{random.choice(("true", "false"))}}}'
    )
    return f'{{"session_id":"{uuid(random)}","viewer_id":"{uuid(random)}",', f",{client},{content}}}"
