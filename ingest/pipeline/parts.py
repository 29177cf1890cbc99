"""What a record runs through in a task."""

from collections.abc import Callable
from typing import NamedTuple

from ingest.api import Event, Record
from ingest.pipeline.chain import Chain
from ingest.pipeline.sink_binding import SinkBinding


class Parts(NamedTuple):
    """
    The parts of a task for one record; timed and tapped records have copies of them.

    Attributes:
        decode: see `ingest.sources.decoding.Decoder.decode`.
        chain: of the decorators.
        bindings: the sinks.
    """

    decode: Callable[[Record], Event | str]
    chain: Chain
    bindings: tuple[SinkBinding, ...]
