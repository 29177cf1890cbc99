"""Decorators with patterns: a character is matched whole, and text that is not UTF-8 by its bytes."""

import pytest

from decorators.convert import Convert
from decorators.filter import Filter
from decorators.grok import Grok
from decorators.prefix import Prefix
from decorators.regex import Regex
from decorators.remove import Remove
from decorators.rename import Rename
from decorators.replace import Replace
from decorators.split import Split
from decorators.template import Value
from ingest.testing.events import event_of, settings_of


@pytest.mark.parametrize(
    ("settings", "before", "after"),
    [
        ("{pattern: '[éè]', replacement: e}", "à la carte, détour", "à la carte, detour"),
        (r"{pattern: '\s*', replacement: '-'}", "aé b", "-a-é--b-"),
        (r"{pattern: '\W+', replacement: '_'}", "Müller & Söhne", "Müller_Söhne"),
        (r"{pattern: '(.)$', replacement: '<\1>'}", "né", "n<é>"),
        ("{pattern: '.', replacement: x, max_places: 2}", "éèê", "xxê"),
        (r"{pattern: '(?i)é', replacement: 'ü\0'}", "É", "üÉ"),
    ],
)
def test_replace(settings, before, after):
    event = event_of(before)
    Replace(settings_of(Replace.settings_class(), settings)).decorate(event)
    assert event.body.decode() == after


@pytest.mark.parametrize(
    ("kind", "settings", "body", "expected"),
    [
        (Split, "{separator: '[、・]', attributes: [a, b, c]}", "東、京・都", {"a": "東", "b": "京", "c": "都"}),
        (Split, r"{separator: '(\s)', attributes: [a, b]}", "é\u3000b", {"a": "é", "b": "b"}),
        (Regex, "{pattern: '^(?P<code>.{2})'}", "aé5", {"code": "aé"}),
        (Regex, "{pattern: '(é)(x)?(.)', attributes: [a, b, c]}", "éü", {"a": "é", "c": "ü"}),
        (Regex, "{pattern: '(é)(x)?(.)', attributes: ['', b, c], on_unmatched: empty}", "éü", {"b": "", "c": "ü"}),
        (Regex, "{pattern: '(?i)FEHLER|ÄRGER', index: 0, attribute: m}", "ärger", {"m": "ärger"}),
        (Grok, "{patterns: ['user %{WORD:u}']}", "user Müller logged in", {"u": "Müller"}),
        (Grok, "{patterns: ['^%{WORD:u}$'], anchored: true}", "Müller", {"u": "Müller"}),
        (Grok, "{patterns: ['%{UNIXPATH:p} ']}", "/home/dům/č x", {"p": "/home/dům/č"}),
        (Grok, "{patterns: ['%{NOTSPACE:a} %{WORD:b}$']}", "x" * 300 + " é ü", {"a": "é", "b": "ü"}),
        (Grok, "{patterns: ['(?<a>[äö]+)%{NOTSPACE:b}']}", "xäölo", {"a": "äö", "b": "lo"}),
        (Value, "{value: \"%{extract(body, '[éà]')}\", attribute: x}", "èà", {"x": "à"}),
        (Value, "{value: \"%{replace_pattern(body, '[éà]', 'ü')}\", attribute: x}", "èà", {"x": "èü"}),
    ],
)
def test_attributes(kind, settings, body, expected, attributes_after):
    assert attributes_after(kind, settings, body.encode()) == {name: each.encode() for name, each in expected.items()}


