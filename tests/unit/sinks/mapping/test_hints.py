"""The hints of a sink's errors are correct: with them the failed event passes."""

import pytest

from decorators.truncate import Truncate
from ingest.api import Event, MappingError
from ingest.testing.events import settings_of
from sinks.mapping.attr2hbase import Attr2HBase
from sinks.mapping.hbase import HBase
from sinks.mapping.mapper import Skipped
from tests.support.mapped import only

BATCH_MS = 1_700_000_000_000
ROW = {"2hb_": b"r", "2hb_f:a": b"1234", "2hb_f:b": b"1"}
CELL = "{table: t, row_key: {template: '%%{key}'}, cells: [{family: f, qualifier: a, value: x}, %s]}"
ABSENT = "{family: f, qualifier: b, value: '%{b}', on_missing: "


def mapped(sink, settings, event):
    return only(sink(settings_of(sink.settings_class(), settings)).map(event, BATCH_MS))


@pytest.mark.parametrize(
    ("sink", "before", "attributes", "hint", "after"),
    [
        (
            Attr2HBase,
            "{table: t, on_missing_key: error}",
            {"2hb_f:a": b"1"},
            "set `on_missing_key: drop` if this sink should skip such events",
            "{table: t, on_missing_key: drop}",
        ),
        (
            HBase,
            "{table: t, row_key: {template: '%{id}'}, cells: [{family: f, qualifier: a, value: x}]}",
            {},
            "set `on_missing: drop` if this sink should skip such events",
            "{table: t, row_key: {template: '%{id}', on_missing: drop}, cells: [{family: f, qualifier: a, value: x}]}",
        ),
        (
            HBase,
            CELL % (ABSENT + "error}"),
            {},
            "set `on_missing: unset` if some events lack it",
            CELL % (ABSENT + "unset}"),
        ),
        (
            Attr2HBase,
            "{table: t, columns: {max_per_row: 1}}",
            ROW,
            "raise `columns: max_per_row`",
            "{table: t, columns: {max_per_row: 2}}",
        ),
        (
            Attr2HBase,
            "{table: t, columns: {max_value_bytes: 3B}}",
            ROW,
            "raise `columns: max_value_bytes`, or shorten it with `truncate`",
            "{table: t, columns: {max_value_bytes: 4B}}",
        ),
    ],
)
def test_event_passes_with_the_option_of_the_hint(sink, before, attributes, hint, after):
    event = Event(b"", attributes, key=b"k")
    with pytest.raises(MappingError) as caught:
        mapped(sink, before, event)
    assert caught.value.hint == hint
    found = mapped(sink, after, event)
    assert found == Skipped("no_row_key") or found[1].columns


def test_event_passes_after_truncate():
    event = Event(b"", dict(ROW))
    Truncate(settings_of(Truncate.settings_class(), "{max_bytes: 3B, attributes: ['2hb_f:a']}")).decorate(event)
    assert mapped(Attr2HBase, "{table: t, columns: {max_value_bytes: 3B}}", event)[1].columns[b"f:a"] == b"123"


@pytest.mark.parametrize("name", [b"", b"a b", b".a", b"-a", b"n:.a", b"n:", b":a", b"a:b:c", "ä".encode()])
def test_name_against_the_hint_is_no_table(name):
    with pytest.raises(MappingError) as caught:
        mapped(Attr2HBase, "{table: '%{t}'}", Event(b"", ROW | {"t": name}))
    assert caught.value.hint == (
        "a table is NAME or NAMESPACE:NAME, each of letters, digits, _ . - and with no . or - first"
    )


@pytest.mark.parametrize("name", [b"a", b"_a.b-c", b"0", b"n:a", b"n.s:_"])
def test_name_according_to_the_hint_is_a_table(name):
    assert mapped(Attr2HBase, "{table: '%{t}'}", Event(b"", ROW | {"t": name}))[0] == name.decode()
