"""
Every error this product raises on purpose, and what the harness does about each.

::

    IngestError                    root: stable code, hint, disposition
    ├── ConfigError                STOP   a report of problems with places
    │   ├── ConfigSyntaxError             not YAML, or not there as a whole
    │   └── ConfigInvalidError            YAML, but not a pipeline
    ├── CatalogError               STOP   no such component, import failed, package missing
    ├── EventError                 DIVERT this event can never pass; the pipeline goes on
    │   ├── DecodeError                   the record is not an event
    │   ├── DecorateError                 a decorator refused it
    │   ├── DecorateBugError              a decorator failed in a way it did not foresee
    │   ├── ExpressionError               %{...} has no value here
    │   └── MappingError                  no row key, family not allowed, value too large
    ├── SourceError
    │   ├── SourceUnavailableError RETRY
    │   └── PositionLostError      STOP   offsets are gone: a human must see the loss
    ├── StoreError
    │   ├── StoreUnavailableError  RETRY  reconnect first
    │   ├── StoreBusyError         RETRY  slow down
    │   ├── StoreRefusedError      RETRY  table disabled, access denied: blocked, with an alarm
    │   │   └── NoTableError              table missing
    │   ├── WriteRejectedError     DIVERT these rows can never be written
    │   ├── SchemaError            STOP   the table differs from what the configuration says
    │   └── IntegrityError         STOP   stored data does not agree with itself
    ├── NotFoundError              STOP   something asked for is not there; exit 3
    ├── ConflictError              STOP   held by somebody else; exit 4
    ├── CheckpointError            STOP   the checkpoint is damaged; exit 5
    └── LifecycleError             STOP   used before open or after close: our bug
"""

from collections.abc import Sequence
from enum import Enum
from typing import ClassVar, Protocol, Self


class Disposition(Enum):
    """What the harness does with an error; the only thing it looks at."""

    RETRY = "retry"
    DIVERT = "divert"
    STOP = "stop"


class IngestError(Exception):
    """
    Root of all errors raised on purpose.

    Attributes:
        code: stable name for metrics, dead letters and `ingest describe error`.
        hint: the way out, or None.
        disposition: what the harness does.
        exit_code: what a command that ends with this error exits with.
    """

    code: str = "error"
    disposition: ClassVar[Disposition] = Disposition.STOP
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, code: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}; {self.hint}"

    def without_frames(self) -> Self:
        """
        This error, and those behind it, without tracebacks: for one that is kept, or was told.

        A frame has what it worked with, the event and often the error itself, and the frames that called it: with them
        none of these would be freed before garbage is collected.
        """
        seen: set[int] = set()
        waiting: list[BaseException | None] = [self]
        while waiting:
            error = waiting.pop()
            if error is not None and id(error) not in seen:
                seen.add(id(error))
                error.__traceback__ = None
                waiting += error.__cause__, error.__context__
        return self


class ProblemReport(Protocol):
    """All that is wrong with a configuration, each with its place (`ingest.config.problems.Report`)."""

    def to_text(self) -> str:
        """For people: a line a problem, with the line of the file under it."""

    def to_json(self) -> list[dict[str, object]]:
        """The same as plain data."""


class ConfigError(IngestError):
    """
    The configuration is wrong; nothing was started.

    Attributes:
        report: every problem, or None when there is but the message.
    """

    code = "config"
    exit_code = 2

    def __init__(
        self, message: str, *, report: ProblemReport | None = None, code: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, code=code, hint=hint)
        self.report = report


class ConfigSyntaxError(ConfigError):
    """The text is not YAML, or a file that it includes can not be read."""

    code = "config_syntax"


class ConfigInvalidError(ConfigError):
    """The text is YAML, but does not describe a pipeline."""

    code = "config_invalid"


class CatalogError(IngestError):
    """A component does not exist, failed to import, or needs a package that is not installed."""

    code = "catalog"
    exit_code = 2


class EventError(IngestError):
    """This event can never pass as it is; `on_error` decides what becomes of it."""

    code = "event"
    disposition = Disposition.DIVERT


class DecodeError(EventError):
    """The record is not an event in the source's format."""

    code = "decode"


class DecorateError(EventError):
    """A decorator refused the event."""

    code = "decorate"


class DecorateBugError(EventError):
    """A decorator failed in a way it did not foresee."""

    code = "decorator_bug"


class ExpressionError(EventError):
    """An expression has no value for this event."""

    code = "expression"


class MappingError(EventError):
    """The event can not become cells: no row key, family not allowed, value too large."""

    code = "mapping"


class SourceError(IngestError):
    """Something about where events come from."""

    code = "source"


class SourceUnavailableError(SourceError):
    """The source can not be reached now."""

    code = "source_unavailable"
    exit_code = 3
    disposition = Disposition.RETRY


class PositionLostError(SourceError):
    """Offsets that were not read yet are gone; a human must see the loss."""

    code = "position_lost"


class StoreError(IngestError):
    """Something about where cells go."""

    code = "store"


class StoreUnavailableError(StoreError):
    """The store can not be reached or did not answer in time; the outcome of the call is unknown."""

    code = "store_unavailable"
    exit_code = 3
    disposition = Disposition.RETRY


class StoreBusyError(StoreError):
    """The store asks for less."""

    code = "store_busy"
    disposition = Disposition.RETRY


class StoreRefusedError(StoreError):
    """The store refuses every write for now: table disabled, access denied."""

    code = "store_refused"
    disposition = Disposition.RETRY


class NoTableError(StoreRefusedError):
    """There is no such table: what is to be written to it waits until there is."""

    code = "no_table"

    def __init__(
        self, message: str, *, code: str | None = None, hint: str | None = "create it with 'ingest table apply'"
    ) -> None:
        super().__init__(message, code=code, hint=hint)


class WriteRejectedError(StoreError):
    """
    Rows that can never be written.

    Attributes:
        indexes: which mutations of the call, or None when the store does not say.
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
    The table differs from what the configuration says.

    Attributes:
        command: what to type into the store's own shell where this program can not change the table; None where
            nothing would help.
    """

    code = "schema"
    exit_code = 2

    def __init__(
        self, message: str, *, code: str | None = None, hint: str | None = None, command: str | None = None
    ) -> None:
        super().__init__(message, code=code, hint=hint)
        self.command = command


class IntegrityError(StoreError):
    """Stored data does not agree with itself."""

    code = "integrity"
    exit_code = 5


class NotFoundError(IngestError):
    """Something asked for, or something outside that is needed, is not there."""

    code = "not_found"
    exit_code = 3


class ConflictError(IngestError):
    """Somebody else holds it, or it is there already."""

    code = "taken"
    exit_code = 4


class CheckpointError(IngestError):
    """The checkpoint is damaged or does not belong to this pipeline."""

    code = "checkpoint"
    exit_code = 5


class LifecycleError(IngestError):
    """Used before open or after close: a bug of ours."""

    code = "lifecycle"
