"""
F16, F17, F19, F21, F23, F32, F43, F44: changes and content of topics, in one service. Partitions are added,
transactions are committed, aborted or stay open, records are unusual, events are duplicated, a row is written from two
partitions, topics are recreated, records are deleted, and every record of a topic fails.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from kafka import IsolationLevel, KafkaProducer, TopicPartition
from kafka.admin import OffsetSpec

from ingest.dead_letters.files import FileDeadLetters
from tests.support.audit import rocksdb_table
from tests.support.kafka_sender import KafkaSender, ProducerRecord
from tests.support.ledger.events import Events
from tests.support.ledger.fixture import LedgerRuns
from tests.support.ledger.report import add_row
from tests.support.ledger.run import LedgerRun, merged
from tests.support.lost_positions import LOG_START, MIN_EVENTS, READ, RECREATED, LostPositions
from tests.support.names import unique
from tests.support.servers import Given, Kafka

PHANTOM, COMMITTED = 9, 8
"""Producers of transactional events."""
UPDATES, SHARED_ROWS = 2_000, 20
KEYED = [
    {"value": {"attribute": "2hb_", "value": "%{key}"}},
    {"value": {"attribute": "2hb_colfam:body", "value": "%{body}"}},
]

X, MANY = "2hb_colfam:x", 1_000
ODD = (
    ProducerRecord(0, b"plain", b"v"),
    ProducerRecord(0, b"gone", b"v"),
    ProducerRecord(0, b"gone", None),
    ProducerRecord(0, b"empty body", b""),
    ProducerRecord(0, None, b"no key"),
    ProducerRecord(0, b"", b"empty key"),
    ProducerRecord(0, None, None),
    ProducerRecord(0, b"null header", b"v", [(X, None)]),
    ProducerRecord(0, b"repeated", b"v", [(X, b"1"), (X, b""), (X, b"2")]),
    ProducerRecord(0, b"repeated, null last", b"v", [(X, b"1"), (X, None)]),
    ProducerRecord(0, b"no name", b"v", [("", b"1")]),
    ProducerRecord(0, b"many", b"v", [(f"2hb_colfam:h{number}", b"%d" % number) for number in range(MANY)]),
    ProducerRecord(0, b"many of one name", b"v", [(X, b"%d" % number) for number in range(MANY)]),
)
NO_KEY = {4: "empty_row_key", 5: "empty_row_key"}
"""Offset -> error code of dead letters, for all values of `tombstones`."""
RULES: dict[str, tuple[dict[int, str], dict[str, int], bool]] = {
    "drop": (NO_KEY, {"tombstone": 2}, True),
    "error": (NO_KEY | {2: "tombstone", 6: "tombstone"}, {}, True),
    "delete": (NO_KEY | {6: "empty_row_key"}, {}, False),
}
"""Value of `tombstones` -> (dead letters, drops, whether the deleted row still exists)."""


def odd_rows(*, gone_is_there: bool) -> dict[bytes, dict[bytes, bytes]]:
    """The rows of the unusual records: a header without a value is empty; the last of several with one name wins."""
    body = {b"colfam:body": b"v"}
    return {
        b"plain": body,
        **({b"gone": body} if gone_is_there else {}),
        b"empty body": {b"colfam:body": b""},
        b"null header": body | {b"colfam:x": b""},
        b"repeated": body | {b"colfam:x": b"2"},
        b"repeated, null last": body | {b"colfam:x": b""},
        b"no name": body,
        b"many": body | {b"colfam:h%d" % number: b"%d" % number for number in range(MANY)},
        b"many of one name": body | {b"colfam:x": b"%d" % (MANY - 1)},
    }


class Beside:
    """Further pipelines in the ledger's service: unusual records for each value of `tombstones`, shared rows."""

    def __init__(self, kafka: Kafka) -> None:
        self.kafka = kafka
        self.odd, self.shared = kafka.create_topic("odd"), kafka.create_topic("shared", partitions=2)
        self.stem = unique("beside")

    def content(self) -> dict[str, Any]:
        """Pipelines and tables to merge into the ledger's pipeline file."""
        pipelines = {f"odd_{rule}": self._pipeline(f"odd_{rule}", self.odd, tombstones=rule) for rule in RULES}
        pipelines["shared"] = self._pipeline("shared", self.shared)
        families = {"colfam": {"versions": 1}}
        tables = {self.table(name): {"store": "store", "families": families} for name in pipelines}
        return {"pipelines": pipelines, "tables": tables}

    def table(self, pipeline: str) -> str:
        """Table of a pipeline."""
        return f"{self.stem}_{pipeline}"

    def _pipeline(self, name: str, topic: str, **source: Any) -> dict[str, Any]:
        kafka = {"brokers": self.kafka.brokers, "topics": [topic], "group": unique(name), **source}
        return {
            "source": {"kafka": kafka},
            "decorators": KEYED,
            "sinks": [{"attr2hbase": {"store": "store", "table": self.table(name)}}],
            "error_budget": {"share": "100%"},
        }

    def rows(self, run: LedgerRun, pipeline: str) -> dict[bytes, dict[bytes, bytes]]:
        """Row key -> column -> value."""
        found = rocksdb_table(run.store_folder, self.table(pipeline), versions=1)
        return {key: {b"%s:%s" % cell[:2]: cell.value for cell in cells} for key, cells in found.items()}

    def produce_shared(self) -> None:
        """Updates of few rows, alternately from two partitions; each has its own column, and both share one."""
        self.kafka.produce(
            self.shared,
            (
                Given(
                    f"{partition}:{number}",
                    key=f"row{number % SHARED_ROWS}",
                    headers=[(f"2hb_colfam:p{partition}", b"%d" % number)],
                    partition=partition,
                )
                for number in range(UPDATES)
                for partition in (0, 1)
            ),
        )

    def check_shared(self, run: LedgerRun) -> None:
        """F44: the last update of a partition wins; either partition may win the shared column."""
        rows = self.rows(run, "shared")
        assert len(rows) == SHARED_ROWS
        for key, cells in rows.items():
            last = UPDATES - SHARED_ROWS + int(key.removeprefix(b"row"))
            assert cells.pop(b"colfam:body") in (b"0:%d" % last, b"1:%d" % last)
            assert cells == {b"colfam:p0": b"%d" % last, b"colfam:p1": b"%d" % last}

    def check_odd(self, run: LedgerRun, rule: str) -> tuple[int, int, int]:
        """F23: check the outcome of every unusual record; returns how many were stored, dead-lettered, dropped."""
        codes, drops, gone_is_there = RULES[rule]
        name = f"odd_{rule}"
        queue = FileDeadLetters(run.state_folder, name)
        dead_letters = {entry.dead_letter.record.offset: entry.dead_letter for entry in queue.entries()}
        assert {offset: each.code for offset, each in dead_letters.items()} == codes
        for offset, each in dead_letters.items():
            sent = ODD[offset]
            assert (each.record.key, each.record.value) == (sent.key, sent.value)
        assert self.rows(run, name) == odd_rows(gone_is_there=gone_is_there)
        return len(ODD) - len(codes) - sum(drops.values()), len(codes), sum(drops.values())

    def check_counts(self, run: LedgerRun, rule: str) -> None:
        """The metrics of the running service have the same numbers."""
        codes, drops, _ = RULES[rule]
        dropped = sum(drops.values())
        names = ("read", "stored", "dead_lettered", "dropped")
        found = [run.service.metric(f"attr2hbase_events_{name}_total", pipeline=f"odd_{rule}") for name in names]
        assert found == [len(ODD), len(ODD) - len(codes) - dropped, len(codes), dropped]


