"""A position in a shard of a feed, and the iterator that stands for it: a text without an end of its validity."""

import re
from typing import NamedTuple
from zlib import crc32

from sinks.feed.change_feed import ChangeFeed, Shard
from sinks.feed.errors import InvalidIteratorError
from sinks.feed.keys import decoded_time, encoded_time

_VERSION = "1"
_TOKEN = re.compile(r"1\.([A-Za-z0-9_-]+)\.(\d{1,10})\.((?:[0-9a-f]{2})*)\.(\d{1,19})\.([0-9a-f]{8})")


class FeedPosition(NamedTuple):
    """
    A position in a shard: before the first change whose sequence is not smaller than `start`.

    A position is never changed by time alone. It is refused once changes after it may have expired.

    Attributes:
        feed_id: id of the feed.
        shard: number of the shard.
        start: first bytes of a sequence; empty for the oldest change that has not expired.
        kept_until_ms: no change after the position has expired as long as those of this time have not. It is later than
            the time of `start` if the reader had read all changes at that time, or reads page by page. It has no effect
            while it is in the future by more than a reader may need for its pages: the clock of the reader was ahead.
    """

    feed_id: str
    shard: int
    start: bytes = b""
    kept_until_ms: int = 0

    @classmethod
    def at_time(cls, feed_id: str, shard: int, time_ms: int, kept_until_ms: int = 0) -> "FeedPosition":
        """The position before the first change of a batch time."""
        return cls(feed_id, shard, encoded_time(time_ms), kept_until_ms)

    @classmethod
    def at_start(cls, change_feed: ChangeFeed, shard: Shard) -> "FeedPosition":
        """
        The position before the first change that a shard ever had.

        Unlike the oldest position it is refused once that change has expired, so a reader that continues with the
        children of a closed shard misses no change.
        """
        return cls.at_time(change_feed.id, shard.number, shard.from_ms)

    @property
    def is_oldest(self) -> bool:
        """Whether it is before the oldest change that has not expired, whenever it is used."""
        return not self.start

    @property
    def time_ms(self) -> int:
        """Batch time of the first change that may follow; 0 for the oldest."""
        return decoded_time(self.start)

    def to_token(self) -> str:
        """The position as an iterator, with a checksum."""
        text = f"{_VERSION}.{self.feed_id}.{self.shard}.{self.start.hex()}.{self.kept_until_ms}"
        return f"{text}.{crc32(text.encode()):08x}"

    @classmethod
    def from_token(cls, token: str) -> "FeedPosition":
        """
        The position of an iterator.

        Raises:
            InvalidIteratorError: the text is damaged, or no iterator.
        """
        found = _TOKEN.fullmatch(token)
        if found is None or f"{crc32(token.rpartition('.')[0].encode()):08x}" != found[5]:
            raise InvalidIteratorError(
                f'"{token[:80]}" is not an iterator',
                hint="iterators come from 'attr2hbase feed iterator' and from the pages of 'attr2hbase feed records'",
            )
        return cls(found[1], int(found[2]), bytes.fromhex(found[3]), int(found[4]))
