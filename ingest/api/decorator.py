"""What a decorator is."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
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

    def begin(self) -> None:
        """
        Start a share: the records of one partition in one micro-batch.

        Called before the first event of each share, also when the share before it was given up half way. State that
        must not outlive a share is dropped here, so that a micro-batch that runs again meets the decorator as the first
        attempt did. A share does not depend on how many tasks a batch is read by. Of the source `files` it is what one
        task reads of one file without a break, and that does.

        Raises:
            IngestError: the step can not work now, by no event's fault; the pipeline blocks or stops, as the error
                says, with the name of the step.
        """


class Decorator(_Component[S]):
    """
    One event in, one or none out.

    Constructed once a worker process and pipeline; construction may compile and open read-only files, nothing else.
    Then called by one thread, once an event, for ever. Pure: no clock, randomness, network, files, logging or metrics
    in `decorate`; ids derive from `event.origin`. What must remember something says `stateful = True`, is bounded,
    forgets it in `begin`, and says in its docstring what a replay does to it. What can not give the same for the same
    event says `deterministic = False`; then `validate` refuses a row key made of what it sets, under whatever name, and
    warns where its settings do not say all names that it sets (`sets` and `other_names`). How other steps pass it on is
    what their settings say of what they read (`reads`, `passes_on`) and set (the same, `sets_core`, `surely_sets`).
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


@dataclass(frozen=True, slots=True)
class Held:
    """
    What a fan-out answers when it keeps an event until `finish`.

    Attributes:
        instead_of: an event it has held since earlier in the share, and now drops.
    """

    instead_of: Event | None = None


class FanOut(_Component[S]):
    """
    One event in, any number out; the rules of Decorator hold.

    The chain numbers what comes out, so each event has an origin of its own. One that chooses among the events of a
    share holds them until its end: nothing is acknowledged before the whole micro-batch is durable, so what is held is
    not lost with the process. How many it holds is bounded by its own options, and not by the share.
    """

    @abstractmethod
    def decorate(self, event: Event) -> Iterable[Event] | Held:
        """
        Make events of one; each is a copy of its own.

        Raises:
            EventError: this event can not pass.
        """

    def finish(self) -> Iterable[Event]:
        """
        End a share: give the events that were held and go on, each the very object that was held.

        Called after the last event of the share. Events that are held and not given here are dropped, and counted.
        """
        return ()
