"""
Every error this product raises on purpose, and its disposition.

::

    IngestError                    root: stable code, hint, disposition
    ├── ConfigError                STOP   a report of problems with places
    │   ├── ConfigSyntaxError             not YAML, or an included file cannot be read
    │   └── ConfigInvalidError            YAML, but not a pipeline
    ├── CatalogError               STOP   no such component, import failed, package missing
    ├── EventError                 DIVERT this event can never pass; the pipeline continues
    │   ├── DecodeError                   the record is not an event
    │   ├── UnreadError                   the source could not read records from a place on
    │   ├── DecorateError                 a decorator refused it
    │   ├── DecorateBugError              a decorator raised an unexpected exception
    │   ├── ExpressionError               %{...} has no value here
    │   └── MappingError                  no row key, family not allowed, value too large
    ├── SourceError
    │   ├── SourceUnavailableError RETRY
    │   └── PositionLostError      STOP   unread offsets are gone: an operator must decide
    ├── StoreError
    │   ├── StoreUnavailableError  RETRY  reconnect first
    │   ├── StoreBusyError         RETRY  send less
    │   ├── StoreRefusedError      RETRY  table disabled, access denied: the pipeline is blocked
    │   │   └── NoTableError              table missing
    │   ├── WriteRejectedError     DIVERT these rows can never be written
    │   ├── SchemaError            STOP   the table differs from the configuration
    │   │   └── BucketsDifferError        another number of buckets
    │   │       └── BucketsChangedError RETRY  found while the pipeline runs: it is blocked
    │   └── IntegrityError         STOP   stored data is inconsistent
    ├── NotFoundError              STOP   something requested does not exist; exit 3
    ├── ConflictError              STOP   locked by another process, or already exists; exit 4
    ├── CheckpointError            STOP   the checkpoint is damaged; exit 5
    ├── ErrorBudgetSpentError      STOP   too many records failed: an operator must decide
    └── LifecycleError             STOP   used before open or after close: a bug of this product
"""

from enum import Enum
from typing import ClassVar, Protocol, Self


class Disposition(Enum):
    """What the pipeline does about an error; nothing else decides that."""

    RETRY = "retry"
    DIVERT = "divert"
    STOP = "stop"


class IngestError(Exception):
    """
    Root of all errors raised on purpose.

    Attributes:
        code: stable name for metrics, dead letters and `attr2hbase describe error`.
        hint: what to do about it, after the message, or None; a class may have one for all of its errors.
        disposition: what the pipeline does about it.
        exit_code: of a command that this error ends.
        remedy: what to do about errors with this code, for `attr2hbase describe error`, if the hint of the class does
            not say it; their meaning is the first paragraph of the docstring of the class.
        dropped: what the code means as the reason for which an event was dropped; "" if events are not dropped for it.
    """

    code: str = "error"
    hint: str | None = None
    remedy: ClassVar[str] = "Follow the hint of the message."
    dropped: ClassVar[str] = ""
    disposition: ClassVar[Disposition] = Disposition.STOP
    exit_code: int = 1

    def __init__(self, message: str, *, code: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = str(message)  # a plugin may pass an exception, and a number as the code
        if hint is not None:
            self.hint = hint
        if code is not None:
            self.code = str(code)

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}; {self.hint}"

    def without_frames(self) -> Self:
        """
        This error and its causes without tracebacks, for an error that is stored or has been reported.

        A traceback keeps the local variables of its frames alive, such as the event, and often the error itself; only
        the garbage collector would free them.
        """
        seen: set[int] = set()
        pending: list[BaseException | None] = [self]
        while pending:
            error = pending.pop()
            if error is not None and id(error) not in seen:
                seen.add(id(error))
                error.__traceback__ = None
                pending += error.__cause__, error.__context__
        return self


class ProblemReport(Protocol):
    """All problems of a configuration, each with its place (`ingest.config.problems.Report`)."""

    def to_text(self) -> str:
        """For people: one line for each problem, with the line of the file below it."""

    def to_json(self) -> list[dict[str, object]]:
        """The same as plain data."""


