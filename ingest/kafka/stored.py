"""A record of a topic, as far as a queue of dead letters needs it; imports no client."""

from typing import NamedTuple


class Stored(NamedTuple):
    """A record at its place in a topic."""

    partition: int
    offset: int
    value: bytes | None
