"""A byte order mark before a text is no content (Unicode 15, 23.8): each decorator that parses text removes one."""

import pytest

from ingest.api import DecorateError
from ingest.catalog import Catalog
from ingest.formats import byte_order_marks
from ingest.testing.events import event_of, settings_of

TEXTS = [
    ("json", "{}", b'{"a": 1}'),
    ("flatten", "{}", b'{"a": 1}'),
    ("kv", "{}", b"a=1"),
    ("csv", "{columns: [a]}", b"1"),
    ("access_log", "{}", b'h - - [10/Oct/2000:13:55:36 -0700] "-" 200 -'),
    ("query", "{}", b"a=1"),
    ("query", "{}", b"?a=1"),
    ("headers", "{}", b"A: 1"),
    ("headers", "{first_line_attribute: first}", b"GET / HTTP/1.1\r\nA: 1"),
    ("syslog", "{}", b"<34>Oct 11 22:14:15 web1 su[42]: x"),
    ("syslog", "{form: rfc5424}", b"<165>1 2003-10-11T22:14:15.003Z web1 evntslog 77 ID47 - x"),
    ("syslog", "{form: file}", b"Oct 11 22:14:15 web1 su[42]: x"),
    ("timestamp", "{}", b"2003-10-11T22:14:15.003Z"),
    ("timestamp", "{formats: apache}", b"10/Oct/2000:13:55:36 -0700"),
    ("timestamp", "{formats: epoch_s}", b"1065910455"),
    ("timestamp", "{formats: 'joda:dd.MM.yyyy'}", b"11.10.2003"),
    # the settings of a .NET project, the log of simplewall, a list of pairs that Notepad has written
    ("json", "{}", b'{\r\n  "profiles": {"a.backbone": {"commandName": "Project"}}\r\n}\r\n'),
    ("csv", "{columns: [date, user]}", b'"2020-02-12 10:00:00","NT AUTHORITY\\SYSTEM"\r\n'),
    ("kv", '{separator: "\\n"}', b"NAME = My PC\r\nPATH=C:\\Data\r\n"),
]


def decorated(name, settings, body):
    decorator = Catalog().load("decorators", name)
    event = event_of(body, timestamp_ms=1065900000000)
    assert decorator(settings_of(decorator.settings_class(), settings)).decorate(event) is True
    return event.attributes, event.timestamp_ms


@pytest.mark.parametrize(("name", "settings", "body"), TEXTS)
def test_mark_before_a_text_is_no_content(name, settings, body):
    assert decorated(name, settings, byte_order_marks.UTF8 + body) == decorated(name, settings, body)


@pytest.mark.parametrize("name", ["json", "syslog", "headers", "timestamp"])
def test_a_second_mark_is_content(name):
    settings, body = next((settings, body) for each, settings, body in TEXTS if each == name)
    with pytest.raises(DecorateError):
        decorated(name, settings, byte_order_marks.UTF8 * 2 + body)
