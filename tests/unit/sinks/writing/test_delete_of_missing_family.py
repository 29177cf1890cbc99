"""A rule that deletes in a missing family: nothing is deleted, and no family is created."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from ingest.api import Event, FamilySpec, MappingError, TableSpec, WriteCounts
from sinks.mapping.attr2hbase import Attr2HBase
from sinks.memory import MemoryStore
from sinks.writing.messages import Prepared
from sinks.writing.sending import DirectSender
from tests.support.way import Way, sink_of
from tests.support.without_spark import spec_of

TARGETS = ({"family": "absent"}, {"column": "absent:q"})
FORGET = Event(b"forget", {"2hb_": b"r"})
PUT = Event(b"", {"2hb_": b"r", "2hb_f:q": b"1"})


def writer_of(
    store: MemoryStore, target: Mapping[str, str], table: str, on_unknown: str | None, *, creates_families: bool = True
) -> Way:
    settings = {
        "table": table,
        "rules": [{"when": "%{body} == 'forget'", "delete": target}],
        "families": {} if on_unknown is None else {"on_unknown": on_unknown},
    }
    mapper = Attr2HBase(Attr2HBase.settings_class().model_validate(settings))
    can = replace(store.capabilities, creates_families=creates_families)
    sink = sink_of([DirectSender(store)], "logs", capabilities=can, buffer_bytes=1_000, deletes=True)
    made = Way(mapper, sink)
    made.begin(spec_of(1_000), Prepared(), WriteCounts())
    return made


@pytest.fixture
def store() -> MemoryStore:
    made = MemoryStore()
    made.open()
    made.ensure_table(TableSpec("t", (FamilySpec(b"f"),)))
    return made


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("table", ["t", "absent"])
@pytest.mark.parametrize("on_unknown", [None, "create", "drop"])
def test_event_is_dropped_and_no_family_is_requested(store, target, table, on_unknown):
    writer = writer_of(store, target, table, on_unknown)
    assert writer.write(FORGET) == "unknown_family"
    writer.flush()
    assert writer.needs_families == {}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("on_unknown", "creates_families"), [("error", True), (None, False)])
def test_event_fails_if_an_unknown_family_is_an_error(store, target, on_unknown, creates_families):
    writer = writer_of(store, target, "t", on_unknown, creates_families=creates_families)
    with pytest.raises(MappingError, match='no family "absent" in table "t"') as caught:
        writer.write(FORGET)
    assert caught.value.code == "unknown_family"


def test_event_is_dropped_if_the_table_is_at_its_limit(store):
    writer = writer_of(store, {"family": "absent"}, "t", None)
    writer.begin(spec_of(1_000), Prepared(at_limit=frozenset(["t"])), WriteCounts())
    assert writer.write(FORGET) == "unknown_family"


def test_existing_family_is_deleted(store):
    writer = writer_of(store, {"family": "f"}, "t", None)
    writer.write(PUT)
    writer.flush()
    assert store.get("t", b"r") is not None
    writer.begin(spec_of(2_000), Prepared(), WriteCounts())
    assert writer.write(FORGET) is None
    writer.flush()
    assert store.get("t", b"r") is None
