"""What a reader of a running pipeline wants to see of its events."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tap:
    """
    A place of a pipeline whose events are shown.

    Attributes:
        id: of the tap.
        at: name of a decorator or sink; "" for the records that the source reads.
        is_sink: whether it is a sink, of which the cells are shown.
        is_before: events that reach the decorator, in place of those that it sends.
        where: condition of the events; None for all.
    """

    id: str
    at: str = ""
    is_sink: bool = False
    is_before: bool = False
    where: str | None = None