@pytest.mark.parametrize(
    ("kind", "settings", "body", "expected"),
    [
        # the comma of Chinese, a user of Active Directory, paths, the sign of micro, emoji, wide digits
        (Split, "{separator: '[,\uff0c ]+', attributes: [a, b]}", "過去\uff0c未来, 現在", {"a": "過去", "b": "未来"}),
        (Grok, r"{patterns: ['user: %{WORD:d}\\%{USERNAME:u}$']}", "user: ad\\Админ", {"d": "ad", "u": "Админ"}),
        (Grok, "{patterns: ['make %{PATH:p}$']}", "make /mnt/c/Hochdörfer/wslu", {"p": "/mnt/c/Hochdörfer/wslu"}),
        (Grok, "{patterns: ['open %{WINPATH:p}$']}", "open C:\\Jürgen\\größe.txt", {"p": "C:\\Jürgen\\größe.txt"}),
        (Regex, r"{pattern: 'took (?P<n>[\d.]+)(?P<u>[µμ]?s)'}", "took 65μs", {"n": "65", "u": "μs"}),
        (Regex, "{pattern: '^(?P<a>..)(?P<b>..)'}", "過去顔ここコカ", {"a": "過去", "b": "顔こ"}),
        (Regex, "{pattern: '(?P<e>[\U0001f300-\U0001faff])'}", "ok 😊é", {"e": "😊"}),
        (Regex, r"{pattern: '^(?P<d>\d)時'}", "\uff16時半", {"d": "\uff16"}),
        (Split, r"{separator: '\s', attributes: [a, b]}", "key=é\x1dUID=0", {"a": "key=é\x1dUID=0", "b": ""}),
    ],
)  # fmt: skip
def test_texts_of_many_scripts(kind, settings, body, expected, attributes_after):
    assert attributes_after(kind, settings, body.encode()) == {name: each.encode() for name, each in expected.items()}


def test_pattern_of_bytes_in_gbk():
    """Logstash's users wrote the month of such a log in these bytes."""
    event = event_of("一月 5".encode("gbk"))
    settings = settings_of(Replace.settings_class(), r"{pattern: '\xD2\xBB\xD4\xC2', replacement: Jan}")
    Replace(settings).decorate(event)
    assert event.body == b"Jan 5"


def test_attributes_of_other_text_are_bytes(attributes_after):
    assert attributes_after(Regex, "{pattern: '^(?P<code>.{2})'}", b"\xff\xc3\xa9") == {"code": b"\xff\xc3"}
    assert attributes_after(Grok, r"{patterns: ['^%{WORD:u}']}", b"M\xfcller") == {"u": b"M"}


@pytest.mark.parametrize(
    ("condition", "body", "holds"),
    [
        ("%{body} matches '^[éà]$'", "è", False),
        ("%{body} matches '^[éà]$'", "é", True),
        ("%{x} matches '^.$'", "", True),
        ("%{body} not matches '(?i)^É$'", "é", False),
    ],
)
def test_conditions(condition, body, holds):
    event = event_of(body.encode(), {"x": "é"})
    assert Filter(settings_of(Filter.settings_class(), f'{{keep: "{condition}"}}')).decorate(event) is holds


@pytest.mark.parametrize(
    ("kind", "settings", "expected"),
    [
        (Rename, "{pattern: '[üß]', replacement: x}", {"grxße": "7", "à": "8"}),
        (Remove, "{pattern: '^.$'}", {"grüße": "7"}),
        (Prefix, "{add: p_, pattern: '^[éà]$'}", {"grüße": "7", "p_à": "8"}),
        (Convert, "{pattern: '^[éà]$', encode: hex}", {"grüße": "7", "à": "38"}),
    ],
)
def test_names(kind, settings, expected, attributes_after):
    after = attributes_after(kind, settings, b"", {"grüße": "7", "à": "8"})
    assert after == {name: value.encode() for name, value in expected.items()}


def test_a_host_may_have_an_underscore(attributes_after):
    settings = "{patterns: ['%{HTTPD_COMBINEDLOG}', '%{SYSLOGLINE}']}"
    line = b'edge_7.example.net - - [10/Oct/2026:13:55:36 -0700] "GET / HTTP/1.1" 200 8 "-" "-"'
    assert attributes_after(Grok, settings, line)["clientip"] == b"edge_7.example.net"
    line = b"Mar 16 00:01:25 MAIL_1 postfix/smtpd[1713]: connect"
    assert attributes_after(Grok, settings, line)["logsource"] == b"MAIL_1"
