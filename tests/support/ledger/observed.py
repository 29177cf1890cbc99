"""The actual state, read without the product's code where possible: table, dead letters, checkpoint, group."""

import base64
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from kafka import KafkaConsumer, TopicPartition

from ingest.api import Scan
from tests.support.audit import rocksdb_reader
from tests.support.checkpoint import Batch, CheckpointReader
from tests.support.ledger.events import HASH, NUMBER, PREVIOUS, PRODUCER, cells_of, hash_of
from tests.support.servers import HBase, Kafka

VERSIONS = 10

Key = tuple[int, int]
"""Producer and number of an event."""
Cells = Mapping[bytes, tuple[int, bytes]]
"""Column -> (timestamp, value) of its newest version."""
Version = tuple[bytes, int, bytes]
"""(column, timestamp, value)."""


class Found(NamedTuple):
    """
    A row of the table, reduced to what the audit needs, since there may be millions.

    Attributes:
        event: the event that the row names; None if it names none.
        hash: hash of that event if it matches the cells, so that the row is complete; else None.
        previous: row that the event refers to.
        times: timestamps of its cells.
        cells: column -> value, only of incomplete rows.
    """

    event: Key | None
    hash: bytes | None
    previous: bytes
    times: tuple[int, ...]
    cells: Mapping[bytes, bytes] | None


@dataclass(frozen=True, slots=True)
class FoundDeadLetter:
    """A dead letter of one record."""

    partition: int
    offset: int
    code: str
    batch_time_ms: int
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]


@dataclass
class Observed:
    """
    The state of one pipeline at one time.

    Attributes:
        rows: the whole table.
        older: row -> older versions, as far as they were read.
        acknowledged: partition -> offset below which the checkpoint acknowledges everything.
        group: the same for the consumer group; None if the broker was not running.
        batches: acknowledged micro-batches that the checkpoint still contains.
        versions: reads all versions of a row; called for suspicious rows only.
    """

    rows: Mapping[bytes, Found] = field(default_factory=dict)
    older: Mapping[bytes, Sequence[Version]] = field(default_factory=dict)
    dead_letters: Mapping[tuple[int, int], Sequence[FoundDeadLetter]] = field(default_factory=dict)
    acknowledged: Mapping[int, int] = field(default_factory=dict)
    group: Mapping[int, int] | None = None
    batches: Sequence[Batch] = ()
    versions: Callable[[bytes], Iterable[Version]] = lambda row: ()

    def highest_number(self, row: bytes) -> int:
        """The highest event number in any version of a row; -1 for none."""
        versions = [*self.older.get(row, ()), *self.versions(row)]
        return max((int(value) for column, _, value in versions if column == NUMBER and value.isdigit()), default=-1)


def found_of(cells: Cells) -> Found:
    """The row with these cells."""
    values = {column: value for column, (_, value) in cells.items()}
    digest = values.get(HASH)
    is_whole = digest is not None and hash_of(values) == digest
    times = tuple({time_ms for time_ms, _ in cells.values()})
    return Found(
        event_of(values),
        digest if is_whole else None,
        values.get(PREVIOUS, b""),
        times,
        None if is_whole else values,
    )


def event_of(values: Mapping[bytes, bytes]) -> Key | None:
    """The event that cells name."""
    producer, number = values.get(PRODUCER, b""), values.get(NUMBER, b"")
    return (int(producer), int(number)) if producer.isdigit() and number.isdigit() else None


def rocksdb_rows(folder: Path, table: str) -> tuple[dict[bytes, Found], dict[bytes, list[Version]]]:
    """All rows of a table of a RocksDB store that no process has open for writing, and their older versions."""
    rows: dict[bytes, Found] = {}
    older: dict[bytes, list[Version]] = {}
    if not folder.exists():
        return rows, older
    with rocksdb_reader(folder) as store:
        if table not in store.tables():
            return rows, older
        for row in store.scan(table, Scan(versions=VERSIONS, page_rows=2_000)):
            cells: dict[bytes, tuple[int, bytes]] = {}
            for family, qualifier, timestamp_ms, value in row.cells:
                column = family + b":" + qualifier
                if column in cells:
                    older.setdefault(row.key, []).append((column, timestamp_ms, value))
                else:
                    cells[column] = timestamp_ms, value
            rows[row.key] = found_of(cells)
    return rows, older


def hbase_rows(hbase: HBase, table: str) -> dict[bytes, Found]:
    """All rows of a table, the newest version of each cell, read with happybase."""
    with hbase.connection() as connection:
        if table.encode() not in connection.tables():
            return {}
        rows = connection.table(table).scan(include_timestamp=True, batch_size=2_000)
        return {
            key: found_of({column: (time_ms, value) for column, (value, time_ms) in cells.items()})
            for key, cells in rows
        }


