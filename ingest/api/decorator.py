"""What a decorator is."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar, Generic, TypeVar

from ingest.api.component import Example, Stability, settings_class_of
from ingest.api.event import Event
from ingest.api.settings import Settings

S = TypeVar("S", bound=Settings)


class _Component(ABC, Generic[S]):
    kind: ClassVar[str]
    stability: ClassVar[Stability] = Stability.STABLE
    examples: ClassVar[tuple[Example, ...]] = ()
    stateful: ClassVar[bool] = False
    deterministic: ClassVar[bool] = True

    def __init__(self, settings: S) -> None:
        self.settings = settings

    @classmethod
    def settings_class(cls) -> type[Settings]:
        """The options of this decorator."""
        return settings_class_of(cls, Settings)

    @property
    def drop_reason(self) -> str:
        """Why it drops what it drops, for counts; the same for every event."""
        return self.kind


class Decorator(_Component[S]):
    """
    One event in, one or none out.

    Constructed once a worker process and pipeline; construction may compile and open read-only files, nothing else.
    Then called by one thread, once an event, for ever. Pure: no clock, randomness, network, files, logging or metrics
    in `decorate`; ids derive from `event.origin`. What must remember something says `stateful = True`, is bounded,
    and says in its docstring what a replay does to it. What can not give the same for the same event says
    `deterministic = False`; then `validate` warns, and refuses a row key made of what it sets.
    """

    @abstractmethod
    def decorate(self, event: Event) -> bool:
        """
        Edit the event in place.

        Compute first and assign last: an event that raised is unchanged. Attributes are set with `event.set` and
        `event.update`, which keep the pipeline's rule for existing names.

        Returns:
            False when the event is dropped on purpose.

        Raises:
            EventError: this event can not pass (usually DecorateError).
        """


class FanOut(_Component[S]):
    """
    One event in, any number out; the rules of Decorator hold.

    The chain numbers what comes out, so each event has an origin of its own.
    """

    @abstractmethod
    def decorate(self, event: Event) -> Iterable[Event]:
        """
        Make events of one; each is a copy of its own.

        Raises:
            EventError: this event can not pass.
        """
