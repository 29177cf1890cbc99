"""What is there after all, read behind the product's back: the table, the dead letters, the checkpoint, the group."""

import base64
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ingest.api import Scan
from tests.support.audit import rocksdb_reader
from tests.support.checkpoint import Acknowledged, Batch
from tests.support.ledger.events import NUMBER
from tests.support.servers import HBase, Kafka

VERSIONS = 10

Cells = dict[bytes, tuple[int, bytes]]
"""Column -> time and value of its newest version."""
Older = dict[bytes, list[tuple[bytes, int, bytes]]]
"""Row -> column, time and value of versions that are not the newest."""


@dataclass(frozen=True)
class Letter:
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
    One moment of one pipeline.

    Attributes:
        older: versions that are not the newest, as far as they were read.
        acknowledged: partition -> offset below which the checkpoint says all is done.
        group: the same, of the consumer group; None when nobody could be asked.
        batches: acknowledged micro-batches, as far as the checkpoint still has them.
        versions: all versions of one row, asked when something looks wrong.
    """

    table: Mapping[bytes, Cells] = field(default_factory=dict)
    older: Older = field(default_factory=dict)
    letters: Mapping[tuple[int, int], Sequence[Letter]] = field(default_factory=dict)
    acknowledged: Mapping[int, int] = field(default_factory=dict)
    group: Mapping[int, int] | None = None
    batches: Sequence[Batch] = ()
    versions: Callable[[bytes], Iterable[tuple[bytes, int, bytes]]] = lambda row: ()

    def highest_number(self, row: bytes) -> int:
        """The highest event number any version of a row holds; -1 for none."""
        versions = [*self.older.get(row, ()), *self.versions(row)]
        return max((int(value) for column, _, value in versions if column == NUMBER and value.isdigit()), default=-1)


def rocksdb_rows(folder: Path, table: str) -> tuple[dict[bytes, Cells], Older]:
    """All versions of a table of a RocksDB store that nobody else has open for writing."""
    newest: dict[bytes, Cells] = {}
    older: Older = {}
    if not folder.exists():
        return newest, older
    with rocksdb_reader(folder) as store:
        if table not in store.tables():
            return newest, older
        for row in store.scan(table, Scan(versions=VERSIONS, page_rows=2_000)):
            cells = newest[row.key] = {}
            for family, qualifier, timestamp_ms, value in row.cells:
                column = family + b":" + qualifier
                if column in cells:
                    older.setdefault(row.key, []).append((column, timestamp_ms, value))
                else:
                    cells[column] = timestamp_ms, value
    return newest, older


def hbase_rows(hbase: HBase, table: str) -> dict[bytes, Cells]:
    """The newest version of each cell, read with happybase."""
    with hbase.connection() as connection:
        if table.encode() not in connection.tables():
            return {}
        rows = connection.table(table).scan(include_timestamp=True, batch_size=2_000)
        return {
            key: {column: (timestamp_ms, value) for column, (value, timestamp_ms) in columns.items()}
            for key, columns in rows
        }


def hbase_versions(hbase: HBase, table: str, row: bytes) -> list[tuple[bytes, int, bytes]]:
    """All versions of the number in a row: what the row has held."""
    return [(NUMBER, timestamp_ms, value) for value, timestamp_ms in hbase.versions(table, row, NUMBER, most=VERSIONS)]


def letters_in_files(state: Path, pipeline: str) -> dict[tuple[int, int], list[Letter]]:
    """(Partition, offset) -> letters under the state folder."""
    folder = state / "dead-letters" / pipeline
    found: dict[tuple[int, int], list[Letter]] = {}
    for path in sorted(folder.glob("*.jsonl")) if folder.exists() else ():
        for line in path.read_bytes().splitlines():
            letter = _letter(json.loads(line))
            found.setdefault((letter.partition, letter.offset), []).append(letter)
    return found


def letters_in_topic(
    kafka: Kafka, topic: str, pipeline: str, files: Mapping[tuple[int, int], Sequence[Letter]]
) -> dict[tuple[int, int], list[Letter]]:
    """
    (Partition, offset) -> letters in a topic; one published again in the same batch counts once, one that names a file
    counts only if the whole is there.
    """
    found: dict[tuple[int, int], dict[int, Letter]] = {}
    for record in kafka.records(topic):
        content = json.loads(record.value)
        if content["pipeline"] != pipeline:
            continue
        letter = _letter(content)
        place = letter.partition, letter.offset
        if content["pointer"] is not None:
            whole = [each for each in files.get(place, ()) if each.batch_time_ms == letter.batch_time_ms]
            if not whole:
                continue
            letter = whole[0]
        found.setdefault(place, {})[letter.batch_time_ms] = letter
    return {place: list(letters.values()) for place, letters in found.items()}


def batches_of(checkpoint: Acknowledged, topic: str) -> list[Batch]:
    """
    Acknowledged micro-batches whose time and beginning are both still in the checkpoint.

    Spark throws old ones away; without the ends of the one before, nobody can say where a batch began.
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


def _first(checkpoint: Acknowledged, topic: str) -> dict[int, int]:
    """Partition -> offset the first batch began with: Spark notes it beside its offsets, `v1` and then JSON."""
    _, _, text = (checkpoint.folder / "sources" / "0" / "0").read_text().partition("\n")
    return {int(partition): offset for partition, offset in json.loads(text).get(topic, {}).items()}


def _letter(content: Mapping[str, Any]) -> Letter:
    record = content["record"]
    return Letter(
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
