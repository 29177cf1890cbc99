"""The failures of events, and the errors of events and tasks that a task makes of other errors."""

from dataclasses import dataclass

from ingest.api import (
    DecorateBugError,
    ErrorBudgetSpentError,
    Event,
    EventError,
    IngestError,
    OnError,
    Origin,
    PositionLostError,
    Record,
    UnreadError,
)
from ingest.api.reasons import drop_reason
from ingest.plugins.guard import describe_exception, reraise_fatal
from ingest.receipt import Receipt, TaskStatus

NO_SINK = drop_reason(
    "no_sink",
    "Every sink has a `when`, and none of them is true for the event.",
    "Nothing, if that is intended; else add a sink without `when`.",
)
ON_ERROR = drop_reason(
    "on_error", "The event failed, with `on_error: drop`.", "Set `on_error: dead_letter` to keep such events."
)


class SinkBugError(DecorateBugError):
    """A sink raised an unexpected exception; the log has its traceback once."""

    code = "sink_bug"


class SourceBugError(DecorateBugError):
    """Decoding a record raised an unexpected exception; the log has its traceback once."""

    code = "source_bug"


class StoppedByEventError(IngestError):
    """An event failed with on_error: stop; its batch is not acknowledged."""

    code = "stopped_by_event"
    remedy = "Correct the pipeline for the event in the message, then start again."


@dataclass(frozen=True, slots=True)
class Failure:
    """
    Why an event failed, or a record that has none.

    Attributes:
        event: None if the record has none.
        fan_out: number of the event among those of its record.
        sinks: into which a replay runs the record; empty for all of its sinks, since the event has failed before them.
    """

    error: EventError
    component: str
    on_error: OnError
    event: Event | None = None
    fan_out: int = 0
    sinks: frozenset[str] = frozenset()


def bug_of(
    bug: BaseException, name: str, package: str, origin: Origin, kind: type[DecorateBugError], *, provider: str = ""
) -> DecorateBugError:
    """The error of an event for which the named component raised an unexpected exception."""
    reraise_fatal(bug, name, package, provider, origin=origin)
    error = kind(describe_exception(bug, package, provider))
    error.__cause__ = bug
    return error


def stopped_by(record: Record, failure: Failure) -> StoppedByEventError:
    """The error of a task with a failure that stops the pipeline."""
    place = f"{record.topic}/{record.partition}/{record.offset}"
    return StoppedByEventError(
        f'"{failure.component}" refused event {place}: {failure.error}',
        hint="on_error is stop; correct the event or the component, or set on_error: dead_letter",
    )


def budget_spent(failed: int, last: Failure) -> ErrorBudgetSpentError:
    """The error of a task in which so many records failed that the batch exceeds the error budget."""
    return ErrorBudgetSpentError(
        f'{failed} records failed in one task, the last one in "{last.component}": {last.error}; nothing of the batch '
        "is acknowledged",
        hint="'attr2hbase explain' shows why events fail; correct the pipeline, or raise error_budget: {share: …}",
    )


def lost_positions(error: UnreadError) -> PositionLostError:
    """
    The error of records that an earlier attempt may have read, into deferred updates or a change feed.

    These would keep what that attempt has written, and a replay of a dead letter would write it a second time.
    """
    return PositionLostError(
        error.message,
        hint="restore it as it was; or move the checkpoint away: a new one starts where the tables of the pipeline end",
    )


def ended(receipt: Receipt, status: TaskStatus, error: IngestError) -> Receipt:
    """The receipt of a task that did not finish; without dead letters, since the driver would not publish them."""
    receipt.status = status
    receipt.code, receipt.message, receipt.exit_code = error.code, str(error), error.exit_code
    return receipt
