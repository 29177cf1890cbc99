"""A replay of a time range into some sinks alone."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ingest.api import ConfigError, NotFoundError, Record
from ingest.catalog import Catalog
from ingest.config import load
from ingest.dead_letters.components import Components
from ingest.dead_letters.envelope import DeadLetter, PlaceRange
from ingest.dead_letters.queue import Entry
from ingest.plan.assemble import plan_of
from ingest.plan.plan import Plan
from ingest.service.replay.sinks import WaitingLetters, letters_of_sinks, only_sinks, sinks_alone
from sinks.feed.feature import Feed
from sinks.updates.feature import Updates

COMPONENTS = Components(sinks=frozenset({"a", "b"}), decorators=frozenset({"json"}))


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """Sinks into tables with deferred updates, one with a change feed, and a plain one in another store."""
    content = {
        "version": 1,
        "stores": {name: {"rocksdb": {"path": str(tmp_path / name)}} for name in ("s", "other")},
        "tables": {
            "counts": {"store": "s", "families": {"c": {}}, "updates": {"processor": "sum"}},
            "shared": {"store": "s", "families": {"c": {}}, "updates": {"processor": "sum"}},
            "fed": {"store": "s", "families": {"c": {}}, "feed": {}},
            "plain": {"store": "other", "families": {"c": {}}},
            "beside": {"store": "s", "families": {"c": {}}},
        },
        "pipelines": {
            "p": {
                "source": {"kafka": {"brokers": "localhost:9092", "topics": ["t"]}},
                "decorators": [{"template": {"attributes": {"2hb_": "row", "2hb_c:n": "1"}}}],
                "sinks": [
                    {"attr2hbase": {"table": table, "store": store, "label": label}}
                    for label, table, store in (
                        ("counts", "counts", "s"),
                        ("fed", "fed", "s"),
                        ("plain", "plain", "other"),
                        ("beside", "beside", "s"),
                        ("one", "shared", "s"),
                        ("two", "shared", "s"),
                    )
                ],
            }
        },
    }
    (tmp_path / "p.yaml").write_text(json.dumps(content))
    configuration = load(tmp_path / "p.yaml", env={}, lookup=Catalog())
    return plan_of(configuration, configuration.pipelines["p"], Catalog())


def test_plan_has_the_sinks_with_their_stores_and_tables(plan: Plan):
    plain = only_sinks(plan, ["plain"])
    assert ([sink.name for sink in plain.sinks], list(plain.stores)) == (["plain"], ["other"])
    assert plain.features == {}
    fed = only_sinks(plan, ["fed", "plain"])
    assert (
        [*fed.tables_with(Feed)["s"]],
        fed.sinks_of(Feed.name) - fed.sinks_of(Updates.name),
        fed.sinks_of(Updates.name),
    ) == (["fed"], {"fed"}, frozenset())
    assert only_sinks(plan, ["counts"]).sinks_of(Updates.name) == {"counts"}
    assert only_sinks(plan, None) is plan


def test_plain_sink_beside_updates_and_feeds_in_its_store_has_none_of_them(plan: Plan):
    """So a replay refills its table at the times of the micro-batches, and needs no lock of the checkpoint."""
    beside = only_sinks(plan, ["beside"])
    assert ([*beside.stores], beside.features, beside.needs_splits) == (["s"], {}, False)


def test_sink_that_the_pipeline_lacks_is_refused(plan: Plan):
    with pytest.raises(NotFoundError) as refused:
        only_sinks(plan, ["plane"])
    assert (str(refused.value.message), refused.value.hint) == (
        'pipeline "p" has no sink "plane"',
        'did you mean "plain"?',
    )


def test_deferred_updates_are_replayed_by_themselves(plan: Plan):
    with pytest.raises(ConfigError, match="only some of these sinks write deferred updates: counts"):
        only_sinks(plan, ["counts", "plain"])


def test_updates_of_a_table_are_replayed_into_all_of_its_sinks(plan: Plan):
    """A rollback removes them all, and a replayed micro-batch is not rolled back any more."""
    with pytest.raises(ConfigError, match='"two" writes deferred updates of table "shared"') as refused:
        only_sinks(plan, ["counts", "one"])
    assert refused.value.hint == "add --sink two"
    assert only_sinks(plan, ["two", "one"]).sinks_of(Updates.name) == {"one", "two"}


def test_sinks_that_run_alone_are_named_unless_they_are_all(plan: Plan):
    assert sinks_alone(only_sinks(plan, ["fed"]), plan) == {"fed"}
    shared = plan.with_tables({"shared"}, Updates.name)
    assert sinks_alone(only_sinks(plan, ["one", "two"]), shared) is None


def letter(offset: int, component: str, by_place: PlaceRange | None = None) -> DeadLetter:
    return DeadLetter(
        record=Record("t", 0, offset, None, None if by_place else b"", 500),
        fan_out=0,
        attributes={},
        pipeline="p",
        component=component,
        code="no_match",
        message="",
        batch_time_ms=7_000,
        fingerprint="f",
        by_place=by_place,
    )


def of_sinks(made: list[DeadLetter], *first_run: DeadLetter) -> list[tuple[int, str]]:
    """Offset and component of each of the dead letters of the sinks."""
    entries = [Entry(str(number), each) for number, each in enumerate(first_run)]
    waiting = WaitingLetters(lambda: entries, COMPONENTS, [7_000])
    found = letters_of_sinks([each.to_json() for each in made], COMPONENTS, lambda: waiting.at(7_000))
    return [(each.record.offset, each.component) for each in (*found.failed, *found.copies)]


def test_record_that_failed_before_the_sinks_has_a_dead_letter_of_each():
    made = [letter(1, "a"), letter(2, "json"), letter(3, "json")]
    assert of_sinks(made, letter(3, "json"), letter(2, "c"), letter(9, "source")) == [(1, "a"), (2, "a"), (2, "b")]


def test_dead_letters_that_wait_are_read_once_and_found_by_a_part_of_their_batch():
    """A part runs a millisecond before its micro-batch, whose time the dead letters of the first run have."""
    reads = []

    def entries() -> list[Entry]:
        reads.append(1)
        letters = [letter(3, "json"), letter(9, "source"), replace(letter(4, "json"), batch_time_ms=8_000)]
        return [Entry(str(number), each) for number, each in enumerate(letters)]

    def offsets(time_ms: int) -> list[int]:
        found = waiting.at(time_ms)
        return [offset for offset in range(10) if found.has(letter(offset, "json"))]

    waiting = WaitingLetters(entries, COMPONENTS, [6_999, 7_000, 9_000])
    assert reads == []
    assert (offsets(7_000), offsets(6_999), offsets(9_000)) == ([3, 9], [3, 9], [])
    assert offsets(8_000) == [], "only micro-batches of the replay are kept in memory"
    assert reads == [1]


def test_dead_letters_of_the_sinks_need_no_others():
    of_sink = letter(1, "a")
    found = letters_of_sinks([of_sink.to_json()], COMPONENTS, lambda: pytest.fail("the queue was read"))
    assert found == ([of_sink], [], [])


@pytest.mark.parametrize(
    ("waiting", "is_covered"),
    [
        ([letter(100, "json")], False),
        ([letter(100, "json", PlaceRange(150, True))], False),
        ([letter(100, "json", PlaceRange(200, True)), letter(150, "json", PlaceRange(160, True))], True),
        ([letter(90, "source", PlaceRange(None))], True),
        ([letter(101, "json", PlaceRange(None, True))], False),
        ([letter(100, "b", PlaceRange(200, True))], False),
    ],
)
def test_range_waits_only_if_another_has_all_of_it(waiting: list[DeadLetter], is_covered: bool):
    """Else the records that the other lacks would be in no table and in no dead letter."""
    made = letter(100, "json", PlaceRange(200, True))
    assert of_sinks([made], *waiting) == ([] if is_covered else [(100, "a"), (100, "b")])


def test_bytes_are_kept_beside_a_dead_letter_by_place():
    """The topic may delete the record before the range is replayed."""
    assert of_sinks([letter(100, "json")], letter(100, "json", PlaceRange(200, True))) == [(100, "a"), (100, "b")]
