"""A consistent state in memory, with which every test of the ledger's rules begins."""

from collections.abc import Callable

from tests.support.checkpoint import Batch
from tests.support.ledger.events import POISON_CODE, WINDOW, Events, Outcome
from tests.support.ledger.judging import judge
from tests.support.ledger.observed import FoundDeadLetter, Key, Observed, Version, found_of
from tests.support.ledger.producer import Entry, Status
from tests.support.ledger.sent import SentEvents
from tests.support.ledger.verdicts import Judgement

COUNT = 1_500
PARTITIONS = 4
BATCH = 300  # offsets of a partition
FIRST_MS = 1_700_000_000_000


class World:
    """Events with their required outcomes, in batches of BATCH offsets of each partition."""

    def __init__(self, rows: int | None = None, count: int = COUNT) -> None:
        self.events = Events("run", 7, rows=rows)
        self.entries: dict[Key, Entry] = {}
        self.table: dict[bytes, dict[bytes, tuple[int, bytes]]] = {}
        self.dead_letters: dict[tuple[int, int], list[FoundDeadLetter]] = {}
        self.ends = dict.fromkeys(range(PARTITIONS), 0)
        for number in range(count):
            self._send(number)
        numbers = range(max(self.ends.values()) // BATCH + 1)
        self.batches = [self._batch(number) for number in numbers]
        self.older: dict[bytes, list[Version]] = {}
        self.versions: Callable[[bytes], list[Version]] = lambda row: []
        self.acknowledged = dict(self.ends)
        self.group = dict(self.ends)

    @property
    def observed(self) -> Observed:
        """The actual state."""
        return Observed(
            rows={row: found_of(cells) for row, cells in self.table.items()},
            older=self.older,
            dead_letters=self.dead_letters,
            acknowledged=self.acknowledged,
            group=self.group,
            batches=self.batches,
            versions=self.versions,
        )

    @property
    def sent(self) -> SentEvents:
        """The ledger."""
        return SentEvents(self.entries, self.places)

    def judged(self, **options: object) -> Judgement:
        """All verdicts."""
        return judge(self.events, self.sent, self.observed, **options)  # type: ignore[arg-type]

    @property
    def places(self) -> dict[tuple[int, int], Key]:
        """(partition, offset) -> event."""
        ok = ((entry.partition, entry.offset, key) for key, entry in self.entries.items() if entry.status is Status.OK)
        return {(partition, offset): key for partition, offset, key in ok}

    def number(self, outcome: Outcome, least: int = WINDOW) -> int:
        """The first event with an outcome, from a number on."""
        return next(number for number in range(least, COUNT) if self.events.outcome(0, number) is outcome)

    def referred(self) -> int:
        """A stored event that another stored event refers to."""
        stored = [number for number in range(COUNT) if self.events.outcome(0, number) is Outcome.STORED]
        return next(number for number in stored if number + WINDOW in stored)

    def row(self, number: int) -> bytes:
        """Its row key."""
        return self.events.row(0, number)

    def put(self, number: int, time_ms: int) -> None:
        """Store an event."""
        cells = self.events.event(0, number).cells
        self.table[self.row(number)] = {column: (time_ms, value) for column, value in cells.items()}

    def time_of(self, number: int) -> int:
        """Time of its batch."""
        return FIRST_MS + self.entries[0, number].offset // BATCH

    def lose(self, number: int) -> None:
        """Delete its row."""
        del self.table[self.row(number)]

    def _batch(self, number: int) -> Batch:
        def bound(at: int) -> dict[int, int]:
            return {part: min(end, BATCH * at) for part, end in self.ends.items()}

        return Batch(number, FIRST_MS + number, bound(number), bound(number + 1))

    def _send(self, number: int) -> None:
        event = self.events.event(0, number)
        partition = self.events.partition(number, PARTITIONS)
        offset = self.ends[partition]
        self.ends[partition] += 1
        self.entries[0, number] = Entry(0, number, "t", partition, offset, event.hash, Status.OK)
        match event.outcome:
            case Outcome.STORED:
                self.put(number, FIRST_MS + offset // BATCH)
            case Outcome.DEAD_LETTERED:
                dead_letter = FoundDeadLetter(partition, offset, POISON_CODE, FIRST_MS, event.body, event.headers)
                self.dead_letters[partition, offset] = [dead_letter]
            case Outcome.DROPPED:
                pass
