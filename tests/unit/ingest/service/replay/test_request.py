"""The request for a replay, as text and as JSON."""

import json

import pytest

from ingest.api import ConfigError
from ingest.service.replay.request import ReplayRequest


def test_json_has_the_times_as_text():
    request = ReplayRequest.of(b'{"from": "1970-01-01T00:00:01Z", "to": "1970-01-02", "at": "1970-01-01"}')
    assert request == ReplayRequest(from_ms=1_000, to_ms=86_400_000, at_ms=0)
    assert request.to_json() == {
        "from": "1970-01-01T00:00:01.000Z",
        "to": "1970-01-02T00:00:00.000Z",
        "at": "1970-01-01T00:00:00.000Z",
        "overwrite": False,
    }


def test_request_is_the_same_after_its_json():
    request = ReplayRequest(from_ms=1_001, to_ms=1_769_817_600_123, overwrite=True, rate=2.5, fingerprint="f")
    assert ReplayRequest.of(json.dumps(request.to_json()).encode()) == request


def test_options_of_the_command_are_text():
    options = {"from": "1970-01-01T00:00:01Z", "to": "1970-01-02", "at": None, "overwrite": False, "rate": 10}
    assert ReplayRequest.model_validate(options) == ReplayRequest(from_ms=1_000, to_ms=86_400_000, rate=10.0)


def test_sinks_select_what_is_replayed():
    one = ReplayRequest(from_ms=1_000, to_ms=2_000, sinks=("b", "a"))
    assert one.selection() == ReplayRequest(from_ms=1_000, to_ms=2_000, sinks=("a", "b")).selection()
    assert one.selection() != ReplayRequest(from_ms=1_000, to_ms=2_000).selection()
    assert ReplayRequest.of(json.dumps(one.to_json()).encode()) == one


def test_no_sink_at_all_is_refused():
    """It would be all of them."""
    with pytest.raises(ConfigError, match="sinks"):
        ReplayRequest.of(b'{"from": "1970-01-01", "to": "1970-01-02", "sinks": []}')


def test_rate_and_fingerprint_do_not_select_records():
    plain = ReplayRequest(from_ms=1_000, to_ms=2_000)
    assert plain.selection() == {"from_ms": 1_000, "to_ms": 2_000, "at_ms": None, "overwrite": False}
    assert ReplayRequest(from_ms=1_000, to_ms=2_000, rate=1.0, fingerprint="f").selection() == plain.selection()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"to": "1970-01-01"}, "the range is empty"),
        ({"from": "1969-12-31T23:59:59.999Z"}, '"1969-12-31T23:59:59.999Z" is before 1970'),
        ({"at": "1969-12-31"}, "before 1970"),
        ({"to": "yesterday"}, '"yesterday" is not a time'),
        ({"to": 86_400_000}, "to: a time is text"),
        ({"rate": -1}, "the rate must be above 0"),
        ({"at": "1970-01-01", "overwrite": True}, "choose one of them"),
        ({"ned": 1}, "ned: Extra inputs"),
    ],
)
def test_mistakes_are_reported(more: dict[str, object], message: str):
    content = {"from": "1970-01-01", "to": "1970-01-02"} | more
    with pytest.raises(ConfigError) as caught:
        ReplayRequest.of(json.dumps(content).encode())
    assert message in str(caught.value)
