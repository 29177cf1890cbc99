"""Asks a service again while it does not answer."""

from collections.abc import Callable
from typing import TypeVar

from ingest.retry import Retry
from ingest.service.endpoint.client import NoAnswerError, NotRunningError

POLL_S = 0.3
ANSWER_TIMEOUT_S = 10.0
"""How long the service may not answer; its endpoint refuses connections while it has too many."""
T = TypeVar("T")


def answered(ask: Callable[[], T]) -> T:
    """
    The answer to a question that may be repeated.

    Raises:
        NotRunningError: the service has not answered for 10 s, and has probably ended.
        NoAnswerError: the same, and it runs.
        IngestError: its answer is an error.
    """
    retry = Retry(
        pauses_s=(POLL_S,),
        timeout_s=ANSWER_TIMEOUT_S,
        is_transient=lambda error: isinstance(error, NotRunningError | NoAnswerError),
    )
    return retry.run(ask)
