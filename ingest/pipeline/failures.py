"""The errors of events and tasks that a task makes of other errors."""

from ingest.api import DecorateBugError, IngestError, Origin, PositionLostError, UnreadError
from ingest.plugins.guard import describe_exception, reraise_fatal
from ingest.receipt import Receipt, TaskStatus


def bug_of(
    bug: BaseException, name: str, package: str, origin: Origin, *, code: str, provider: str = ""
) -> DecorateBugError:
    """The error of an event for which the named component raised an unexpected exception."""
    reraise_fatal(bug, name, package, provider, origin=origin)
    error = DecorateBugError(describe_exception(bug, package, provider), code=code)
    error.__cause__ = bug
    return error


def lost_positions(error: UnreadError) -> PositionLostError:
    """
    The error of records that an earlier attempt may have read, into deferred updates or a feed.

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
