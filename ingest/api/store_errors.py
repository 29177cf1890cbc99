"""The errors of stores."""

from collections.abc import Sequence

from ingest.api.errors import Disposition, IngestError
from ingest.api.updates_text import updates_in_words


class StoreError(IngestError):
    """A store failed."""

    code = "store"


class StoreUnavailableError(StoreError):
    """The store cannot be reached or did not answer in time; the outcome of the call is unknown."""

    code = "store_unavailable"
    disposition = Disposition.RETRY
    exit_code = 3
    remedy = "Check the store and the network; the service resumes by itself."
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
    remedy = "None: the pipeline writes less by itself. If it persists, set `max_rate` or add region servers."
    has_waited = False


class StoreRefusedError(StoreError):
    """The store refuses every write for now: table disabled, access denied."""

    code = "store_refused"
    disposition = Disposition.RETRY
    remedy = "Enable the table, or grant the permissions; the service resumes by itself."


class NoTableError(StoreRefusedError):
    """There is no such table; the pipeline is blocked until it exists."""

    code = "no_table"
    hint = "run 'attr2hbase table apply' if it is declared under `tables`; else declare it, or correct its name"


class WriteRejectedError(StoreError):
    """
    Rows that can never be written.

    Attributes:
        indexes: of the rejected mutations in the call, or None if the store does not report them.
    """

    code = "write_rejected"
    disposition = Disposition.DIVERT
    remedy = "Read the dead letter for the reason, correct the pipeline, then replay it."

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


class UnknownFamilyError(WriteRejectedError):
    """The table does not have the column family, and families: on_unknown is not create."""

    code = "unknown_family"
    dropped = "The table lacks the family, with `on_unknown: drop`, or a rule deletes in that family."
    remedy = "Declare the family and run `attr2hbase table apply`, or set `on_unknown: create`; then replay."


class SchemaError(StoreError):
    """
    The table differs from the configuration.

    Attributes:
        command: for the store's own shell, if this program cannot change the table; None if no command would help.
    """

    code = "schema"
    exit_code = 2
    remedy = "Compare with `attr2hbase table plan`, then run `attr2hbase table apply` or correct the file."

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
    remedy = (
        "Declare the number that the message names, or copy the rows into a new table. For a table that was written "
        "with HBaseWD run `attr2hbase table apply --adopt TABLE`."
    )

    def __init__(self, table: str, declared: int | None, found: int | None) -> None:
        hint = (
            "the number of buckets changes only while the table has no rows, with 'attr2hbase table apply'; else "
            "correct the file, or copy the rows into a new table"
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
    """A running pipeline found a table with another number of buckets; most likely the table's record was lost."""

    code = "buckets_changed"
    disposition = Disposition.RETRY
    remedy = (
        "Run `attr2hbase table apply --adopt TABLE`, which checks the rows and records the number; the pipeline "
        "resumes by itself."
    )


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
    remedy = "Declare `updates` as they are recorded, or write to a new table."

    def __init__(self, table: str, declared: str, found: str, *, hint: str | None = None) -> None:
        super().__init__(
            f'table "{table}" has {updates_in_words(found)}, but the file declares {updates_in_words(declared)}',
            hint=hint or "`updates` changes only while the table has no rows: correct the file, or use a new table",
        )


class UpdatesChangedError(UpdatesDifferError):
    """The same, found while a pipeline writes the table: it is blocked until the record is as declared."""

    code = "updates_changed"
    disposition = Disposition.RETRY
    remedy = (
        "Declare `updates` as they are recorded; the pipeline resumes by itself. If the table has no rows, declare it "
        "without `updates` under `tables`, and restart the pipeline."
    )


def _distributed(buckets: int | None) -> str:
    return "has no `distribute`" if buckets is None else f"has `distribute: {{hash: {buckets}}}`"


class IntegrityError(StoreError):
    """Stored data is inconsistent."""

    code = "integrity"
    exit_code = 5
    remedy = "Restore the data in the message from a backup."


class UnclearRefusalError(StoreRefusedError):
    """
    The store refuses rows, and has written no other row of their region with them: it may be at fault.

    So whoever sends rows blocks. A row is at fault if the store writes other rows of the same part and the same chunk.

    Attributes:
        indexes: of the refused mutations in the call, or None if the store does not report them.
    """

    code = "unclear_refusal"
    remedy = "Correct what the reason names, as a coprocessor; or drop the event of the row with `filter`."

    def __init__(self, message: str, *, indexes: Sequence[int] | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.indexes = indexes


class TimestampRefusedError(StoreRefusedError):
    """
    HBase refuses a timestamp as too late by its clock. A batch time blocks; an event's time makes a dead letter.

    If they are batch times, a clock is wrong and no event is at fault: whoever sends the rows blocks. If they are times
    of events, `sinks.writing.retrying_store` turns it into a `WriteRejectedError`.

    Attributes:
        indexes: of the refused mutations in the call, or None if the store does not report them.
    """

    code = "timestamp_refused"
    remedy = (
        "Compare the clocks of the driver and of the region servers; the pipeline resumes by itself. For a dead "
        "letter: correct the time of the event."
    )

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
