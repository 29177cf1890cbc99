"""The regex decorator."""

import pytest

from decorators.regex import Regex
from ingest.testing.events import event_of, settings_of

LINE = b'203.0.113.9 - frank [10/Oct/2000:13:55:36 -0700] "GET /a.gif HTTP/1.0" 200 2326'
ACCESS = (
    r"^(?P<ip>\S+) (?P<ident>\S+) (?P<user>\S+) \[(?P<time>[^\]]+)\] "
    r'"(?P<method>\S+) (?P<url>\S+) (?P<protocol>[^"]+)" (?P<status>\d+) (?P<size>\S+)'
)


def test_nine_groups_in_one_search(attributes_after):
    assert attributes_after(Regex, f"{{pattern: '{ACCESS}', prefix: '2hb_web:'}}", LINE) == {
        "2hb_web:ip": b"203.0.113.9",
        "2hb_web:ident": b"-",
        "2hb_web:user": b"frank",
        "2hb_web:time": b"10/Oct/2000:13:55:36 -0700",
        "2hb_web:method": b"GET",
        "2hb_web:url": b"/a.gif",
        "2hb_web:protocol": b"HTTP/1.0",
        "2hb_web:status": b"200",
        "2hb_web:size": b"2326",
    }


class TestOneGroup:
    """Flume's regex(pattern, index, attr)."""

    @pytest.mark.parametrize(
        ("pattern", "index", "body", "expected"),
        [
            (r"(\d+):(\d+):(\d+)", 3, b"55:66:33:22", b"33"),
            (r"(\d+):(\d+)", 0, b"x 1:2 y", b"1:2"),
            (r"(\d+)", 1, b"abc", b""),
            (r"(\d+)", 2, b"12", b""),
            (r"\d+", 1, b"12", b""),
            (r"b.", 0, b"ab\xff", b"b\xff"),
            (r"a.*", 0, b"ab\ncd", b"ab"),
        ],
        ids=["third", "whole", "no-match", "out-of-range", "no-groups", "bytes", "dot-stops-at-newline"],
    )
    def test_group_becomes_the_attribute(self, attributes_after, pattern, index, body, expected):
        settings = f"{{pattern: '{pattern}', index: {index}, attribute: x}}"
        assert attributes_after(Regex, settings, body) == {"x": expected}

    def test_unmatched_optional_group_is_unset(self, attributes_after):
        assert attributes_after(Regex, "{pattern: 'a(b)?', index: 1, attribute: x}", b"a") == {}

    def test_unmatched_group_is_empty_with_on_unmatched_empty(self, attributes_after):
        settings = "{pattern: 'a(b)?', index: 1, attribute: x, on_unmatched: empty}"
        assert attributes_after(Regex, settings, b"a") == {"x": b""}

    def test_unmatched_group_fails_with_on_unmatched_error(self, refusal_of):
        settings = "{pattern: 'a(b)?', index: 1, attribute: x, on_unmatched: error}"
        assert refusal_of(Regex, settings, b"a") == "unmatched_group"

    def test_no_match_sets_nothing_with_on_no_match_keep(self, attributes_after):
        assert attributes_after(Regex, "{pattern: 'a', index: 0, attribute: x, on_no_match: keep}", b"b") == {}


