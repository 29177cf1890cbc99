"""
Row keys of feed rows: `shard ‖ sequence`, and sequence is `batch time ‖ rank of the split ‖ logical row key`.

- Shard (4 bytes), batch time in ms (8 bytes) and rank (3 bytes) are unsigned big-endian numbers. So the feed rows of a
  shard are in the order of their sequences, and changes of a row are in the order of their micro-batches.
- A micro-batch that runs again writes the same keys, so each change is in the feed once.
- As text, a sequence is 16 and 6 hexadecimal digits, and then the row key in hexadecimal digits. The order of the texts
  is that of the sequences.
"""

from struct import Struct
from typing import NamedTuple

from ingest.api import MAX_ROW_KEY_BYTES
from ingest.api.feeds import FEED_FAMILY

FEED_COLUMN = FEED_FAMILY + b":c"
"""The column of a feed row that has the change."""

MAX_SHARD = 2**32 - 1
MAX_RANK = 2**24 - 1
MAX_SEQUENCE_TIME_MS = 2**63 - 1

_HEAD = Struct(">IQ")
_TIME = Struct(">Q")
_SHARD = Struct(">I")
_RANK_BYTES = 3
_START_BYTES = _TIME.size + _RANK_BYTES
PREFIX_BYTES = _SHARD.size + _START_BYTES
"""Number of bytes before the logical row key."""
MAX_FEED_ROW_BYTES = MAX_ROW_KEY_BYTES - PREFIX_BYTES
"""Length of a logical row key of a table with a change feed."""
_TIME_DIGITS, _RANK_DIGITS = 16, 6
_HEX = frozenset("0123456789abcdef")


class FeedSequence(NamedTuple):
    """
    The place of a change in its shard.

    Attributes:
        time_ms: batch time of the micro-batch that wrote the change.
        rank: of the split in the micro-batch.
        row: the logical row key.
    """

    time_ms: int
    rank: int
    row: bytes

    def encoded(self) -> bytes:
        """The sequence as bytes, in the order of sequences."""
        return _TIME.pack(self.time_ms) + self.rank.to_bytes(_RANK_BYTES) + self.row

    def to_text(self) -> str:
        """The sequence as lower-case hexadecimal digits."""
        return self.encoded().hex()

    @classmethod
    def from_text(cls, text: str) -> "FeedSequence":
        """
        The sequence of a text that `to_text` wrote.

        Raises:
            ValueError: it is none.
        """
        if len(text) < _TIME_DIGITS + _RANK_DIGITS or not _HEX.issuperset(text):
            raise ValueError("the text is not a sequence")
        encoded = bytes.fromhex(text)
        time_ms = _checked(_TIME.unpack_from(encoded)[0])
        return cls(time_ms, int.from_bytes(encoded[_TIME.size : _START_BYTES]), encoded[_START_BYTES:])


class FeedKey(NamedTuple):
    """
    The row key of a feed row.

    Attributes:
        shard: number of the shard.
        sequence: place in the shard.
    """

    shard: int
    sequence: FeedSequence

    def encoded(self) -> bytes:
        """The row key as bytes."""
        return _SHARD.pack(self.shard) + self.sequence.encoded()

    @classmethod
    def decoded(cls, key: bytes) -> "FeedKey":
        """
        The parts of a row key.

        Raises:
            ValueError: it is not the key of a feed row.
        """
        if len(key) < PREFIX_BYTES:
            raise ValueError("the row key is not the key of a feed row")
        shard, time_ms = _HEAD.unpack_from(key)
        rank = int.from_bytes(key[_HEAD.size : PREFIX_BYTES])
        return cls(shard, FeedSequence(_checked(time_ms), rank, key[PREFIX_BYTES:]))


def sequence_text(key: bytes) -> str:
    """The sequence in the row key of a feed row as `FeedSequence.to_text` returns it; a reader needs each one's."""
    return key[_SHARD.size :].hex()


def encoded_time(time_ms: int) -> bytes:
    """The first bytes of the sequences of a batch time."""
    return _TIME.pack(time_ms)


def decoded_time(start: bytes) -> int:
    """The batch time of the first sequence that is not smaller than `start`; 0 for no bytes."""
    return int.from_bytes(start[: _TIME.size].ljust(_TIME.size, b"\x00"))


def shard_prefix(shard: int) -> bytes:
    """What precedes the sequences in the keys of feed rows of a shard."""
    return _SHARD.pack(shard)


def split_prefix(shard: int, time_ms: int, rank: int) -> bytes:
    """What precedes the logical row keys in the feed rows that one split of a micro-batch writes to a shard."""
    return _HEAD.pack(shard, time_ms) + rank.to_bytes(_RANK_BYTES)


def shard_range(shard: int, from_ms: int = 0, until_ms: int | None = None) -> tuple[bytes, bytes | None]:
    """
    The range [start, stop) of the keys of feed rows of a shard whose batch times are in [from_ms, until_ms).

    Args:
        shard: number of the shard.
        from_ms: 0 for the first.
        until_ms: None for no bound.
    """
    if until_ms is not None:
        return _HEAD.pack(shard, from_ms), _HEAD.pack(shard, until_ms)
    return _HEAD.pack(shard, from_ms), None if shard == MAX_SHARD else _SHARD.pack(shard + 1)


def _checked(time_ms: int) -> int:
    if time_ms > MAX_SEQUENCE_TIME_MS:
        raise ValueError("the time of the sequence is too large")
    return time_ms
