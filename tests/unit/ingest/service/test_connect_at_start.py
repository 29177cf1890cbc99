"""Resources at the start: an unavailable one is retried later, a locked or damaged one fails the start."""

import pytest

from ingest.api import (
    ConflictError,
    IngestError,
    IntegrityError,
    NotFoundError,
    SourceUnavailableError,
    StoreRefusedError,
    StoreUnavailableError,
)
from ingest.service.building import connect as connect_at_start

UNAVAILABLE = [StoreUnavailableError("x"), StoreRefusedError("x"), SourceUnavailableError("x")]
PERMANENT = [(ConflictError("x"), 4), (IntegrityError("x"), 5), (NotFoundError("x"), 3)]


def connect(error: IngestError, *, once: bool) -> None:
    def fail() -> None:
        raise error

    connect_at_start(fail, "store", once=once)


@pytest.mark.parametrize("error", UNAVAILABLE, ids=lambda error: error.code)
def test_unavailable_resource_is_retried_later_except_in_a_once_run(error: IngestError):
    connect(error, once=False)
    with pytest.raises(type(error)):
        connect(error, once=True)


@pytest.mark.parametrize("once", [False, True])
@pytest.mark.parametrize(("error", "exit_code"), PERMANENT, ids=str)
def test_permanent_error_fails_the_start(error: IngestError, exit_code: int, once: bool):
    with pytest.raises(type(error)) as caught:
        connect(error, once=once)
    assert caught.value.exit_code == exit_code
