"""Known patterns of servers, firewalls, monitoring and applications, and the names of ECS."""

from functools import cache

import pytest

from decorators.grok import Grok
from decorators.grok.ecs import ECS_LIBRARY
from decorators.grok.expansion import expanded
from decorators.grok.library import FAMILIES, LIBRARY, PROGRAMS
from ingest.api import DecorateError
from ingest.testing.events import event_of, settings_of
from tests.support import grok_families, grok_lines

OF_PROGRAMS = [name for family in PROGRAMS for name in family.patterns]
LINES = [*grok_lines.LINES, *grok_families.LINES]
PARTS = {**grok_lines.PARTS, **grok_families.PARTS}


@cache
def compiled(pattern, settings):
    """To compile a pattern takes most of the time of these tests."""
    return Grok(settings_of(Grok.settings_class(), f"{{patterns: ['{pattern}']{settings}}}"))


def grok(pattern, text, settings=""):
    event = event_of(text)
    compiled(pattern, settings).decorate(event)
    return {name: value.decode() for name, value in event.attributes.items()}


@pytest.mark.parametrize(("name", "line", "expected"), LINES)
def test_line_of_each_pattern(name, line, expected):
    found = grok(f"%{{{name}}}", line, ", anchored: true")
    assert expected is None or found == expected
    assert grok(f"%{{{name}}}", line) == found
    assert grok(f"^%{{{name}}}", f"{line} trailing text").keys() >= found.keys()


@pytest.mark.parametrize(("name", "text"), PARTS.items())
def test_part_of_each_pattern(name, text):
    assert grok(f"%{{{name}:whole}}", text, ", anchored: true")["whole"] == text


def test_every_pattern_has_a_text():
    assert {name for name, *_ in LINES} | PARTS.keys() == set(OF_PROGRAMS)


@pytest.mark.parametrize(("name", "line"), [(name, line) for name, line, _ in LINES])
def test_names_of_ecs_are_fields_of_the_same_values(name, line):
    plain = grok(f"%{{{name}}}", line)
    fields = grok(f"%{{{name}}}", line, ", ecs_compatibility: v1")
    assert {field for field in fields if "." not in field} <= {"timestamp", "message"}
    if expanded(f"%{{{name}}}", LIBRARY).pattern.text != expanded(f"%{{{name}}}", ECS_LIBRARY).pattern.text:
        return  # another pattern for ECS, of test_grok_ecs
    assert set(fields.values()) <= set(plain.values())
    assert len(fields) >= len(plain) - 1  # message and error of 313005 have one protocol each


def test_fields_of_ecs():
    line = (
        "Dec 10 12:01:46 lb haproxy[1]: 192.0.2.1:5 [10/Dec/2026:12:01:46.395] in web/w 0/0/0/0/0 200 1 - - ---- "
        '1/1/0/0/0 0/0 "GET /a HTTP/1.1"'
    )
    found = grok("%{HAPROXYHTTP}", line, ", ecs_compatibility: v1, prefix: '2hb_e:'")
    assert {
        "2hb_e:source.address": "192.0.2.1",
        "2hb_e:source.port": "5",
        "2hb_e:process.name": "haproxy",
        "2hb_e:http.response.status_code": "200",
        "2hb_e:url.path": "/a",
    }.items() <= found.items()
    access = '::1 - bob [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 1 "-" "curl"'
    assert grok("%{COMBINEDAPACHELOG}", access, ", ecs_compatibility: v1") == {
        "source.address": "::1",
        "user.name": "bob",
        "timestamp": "10/Oct/2000:13:55:36 -0700",
        "http.request.method": "GET",
        "url.original": "/",
        "http.version": "1.0",
        "http.response.status_code": "200",
        "http.response.body.bytes": "1",
        "user_agent.original": "curl",
    }
    assert grok("%{SYSLOGLINE}", "Nov 21 10:00:00 web_1 sshd[42]: x", ", ecs_compatibility: v1") == {
        "timestamp": "Nov 21 10:00:00",
        "host.hostname": "web_1",
        "process.name": "sshd",
        "process.pid": "42",
        "message": "x",
    }


