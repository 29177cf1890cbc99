"""One run of a job: what it may use, its progress, and its state."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from ingest.api import ConflictError, IngestError
from ingest.service.jobs.cancellation import Cancellation
from ingest.service.jobs.loans import Loans

if TYPE_CHECKING:  # a command that asks the service starts without Spark and Kafka
    from ingest.service.shared import Shared
    from ingest.spark.streaming.reading import Session

MAX_DETAILS = 1_000
"""Of one name, which a service keeps of a job that has ended."""
MAX_WAIT_S = 60.0
"""Of the wait after a slice, which may have waited for a store for hours."""
Report = Callable[["Progress"], None]
"""Called by a job with its progress."""


class JobFailedError(IngestError):
    """A job of the service failed with an unexpected error."""

    code = "job_failed"
    remedy = "Read the log of the service; a replay resumes when the command runs again."


class NoJobsError(ConflictError):
    """The service takes no jobs, such as replays, for the reason in the message."""

    code = "no_jobs"
    remedy = "Try again later, or run the command without the service."


class JobState(StrEnum):
    """State of a job; the last three are final."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_active(self) -> bool:
        """Whether the job has not ended."""
        return self in (JobState.WAITING, JobState.RUNNING)


class NoFreeSlotError(ConflictError):
    """The jobs of the service would leave no task slot to its pipelines."""

    code = "no_free_slot"
    hint = (
        "give Spark more slots, as in `spark: {master: local[2]}`, lower `service: jobs: tasks`, or stop the service "
        "and run the command again"
    )


@dataclass(frozen=True, slots=True)
class Progress:
    """
    How far a job has come.

    Attributes:
        done: number of finished slices, such as micro-batches.
        total: number of all slices; 0 if it is not known yet.
        result: what is finished, as plain data.
        blocked: why the job retries the slice that runs; "" if it does not.
        details: lists of the result that may be long, by name: what was added since the progress before. A service
            keeps the first ones, `MAX_DETAILS`, for the complete result.
    """

    done: int = 0
    total: int = 0
    result: Mapping[str, Any] | None = None
    blocked: str = ""
    details: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        """The finished fraction, from 0 to 1."""
        return self.done / self.total if self.total else 0.0


@dataclass(frozen=True, slots=True)
class Failure:
    """The error of a job that has failed; see `ingest.api.IngestError`."""

    code: str
    message: str
    hint: str | None = None
    exit_code: int = 1

    @classmethod
    def of(cls, error: BaseException, hide: Callable[[str], str]) -> "Failure":
        """An error as plain data, its secrets masked."""
        if not isinstance(error, IngestError):
            return cls(JobFailedError.code, hide(f"{type(error).__name__}: {error}"))
        return cls(error.code, hide(error.message), None if error.hint is None else hide(error.hint), error.exit_code)


@dataclass(frozen=True, slots=True)
class JobStatus:
    """
    A job at one moment.

    Attributes:
        id: unique among all services.
        kind: such as `replay`.
        subject: name of the pipeline or table that it works on; of a dump, its root.
        reason: why it waits, retries, has failed or was cancelled; "" otherwise.
        since_ms: when it entered its state, ms since the epoch.
        error: why it has failed; None otherwise.
    """

    id: str
    kind: str
    subject: str
    state: JobState
    reason: str
    since_ms: int
    progress: Progress = Progress()
    error: Failure | None = None

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "id": self.id,
            "kind": self.kind,
            "subject": self.subject,
            "state": self.state.value,
            "reason": self.reason,
            "since_ms": self.since_ms,
            "done": self.progress.done,
            "total": self.progress.total,
            "result": self.progress.result,
            "error": None if self.error is None else asdict(self.error),
        }


@dataclass(frozen=True, slots=True)
class JobContext:
    """
    What the jobs of a service share with its pipelines.

    Attributes:
        slots: number of task slots; None on a cluster, where it changes.
        busy_s: the seconds in which micro-batches of the pipelines ran so far, added up.
        loans: of the pipelines.
    """

    shared: "Shared"
    session: "Session"
    slots: int | None
    busy_s: Callable[[], float] = lambda: 0.0
    loans: Loans[Any] = field(default_factory=Loans)

    @property
    def tasks(self) -> int:
        """
        The maximum number of tasks of a job that run at a time.

        Raises:
            NoFreeSlotError: they would leave no task slot to the pipelines.
        """
        tasks = self.shared.configuration.service.jobs.tasks
        if self.slots is not None and tasks >= self.slots:
            raise NoFreeSlotError(
                f"a job may run {tasks} tasks at a time, and Spark has {self.slots} slots: none is left to the "
                "pipelines",
            )
        return tasks


@dataclass(frozen=True, slots=True)
class JobRun:
    """
    One run of a job.

    Attributes:
        context: of the service, at the start of the run.
        tasks: each of its Spark jobs has at most this number of partitions, and one job runs at a time.
        cancellation: requested when the job must end; `Job.run` then raises an error soon.
        report: called with the progress.
        clock: monotonic seconds.
    """

    context: JobContext
    tasks: int
    cancellation: Cancellation
    report: Report
    clock: Callable[[], float] = time.monotonic

    @contextmanager
    def new_slice(self) -> Iterator[None]:
        """
        A block with one Spark job, or a few short ones. After it the job waits as long as micro-batches of the
        pipelines ran meanwhile, at most as long as the block took.

        So pipelines that always have records have all slots for about half of the time, whatever the tasks of the job
        cost in CPU and disk.
        """
        started_s, busy_s = self.clock(), self.context.busy_s()
        yield
        worked_s = self.clock() - started_s
        self.cancellation.wait(max(0.0, min(worked_s, self.context.busy_s() - busy_s, MAX_WAIT_S)))
