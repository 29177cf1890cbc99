"""Why a micro-batch is not acknowledged, other than the error of a destination or a source."""

from ingest.api import IngestError


class AbandonedError(IngestError):
    """The service was stopped during a batch, which runs again after a restart."""

    code = "abandoned"
    remedy = "Start the service again; raise `stop_timeout` if this is frequent."


class BatchFailedError(IngestError):
    """A micro-batch failed repeatedly in Spark; the log has the reason."""

    code = "query_failed"
    remedy = "Correct the cause in the log, then start again."


def code_of(error: BaseException) -> str:
    """The code of the error that ended a query; an exception without one is a failed micro-batch."""
    return error.code if isinstance(error, IngestError) else BatchFailedError.code
