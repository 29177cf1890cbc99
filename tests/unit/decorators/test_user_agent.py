"""The user_agent decorator."""

from functools import cache
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.user_agent import UserAgent, resolver
from ingest.testing.events import event_of, settings_of

CHROME = b"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/%b Safari/537.36"


@pytest.mark.parametrize(
    ("agent", "expected"),
    [
        (b"", {}),
        (b"\xff\xfe", {}),
        (
            b"Mozilla/5.0 (Linux; Android 7.1.2; Moto E\xb3 Build/X) AppleWebKit/537.36 Chrome/85.0 Mobile Safari/9",
            {
                "browser": b"Chrome",
                "browser_version": b"85.0",
                "os": b"Android",
                "os_version": b"7.1.2",
                "device": "Moto E\ufffd".encode(),
                "device_brand": b"Motorola",
                "device_model": "E\ufffd".encode(),
            },
        ),
        (b"SznProhlizec/4.5", {"browser": "Seznam prohlížeč".encode(), "browser_version": b"4.5"}),
        (
            CHROME % b"120.0.6099.71",
            {"browser": b"Chrome", "browser_version": b"120.0.6099.71", "os": b"Windows", "os_version": b"10"},
        ),
        (
            b"Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/115.0",
            {"browser": b"Firefox", "browser_version": b"115.0", "os": b"Linux"},
        ),
        (
            b"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
            {
                "browser": b"Googlebot",
                "browser_version": b"2.1",
                "device": b"Spider",
                "device_brand": b"Spider",
                "device_model": b"Desktop",
            },
        ),
    ],
)
def test_parts_of_an_agent_become_attributes(attributes_after, agent, expected):
    assert attributes_after(UserAgent, "{}", agent) == expected


def test_absent_attribute_fails(refusal_of):
    assert refusal_of(UserAgent, "{source: agent}", b"curl/8.4.0") == "no_attribute"


def test_existing_attribute_fails_if_written_once(refusal_of):
    assert refusal_of(UserAgent, "{}", b"curl/8.4.0", {"browser": "x"}, write_once=True) == "attribute_exists"


@pytest.fixture
def parsed(monkeypatch):
    """The agents that were parsed, instead of read from the cache."""
    resolve = cache(resolver())
    agents = []

    def recording(agent, domains):
        agents.append(agent)
        return resolve("" if agent.isdigit() else agent, domains)

    monkeypatch.setattr("decorators.user_agent.resolver", lambda: recording)
    return agents


def test_agent_is_parsed_once(parsed):
    decorator = UserAgent(settings_of(UserAgent.settings_class()))
    for number in (1, 2, 1, 2):
        event = event_of(CHROME % b"%d.0" % number)
        decorator.decorate(event)
        assert event.attributes["browser_version"] == b"%d.0" % number
    assert len(parsed) == 2


def test_cache_is_bounded(parsed):
    decorator = UserAgent(settings_of(UserAgent.settings_class()))
    for number in (*range(10_001), 0):
        decorator.decorate(event_of(str(number)))
    assert parsed.count("0") == 2


def test_event_cannot_change_the_cache():
    decorator = UserAgent(settings_of(UserAgent.settings_class()))
    for _ in range(2):
        event = event_of(b"curl/8.4.0")
        decorator.decorate(event)
        assert event.attributes == {"browser": b"curl", "browser_version": b"8.4.0"}
        event.set("browser", b"other")


def test_long_agent_is_parsed_in_part(attributes_after):
    assert attributes_after(UserAgent, "{}", b"curl/8.4.0 " + b"x" * 1_000_000)["browser"] == b"curl"


@pytest.fixture(scope="module")
def strict():
    """A decorator with an engine that accepts only valid UTF-8, as ua-parser-rs and re2 do."""
    resolve = resolver()

    def resolve_written(agent, domains):
        return resolve(agent.encode().decode(), domains)

    with patch("decorators.user_agent.resolver", lambda: resolve_written):
        return UserAgent(settings_of(UserAgent.settings_class()))


@given(st.binary(max_size=60).map(lambda tail: b"curl/8.4.0 \xb3" + tail))
def test_agent_that_is_not_utf_8_is_parsed_by_every_engine(strict, agent):
    event = event_of(agent)
    strict.decorate(event)
    assert event.attributes["browser"] == b"curl"


def test_agent_cut_within_a_character_is_parsed(strict):
    event = event_of(b"curl/8.4.0 ".ljust(1_023, b"x") + "é".encode())
    strict.decorate(event)
    assert event.attributes["browser"] == b"curl"


@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: f"Mozilla/5.0 ({text}) {text}/5.1".encode()))
def test_any_bytes_are_parsed(agent):
    decorator = UserAgent(settings_of(UserAgent.settings_class()))
    first, second = event_of(agent), event_of(agent)
    assert decorator.decorate(first)
    assert decorator.decorate(second)
    assert first == second