def test_every_capture_of_ecs_is_a_field():
    names = {each.attribute for name in ECS_LIBRARY for each in expanded(f"%{{{name}}}", ECS_LIBRARY).captures}
    assert {name for name in names if "." not in name} == {"message", "timestamp"}
    assert ECS_LIBRARY.keys() == LIBRARY.keys()


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: next(iter(family.patterns)))
def test_a_family_names_what_its_own_patterns_capture(family):
    patterns = {**LIBRARY, **family.patterns, **family.ecs}
    captured = {each.attribute for name in family.patterns for each in expanded(f"%{{{name}}}", patterns).captures}
    assert family.fields.keys() <= captured
    assert family.ecs.keys() <= family.patterns.keys()


def test_a_pattern_is_of_one_family():
    assert sum(len(family.patterns) for family in FAMILIES) == len(LIBRARY)


def test_own_headers_of_haproxy_replace_the_known_pattern():
    own = ", definitions: {HAPROXYCAPTUREDREQUESTHEADERS: '%{DATA:h1}\\|%{DATA:h2}'}"
    line = (
        '192.0.2.1:5 [10/Dec/2026:12:01:46.395] in web/w 0/0/0/0/0 200 1 - - ---- 1/1/0/0/0 0/0 {a|b} "GET / HTTP/1.1"'
    )
    found = grok("%{HAPROXYHTTPBASE}", line, own)
    assert (found["h1"], found["h2"]) == ("a", "b")


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("%{IP:a}:%{INT:b}", "::ffff:192.0.2.1:8080", {"a": "::ffff:192.0.2.1", "b": "8080"}),
        ("%{IPORHOST:a} -", "x ::FFFF:10.0.0.1 -", {"a": "::FFFF:10.0.0.1"}),
        ("%{IPORHOST:a} -", "0:0:0:0:0:ffff:10.0.0.1 -", {"a": "0:0:0:0:0:ffff:10.0.0.1"}),
        ("%{IP:a}", "from [::ffff:10.0.0.1]", {"a": "::ffff:10.0.0.1"}),
        ("%{IPORHOST:a} ", "edge_7.example.net x", {"a": "edge_7.example.net"}),
        ("%{HOSTNAME:a}$", "_dmarc.example.com", {"a": "_dmarc.example.com"}),
        ("^%{SYSLOGHOST:a}:", "MY_HOST:", {"a": "MY_HOST"}),
    ],
)
def test_mapped_addresses_and_hosts_with_underscores(pattern, text, expected):
    assert grok(pattern, text) == expected


@pytest.mark.parametrize("name", OF_PROGRAMS)
def test_long_text_takes_less_than_the_cube_of_its_length(name):
    """The cube of it would take minutes; a search from each place takes the square of a line at most."""
    settings = f"{{patterns: ['%{{{name}}}\\x00'], on_no_match: keep}}"
    decorator = Grok(settings_of(Grok.settings_class(), settings))
    pieces = ["a ", "1.", "{ ", "Deny ", "a-", "[", '"', "IPSEC: ", "a: ", "Built ", "1:1 ", "\t-", "192.0.2.1 "]
    pieces += [line for known, line, _ in LINES if known == name] + [
        text for known, text in PARTS.items() if known == name
    ]
    for piece in pieces:
        assert decorator.decorate(event_of(piece * (3_000 // max(len(piece), 1))))


def test_pattern_that_is_not_known_has_a_way_out():
    with pytest.raises(ValueError, match='there is no pattern "ENVOYLOG"; define it in `definitions`'):
        grok("%{ENVOYLOG}", "x")


def test_text_of_another_server_has_no_match():
    with pytest.raises(DecorateError):
        grok("%{HAPROXYHTTP}", "it works")
