"""
F17, F19, F32: topics made again under their names, records taken before they were read, a stream that is nothing but
poison. Each pipeline says what it can not go on with; the one beside them goes on.
"""

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import NewTopic

from ingest.dead_letters.files import FileDeadLetters
from tests.support.audit import rocksdb_table
from tests.support.ledger.report import Row, write
from tests.support.names import unique
from tests.support.servers import Given, Kafka
from tests.support.service import Service
from tests.support.waiting import reached

READ = 20
"""Records of a topic before it is made again."""
MADE_AGAIN = {"fewer": READ // 2, "equal": READ, "more": READ * 2, "pattern": READ * 2}
"""Pipeline -> records of the topic that replaces its own."""
TAKEN, KEPT_FROM, SMALL_BATCH = 600, 500, 5
POISON, POISON_BATCH, MIN_EVENTS = 4_000, 400, 1_000
HEALTHY = "healthy"
LIMIT_S = 60.0


class Faults:
    """One service, a pipeline for each fault, and a healthy one beside them."""

    def __init__(self, kafka: Kafka, folder: Path) -> None:
        self.kafka = kafka
        self.started = time.monotonic()
        self.store = folder / "store"
        self.stem = unique("prefix")
        self.topics = {name: kafka.create_topic(name) for name in (HEALTHY, *MADE_AGAIN, "taken", "poison")}
        self.topics["pattern"] = self._create(f"{self.stem}-made")
        self.beside = self._create(f"{self.stem}-kept")
        self.groups = {name: unique(name) for name in self.topics}
        for name in (HEALTHY, *MADE_AGAIN):
            kafka.produce(self.topics[name], records("old", READ))
        kafka.produce(self.beside, records("beside", READ))
        kafka.produce(self.topics["taken"], records("taken", TAKEN, padding=4_000))
        kafka.produce(self.topics["poison"], [Given("{", key=f"poison{number}") for number in range(POISON)])
        self.service = Service(folder, self.content())

    def content(self, *left_out: str) -> dict[str, Any]:
        """The pipelines: key and body are a row."""
        sources: dict[str, dict[str, Any]] = {name: {"topics": [topic]} for name, topic in self.topics.items()}
        sources["pattern"] = {"topics_pattern": f"{self.stem}-.*"}
        # what one fetch brings nobody takes away any more: so there is little in each, a batch of the producer
        sources["taken"] |= {"max_events_per_batch": SMALL_BATCH, "options": {"max.partition.fetch.bytes": 200}}
        sources["poison"]["max_events_per_batch"] = POISON_BATCH
        return {
            "stores": {"kept": {"rocksdb": {"path": str(self.store)}}},
            "pipelines": {
                name: {
                    "source": {"kafka": {"brokers": self.kafka.brokers, "group": self.groups[name], **source}},
                    "decorators": [
                        *([{"json": {"prefix": "2hb_colfam:"}}] if name == "poison" else []),
                        {"value": {"attribute": "2hb_", "value": "%{key}"}},
                        {"value": {"attribute": "2hb_colfam:body", "value": "%{body}"}},
                    ],
                    "sinks": [{"attr2hbase": {"table": f"t_{name}"}}],
                    "error_budget": {"share": "5%", "min_events": MIN_EVENTS, "window": "5m"},
                }
                for name, source in sources.items()
                if name not in left_out
            },
        }

    def rows(self, pipeline: str) -> dict[bytes, bytes]:
        """Row key -> body of a pipeline's table."""
        table = rocksdb_table(self.store, f"t_{pipeline}")
        return {key: cells[0].value for key, cells in table.items()}

    def reached(self, pipeline: str, topic: str | None = None) -> int:
        """Offset before which a pipeline has acknowledged everything."""
        return self.service.checkpoint(pipeline).acknowledged(topic or self.topics[pipeline]).get(0, 0)

    def reasons(self) -> Mapping[str, str]:
        """Pipeline -> why it failed, of those that did."""
        status, text = self.service.get("/pipelines")
        found = json.loads(text)["pipelines"] if status == 200 else []
        return {each["name"]: each["reason"] for each in found if each["state"] == "failed"}

    def make_again(self, topic: str, count: int) -> None:
        """Delete a topic, make another one of that name, with other records."""
        with self.kafka.admin() as admin:
            before = topic_id(admin, topic)
            admin.delete_topics([topic])
            assert reached(lambda: topic not in admin.list_topics(), LIMIT_S)
        self._create(topic)
        with self.kafka.admin() as admin:
            assert topic_id(admin, topic) != before
        self.kafka.produce(topic, records("new", count))

    def take(self, topic: str, offset: int) -> None:
        """What retention does: records below an offset are gone."""
        with self.kafka.admin() as admin:
            admin.delete_records({TopicPartition(topic, 0): offset})

    def letters(self, pipeline: str) -> list[int]:
        """Offsets of records that are dead letters."""
        queue = FileDeadLetters(self.service.folder / "data" / "state", pipeline)
        return [entry.letter.record.offset for entry in queue.entries()]

    def tell(self, fault: str, proof: str, *, stored: int = 0, dead_lettered: int = 0, lost: int = 0) -> None:
        """A row of the report."""
        write(
            Row(
                fault=fault,
                store="rocksdb",
                seed=0,
                proof=(proof,),
                sent=stored + dead_lettered + lost,
                stored=stored,
                dead_lettered=dead_lettered,
                dropped=0,
                redelivered=None,
                lost=lost,
                corrupt=0,
                seconds=round(time.monotonic() - self.started, 1),
                predicted=lost or None,
            )
        )

    def _create(self, topic: str) -> str:
        with self.kafka.admin() as admin:
            admin.create_topics([NewTopic(topic, 1, 1, topic_configs={"retention.ms": "-1"})])
            admin.wait_for_topics([topic])
        return topic


def records(word: str, count: int, *, padding: int = 0) -> list[Given]:
    """Records that tell which topic they are of."""
    return [Given(f"{word}{number}" + " " * padding, key=f"{word}{number}", partition=0) for number in range(count)]


def rows_of(word: str, numbers: range) -> dict[bytes, bytes]:
    """The rows of such records."""
    return {b"%s%d" % (word.encode(), number): b"%s%d" % (word.encode(), number) for number in numbers}


def topic_id(admin: KafkaAdminClient, topic: str) -> str:
    """What tells a topic from another one of the same name."""
    (described,) = admin.describe_topics([topic])
    return str(described["topic_id"])


@pytest.fixture
def faults(kafka: Kafka, tmp_path: Path) -> Iterator[Faults]:
    made = Faults(kafka, tmp_path)
    with made.service:
        yield made


def happen(faults: Faults) -> dict[str, str]:
    """All faults in the running service; pipeline -> why it failed."""
    service, kafka = faults.service, faults.kafka
    service.start()
    for name in (HEALTHY, *MADE_AGAIN):
        service.wait_for(lambda name=name: faults.reached(name) == READ, f"{name} is read")
    service.wait_for(lambda: faults.reached("taken") > 0, "some of what will be taken is read")
    faults.take(faults.topics["taken"], KEPT_FROM)
    at_the_moment = faults.reached("taken")
    assert at_the_moment < KEPT_FROM / 2, "they were to be taken before they were read"
    for name, count in MADE_AGAIN.items():
        faults.make_again(faults.topics[name], count)
    failing = {*MADE_AGAIN, "taken", "poison"}
    service.wait_for(lambda: faults.reasons().keys() == failing, f"{sorted(failing)} fail", LIMIT_S)
    reasons = dict(faults.reasons())

    # the others do not care
    kafka.produce(faults.topics[HEALTHY], records("more", READ))
    service.wait_for(lambda: faults.reached(HEALTHY) == 2 * READ, "the healthy one goes on")
    assert service.states()[HEALTHY] == "running"
    assert service.stop() == 1, service.last_lines()
    assert faults.rows(HEALTHY) == rows_of("old", range(READ)) | rows_of("more", range(READ))
    return reasons


def check_made_again(faults: Faults, reasons: Mapping[str, str]) -> None:
    """F17: said with the topic and the way out; offsets of the new topic are nobody's."""
    for name in MADE_AGAIN:
        topic = faults.topics[name]
        assert f'topic "{topic}" was deleted and made again' in reasons[name]
        assert f"--start-from {'group' if name == 'pattern' else 'earliest'}" in reasons[name]
        assert faults.kafka.committed(faults.groups[name], topic) == {}
        assert rows_of("old", range(READ)).items() <= faults.rows(name).items()
    assert faults.kafka.committed(faults.groups["pattern"], faults.beside) == {0: READ}


def check_taken(faults: Faults, reasons: Mapping[str, str]) -> range:
    """F19: said with the range that is lost; what is lost."""
    topic, reached_ = faults.topics["taken"], faults.reached("taken")
    lost = f"records that were not read yet are gone: {topic}/0 offsets {reached_} to {KEPT_FROM - 1}"
    assert lost in reasons["taken"]
    assert faults.rows("taken").keys() == rows_of("taken", range(reached_)).keys()
    assert faults.kafka.committed(faults.groups["taken"], topic) == {0: reached_}
    return range(reached_, KEPT_FROM)


def check_poison(faults: Faults, reasons: Mapping[str, str], *, lives: int = 1) -> int:
    """F32: each process keeps fewer dead letters than the budget needs to judge; how many there are."""
    assert "events failed" in reasons["poison"]
    letters = faults.letters("poison")
    assert 0 < len(letters) < MIN_EVENTS * lives
    assert sorted(letters) == list(range(faults.reached("poison")))
    assert faults.rows("poison") == {}
    return len(letters)


def test_topics_made_again_records_taken_and_nothing_but_poison(faults: Faults) -> None:
    reasons = happen(faults)
    check_made_again(faults, reasons)
    lost = check_taken(faults, reasons)
    letters = check_poison(faults, reasons)
    ids = f"ids of {len(MADE_AGAIN)} topics changed"
    faults.tell("F17 topics made again while read", ids, stored=READ * (len(MADE_AGAIN) + 1))
    faults.tell("F19 records taken while read", f"log begins at {KEPT_FROM}", stored=lost.start, lost=len(lost))
    faults.tell("F32 nothing but poison", f"{letters} letters of {MIN_EVENTS} allowed", dead_lettered=letters)


@pytest.mark.slow
def test_what_was_refused_stays_refused_and_the_way_out_reads_all_that_is_left(faults: Faults) -> None:
    reasons = happen(faults)
    lost = check_taken(faults, reasons)
    letters = check_poison(faults, reasons)
    service = faults.service

    # down: the same again, and the same answer
    for name, count in MADE_AGAIN.items():
        faults.make_again(faults.topics[name], count)
    service.start()
    failing = {*MADE_AGAIN, "taken", "poison"}
    service.wait_for(lambda: faults.reasons().keys() == failing, f"{sorted(failing)} fail", LIMIT_S)
    again = dict(faults.reasons())
    assert service.stop() == 1, service.last_lines()
    check_made_again(faults, again)
    assert check_taken(faults, again) == lost
    assert check_poison(faults, again, lives=2) > letters

    # the ways out that the messages name
    service.write(faults.content("poison"))
    for place, names in (("earliest", ("fewer", "equal", "more", "taken")), ("group", ("pattern",))):
        for name in names:
            service.checkpoint(name).remove()
        before = len(list(service.lines()))
        code = service.run_once("--start-from", place)
        read = {line["pipeline"]: line["read"] for line in list(service.lines())[before:] if "stored" in line}
        if place == "group":
            assert (code, read) == (0, {"pattern": MADE_AGAIN["pattern"]}), "and nothing of the topic beside it again"
    for name, count in MADE_AGAIN.items():
        beside = rows_of("beside", range(READ)) if name == "pattern" else {}
        assert faults.rows(name) == rows_of("old", range(READ)) | rows_of("new", range(count)) | beside
    kept = set(range(TAKEN)) - set(lost)
    assert faults.rows("taken").keys() == {b"taken%d" % number for number in kept}
    new = sum(MADE_AGAIN.values())
    faults.tell("F17 topics made again, way out", "ids changed twice", stored=READ * (len(MADE_AGAIN) + 1) + new)
    faults.tell("F19 records taken, way out", f"log begins at {KEPT_FROM}", stored=len(kept), lost=len(lost))