def test_changes_and_content_of_topics(kafka: Kafka, ledger_run: LedgerRuns) -> None:
    started = time.monotonic()
    beside, lost = Beside(kafka), LostPositions(kafka)
    content = merged(beside.content(), lost.content("store"))
    run = ledger_run("F16 F21 F43 partitions, transactions, duplicates", content=content)
    lost.attach(run.service, run.store_folder)
    run.produce(2_000)
    beside.produce_shared()
    run.begin()
    with KafkaSender(kafka) as sender:  # Java starts while Spark does
        assert sender.send(beside.odd, ODD) == len(ODD)
    run.wait_acknowledged()
    lost.wait_read()
    lost.inject()
    send_twice(run)
    end_transactions(run)
    add_partitions(run)
    reasons = lost.wait_failed()
    for rule in RULES:
        run.service.wait_for_offsets(kafka.ends(beside.odd), f"odd_{rule}", beside.odd)
        beside.check_counts(run, rule)
    run.service.wait_for_offsets(kafka.ends(beside.shared), "shared", beside.shared)
    run.finish(exit_code=1)  # that of the pipelines that failed

    gone, dead_lettered = lost.check(reasons)
    beside.check_shared(run)
    for rule in RULES:
        stored, dead, dropped = beside.check_odd(run, rule)
        counts = {"stored": stored, "dead": dead, "dropped": dropped}
        add_row(f"F23 unusual records, tombstones: {rule}", f"{len(ODD)} kinds", time.monotonic() - started, **counts)
    seconds = time.monotonic() - started
    add_row("F44 one row from two partitions", f"{SHARED_ROWS} rows", seconds, stored=UPDATES * 2)
    proof = f"ids of {len(RECREATED)} topics changed"
    add_row("F17 topics recreated while read", proof, seconds, stored=READ * (len(RECREATED) + 1))
    proof = f"log starts at offset {LOG_START}"
    add_row("F19 records deleted while read", proof, seconds, stored=gone.start, lost=len(gone))
    proof = f"{dead_lettered} dead letters, min_events {MIN_EVENTS}"
    add_row("F32 every record fails", proof, seconds, dead=dead_lettered)


