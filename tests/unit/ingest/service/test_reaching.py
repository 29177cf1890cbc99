"""What a start does about what is not there: away is waited for later, held or damaged ends it at once."""

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
from ingest.service.pipeline import reach as reach_at_start

AWAY = [StoreUnavailableError("x"), StoreRefusedError("x"), SourceUnavailableError("x")]
FOR_GOOD = [(ConflictError("x"), 4), (IntegrityError("x"), 5), (NotFoundError("x"), 3)]


def reach(error: IngestError, *, once: bool) -> None:
    def fail() -> None:
        raise error

    reach_at_start(fail, "store", once=once)


@pytest.mark.parametrize("error", AWAY, ids=lambda error: error.code)
def test_what_is_away_is_left_for_later_unless_somebody_waits_for_the_run(error: IngestError):
    reach(error, once=False)
    with pytest.raises(type(error)):
        reach(error, once=True)


@pytest.mark.parametrize("once", [False, True])
@pytest.mark.parametrize(("error", "exit_code"), FOR_GOOD, ids=str)
def test_what_is_wrong_for_good_ends_the_start(error: IngestError, exit_code: int, once: bool):
    with pytest.raises(type(error)) as caught:
        reach(error, once=once)
    assert caught.value.exit_code == exit_code
