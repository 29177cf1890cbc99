"""The host decorator."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from decorators.host import Host, HostSettings
from ingest.testing.events import event_of, settings_of


@pytest.mark.parametrize(
    ("options", "host", "expected"),
    [
        ("form: as_is", "Web-1.example.com.", "Web-1.example.com."),
        ("form: short", "web-1.example.com", "web-1"),
        ("form: short", "web-1", "web-1"),
        ("form: short", "10.0.0.1", "10.0.0.1"),
        ("form: short", "10.0.0.1.", "10.0.0.1"),
        ("form: short", "fe80::1%eth0.5", "fe80::1%eth0.5"),
        ("form: short", ".hidden", ".hidden"),
        ("form: full, domain: example.com", "web-1", "web-1.example.com"),
        ("form: full, domain: example.com", "web-1.other.org.", "web-1.other.org"),
        ("form: full, domain: example.com", "web-1.", "web-1"),
        ("form: full, domain: example.com", "1234", "1234.example.com"),
        ("form: full, domain: example.com", "10.0.0.1", "10.0.0.1"),
        ("form: full, domain: example.com", "::1", "::1"),
    ],
)
def test_host_is_written_in_the_form(options, host, expected):
    for settings, before, place in (
        (f"{{attribute: x, {options}}}", {}, "x"),
        (f"{{source: s, attribute: x, {options}}}", {"s": host}, "x"),
        (f"{{source: s, {options}}}", {"s": host}, None),
    ):
        event = event_of(attributes=before, host="other" if before else host)
        Host(settings_of(HostSettings, settings)).decorate(event)
        assert (event.host if place is None else event.attributes[place].decode()) == expected
        assert place is None or event.host == ("other" if before else host)


def test_host_is_converted_in_place():
    event = event_of(host="web-1.example.com")
    Host(settings_of(HostSettings, "{form: short}")).decorate(event)
    assert (event.host, event.attributes) == ("web-1", {})


@given(st.binary(min_size=1, max_size=20))
def test_any_bytes_round_trip_through_the_host(name):
    event = event_of(attributes={"a": name})
    Host(HostSettings(source="a")).decorate(event)
    Host(HostSettings(attribute="b")).decorate(event)
    assert event.attributes["b"] == name


@example(b".", "{form: full, domain: d.e}")
@given(st.binary(min_size=1, max_size=20), st.sampled_from(["{form: short}", "{form: full, domain: d.e}"]))
def test_conversion_is_idempotent(name, settings):
    decorator = Host(settings_of(HostSettings, settings))
    event = event_of(attributes={"a": name})
    Host(HostSettings(source="a")).decorate(event)
    decorator.decorate(event)
    once = event.host
    decorator.decorate(event)
    assert once == event.host or name.endswith(b".")


@pytest.mark.parametrize(
    ("settings", "attributes", "code"),
    [
        ("{attribute: x}", {}, "no_host"),
        ("{source: s}", {}, "no_attribute"),
        ("{source: s}", {"s": ""}, "no_host"),
    ],
)
def test_missing_host_follows_on_missing(refusal_of, attributes_after, settings, attributes, code):
    assert refusal_of(Host, settings, b"", attributes) == code
    keeping = settings.replace("}", ", on_missing: keep}")
    assert "x" not in attributes_after(Host, keeping, b"", attributes)


def test_existing_attribute_fails_if_written_once(refusal_of):
    assert refusal_of(Host, "{attribute: x}", b"", {"x": ""}, host="h", write_once=True) == "attribute_exists"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("{}", [("missing", ())]),
        ("{form: full}", [("conflict", ())]),
        ("{attribute: x, domain: example.com}", [("conflict", ())]),
        ("{form: full, domain: .com}", [("string_pattern_mismatch", ("domain",))]),
        ("{form: long}", [("enum", ("form",))]),
    ],
)
def test_invalid_options_are_rejected(errors_of, settings, expected):
    assert errors_of(Host, settings) == expected
