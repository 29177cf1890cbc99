"""Why a micro-batch is not acknowledged, other than the error of a destination or a source."""

from ingest.api import IngestError


class AbandonedError(IngestError):
    """The service or the query stops: the batch stays unacknowledged and runs again after a restart."""

    code = "abandoned"


class BatchFailedError(IngestError):
    """Raised to Spark for a batch that failed with an unexpected exception, or whose error contains a secret."""

    code = "query_failed"
