"""Why a micro-batch is not acknowledged, other than the error of a destination or a source."""

from ingest.api import Disposition, IngestError


class AbandonedError(IngestError):
    """The service was stopped during a batch, which runs again after a restart."""

    code = "abandoned"
    remedy = "Start the service again; raise `stop_timeout` if this is frequent."


class RunsAnewError(IngestError):
    """A micro-batch that has begun leaves records out, and its events add to rows: it runs again at a later time."""

    code = "runs_anew"
    disposition = Disposition.RETRY
    remedy = "Nothing: the pipeline restarts by itself, and withdraws what the micro-batch has written."


class BatchFailedError(IngestError):
    """A micro-batch failed repeatedly in Spark; the log has the reason."""

    code = "query_failed"
    remedy = "Correct the cause in the log, then start again."


def code_of(error: BaseException) -> str:
    """The code of the error that ended a query; an exception without one is a failed micro-batch."""
    return error.code if isinstance(error, IngestError) else BatchFailedError.code
