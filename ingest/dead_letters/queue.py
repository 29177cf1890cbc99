"""What a place for dead letters is."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ingest.dead_letters.envelope import DeadLetter


class ReplayOutcome(StrEnum):
    """How the last replay of a letter ended."""

    REPLAYED = "replayed"
    FAILED_AGAIN = "failed_again"


@dataclass(frozen=True, slots=True)
class Mark:
    """
    What a replay left at a letter.

    Attributes:
        code: of the error when it failed again, else "".
    """

    outcome: ReplayOutcome
    at_ms: int
    code: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """
    A letter in its queue.

    Attributes:
        position: names the letter within its queue for good; given out by the queue, understood by it alone.
        mark: of the last replay, None when there was none.
    """

    position: str
    letter: DeadLetter
    mark: Mark | None = None


class DeadLetterQueue(ABC):
    """
    The dead letters of one pipeline.

    Order: constructed (no I/O), then any calls, then `close`; closing twice is fine. `publish` is called by one thread
    of the one process that runs the pipeline; everything else by any process, also while that one publishes. A batch is
    published before it is acknowledged and so perhaps several times, with other letters each time if the configuration
    was changed between: the last time counts.
    """

    @abstractmethod
    def prepare(self) -> None:
        """
        Find out whether letters can be published, before there are any; `publish` does so too.

        Raises:
            NotFoundError: the place they are to go to does not exist.
            SourceUnavailableError: nobody can tell now.
        """

    @abstractmethod
    def publish(self, letters: Sequence[bytes], batch_id: int, batch_time_ms: int) -> None:
        """
        Make the letters of a micro-batch durable; they are when it returns.

        Called for every batch, with no letters too: an attempt that was not acknowledged may have left some. The
        batch time tells a batch from one of the same number under an earlier checkpoint.

        Args:
            letters: `DeadLetter.to_json`, as receipts carry them.
            batch_id: of the micro-batch, under the present checkpoint.
            batch_time_ms: its time, the same in every attempt.

        Raises:
            StoreUnavailableError: not now; the batch can not be acknowledged, and the call is made again.
            SourceUnavailableError: the same, from Kafka.
        """

    @abstractmethod
    def entries(self) -> Iterator[Entry]:
        """
        All letters by batch time, the newest last, each once.

        Raises:
            IntegrityError: a file of the queue is damaged.
        """

    @abstractmethod
    def read(self, position: str) -> Entry:
        """
        One letter.

        Raises:
            NotFoundError: there is none at this position.
        """

    @abstractmethod
    def mark(self, marks: Mapping[str, Mark]) -> None:
        """Note at positions how a replay ended; durable when it returns, and the last mark of a letter counts."""

    @abstractmethod
    def close(self) -> None:
        """Let go of connections."""
