"""Escape sequences and their templates render the same text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import Event, Priority
from ingest.expressions import Template
from ingest.flume.escapes import literal, template_of

TIME_MS = 1_309_275_728_123  # 2011-06-28T15:42:08.123Z


def event(**more):
    about = {"timestamp_ms": TIME_MS, "nanos": 7, "host": "h1", "priority": Priority.WARN}
    return Event(**({"body": b"%{host}", "attributes": {"a.b-c": b"1", "key": b"mine"}} | about | more))


@pytest.mark.parametrize(
    ("pattern", "result"),
    [
        ("%{host} %{hostname}", "h1 h1"),
        ("%{nanos}", "7"),
        ("%{priority}", "WARN"),
        ("%{body}", "%{host}"),
        ("%{timestamp}", "1309275728123"),
        ("%{a.b-c}", "1"),
        ("%{key}", "mine"),
        ("%{topic}|%{partition}|%{offset}", "||"),
        ("/h/%{unknown}/t", "/h//t"),
        ("%%{henry}", "%{henry}"),
        ("%Y-%m-%d/%H00", "2011-06-28/1500"),
        ("%a %A %b %B %c", "Tue Tuesday Jun June Tue Jun 28 15:42:08 2011"),
        ("%d %m %y %Y %j %D", "28 06 11 2011 179 06/28/11"),
        ("%H %I %k %l %M %S %p", "15 03 15 3 42 08 PM"),
        ("%s %t %z", "1309275728 1309275728123 +0000"),
        ("[%P][%e][%_][%0]", "[][][][]"),
        ("100%", "100%"),
        ("% %{} %{a:b} %é %{a b}", "% %{} %{a:b} %é %{a b}"),
        ("$1 \\d", "$1 \\d"),
        ("%%%", "%%"),
    ],
)
def test_escape_has_the_same_result(pattern, result):
    assert Template.parse(template_of(pattern).template).render(event()) == result.encode()


@pytest.mark.parametrize(("pattern", "note"), [("%P", '"%P" is not a tag'), ("%{rolltag}", "set by roll sinks")])
def test_difference_is_noted(pattern, note):
    assert note in template_of(pattern).notes[0]


@given(st.text(st.sampled_from("%{}aPHk. :")))
def test_any_expression_is_a_template(pattern):
    Template.parse(template_of(pattern).template).render(event())


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_literal_is_unchanged(text):
    assert Template.parse(literal(text)).render(event()) == text.encode()
