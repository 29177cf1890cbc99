"""
Messages of syslog whose structured data has brackets, or whose header is short.

Rules: RFC 5424, 6.3.3 (a value is in quotes; `"`, `\\` and `]` should be escaped there), and facts of
logstash-patterns-core 4.3.1, patterns/*/linux-syslog and spec/patterns/syslog_spec.rb: what follows the structured
data is the message, spaces between parts may be several, and with ECS a line of syslog needs no host.
"""

import pytest

from decorators.grok import Grok
from ingest.api import DecorateError
from ingest.testing.events import event_of, settings_of

HEAD = "<165>1 2026-11-20T08:15:01Z web app 42 ID "


def grok(name, text, mode="disabled"):
    event = event_of(text)
    Grok(settings_of(Grok.settings_class(), f"{{patterns: ['%{{{name}}}'], ecs_compatibility: {mode}}}")).decorate(
        event
    )
    return {attribute: value.decode() for attribute, value in event.attributes.items()}


@pytest.mark.parametrize(
    ("rest", "structured_data", "message"),
    [
        ('[x@1 a="]"] msg', '[x@1 a="]"]', "msg"),
        ('[x@1 a="[0]" b="c\\"]d"][y z="]"] it [works]', '[x@1 a="[0]" b="c\\"]d"][y z="]"]', "it [works]"),
        ('[x@1 a="\\]"]', '[x@1 a="\\]"]', None),
        ("[x y] msg", "[x y]", "msg"),
        ('[x a="b] "c" msg]', '[x a="b]', '"c" msg]'),
        ("[x]msg", "[x]", "msg"),
        ("[x]  msg", "[x]", "msg"),
        ("- msg", None, "msg"),
        ("-  msg [x]", None, "msg [x]"),
        (" msg", None, "msg"),
    ],
)
@pytest.mark.parametrize("mode", ["disabled", "v1"])
def test_what_follows_structured_data_is_the_message(rest, structured_data, message, mode):
    names = ("syslog5424_sd", "syslog5424_msg")
    if mode == "v1":
        names = ("system.syslog.structured_data", "message")
    found = grok("SYSLOG5424LINE", HEAD + rest, mode)
    assert tuple(map(found.get, names)) == (structured_data, message)


@pytest.mark.parametrize("rest", ["-msg", "msg", "[x"])
def test_a_header_has_structured_data_or_a_dash(rest):
    with pytest.raises(DecorateError, match="no pattern matches"):
        grok("SYSLOG5424LINE", HEAD + rest)


def test_several_spaces_between_the_parts_of_a_header():
    found = grok("SYSLOG5424LINE", "<165>1  2026-11-20T08:15:01Z  web   app 42  -  -  msg")
    assert (found["syslog5424_host"], found["syslog5424_proc"], found["syslog5424_msg"]) == ("web", "42", "msg")


def test_a_line_without_a_host_with_fields_of_ecs():
    found = grok("SYSLOGLINE", "Jan 11 22:33:44 su: 'su root' failed for ann", "v1")
    assert found == {
        "timestamp": "Jan 11 22:33:44",
        "process.name": "su",
        "message": "'su root' failed for ann",
    }
    assert grok("SYSLOGLINE", "2026-11-21T10:00:00Z <1.2> web x", "v1") == {
        "timestamp": "2026-11-21T10:00:00Z",
        "log.syslog.facility.code": "1",
        "log.syslog.priority": "2",
        "host.hostname": "web",
        "message": "x",
    }