class ConfigError(IngestError):
    """
    The configuration is wrong; nothing was started.

    Attributes:
        report: every problem, or None if there is only the message.
    """

    code = "config"
    exit_code = 2
    remedy = "Correct the file; `attr2hbase validate` lists all its problems."

    def __init__(
        self, message: str, *, report: ProblemReport | None = None, code: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, code=code, hint=hint)
        self.report = report


class ConfigSyntaxError(ConfigError):
    """The text is not YAML, or a file that it includes cannot be read."""

    code = "config_syntax"
    remedy = "Correct the YAML at that place, or the name of the included file."


class ConfigInvalidError(ConfigError):
    """The text is YAML, but does not describe a pipeline."""

    code = "config_invalid"
    remedy = "Correct each of the listed problems."


class CatalogError(IngestError):
    """A component does not exist, failed to import, or needs a package that is not installed."""

    code = "catalog"
    exit_code = 2
    remedy = "Install the package or module in the message, or correct the name."


class PackageMissingError(CatalogError):
    """A component needs a package that is not installed."""

    code = "package_missing"
    remedy = "Install the package in the message."


class EventError(IngestError):
    """This event can never pass as it is; `on_error` is its failure action."""

    code = "event"
    disposition = Disposition.DIVERT
    remedy = "Correct the pipeline or the producer; then replay the dead letters."


class DecodeError(EventError):
    """The record is not an event in the source's format."""

    code = "decode"
    remedy = "Set the source's `format` to the producer's; then replay the dead letters."


class DecorateError(EventError):
    """A decorator refused the event."""

    code = "decorate"
    remedy = (
        "Correct the producer, or give the decorator a `when` that skips such events; then replay the dead letters."
    )


class DecorateBugError(EventError):
    """A decorator, a sink or a decoder raised an unexpected exception."""

    code = "decorator_bug"
    remedy = "Read the traceback in the log and correct the plugin; for a built-in component, report the bug."


class ExpressionError(EventError):
    """An expression has no value for this event."""

    code = "expression"
    remedy = "Add a default to the expression, or guard it with `when`; then replay the dead letters."


class MappingError(EventError):
    """The event cannot become cells: no row key, family not allowed, value too large."""

    code = "mapping"
    remedy = "Correct the pipeline or the sink's options; then replay the dead letters."


class SourceError(IngestError):
    """A source failed."""

    code = "source"


class SourceUnavailableError(SourceError):
    """The source cannot be reached now."""

    code = "source_unavailable"
    disposition = Disposition.RETRY
    exit_code = 3
    remedy = "Check the brokers and the network; the service resumes by itself."


class PositionLostError(SourceError):
    """Offsets that were not read yet are gone; an operator must decide."""

    code = "position_lost"
    remedy = "Determine which records were lost, then follow the hint of the message."


class NotFoundError(IngestError):
    """Something requested, or outside, does not exist or is unavailable."""

    code = "not_found"
    exit_code = 3
    remedy = "Correct the name, or create it."


class ConflictError(IngestError):
    """Locked by another process, or already exists."""

    code = "locked"
    exit_code = 4
    remedy = (
        "Stop the other process, or choose another name. With state in HDFS, a start takes over from a lost machine 30 "
        "s after the last heartbeat."
    )


class CheckpointError(IngestError):
    """The checkpoint is damaged or does not belong to this pipeline."""

    code = "checkpoint"
    exit_code = 5
    remedy = "Restore the checkpoint from a backup, or follow the hint of the message to start without it."


class ErrorBudgetSpentError(IngestError):
    """More records failed than error_budget allows."""

    code = "error_budget"
    remedy = (
        "The message names the most frequent failure and a record with it, whose dead letter is not kept. Run such "
        "events through `attr2hbase explain`, correct the pipeline or the producer, then start again."
    )


class SinkFailedError(IngestError):
    """A sink raised an unexpected exception outside the handling of an event; the message names the sink."""

    code = "sink_failed"
    remedy = "Correct the plugin that the message names, or report the bug; then start again."


class SystemCallFailedError(IngestError):
    """An operation of the operating system failed; the message has the reason."""

    code = "os"
    remedy = "Correct the cause in the message, then run the command again."


class LifecycleError(IngestError):
    """Used before open or after close: a bug of this product."""

    code = "lifecycle"
    remedy = "Report the bug."
