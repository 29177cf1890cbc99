"""
The loop over task statuses: one micro-batch, from its first attempt until it is durable.

Used by everything that runs a batch: the Spark job, the replay of dead letters, the dry run and the tests. They differ
in the host: how tasks run, and how long to wait.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import TypeVar

from ingest.api import Batch, Committer, IngestError, RecordPlace, StoreBusyError, TaskSpec
from ingest.dead_letters import buffer
from ingest.receipt import Counts, Receipt, TaskStatus, total_of, worst_of

T = TypeVar("T")

CALL_TIMEOUT_S = 10.0  # a call in flight for longer means blocked; an operator sees an outage within 15 s
MAX_CALL_TIMEOUT_S = 180.0  # a slow store still succeeds: the timeout doubles with each attempt
_MAX_DOUBLINGS = 10  # already above the maximum; attempts have no limit, but a float's exponent has


class StoppedError(IngestError):
    """A task reported an error that stops the pipeline."""

    code = "stopped"
    remedy = "Correct the cause in the message, then start again."

    def __init__(self, message: str, *, code: str | None = None, exit_code: int = 1) -> None:
        super().__init__(message, code=code)
        self.exit_code = exit_code


class LoopHost(ABC):
    """Runs the tasks of a batch, and decides how long to wait."""

    @abstractmethod
    def run_tasks(self, spec: TaskSpec, *, on_one_slot: bool) -> Sequence[Receipt]:
        """
        Run all records of the batch through tasks.

        Args:
            spec: for each of the tasks, except its `task_id`. If `max_dead_letter_bytes` is None and there are several
                tasks, the host divides `MAX_DEAD_LETTER_BYTES` among them.
            on_one_slot: leave the other task slots to other pipelines, since the store may still be unavailable.
        """

    @abstractmethod
    def until_possible(self, action: Callable[[], T]) -> T:
        """Retry an action on the driver until it succeeds, and return its result; raises errors that are not RETRY."""

    @abstractmethod
    def blocked(self, code: str, message: str, attempts: int) -> None:
        """Wait before the next attempt, or raise to leave the batch unacknowledged."""


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """
    One micro-batch to run; see `Batch` and `TaskSpec` for its attributes.

    Attributes:
        attempts: prefix of the names of its attempts; unique to this start of the query.
        max_failures: see `TaskSpec`.
    """

    name: str
    time_ms: int
    attempts: str
    sinks_by_record: Mapping[RecordPlace, frozenset[str]] = field(default_factory=dict)
    split_per_record: bool = False
    max_failures: int | None = None
    splits: tuple[RecordPlace, ...] = ()


def run_until_durable(
    micro_batch: MicroBatch,
    committers: Mapping[str, Committer],
    host: LoopHost,
    *,
    on_attempt: Callable[[Counts], None] = lambda _counts: None,
    check: Callable[[Counts, Sequence[bytes]], None] = lambda _counts, _dead_letters: None,
) -> tuple[Counts, list[bytes]]:
    """
    Run a micro-batch until its destinations have committed it; see `Committer` for the order of their calls.

    Args:
        micro_batch: what to run.
        host: runs the tasks and waits.
        committers: name of a destination -> its committer.
        on_attempt: called with the counts of each attempt, durable or not.
        check: called with the counts and the dead letters before the first commit; raises to leave the batch
            uncommitted.

    Returns:
        The counts, and the dead letters; the caller publishes them before it acknowledges the batch.

    Raises:
        StoppedError: a task stops the pipeline.
        IngestError: the host or a committer failed with an error that is not RETRY, or `check` raised it.
    """
    requests: dict[str, list[bytes]] = {}
    blocked = 0
    was_blocked = False
    share = _Share()
    numbers = count()
    while True:
        batch = Batch(micro_batch.name, micro_batch.time_ms, f"{micro_batch.attempts}-{next(numbers)}")
        prepared = {
            name: host.until_possible(partial(committer.prepare, batch, requests.get(name, ())))
            for name, committer in committers.items()
        }
        spec = TaskSpec(
            batch=batch,
            call_timeout_s=_call_timeout_s(blocked),
            prepared=prepared,
            sinks_by_record=micro_batch.sinks_by_record,
            split_per_record=micro_batch.split_per_record,
            max_failures=micro_batch.max_failures,
            splits=micro_batch.splits,
            max_dead_letter_bytes=share.max_bytes,
        )
        with _abort_on_error(committers, batch):
            receipts = host.run_tasks(spec, on_one_slot=was_blocked)
        worst, counts = worst_of(receipts), total_of(receipts)
        if worst.code == StoreBusyError.code:
            # also of a sink without a store, or of a call that ended after its time-out
            counts.busy = max(1, counts.busy)
        on_attempt(counts)
        if worst.status is TaskStatus.DURABLE and not share.adjusted(counts):
            dead_letters = [line for receipt in receipts for line in receipt.dead_letters]
            with _abort_on_error(committers, batch):
                check(counts, dead_letters)
            for name, committer in committers.items():
                results = [receipt.results[name].payload for receipt in receipts]
                host.until_possible(partial(committer.commit, batch, results))
            return counts, dead_letters
        _abort(committers, batch)
        was_blocked = worst.status is TaskStatus.BLOCKED
        match worst.status:
            case TaskStatus.STOP:
                raise StoppedError(worst.message, code=worst.code, exit_code=worst.exit_code)
            case TaskStatus.BLOCKED:
                blocked += 1
                host.blocked(worst.code, worst.message, blocked)
                if worst.probe is not None:
                    name, payload = worst.probe
                    _probe(committers[name], payload, host)
            case TaskStatus.RUN_AGAIN:
                for receipt in receipts:
                    for name, result in receipt.results.items():
                        if result.run_again:
                            requests.setdefault(name, []).append(result.payload)


class _Share:
    """
    The bytes of dead letters that each task may have; together they have no more than a micro-batch may.

    Attributes:
        max_bytes: see `TaskSpec.max_dead_letter_bytes`.
    """

    def __init__(self) -> None:
        self.max_bytes: int | None = None
        self._is_final = False

    def adjusted(self, counts: Counts) -> bool:
        """
        Choose another share if the tasks of an attempt must run again with it; returns whether they must.

        They must if the share of one was too small for dead letters that all fit: these would have no bytes.

        Args:
            counts: of the attempt.
        """
        fit = counts.dead_letter_bytes <= buffer.MAX_DEAD_LETTER_BYTES
        if self.max_bytes is not None:
            # the same records now have more dead letters, as after a file of a decorator was replaced
            self.max_bytes, self._is_final = (self.max_bytes if fit else None), True
            return not fit
        if self._is_final or not counts.by_place or not fit:
            return False
        self.max_bytes = buffer.MAX_DEAD_LETTER_BYTES
        return True


def _probe(committer: Committer, payload: bytes, host: LoopHost) -> None:
    """
    Wait until the destination accepts a part of the batch.

    No task runs meanwhile, so an unavailable store occupies no task slot that other pipelines need.
    """
    tries = count()

    def probe() -> None:
        committer.probe(payload, _call_timeout_s(next(tries)))

    host.until_possible(probe)


def _call_timeout_s(attempts: int) -> float:
    return min(CALL_TIMEOUT_S * 2.0 ** min(attempts, _MAX_DOUBLINGS), MAX_CALL_TIMEOUT_S)


@contextmanager
def _abort_on_error(committers: Mapping[str, Committer], batch: Batch) -> Iterator[None]:
    try:
        yield
    except BaseException:
        _abort(committers, batch)
        raise


def _abort(committers: Mapping[str, Committer], batch: Batch) -> None:
    for committer in committers.values():
        committer.abort(batch)
