"""The contract of a decorator."""

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from ingest.api.component import ComponentBase
from ingest.api.event import Event
from ingest.api.schemas import Schemas
from ingest.api.settings import Settings

S = TypeVar("S", bound=Settings)


class _DecoratorBase(ComponentBase[S]):
    settings_base = Settings
    stateful: ClassVar[bool] = False
    deterministic: ClassVar[bool] = True
    inflates: ClassVar[bool] = False

    @property
    def drop_reason(self) -> str:
        """Why it drops what it drops, for counts; the same for every event."""
        return self.kind

    def use_schemas(self, schemas: Schemas) -> None:
        """
        Use the schemas of a registry.

        Called once, after the construction, if `uses_registry` of the settings is true.

        Args:
            schemas: those that the task knows; they may change between two attempts of a micro-batch, and the schema of
                an ID never does.
        """

    def split_start(self) -> None:
        """
        Start a split: the records of one partition in one micro-batch.

        Called before the first event of each split, also if the previous split was abandoned. Drop state of the split
        here, so that a second attempt of a micro-batch starts as the first did. A split of Kafka does not depend on the
        number of tasks that read a batch. A split of the source `files` is what one task reads of one file without a
        break, so it does depend on the tasks.

        Raises:
            IngestError: the decorator cannot work now, whatever the event. The disposition of the error says whether
                the pipeline blocks or stops; the message names the decorator.
        """


class Decorator(_DecoratorBase[S]):
    """
    One event in, one or none out.

    Constructed once for each worker process and pipeline; construction may compile and open read-only files, nothing
    else. Then called by one thread, once for each event. Pure: no clock, randomness, network, files, logging or metrics
    in `decorate`; ids derive from `event.origin`.

    A decorator with state says `stateful = True`, bounds the state, drops it in `split_start`, and documents the effect
    of a replay. A decorator that may give another result for the same event says `deterministic = False`: `validate`
    then refuses a row key that names an attribute it sets (`sets`, `sets_core`), and warns if its settings do not list
    all names that it sets (`other_names`).

    A decorator that may make a large event of a small one, as one that decompresses, says `inflates = True`, and limits
    what it makes: the chain then measures the event.
    """

    @abstractmethod
    def decorate(self, event: Event) -> bool:
        """
        Edit the event in place.

        Compute first and assign last: a decorator that raises leaves the event unchanged. Set attributes with
        `event.set` and `event.update`, which apply the pipeline's rule for existing names.

        Returns:
            False when the event is dropped on purpose.

        Raises:
            EventError: this event cannot pass (usually DecorateError).
        """


@dataclass(frozen=True, slots=True)
class Buffered:
    """
    What a fan-out returns when it buffers an event until `split_end`.

    Attributes:
        instead_of: an event of the split that it has buffered until now, and drops.
    """

    instead_of: Event | None = None


class FanOut(_DecoratorBase[S]):
    """
    One event in, any number out; the rules of Decorator apply.

    The chain numbers the events that come out, so each has an origin of its own. A fan-out that chooses among the
    events of a split buffers them until the split ends. Nothing is acknowledged before the whole micro-batch is
    durable, so a buffered event is not lost with the process. The options of the fan-out bound how many it buffers;
    the size of the split does not.
    """

    @abstractmethod
    def decorate(self, event: Event) -> Iterable[Event] | Buffered:
        """
        Create events from one; each is a copy of its own.

        A generator makes them one by one: the chain fails the event before all of them are made, if they take too much
        memory.

        Raises:
            EventError: this event cannot pass.
        """

    def split_end(self) -> Iterable[Event]:
        """
        End a split: return the buffered events that pass, each the very object that was buffered.

        Called after the last event of the split. Buffered events that are not returned are dropped, and counted.
        """
        return ()
