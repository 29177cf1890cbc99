"""Errors of a topic as errors of a sink: each of them blocks the pipeline, which resumes by itself."""

from ingest.api import (
    NotFoundError,
    SourceError,
    SourceUnavailableError,
    StoreError,
    StoreRefusedError,
    StoreUnavailableError,
)

OF_CLUSTER = (SourceError, NotFoundError)
"""What the cluster or the topic is the reason of; no other error is one that passes by itself."""


class NoTopicError(StoreRefusedError):
    """There is no such topic any more, or not yet; the pipeline is blocked until it exists."""

    code = "no_topic"
    hint = "create the topic again; no record of the micro-batch is acknowledged before"


def of_sink(error: SourceError | NotFoundError) -> StoreError:
    """The error of a sink for one of `OF_CLUSTER`; raise it `from error`."""
    match error:
        case SourceUnavailableError():
            return StoreUnavailableError(error.message, hint=error.hint)
        case NotFoundError():
            return NoTopicError(error.message)
        case _:  # the cluster refuses the user or the request
            return StoreRefusedError(error.message, hint=error.hint)
