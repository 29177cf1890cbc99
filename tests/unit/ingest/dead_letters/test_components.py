"""Whether the sinks that have the event of a dead letter are known, though the file has changed since."""

from dataclasses import replace

import pytest

from ingest.api import Record
from ingest.dead_letters.components import Components
from ingest.dead_letters.envelope import DeadLetter

LABELLED = Components(
    sinks=frozenset({"a", "b"}), decorators=frozenset({"json"}), tables={"a": "hits", "b": "bytes"}, fingerprint="new"
)
WITH_KINDS = replace(LABELLED, decorator_kinds=frozenset({"value"}))
NUMBERED = Components(
    sinks=frozenset({"hbase#1", "hbase#2", "hbase#3"}),
    decorators=frozenset({"json"}),
    tables={"hbase#1": "hits", "hbase#2": "bytes", "hbase#3": "bytes"},
    numbered=frozenset({"hbase#1", "hbase#2", "hbase#3"}),
    fingerprint="new",
)


def letter(component: str, table: str | None, fingerprint: str = "old") -> DeadLetter:
    return DeadLetter(
        record=Record("t", 0, 1, None, b"", 0),
        fan_out=0,
        attributes={},
        pipeline="p",
        component=component,
        code="no_match",
        message="",
        batch_time_ms=1,
        fingerprint=fingerprint,
        table=table,
    )


@pytest.mark.parametrize(
    ("component", "table", "is_unsure"),
    [
        ("a", "hits", False),
        ("a", "other", False),  # the sink writes a new table now
        ("a", "bytes", True),  # the labels were exchanged
        ("c", "hits", True),
        ("c", "", False),  # a decorator that was removed
        ("json", "", False),
        ("source", "", False),
        ("a", None, False),  # of an earlier version
        ("json", None, False),
        ("source", None, False),
        ("c", None, True),
    ],
)
def test_sink_is_known_by_its_label(component: str, table: str | None, *, is_unsure: bool) -> None:
    assert LABELLED.is_unsure(letter(component, table)) is is_unsure


def test_kind_tells_that_a_component_of_an_earlier_version_was_a_decorator() -> None:
    names = ("value", "value#6", "values")
    assert [WITH_KINDS.is_unsure(letter(name, None)) for name in names] == [False, False, True]


@pytest.mark.parametrize(
    ("component", "table", "is_unsure"),
    [
        ("hbase#1", "hits", False),
        ("hbase#1", "bytes", True),  # a sink was inserted before it
        ("hbase#1", "other", True),
        ("hbase#2", "bytes", True),  # two sinks write the table: it may have been the other one
        ("hbase#1", None, True),
        ("json", None, False),
    ],
)
def test_position_of_a_sink_is_no_name_once_the_file_has_changed(
    component: str, table: str | None, *, is_unsure: bool
) -> None:
    assert NUMBERED.is_unsure(letter(component, table)) is is_unsure
    same = replace(letter(component, table), fingerprint="new")
    assert NUMBERED.is_unsure(same) is (table not in (None, "", NUMBERED.tables.get(component)))
