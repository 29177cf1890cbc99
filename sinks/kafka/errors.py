"""Errors of a topic as errors of a sink: each of them blocks the pipeline, which resumes by itself."""

from ingest.api import IngestError, NotFoundError, SourceUnavailableError, StoreRefusedError, StoreUnavailableError


class NoTopicError(StoreRefusedError):
    """There is no such topic any more, or not yet; the pipeline is blocked until it exists."""

    code = "no_topic"
    hint = "create the topic again; no record of the micro-batch is acknowledged before"


def of_sink(error: IngestError) -> IngestError:
    """The error with which a task or a probe ends; raise it `from error`."""
    match error:
        case SourceUnavailableError():
            return StoreUnavailableError(error.message, hint=error.hint)
        case NotFoundError():
            return NoTopicError(error.message)
        case _:  # the cluster refuses the user or the request
            return StoreRefusedError(error.message, hint=error.hint)
