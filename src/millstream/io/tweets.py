"""Short messages, as JSON lines: common and rare words as in a natural language."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from random import Random

from pyspark.sql.types import StructType

from millstream.io.events import POOL, EventSource, Line, uuid

TWEET_SCHEMA = StructType().add("user", "string").add("text", "string").add("time", "long")
WORDS = 10_000
SKEW = 1.05
"""Word `k` is used in proportion to `k ** -SKEW`, as in most languages."""
SYLLABLES = ("ka", "lo", "mi", "ne", "ru", "sa", "to", "vi", "wen", "zor", "del", "pra", "qui", "hum", "bex", "fy")


class TweetSource(EventSource):
    """Messages of 6 to 20 words; `time` is the instant in milliseconds."""

    name = "millstream-tweets"

    @classmethod
    def lines(cls, shape: tuple[int, ...]) -> Iterator[Line]:
        random = Random(f"tweets-{shape[0]}")
        words = vocabulary()
        weights = list(accumulate((rank + 1) ** -SKEW for rank in range(WORDS)))
        for _ in range(POOL):
            text = " ".join(random.choices(words, cum_weights=weights, k=random.randrange(6, 21)))
            yield f'{{"user":"{uuid(random)}","text":"{text}","time":', "}"


def vocabulary() -> list[str]:
    """The words, the most common ones first and shortest.

    >>> words = vocabulary()
    >>> words[0], words[16], len(set(words))
    ('ka', 'loka', 10000)
    """
    return [_word(rank) for rank in range(WORDS)]


def _word(rank: int) -> str:
    word = SYLLABLES[rank % len(SYLLABLES)]
    while rank := rank // len(SYLLABLES):
        word = SYLLABLES[rank % len(SYLLABLES)] + word
    return word