def hbase_versions(hbase: HBase, table: str, row: bytes) -> list[Version]:
    """All versions of the event number in a row."""
    return [(NUMBER, timestamp_ms, value) for value, timestamp_ms in hbase.versions(table, row, NUMBER, most=VERSIONS)]


def dead_letters_in_files(state: Path, pipeline: str) -> dict[tuple[int, int], list[FoundDeadLetter]]:
    """(partition, offset) -> dead letters under the state folder."""
    folder = state / "dead-letters" / pipeline
    found: dict[tuple[int, int], list[FoundDeadLetter]] = {}
    for path in sorted(folder.glob("*.jsonl")) if folder.exists() else ():
        for line in path.read_bytes().splitlines():
            dead_letter = _dead_letter(json.loads(line))
            found.setdefault((dead_letter.partition, dead_letter.offset), []).append(dead_letter)
    return found


def dead_letters_in_topic(
    kafka: Kafka, topic: str, pipeline: str, files: Mapping[tuple[int, int], Sequence[FoundDeadLetter]]
) -> dict[tuple[int, int], list[FoundDeadLetter]]:
    """
    (partition, offset) -> dead letters in a topic.

    One that was published twice in the same batch counts once. One that points to a file counts only if the file
    exists.
    """
    found: dict[tuple[int, int], dict[int, FoundDeadLetter]] = {}
    for record in kafka.records(topic):
        content = json.loads(record.value)
        if content["pipeline"] != pipeline:
            continue
        dead_letter = _dead_letter(content)
        place = dead_letter.partition, dead_letter.offset
        if content["pointer"] is not None:
            whole = [each for each in files.get(place, ()) if each.batch_time_ms == dead_letter.batch_time_ms]
            if not whole:
                continue
            dead_letter = whole[0]
        found.setdefault(place, {})[dead_letter.batch_time_ms] = dead_letter
    return {place: list(dead_letters.values()) for place, dead_letters in found.items()}


def places_in_topic(brokers: str, topic: str, wanted: Collection[Key]) -> dict[tuple[int, int], Key]:
    """(partition, offset) -> event, for the wanted events that are in the topic."""
    consumer = KafkaConsumer(bootstrap_servers=brokers, enable_auto_commit=False, isolation_level="read_committed")
    found: dict[tuple[int, int], Key] = {}
    try:
        parts = [TopicPartition(topic, number) for number in sorted(consumer.partitions_for_topic(topic) or ())]
        ends = consumer.end_offsets(parts)
        consumer.assign(parts)
        consumer.seek_to_beginning(*parts)
        while any(consumer.position(part) < ends[part] for part in parts):
            for records in consumer.poll(timeout_ms=200).values():
                for record in records:
                    key = event_of(cells_of(None, record.headers))
                    if key in wanted:
                        found[record.partition, record.offset] = key
    finally:
        consumer.close()
    return found


def batches_of(checkpoint: CheckpointReader, topic: str) -> list[Batch]:
    """
    Acknowledged micro-batches whose time and start offsets are still in the checkpoint.

    Spark deletes old ones; the start offsets of a batch are the end offsets of the one before.
    """
    plans = set(checkpoint.plans())
    found = []
    for number in checkpoint.commits():
        if number and number - 1 not in plans:
            continue
        try:
            before = checkpoint.ends(number - 1, topic) if number else _first(checkpoint, topic)
            ends = checkpoint.ends(number, topic)
            time_ms = checkpoint.time_ms(number)
        except FileNotFoundError:
            continue
        found.append(Batch(number, time_ms, {part: before.get(part, 0) for part in ends}, ends))
    return found


def _first(checkpoint: CheckpointReader, topic: str) -> dict[int, int]:
    """Partition -> start offset of the first batch, from Spark's file `sources/0/0`: `v1`, then JSON."""
    _, _, text = (checkpoint.folder / "sources" / "0" / "0").read_text().partition("\n")
    return {int(partition): offset for partition, offset in json.loads(text).get(topic, {}).items()}


def _dead_letter(content: Mapping[str, Any]) -> FoundDeadLetter:
    record = content["record"]
    return FoundDeadLetter(
        partition=record["partition"],
        offset=record["offset"],
        code=content["code"],
        batch_time_ms=content["batch_time_ms"],
        value=_bytes(record["value"]),
        headers=tuple(((_bytes(name) or b"").decode(), _bytes(value)) for name, value in record["headers"]),
    )


def _bytes(notation: Any) -> bytes | None:
    if notation is None:
        return None
    return notation.encode() if isinstance(notation, str) else base64.b64decode(notation["b64"])
