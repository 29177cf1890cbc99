"""The errors of rows that a store refuses, although the rows may not be at fault."""

from collections.abc import Sequence

from ingest.api.errors import StoreRefusedError


class UnclearRefusalError(StoreRefusedError):
    """
    A store refuses rows for a reason that may concern the rows, a part of their table, or all of it.

    So whoever sends rows blocks. A row is at fault if the store writes other rows of the same part and the same chunk.

    Attributes:
        indexes: of the refused mutations in the call, or None if the store does not report them.
    """

    code = "unclear_refusal"

    def __init__(self, message: str, *, indexes: Sequence[int] | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.indexes = indexes


class TimestampRefusedError(StoreRefusedError):
    """
    A store refuses timestamps that are later than its clock allows.

    If they are batch times, a clock is wrong and no event is at fault: whoever sends the rows blocks. If they are times
    of events, `sinks.writing.retrying_store` turns it into a `WriteRejectedError`.

    Attributes:
        indexes: of the refused mutations in the call, or None if the store does not report them.
    """

    code = "timestamp_refused"

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
