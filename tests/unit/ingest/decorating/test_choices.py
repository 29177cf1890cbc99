"""What a choice leads to."""

import pytest

from ingest.api import DecorateError
from ingest.decorating.choices import FailureAction


@pytest.mark.parametrize(("fate", "passes"), [(FailureAction.KEEP, True), (FailureAction.DROP, False)])
def test_an_event_that_does_not_fail_has_no_error_made(fate: FailureAction, passes: bool) -> None:
    made: list[str] = []

    def error(what: str) -> DecorateError:
        made.append(what)
        return DecorateError(what)

    assert fate.keeps_or_refuses(error, "x") is passes
    assert fate.keeps_or_raises(DecorateError("x")) is passes
    assert made == []


def test_one_that_fails_has_it_raised() -> None:
    with pytest.raises(DecorateError, match="no x"):
        FailureAction.ERROR.keeps_or_refuses(DecorateError, "no x")
    with pytest.raises(DecorateError, match="no y"):
        FailureAction.ERROR.keeps_or_raises(DecorateError("no y"))
