"""What a task reports of one partition of one micro-batch, and how that travels from a worker to the driver."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

import msgpack

RefusedRows = dict[tuple[str, bytes], tuple[str, str]]
"""(table, row key) -> the error's code and the store's reason, of rows that the store can never write."""


class Verdict(StrEnum):
    """What became of a partition as a whole."""

    DURABLE = "durable"
    BLOCKED = "blocked"
    NEEDS_FAMILIES = "needs_families"
    REFUSED = "refused"
    STOP = "stop"


@dataclass(slots=True)
class Counts:
    """
    What happened to the events of a partition; read = stored + dropped + dead-lettered, fan-outs counted as read.

    Attributes:
        records: as they came from the source, before fan-outs.
        failed: how many of the records failed; one of which several events were made in part, as 0.3 for three of ten.
        rows_sent: rows of every attempt to write, so more than the rows stored after a retry.
        flush_s: how long each chunk took.
    """

    records: int = 0
    failed: float = 0.0
    read: int = 0
    stored: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    dead_lettered: Counter[str] = field(default_factory=Counter)
    rows_sent: int = 0
    cells: int = 0
    bytes: int = 0
    chunks: int = 0
    retries: int = 0
    flush_s: list[float] = field(default_factory=list)

    def add(self, other: "Counts") -> None:
        """Take in what another partition counted."""
        self.records += other.records
        self.failed += other.failed
        self.read += other.read
        self.stored += other.stored
        self.dropped.update(other.dropped)
        self.dead_lettered.update(other.dead_lettered)
        self.rows_sent += other.rows_sent
        self.cells += other.cells
        self.bytes += other.bytes
        self.chunks += other.chunks
        self.retries += other.retries
        self.flush_s.extend(other.flush_s)


@dataclass(slots=True)
class Handed:
    """A file of mutations that a task leaves for the driver to write into a store."""

    store: str
    path: str
    size_bytes: int


@dataclass(slots=True)
class Receipt:
    """
    What became of one partition.

    Attributes:
        code: why it is blocked or stops: the error's code; "" when durable.
        message: the same for people.
        needs_families: (store, table) -> names of families that were met and do not exist.
        refused: name of a store -> rows that it refused; all others are durable, and the batch has to be run
            again to learn which events they are.
        handed: files for the driver, in the order they must be written.
        dead_letters: envelopes as bytes; fewer than events where several of one record failed alike.
    """

    verdict: Verdict = Verdict.DURABLE
    code: str = ""
    message: str = ""
    counts: Counts = field(default_factory=Counts)
    needs_families: dict[tuple[str, str], set[bytes]] = field(default_factory=dict)
    refused: dict[str, RefusedRows] = field(default_factory=dict)
    handed: list[Handed] = field(default_factory=list)
    dead_letters: list[bytes] = field(default_factory=list)

    def rows(self) -> Iterator[tuple[str, bytes]]:
        """The receipt as (kind, bytes): dead letters first, one a row, then the receipt itself."""
        for letter in self.dead_letters:
            yield "dead_letter", letter
        counts = self.counts
        yield (
            "receipt",
            msgpack.packb(
                {
                    "verdict": self.verdict.value,
                    "code": self.code,
                    "message": self.message,
                    "counts": {name: getattr(counts, name) for name in Counts.__slots__},
                    "needs_families": [
                        [store, table, sorted(names)] for (store, table), names in self.needs_families.items()
                    ],
                    "refused": [
                        [store, table, row, code, reason]
                        for store, rows in self.refused.items()
                        for (table, row), (code, reason) in rows.items()
                    ],
                    "handed": [[handed.store, handed.path, handed.size_bytes] for handed in self.handed],
                },
                # names of an event's attributes stand in messages, and may be any bytes
                unicode_errors="backslashreplace",
            ),
        )


def receipts_of(rows: Iterable[tuple[str, bytes]]) -> list[Receipt]:
    """Receipts out of the rows of all partitions; the rows of one partition must stand together."""
    receipts = []
    letters: list[bytes] = []
    for kind, payload in rows:
        if kind == "dead_letter":
            letters.append(payload)
            continue
        content = msgpack.unpackb(payload)
        counts = content["counts"] | {name: Counter(content["counts"][name]) for name in ("dropped", "dead_lettered")}
        receipts.append(
            Receipt(
                verdict=Verdict(content["verdict"]),
                code=content["code"],
                message=content["message"],
                counts=Counts(**counts),
                needs_families={(store, table): set(names) for store, table, names in content["needs_families"]},
                refused=_refused_of(content["refused"]),
                handed=[Handed(*handed) for handed in content["handed"]],
                dead_letters=letters,
            )
        )
        letters = []
    return receipts


def gather_refused(refused: dict[str, RefusedRows], receipts: Iterable[Receipt]) -> None:
    """Add the rows that receipts tell of to those that earlier attempts at the micro-batch found refused."""
    for receipt in receipts:
        for store, rows in receipt.refused.items():
            refused.setdefault(store, {}).update(rows)


def _refused_of(rows: Iterable[tuple[str, str, bytes, str, str]]) -> dict[str, RefusedRows]:
    refused: dict[str, RefusedRows] = {}
    for store, table, row, code, reason in rows:
        refused.setdefault(store, {})[table, row] = code, reason
    return refused
