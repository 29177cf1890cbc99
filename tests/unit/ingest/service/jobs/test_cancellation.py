"""An action is ended from another thread."""

from ingest.service.jobs.cancellation import Cancellation


def test_request_calls_what_ends_the_running_part_once():
    called = []
    cancellation = Cancellation()
    with cancellation.calls(lambda: called.append("ended")):
        pass
    with cancellation.calls(lambda: called.append("running")):
        cancellation.request()
        cancellation.request()
    assert (called, cancellation.is_requested) == (["running"], True)


def test_part_that_starts_after_the_request_is_ended_at_once():
    called = []
    cancellation = Cancellation()
    cancellation.request()
    with cancellation.calls(lambda: called.append("late")):
        assert called == ["late"]


def test_wait_returns_at_the_request():
    cancellation = Cancellation()
    assert not cancellation.wait(0.0)
    cancellation.request()
    assert cancellation.wait(60.0)
