"""The result of a task for its part of a micro-batch, and its serialized form from worker to driver."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum

import msgpack

from ingest.api import BusyWait, SinkResult, WriteCounts
from ingest.api.taps import TapCounts
from ingest.call_times import CallTimes

_TAPPED = "tapped "
"""Start of the kind of a row with a tapped event; the id of the tap follows."""


class TaskStatus(StrEnum):
    """The outcome of a task, from best to worst."""

    DURABLE = "durable"
    RUN_AGAIN = "run_again"
    BLOCKED = "blocked"
    STOP = "stop"


class ComponentType(StrEnum):
    """What a component of a pipeline is, in the order of the way of an event."""

    SOURCE = "source"
    """The decoder of its records; there is one, of the same name."""
    DECORATOR = "decorator"
    SINK = "sink"


ComponentKey = tuple[ComponentType, str]
"""A component of a pipeline: its type and its name."""
SOURCE: ComponentKey = (ComponentType.SOURCE, "source")


@dataclass(slots=True)
class Figures:
    """
    What a component of a pipeline did with events; received = sent + dropped + failed, but for a fan-out.

    Events that its condition (`when`) excludes count as sent by a decorator; a sink does not receive them.

    Attributes:
        received: events that reached it; records, for the source.
        sent: events that it passed on or stored; a fan-out makes several of one, or none.
        dropped: events that it dropped on purpose.
        failed: events that failed in it, whatever the failure action.
        times: of the calls that were timed.
    """

    received: int = 0
    sent: int = 0
    dropped: int = 0
    failed: int = 0
    times: CallTimes = field(default_factory=CallTimes, compare=False)

    def add(self, other: "Figures") -> None:
        """Add the figures of another task."""
        self.received += other.received
        self.sent += other.sent
        self.dropped += other.dropped
        self.failed += other.failed
        self.times.include(other.times)


@dataclass(slots=True)
class Counts(WriteCounts):
    """
    Event counts of a task; read = stored + dropped + dead-lettered, where `read` includes the events of fan-outs.

    Attributes:
        records: read from the source, before fan-outs.
        partly_stored: number of dropped and dead-lettered events that one of their sinks has stored.
        failed: number of failed records; a record with three of ten events failed counts 0.3.
        dead_letter_bytes: of the dead letters, also of those that have places in their place.
        dead_lettered_by: error code and component -> number of events that became dead letters.
        by_place: number of failed records whose dead letters have places in place of their bytes, since those of all
            were too large; a record that failed in several sinks may count once for each.
        components: figures of each component in the order of the pipeline; empty for a task that does not run all of
            them, as in a replay.
        worker_bytes: resident memory of the largest process that ran a task; 0 if it is unknown.
    """

    records: int = 0
    failed: float = 0.0
    read: int = 0
    stored: int = 0
    partly_stored: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    dead_lettered_by: Counter[tuple[str, str]] = field(default_factory=Counter)
    dead_letter_bytes: int = 0
    by_place: int = 0
    components: dict[ComponentKey, Figures] = field(default_factory=dict)
    worker_bytes: int = field(default=0, compare=False)

    @property
    def has_stored(self) -> bool:
        """Whether a sink has stored an event."""
        return self.stored + self.partly_stored > 0

    @property
    def dead_lettered(self) -> Counter[str]:
        """Error code -> number of events that became dead letters; another Counter at each call."""
        codes: Counter[str] = Counter()
        for (code, _), events in self.dead_lettered_by.items():
            codes[code] += events
        return codes

    def add(self, other: "Counts") -> None:
        """Add the counts of another task."""
        self.add_written(other)
        self.records += other.records
        self.failed += other.failed
        self.read += other.read
        self.stored += other.stored
        self.partly_stored += other.partly_stored
        self.dropped.update(other.dropped)
        self.dead_lettered_by.update(other.dead_lettered_by)
        self.dead_letter_bytes += other.dead_letter_bytes
        self.by_place += other.by_place
        self.worker_bytes = max(self.worker_bytes, other.worker_bytes)
        for component, figures in other.components.items():
            self.components.setdefault(component, Figures()).add(figures)


@dataclass(slots=True)
class Receipt:
    """
    The outcome of the records of one task.

    Attributes:
        code: code of the error that blocked or stopped the task; "" if it is durable.
        message: message of the same error.
        exit_code: exit code of the process if the error stops it.
        results: name of a sink's destination -> result of its writer for its committer.
        probe: name of the destination that blocked, and a part of the batch with which its committer can test it; None
            if the task has written nothing yet.
        dead_letters: serialized envelopes; one for all events of a record that failed with the same error.
        tapped: id of a tap, and the JSON of an event or of what a sink writes.
        tap_counts: id of a tap with a condition -> how many events it was compared with.
    """

    status: TaskStatus = TaskStatus.DURABLE
    code: str = ""
    message: str = ""
    exit_code: int = 1
    counts: Counts = field(default_factory=Counts)
    results: dict[str, SinkResult] = field(default_factory=dict)
    probe: tuple[str, bytes] | None = None
    dead_letters: list[bytes] = field(default_factory=list)
    tapped: list[tuple[str, bytes]] = field(default_factory=list)
    tap_counts: dict[str, TapCounts] = field(default_factory=dict)

    def rows(self) -> Iterator[tuple[str, bytes]]:
        """The receipt as rows (kind, bytes): one for each dead letter and tapped event, then one for the receipt."""
        for dead_letter in self.dead_letters:
            yield "dead_letter", dead_letter
        for tap, line in self.tapped:
            yield f"{_TAPPED}{tap}", line
        content = {
            "status": self.status.value,
            "code": self.code,
            "message": self.message,
            "exit_code": self.exit_code,
            "counts": {each.name: getattr(self.counts, each.name) for each in fields(Counts)}
            | {
                "dead_lettered_by": _flat(self.counts.dead_lettered_by),
                "counted": _flat(self.counts.counted),
                "components": [
                    (*key, each.received, each.sent, each.dropped, each.failed, each.times.buckets())
                    for key, each in self.counts.components.items()
                ],
            },
            "tap_counts": {tap: counts.packed() for tap, counts in self.tap_counts.items()},
            "results": [[name, result.payload, result.run_again] for name, result in self.results.items()],
            "probe": self.probe,
        }
        # messages contain attribute names, which may be any bytes
        yield "receipt", msgpack.packb(content, unicode_errors="backslashreplace")


def receipts_of(rows: Iterable[tuple[str, bytes]]) -> list[Receipt]:
    """The receipts in the rows of all tasks; the rows of one task must be consecutive."""
    receipts = []
    dead_letters: list[bytes] = []
    tapped: list[tuple[str, bytes]] = []
    for kind, payload in rows:
        if kind.startswith(_TAPPED):
            tapped.append((kind.removeprefix(_TAPPED), payload))
            continue
        if kind == "dead_letter":
            dead_letters.append(payload)
            continue
        content = msgpack.unpackb(payload)
        counts = content["counts"]
        counts["dropped"] = Counter(counts["dropped"])
        for name in ("dead_lettered_by", "counted"):
            counts[name] = Counter({(first, second): number for first, second, number in counts[name]})
        counts["busy_waits"] = [BusyWait(*wait) for wait in counts["busy_waits"]]
        counts["components"] = {
            (ComponentType(kind), name): Figures(received, sent, dropped, failed, CallTimes(buckets))
            for kind, name, received, sent, dropped, failed, buckets in counts["components"]
        }
        probe = content["probe"]
        receipts.append(
            Receipt(
                status=TaskStatus(content["status"]),
                code=content["code"],
                message=content["message"],
                exit_code=content["exit_code"],
                counts=Counts(**counts),
                results={name: SinkResult(result, run_again) for name, result, run_again in content["results"]},
                probe=None if probe is None else (probe[0], probe[1]),
                dead_letters=dead_letters,
                tapped=tapped,
                tap_counts={tap: TapCounts.unpacked(packed) for tap, packed in content["tap_counts"].items()},
            )
        )
        dead_letters, tapped = [], []
    return receipts


def _flat(counter: Counter[tuple[str, str]]) -> list[tuple[str, str, int]]:
    return [(*key, number) for key, number in counter.items()]


def worst_of(receipts: Sequence[Receipt]) -> Receipt:
    """The receipt with the worst status, which is the status of the batch; a durable one if there are none."""
    order = list(TaskStatus)
    return max(receipts, key=lambda receipt: order.index(receipt.status), default=Receipt())


def total_of(receipts: Iterable[Receipt]) -> Counts:
    """The sum of the counts of all tasks."""
    total = Counts()
    for receipt in receipts:
        total.add(receipt.counts)
    return total
