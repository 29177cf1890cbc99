"""Health of pipelines."""

import pytest

from ingest.observe.health import MAX_REASON_CHARS, Health, PipelineHealth, State
from tests.support.clock import Clock


@pytest.mark.parametrize(
    ("states", "is_live", "is_ready"),
    [
        ([], True, False),
        ([State.STARTING], True, False),
        ([State.RUNNING], True, True),
        ([State.RUNNING, State.STARTING], True, False),
        ([State.BLOCKED], True, False),
        ([State.STOPPING], True, False),
        ([State.STOPPED], True, False),
        ([State.FAILED], False, False),
        ([State.FAILED, State.RUNNING], True, False),
        ([State.FAILED, State.FAILED], False, False),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, list) else None,
)
def test_live_and_ready(states, is_live, is_ready):
    health = Health()
    for number, state in enumerate(states):
        health.change(f"pipeline-{number}", state)
    assert (health.is_live(), health.is_ready()) == (is_live, is_ready)


def test_snapshot_is_sorted_with_reason_and_since():
    clock = Clock(100.0)
    health = Health(["b", "a"], clock=clock)
    clock.now = 105.0
    health.change("b", State.BLOCKED, "store_unavailable: no answer")
    assert health.snapshot() == (
        PipelineHealth("a", State.STARTING, "", 100.0),
        PipelineHealth("b", State.BLOCKED, "store_unavailable: no answer", 105.0),
    )


def test_new_reason_in_the_same_state_keeps_its_start_time():
    clock = Clock(100.0)
    reported = []
    health = Health(["a"], clock=clock, on_change=lambda pipeline, state: reported.append((pipeline, state)))
    health.change("a", State.BLOCKED, "first")
    clock.now = 130.0
    health.change("a", State.BLOCKED, "second")
    assert health.snapshot() == (PipelineHealth("a", State.BLOCKED, "second", 100.0),)
    assert reported == [("a", State.STARTING), ("a", State.BLOCKED)]


def test_reason_is_masked():
    health = Health(["a"], mask=lambda text: text.replace("hunter2", "***"))
    health.change("a", State.FAILED, "login with hunter2 refused")
    assert health.snapshot()[0].reason == "login with *** refused"


def test_reason_is_bounded_after_it_is_masked():
    health = Health(mask=lambda text: text.replace("secret", "***"))
    health.change("p", State.FAILED, "secret" * MAX_REASON_CHARS)
    [found] = health.snapshot()
    assert (len(found.reason), found.reason[-2:], "secret" in found.reason) == (MAX_REASON_CHARS, "*…", False)