@pytest.mark.slow
def test_rows_overwritten_many_times_with_kills_and_replays(ledger_run: LedgerRuns) -> None:
    """F44: 12,000 events for 200 rows; an older value never replaces a newer one."""
    run = ledger_run("F44 few rows, many updates, replays", rows=200, partitions=2, batch_size=500)
    run.produce(6_000)
    run.start()
    for fraction in (0.2, 0.5):
        run.wait_acknowledged(fraction)
        run.kill()
        run.check_while_dead()
        run.start()
    run.wait_acknowledged()
    assert run.service.stop() == 0, run.service.last_lines()
    again = run.service.checkpoint(run.pipeline).forget_commit()
    run.proven(f"commit of batch {again} removed")
    run.produce(6_000)
    run.start()
    run.finish(metrics=False)


def send_twice(run: LedgerRun) -> None:
    """F43: a producer sends events twice because it did not get the acknowledgement."""
    before = sum(run.kafka.ends(run.topic).values())
    run.producer.again(500, 999)
    more = sum(run.kafka.ends(run.topic).values()) - before
    assert more == 500
    run.proven(f"F43: {more} events are in the topic twice")


def end_transactions(run: LedgerRun) -> None:
    """F21: an aborted, a committed and an open transaction."""
    with transactional(run) as sender:
        send(run, sender, PHANTOM, range(300))
        sender.abort_transaction()
        sender.begin_transaction()
        run.file.append(send(run, sender, COMMITTED, range(300)))
        sender.commit_transaction()
        sender.begin_transaction()
        send(run, sender, PHANTOM, range(300, 400), partition=0)
        run.produce(1_000)
        stable, ends = offsets(run, IsolationLevel.READ_COMMITTED), offsets(run, IsolationLevel.READ_UNCOMMITTED)
        assert stable[0] < ends[0]
        assert {part: end for part, end in stable.items() if part} == {part: end for part, end in ends.items() if part}
        run.service.wait_for_offsets(stable, run.pipeline, run.topic)
        # other partitions are read to their ends, this one up to the open transaction
        assert run.service.checkpoint(run.pipeline).acknowledged(run.topic) == stable
        sender.abort_transaction()
    run.proven(f"F21: 400 events aborted, last stable offset {stable[0]} of {ends[0]} while open")
    run.wait_acknowledged()


def add_partitions(run: LedgerRun, count: int = 8) -> None:
    """F16: new partitions are read from their beginning."""
    old = run.producer.partitions
    with run.kafka.admin() as admin:
        admin.create_partitions({run.topic: count})
    run.producer.close()  # it caches the number of partitions
    run.producer.partitions = count
    run.produce(2_000)
    ends = run.kafka.ends(run.topic)
    assert all(ends[part] for part in range(old, count))
    run.proven(f"F16: partitions {old} to {count - 1} hold {sum(ends[part] for part in range(old, count))} events")


@contextmanager
def transactional(run: LedgerRun) -> Iterator[KafkaProducer]:
    """A producer with an open transaction."""
    sender = KafkaProducer(bootstrap_servers=run.kafka.brokers, transactional_id=unique("id"))
    try:
        sender.init_transactions()
        sender.begin_transaction()
        yield sender
    finally:
        sender.close()


def send(
    run: LedgerRun, sender: KafkaProducer, producer: int, numbers: range, partition: int | None = None
) -> list[str]:
    """Send events in the transaction; returns their lines of the ledger."""
    events: Events = run.events
    waiting = []
    for number in numbers:
        event = events.event(producer, number)
        place = number % run.producer.partitions if partition is None else partition
        future = sender.send(run.topic, value=event.body, key=event.key, headers=list(event.headers), partition=place)
        waiting.append((event, future))
    sender.flush()
    lines = []
    for event, future in waiting:
        at = future.get(timeout=10)
        lines.append(f"ok\t{producer}\t{event.number}\t{run.topic}\t{at.partition}\t{at.offset}\t{event.hash.decode()}")
    return lines


def offsets(run: LedgerRun, isolation: IsolationLevel) -> dict[int, int]:
    """Partition -> end offset for a reader with this isolation level."""
    parts = [TopicPartition(run.topic, part) for part in range(run.producer.partitions)]
    with run.kafka.admin() as admin:
        found = admin.list_partition_offsets(dict.fromkeys(parts, OffsetSpec.LATEST), isolation_level=isolation)
    return {part.partition: found[part].offset for part in parts}
