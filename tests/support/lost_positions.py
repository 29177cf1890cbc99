"""
Pipelines whose positions are lost: their topic is recreated, or records are deleted before they are read. In a further
pipeline every record fails. They run in any service, beside other pipelines.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import NewTopic

from ingest.dead_letters.files import FileDeadLetters
from tests.support.audit import rocksdb_table
from tests.support.names import unique
from tests.support.servers import Given, Kafka
from tests.support.service import Service
from tests.support.waiting import reached

READ = 20
"""Records of a topic before it is recreated."""
RECREATED = {"fewer": READ // 2, "equal": READ, "more": READ * 2, "pattern": READ * 2}
"""Pipeline -> records of the topic that replaces its own."""
DELETABLE, LOG_START, SMALL_BATCH = 600, 500, 5
POISON, POISON_BATCH, MIN_EVENTS = 4_000, 400, 1_000
FAILING = frozenset({*RECREATED, "deleted", "poison"})
LIMIT_S = 60.0


class LostPositions:
    """
    The pipelines and their topics.

    Order of calls: `content` for a pipeline file, `attach`, `wait_read`, `inject`, `wait_failed`; then `check`, after
    the service has stopped.
    """

    def __init__(self, kafka: Kafka) -> None:
        self.kafka = kafka
        self.stem = unique("prefix")
        self.topics = {name: kafka.create_topic(name) for name in (*RECREATED, "deleted", "poison")}
        self.topics["pattern"] = self._create(f"{self.stem}-made")
        self.beside = self._create(f"{self.stem}-kept")
        self.groups = {name: unique(name) for name in self.topics}
        for name in RECREATED:
            kafka.produce(self.topics[name], records("old", READ))
        kafka.produce(self.beside, records("beside", READ))
        kafka.produce(self.topics["deleted"], records("deleted", DELETABLE, padding=4_000))
        kafka.produce(self.topics["poison"], [Given("{", key=f"poison{number}") for number in range(POISON)])

    def content(self, store: str, *left_out: str) -> dict[str, Any]:
        """Pipelines and tables; each record becomes a row of key and body."""
        sources: dict[str, dict[str, Any]] = {name: {"topics": [topic]} for name, topic in self.topics.items()}
        sources["pattern"] = {"topics_pattern": f"{self.stem}-.*"}
        # small fetches, because records that were fetched cannot be lost any more
        sources["deleted"] |= {"max_events_per_batch": SMALL_BATCH, "options": {"max.partition.fetch.bytes": 200}}
        sources["poison"]["max_events_per_batch"] = POISON_BATCH
        pipelines = {
            name: {
                "source": {"kafka": {"brokers": self.kafka.brokers, "group": self.groups[name], **source}},
                "decorators": [
                    *([{"json": {"prefix": "2hb_colfam:"}}] if name == "poison" else []),
                    {"value": {"attribute": "2hb_", "value": "%{key}"}},
                    {"value": {"attribute": "2hb_colfam:body", "value": "%{body}"}},
                ],
                "sinks": [{"attr2hbase": {"store": store, "table": self._table(name)}}],
                "error_budget": {"share": "5%", "min_events": MIN_EVENTS, "window": "5m"},
            }
            for name, source in sources.items()
            if name not in left_out
        }
        tables = {self._table(name): {"store": store, "families": {"colfam": {}}} for name in pipelines}
        return {"pipelines": pipelines, "tables": tables}

    def attach(self, service: Service, store: Path) -> None:
        """Set the service that runs the pipelines, and its RocksDB folder."""
        self.service = service
        self.store = store

    def wait_read(self) -> None:
        """Wait until the first records are read."""
        for name in RECREATED:
            self.service.wait_for(lambda name=name: self.reached(name) == READ, f"{name} is read")
        self.service.wait_for(lambda: self.reached("deleted") > 0, "the first records are read")

    def inject(self) -> None:
        """Delete records and recreate topics."""
        with self.kafka.admin() as admin:  # like retention
            admin.delete_records({TopicPartition(self.topics["deleted"], 0): LOG_START})
        assert self.reached("deleted") < LOG_START / 2, "too many records were already read"
        self.recreate_topics()

    def recreate_topics(self) -> None:
        """Delete topics and create them with other records."""
        topics = {self.topics[name]: count for name, count in RECREATED.items()}
        with self.kafka.admin() as admin:
            before = topic_ids(admin, topics)
            admin.delete_topics(list(topics))
            assert reached(lambda: not topics.keys() & set(admin.list_topics()), LIMIT_S)
            create(admin, *topics)
        for topic, count in topics.items():
            self.kafka.produce(topic, records("new", count))
        with self.kafka.admin() as admin:
            assert not set(before.values()) & set(topic_ids(admin, topics).values())

    def wait_failed(self) -> dict[str, str]:
        """Wait until exactly these pipelines have failed; returns pipeline -> reason."""
        self.service.wait_for(lambda: self._reasons().keys() == FAILING, f"{sorted(FAILING)} fail", LIMIT_S)
        return self._reasons()

    def check(self, reasons: Mapping[str, str], *, lives: int = 1) -> tuple[range, int]:
        """F17, F19, F32: check the reasons and tables; returns the lost offsets and the number of dead letters."""
        for name in RECREATED:
            topic = self.topics[name]
            # "deleted and recreated", or only "deleted" if the pipeline was restarted between the two
            assert f'topic "{topic}" was deleted' in reasons[name], reasons[name]
            assert f"--start-from {'group' if name == 'pattern' else 'earliest'}" in reasons[name]
            # nothing is committed to the new topic
            assert self.kafka.committed(self.groups[name], topic) == {}
            assert rows_of("old", range(READ)).items() <= self.rows(name).items()
        assert self.kafka.committed(self.groups["pattern"], self.beside) == {0: READ}

        topic, at = self.topics["deleted"], self.reached("deleted")
        lost = f"records that were not read yet are gone: {topic}/0 offsets {at} to {LOG_START - 1}"
        assert lost in reasons["deleted"]
        assert self.rows("deleted").keys() == rows_of("deleted", range(at)).keys()
        assert self.kafka.committed(self.groups["deleted"], topic) == {0: at}

        # each process writes fewer dead letters than min_events
        assert "records failed" in reasons["poison"]
        dead_letters = self._dead_letters("poison")
        assert 0 < len(dead_letters) < MIN_EVENTS * lives
        assert sorted(dead_letters) == list(range(self.reached("poison")))
        assert self.rows("poison") == {}
        return range(at, LOG_START), len(dead_letters)

    def rows(self, pipeline: str) -> dict[bytes, bytes]:
        """Row key -> body of the rows of a pipeline."""
        table = rocksdb_table(self.store, self._table(pipeline))
        return {key: cells[0].value for key, cells in table.items()}

    def reached(self, pipeline: str) -> int:
        """Offset below which a pipeline has acknowledged everything."""
        return self.service.checkpoint(pipeline).acknowledged(self.topics[pipeline]).get(0, 0)

    def _reasons(self) -> dict[str, str]:
        status, text = self.service.get("/pipelines")
        found = json.loads(text)["pipelines"] if status == 200 else []
        return {each["name"]: each["reason"] for each in found if each["state"] == "failed"}

    def _dead_letters(self, pipeline: str) -> list[int]:
        """Offsets of records that are dead letters."""
        queue = FileDeadLetters(self.service.folder / "data" / "state", pipeline)
        return [entry.dead_letter.record.offset for entry in queue.entries()]

    def _table(self, pipeline: str) -> str:
        return f"{self.stem}_{pipeline}"

    def _create(self, topic: str) -> str:
        with self.kafka.admin() as admin:
            create(admin, topic)
        return topic


def create(admin: KafkaAdminClient, *topics: str) -> None:
    """Create topics of one partition, and wait until they can be used."""
    admin.create_topics([NewTopic(topic, 1, 1, topic_configs={"retention.ms": "-1"}) for topic in topics])
    admin.wait_for_topics(list(topics))


def records(word: str, count: int, *, padding: int = 0) -> list[Given]:
    """Records whose content names their topic."""
    return [Given(f"{word}{number}" + " " * padding, key=f"{word}{number}", partition=0) for number in range(count)]


def rows_of(word: str, numbers: range) -> dict[bytes, bytes]:
    """The rows of these records."""
    return {b"%s%d" % (word.encode(), number): b"%s%d" % (word.encode(), number) for number in numbers}


def topic_ids(admin: KafkaAdminClient, topics: Mapping[str, int]) -> dict[str, str]:
    """Topic -> topic id."""
    return {described["name"]: str(described["topic_id"]) for described in admin.describe_topics(list(topics))}