class TestSeveralGroups:
    """Flume's regexAll(pattern, name1, …), and named groups."""

    def test_empty_name_skips_its_group(self, attributes_after):
        settings = r"{pattern: '(\d):(\d):(\d)', attributes: [d1, '', d2]}"
        assert attributes_after(Regex, settings, b"1:2:3.4foobar5") == {"d1": b"1", "d2": b"3"}

    def test_surplus_groups_are_ignored(self, attributes_after):
        assert attributes_after(Regex, r"{pattern: '(\d)(\d)', attributes: [a]}", b"12") == {"a": b"1"}

    def test_surplus_names_are_rejected(self, errors_of):
        assert errors_of(Regex, r"{pattern: '(\d)', attributes: [a, b]}") == [("out_of_range", ())]

    def test_no_match_sets_nothing(self, attributes_after):
        assert attributes_after(Regex, r"{pattern: '(\d)', attributes: [a]}", b"x") == {}

    def test_only_named_groups_become_attributes(self, attributes_after):
        assert attributes_after(Regex, r"{pattern: '(?P<a>.)(.)(?P<b>.)'}", b"123") == {"a": b"1", "b": b"3"}

    def test_empty_group_is_not_unmatched(self, attributes_after):
        assert attributes_after(Regex, "{pattern: '(?P<a>x*)(?P<b>y)?'}", b"") == {"a": b""}

    def test_no_match_can_fail(self, refusal_of):
        assert refusal_of(Regex, "{pattern: '(?P<a>x)', on_no_match: error}", b"y") == "no_match"

    def test_no_match_can_set_empty_values(self, attributes_after):
        settings = "{pattern: '(?P<a>x)', on_no_match: empty, prefix: p.}"
        assert attributes_after(Regex, settings, b"y") == {"p.a": b""}

    def test_no_match_can_drop(self):
        decorator = Regex(settings_of(Regex.settings_class(), "{pattern: '(?P<a>x)', on_no_match: drop}"))
        assert (decorator.decorate(event_of("y")), decorator.drop_reason) == (False, "no_match")

    def test_failed_event_is_unchanged_if_written_once(self, refusal_of):
        settings = "{pattern: '(?P<a>.)(?P<b>.)'}"
        assert refusal_of(Regex, settings, b"12", {"b": "0"}, write_once=True) == "attribute_exists"


def test_searches_an_attribute(attributes_after):
    found = attributes_after(Regex, r"{source: s, pattern: '(?P<a>\d)'}", b"1", {"s": "2"})
    assert found["a"] == b"2"


def test_absent_attribute_has_no_match(attributes_after, refusal_of):
    assert attributes_after(Regex, r"{source: s, pattern: '(?P<a>\d)'}", b"1") == {}
    assert refusal_of(Regex, r"{source: s, pattern: '(?P<a>\d)', on_no_match: error}", b"1") == "no_attribute"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("{pattern: '('}", [("bad_pattern", ("pattern",))]),
        ("{pattern: '(a)'}", [("missing", ())]),
        ("{pattern: '(a)', index: 1}", [("conflict", ())]),
        ("{pattern: '(a)', attribute: x}", [("conflict", ())]),
        ("{pattern: '(a)', index: 1, attribute: x, attributes: [a]}", [("conflict", ())]),
        ("{pattern: '(a)()()(b)', attributes: [x, '', '', x]}", [("conflict", ())]),
        ("{pattern: '(a)', index: -1, attribute: x}", [("greater_than_equal", ("index",))]),
    ],
)
def test_invalid_options_are_rejected(errors_of, settings, expected):
    assert errors_of(Regex, settings) == expected


@pytest.mark.parametrize(
    ("settings", "warned"),
    [
        (r"{pattern: '(\d):(\d):(\d)', attributes: [a, b]}", ["attributes"]),
        (r"{pattern: '(\d):(\d)', attributes: [a]}", ["attributes"]),
        (r"{pattern: '(\d):(\d):(\d)', attributes: [a, '', b]}", []),
        (r"{pattern: '(\d):(\d):(\d)', attributes: [a, b, '']}", []),
        (r"{pattern: '(\d):(?:\d):(\d)', attributes: [a, b]}", []),
        (r"{pattern: '(\d):(?P<b>\d)'}", []),
        (r"{pattern: '(\d):(\d)', index: 1, attribute: a}", []),
    ],
)
def test_fewer_names_than_groups_are_warned_of(settings, warned):
    assert list(settings_of(Regex.settings_class(), settings).lint_warnings()) == warned
