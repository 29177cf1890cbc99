"""Ten thousand generated lines of each format, some broken, compared with the attributes they were generated from."""

import json
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from decorators.json import Json
from decorators.kv import Kv
from decorators.syslog import Syslog
from ingest.api import DecorateError, Decorator
from ingest.testing.events import event_of, settings_of

LINES = 10_000
BROKEN = 10
"""One of this many lines is broken."""

Line = tuple[bytes, dict[str, bytes], int | None]
"""The line, the expected attributes, and the expected time if it has one."""

_TEXTS = (
    "",
    "x",
    "it works",
    'said "no"',
    "a\\b",
    "späť",
    "日本語",
    "100 %",
    "a=b",
    "tab\there",
    "]",
    "🙂",
    "{}",
    "#1",
)
_SEVERITIES = ("emerg", "alert", "crit", "err", "warning", "notice", "info", "debug")
_FACILITIES = ("kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news")


def syslog_line(chosen: random.Random) -> Line:
    """RFC 5424, with up to three elements of structured data."""
    facility, severity = chosen.randrange(8), chosen.randrange(8)
    moment = datetime(2026, 7, 26, tzinfo=UTC) + timedelta(milliseconds=chosen.randrange(10**9))
    time = moment.isoformat(timespec="milliseconds").replace("+00:00", chosen.choice(("Z", "+00:00")))
    attributes = {"facility": _FACILITIES[facility], "severity": _SEVERITIES[severity], "time": time}
    head = [f"<{8 * facility + severity}>1", time]
    for name, value in (("host", "web-1"), ("app", "nginx"), ("pid", "77"), ("msgid", "ID47")):
        is_there = chosen.random() < 0.8
        head.append(value if is_there else "-")
        if is_there:
            attributes[name] = value
    data = ""
    for number in range(chosen.randrange(4)):
        element = f"el{number}@32473"
        pairs = {f"k{index}": chosen.choice(_TEXTS) for index in range(chosen.randrange(4))}
        attributes |= {f"data.{element}.{key}": value for key, value in pairs.items()}
        data += f"[{element}" + "".join(f' {key}="{_escaped(value)}"' for key, value in pairs.items()) + "]"
    head.append(data or "-")
    if chosen.random() < 0.9:
        message = chosen.choice(_TEXTS)
        attributes["message"] = message
        head.append(chosen.choice(("", "\ufeff")) + message)
    milliseconds = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    return " ".join(head).encode(), _bytes(attributes), milliseconds


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("]", "\\]")


def logfmt_line(chosen: random.Random) -> Line:
    """Plain and quoted values, and keys without values."""
    attributes: dict[str, str] = {}
    words = []
    for number in range(chosen.randrange(1, 8)):
        key = f"key{number}"
        value = chosen.choice((*_TEXTS, "5ms", "/shop/42", "true"))
        form = chosen.randrange(3) if number else 2  # a text of keys alone has no pair
        if form == 0:
            attributes[key] = "true"
            words.append(key)
        elif form == 1 and value and not set(value) & set(' \t"'):
            attributes[key] = value
            words.append(f"{key}={value}")
        else:
            attributes[key] = value
            quoted = value.replace("\\", "\\\\").replace('"', '\\"')
            words.append(f'{key}="{quoted}"')
    return chosen.choice((" ", "  ", "\t")).join(words).encode(), _bytes(attributes), None


def json_line(chosen: random.Random) -> Line:
    """Nested objects become dotted names; numbers keep their digits."""
    attributes: dict[str, str] = {}

    def made(prefix: str, depth: int) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for number in range(chosen.randrange(1, 5)):
            key = f"{chosen.choice('abc')}{number}"
            if depth < 3 and chosen.random() < 0.25:
                members[key] = made(f"{prefix}{key}.", depth + 1)
                continue
            value = chosen.choice((*_TEXTS, 7, -1, 10**15, 0.5, True, False))
            members[key] = value
            attributes[prefix + key] = value if isinstance(value, str) else json.dumps(value)
        return members

    content = made("", 0)
    return json.dumps(content, ensure_ascii=chosen.random() < 0.5).encode(), _bytes(attributes), None


def _bytes(attributes: dict[str, str]) -> dict[str, bytes]:
    return {name: value.encode() for name, value in attributes.items()}


def broken_syslog(line: bytes, chosen: random.Random) -> bytes:
    return chosen.choice((line[1:], b"<192>1" + line.partition(b"1")[2], line.replace(b"26-", b"26/", 1), b"\xff", b""))


def broken_logfmt(line: bytes, chosen: random.Random) -> bytes:
    return line + chosen.choice((b' x="y', b" =1", b' "a"=1', b' a="x"y'))


def broken_json(line: bytes, chosen: random.Random) -> bytes:
    return chosen.choice((line[:-1], line + b"}", b"[" + line, line.replace(b'"', b"'"), b"\xff", b""))


@pytest.mark.parametrize(
    ("decorator", "line_of", "broken", "codes"),
    [
        (Syslog, syslog_line, broken_syslog, {"bad_syslog", "bad_time"}),
        (Kv, logfmt_line, broken_logfmt, {"bad_pairs"}),
        (Json, json_line, broken_json, {"bad_json"}),
    ],
    ids=["syslog 5424", "logfmt", "json"],
)
def test_ten_thousand_lines(
    decorator: type[Decorator[Any]],
    line_of: Callable[[random.Random], Line],
    broken: Callable[[bytes, random.Random], bytes],
    codes: set[str],
) -> None:
    chosen = random.Random(5424)
    one = decorator(settings_of(decorator.settings_class()))
    read, refused = 0, []
    for number in range(LINES):
        line, attributes, milliseconds = line_of(chosen)
        is_broken = number % BROKEN == 0
        event = event_of(broken(line, chosen) if is_broken else line)
        try:
            assert one.decorate(event)
        except DecorateError as error:
            assert (is_broken, event.attributes) == (True, {}), line
            refused.append(error.code)
            continue
        assert not is_broken, event.body
        assert event.attributes == attributes, line
        assert milliseconds is None or event.timestamp_ms == milliseconds, line
        read += 1
    assert (read, len(refused), set(refused)) == (LINES - LINES // BROKEN, LINES // BROKEN, codes)
