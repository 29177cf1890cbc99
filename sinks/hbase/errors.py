"""What an error of a write means for another call; the same for all clients of HBase."""

from ingest.api import IngestError, NotFoundError, SchemaError, StoreRefusedError, WriteRejectedError


def schema_error(error: IngestError) -> IngestError:
    """The error of a schema change rather than a write: a rejection becomes a SchemaError."""
    return SchemaError(error.message, hint=error.hint) if isinstance(error, WriteRejectedError) else error


def read_error(error: IngestError) -> IngestError:
    """
    The error of a read rather than a write: a missing table is not found, and a rejection becomes a refusal.

    A read is not caused by an event, so if the server rejects it the pipeline blocks.
    """
    if isinstance(error, StoreRefusedError) and error.code == "no_table":
        return NotFoundError(error.message, hint=error.hint)
    if isinstance(error, WriteRejectedError):
        return StoreRefusedError(error.message, hint=error.hint)
    return error
