"""The contract of a queue of dead letters."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from ingest.dead_letters.envelope import DeadLetter


class ReplayOutcome(StrEnum):
    """The outcome of the last replay of a dead letter."""

    REPLAYED = "replayed"
    FAILED_AGAIN = "failed_again"
    KEPT = "kept"
    """No replay: it is kept on purpose."""


@dataclass(frozen=True, slots=True)
class Mark:
    """
    The mark of a replay at a dead letter.

    Attributes:
        code: of the error if it failed again, or why it was not run (`SkipReason`); else "".
        counted: sinks into deferred updates that replays of the dead letter have stored its event with -> the time of
            these updates, in ms; also if it failed again in another sink.
    """

    outcome: ReplayOutcome
    at_ms: int
    code: str = ""
    counted: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """
    A dead letter in its queue.

    Attributes:
        position: identifies the dead letter within its queue until it is published again; only the queue interprets it.
        mark: of the last replay; None if there was none.
    """

    position: str
    dead_letter: DeadLetter
    mark: Mark | None = None

    @property
    def is_replayed(self) -> bool:
        """Whether it needs no replay any more."""
        return self.mark is not None and self.mark.outcome is ReplayOutcome.REPLAYED

    @property
    def is_kept(self) -> bool:
        """Whether it is kept on purpose, and only a replay that names it runs it."""
        return self.mark is not None and self.mark.outcome is ReplayOutcome.KEPT

    @property
    def counted(self) -> Mapping[str, int]:
        """As of its mark."""
        return {} if self.mark is None else self.mark.counted

    @property
    def needs_blob(self) -> bool:
        """Whether its value is in a blob store, and it may be replayed yet."""
        return self.dead_letter.blob is not None and not self.is_replayed


def with_unneeded_blobs(gone: Iterable[DeadLetter], others: Iterable[Entry]) -> list[DeadLetter]:
    """
    Those of some dead letters whose blobs may be released.

    Two dead letters of one event, of two replays that have run it at the same time, share a reference.

    Args:
        gone: dead letters that were deleted, or need no replay any more.
        others: the dead letters that remain; read if some of `gone` have a blob.
    """
    found = [dead_letter for dead_letter in gone if dead_letter.blob is not None]
    if not found:
        return []
    needed = {(entry.dead_letter.blob, entry.dead_letter.blob_reference) for entry in others if entry.needs_blob}
    return [dead_letter for dead_letter in found if (dead_letter.blob, dead_letter.blob_reference) not in needed]


Keeps = Callable[[DeadLetter], bool]
"""Whether a dead letter of an earlier run of a micro-batch stays: nothing that runs now could have stored its event."""


def keeps_none(_dead_letter: DeadLetter) -> bool:
    """For a run with all components of the earlier one: its dead letters replace all of that one."""
    return False


class DeadLetterQueue(ABC):
    """
    The dead letters of one pipeline.

    Order: constructed (no I/O), then any calls, then `close`; closing twice is fine. One thread of the one process that
    runs the pipeline calls `publish`. Any process may make all other calls, also during a `publish`; one that marks or
    removes has the lock of the replays since before it read, and leaves the batch that is not acknowledged. A batch is
    published before it is acknowledged, so it may be published several times, with other dead letters if the
    configuration was changed in between: the last time counts. A replay may publish a dead letter again, too, which an
    earlier replay has marked: its event has failed since, so it has no mark.
    """

    @abstractmethod
    def prepare(self) -> None:
        """
        Check whether dead letters can be published, before there are any; `publish` checks it too.

        Raises:
            NotFoundError: their topic does not exist.
            SourceUnavailableError: the cluster does not answer now.
        """

    @abstractmethod
    def publish(
        self, dead_letters: Sequence[bytes], batch_id: int, batch_time_ms: int, keeps: Keeps = keeps_none
    ) -> Sequence[DeadLetter]:
        """
        Make the dead letters of a micro-batch durable before it returns.

        Called for every batch, also with no dead letters: an attempt that was not acknowledged may have left some. The
        batch time distinguishes a batch from one of the same number under an earlier checkpoint.

        Args:
            dead_letters: as `DeadLetter.to_json` writes them, from the receipts.
            batch_id: of the micro-batch, under the present checkpoint.
            batch_time_ms: its time, the same in every attempt.
            keeps: which dead letters of an earlier call stay, with their positions and marks; the others are replaced.

        Returns:
            Dead letters with blobs that an earlier call has published for the batch, and that the queue does not have
            any more: their blobs may be released.

        Raises:
            StoreUnavailableError: not possible now; the batch cannot be acknowledged, and the caller repeats the call.
            SourceUnavailableError: the same, from Kafka.
        """

    @abstractmethod
    def entries(self) -> Iterator[Entry]:
        """
        All dead letters by batch time, the newest last, each once.

        Raises:
            IntegrityError: a file of the queue is damaged.
        """

    @abstractmethod
    def read(self, position: str) -> Entry:
        """
        One dead letter.

        Raises:
            NotFoundError: there is none at this position.
        """

    @abstractmethod
    def mark(self, marks: Mapping[str, Mark]) -> None:
        """Mark dead letters with the outcome of a replay; durable when it returns. The last mark counts."""

    @abstractmethod
    def remove(self, positions: Iterable[str]) -> None:
        """
        Delete dead letters; the positions of the others stay the same. Unknown positions are ignored.

        Raises:
            ConfigError: this queue cannot delete single dead letters.
        """

    @abstractmethod
    def close(self) -> None:
        """Close connections."""
