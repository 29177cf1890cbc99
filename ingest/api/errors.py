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

from collections.abc import Sequence
from enum import Enum
from typing import ClassVar, Protocol, Self

from ingest.api.updates_text import updates_in_words


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
        hint: what to do about it, or None.
        disposition: what the pipeline does about it.
        exit_code: of a command that this error ends.
    """

    code: str = "error"
    disposition: ClassVar[Disposition] = Disposition.STOP
    exit_code: int = 1

    def __init__(self, message: str, *, code: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = str(message)  # a plugin may pass an exception, and a number as the code
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

    def __init__(
        self, message: str, *, report: ProblemReport | None = None, code: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, code=code, hint=hint)
        self.report = report


class ConfigSyntaxError(ConfigError):
    """The text is not YAML, or a file that it includes cannot be read."""

    code = "config_syntax"


class ConfigInvalidError(ConfigError):
    """The text is YAML, but does not describe a pipeline."""

    code = "config_invalid"


class CatalogError(IngestError):
    """A component does not exist, failed to import, or needs a package that is not installed."""

    code = "catalog"
    exit_code = 2


class EventError(IngestError):
    """This event can never pass as it is; `on_error` is its failure action."""

    code = "event"
    disposition = Disposition.DIVERT


class DecodeError(EventError):
    """The record is not an event in the source's format."""

    code = "decode"


class DecorateError(EventError):
    """A decorator refused the event."""

    code = "decorate"


class DecorateBugError(EventError):
    """A decorator, a sink or a decoder raised an unexpected exception."""

    code = "decorator_bug"


class ExpressionError(EventError):
    """An expression has no value for this event."""

    code = "expression"


class MappingError(EventError):
    """The event cannot become cells: no row key, family not allowed, value too large."""

    code = "mapping"


class SourceError(IngestError):
    """A source failed."""

    code = "source"


class SourceUnavailableError(SourceError):
    """The source cannot be reached now."""

    code = "source_unavailable"
    exit_code = 3
    disposition = Disposition.RETRY


class PositionLostError(SourceError):
    """Offsets that were not read yet are gone; an operator must decide."""

    code = "position_lost"


class StoreError(IngestError):
    """A store failed."""

    code = "store"


class StoreUnavailableError(StoreError):
    """The store cannot be reached or did not answer in time; the outcome of the call is unknown."""

    code = "store_unavailable"
    exit_code = 3
    disposition = Disposition.RETRY
    is_starting = False
    """Its servers answer that they are starting, so it will probably be available within a minute."""


class StoreBusyError(StoreError):
    """
    The store is overloaded and requests a lower rate.

    Attributes:
        has_waited: the store has waited for its server and repeated the call, or its server requests a longer wait; so
            its caller need not repeat the call at once.
    """

    code = "store_busy"
    disposition = Disposition.RETRY
    has_waited = False


class StoreRefusedError(StoreError):
    """The store refuses every write for now: table disabled, access denied."""

    code = "store_refused"
    disposition = Disposition.RETRY


class NoTableError(StoreRefusedError):
    """There is no such table; the pipeline is blocked until it exists."""

    code = "no_table"
    REMEDY = "correct its name, or declare it under tables and run 'attr2hbase table apply'"

    def __init__(self, message: str, *, code: str | None = None, hint: str | None = REMEDY) -> None:
        super().__init__(message, code=code, hint=hint)


class WriteRejectedError(StoreError):
    """
    Rows that can never be written.

    Attributes:
        indexes: of the rejected mutations in the call, or None if the store does not report them.
    """

    code = "write_rejected"
    disposition = Disposition.DIVERT

    def __init__(
        self,
        message: str,
        *,
        indexes: Sequence[int] | None = None,
        code: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, code=code, hint=hint)
        self.indexes = indexes


class SchemaError(StoreError):
    """
    The table differs from the configuration.

    Attributes:
        command: for the store's own shell, if this program cannot change the table; None if no command would help.
    """

    code = "schema"
    exit_code = 2

    def __init__(
        self, message: str, *, code: str | None = None, hint: str | None = None, command: str | None = None
    ) -> None:
        super().__init__(message, code=code, hint=hint)
        self.command = command


class BucketsDifferError(SchemaError):
    """
    A table has another number of buckets than its declaration, so its rows would not be found.

    Args:
        declared: number of buckets; None for row keys that are stored as they are.
        found: the number in the table's record.
    """

    code = "buckets_differ"
    exit_code = 4

    def __init__(self, table: str, declared: int | None, found: int | None) -> None:
        hint = (
            "the number of buckets changes only while the table has no rows, with 'attr2hbase table apply'; else "
            "correct "
            "the file, or copy the rows into a new table"
        )
        if found is None:
            hint += (
                "; if the rows are in these buckets, because HBaseWD wrote them or the table's record was lost, run "
                "'attr2hbase table apply --adopt TABLE'"
            )
        elif declared is None:
            hint += (
                "; if the rows are stored as they are, because the table was dropped and created again and its record "
                "stayed, run 'attr2hbase table apply --adopt TABLE', which removes the record"
            )
        super().__init__(
            f'table "{table}" {_distributed(found)}, but the file says that it {_distributed(declared)}',
            hint=hint,
        )


class BucketsChangedError(BucketsDifferError):
    """The same, found while a pipeline writes the table: it is blocked until the record is the declared number."""

    code = "buckets_changed"
    disposition = Disposition.RETRY


class UpdatesDifferError(SchemaError):
    """
    A table has rows whose updates are merged in another way than its declaration says.

    Args:
        declared: as `TableSpec.updates`.
        found: the same, in the table's record.
        hint: for a read; by default that for a write.
    """

    code = "updates_differ"
    exit_code = 4

    def __init__(self, table: str, declared: str, found: str, *, hint: str | None = None) -> None:
        super().__init__(
            f'table "{table}" has {updates_in_words(found)}, but the file declares {updates_in_words(declared)}',
            hint=hint or "`updates` changes only while the table has no rows: correct the file, or use a new table",
        )


class UpdatesChangedError(UpdatesDifferError):
    """The same, found while a pipeline writes the table: it is blocked until the record is as declared."""

    code = "updates_changed"
    disposition = Disposition.RETRY


def _distributed(buckets: int | None) -> str:
    return "has no `distribute`" if buckets is None else f"has `distribute: {{hash: {buckets}}}`"


class IntegrityError(StoreError):
    """Stored data is inconsistent."""

    code = "integrity"
    exit_code = 5


class NotFoundError(IngestError):
    """Something requested, or outside, does not exist or is unavailable."""

    code = "not_found"
    exit_code = 3


class ConflictError(IngestError):
    """Locked by another process, or already exists."""

    code = "locked"
    exit_code = 4


class CheckpointError(IngestError):
    """The checkpoint is damaged or does not belong to this pipeline."""

    code = "checkpoint"
    exit_code = 5


class ErrorBudgetSpentError(IngestError):
    """More records failed than the pipeline allows; an operator must decide."""

    code = "error_budget"


class LifecycleError(IngestError):
    """Used before open or after close: a bug of this product."""

    code = "lifecycle"
