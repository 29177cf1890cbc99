"""Dead letters in a Kafka topic; those that do not fit there in files, with a letter in the topic that names them."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from ingest import failpoint
from ingest.api import IntegrityError, NotFoundError
from ingest.dead_letters.envelope import DeadLetter
from ingest.dead_letters.files import FileDeadLetters, folder_of
from ingest.dead_letters.marks import Marks
from ingest.dead_letters.queue import DeadLetterQueue, Entry, Mark
from ingest.durable import on_disk
from ingest.kafka.stored import Stored, TopicSettings
from ingest.observe.logs import logger

OVERHEAD_BYTES = 512  # of a record batch with one record: 61 for the batch, some 20 for the record, rounded up amply

_log = logger(__name__)

Headers = Sequence[tuple[str, bytes | None]]


class Producer(Protocol):
    """What sends; `flush` returns when everything sent is acknowledged by all in-sync replicas, or raises."""

    def send(self, topic: str, key: bytes | None, value: bytes | None, headers: Headers) -> None:
        """Hand over a record."""

    def flush(self) -> None:
        """Wait for all records handed over."""

    def close(self) -> None:
        """Let go of the connection."""


class TopicReader(Protocol):
    """What reads the topic, from its beginning to the end it had when asked."""

    def read(self, topic: str) -> Iterable[Stored]:
        """All records, within a partition in their order."""

    def read_at(self, topic: str, partition: int, offset: int) -> Stored | None:
        """One record, None when there is none."""


class TopicAdmin(Protocol):
    """What answers questions about the topic."""

    def settings(self, topic: str) -> TopicSettings:
        """What it takes, and for how long it keeps that."""

    def incarnation(self, topic: str) -> str:
        """What tells the topic from others of its name."""


class Loss(NamedTuple):
    """That a topic loses letters by itself, and the way out."""

    message: str
    hint: str


def loss_of_letters(topic: str, settings: TopicSettings) -> Loss | None:
    """Whether a topic loses letters by its settings: a letter is the only trace of its event, and nobody need look."""
    limits = {"retention.ms": settings.retention_ms, "retention.bytes": settings.retention_bytes}
    finite = {name: value for name, value in limits.items() if value >= 0}
    policies = {policy.strip() for policy in settings.cleanup_policy.split(",")}
    reasons = [f"{name} is {value}" for name, value in finite.items()] if "delete" in policies else []
    wanted = [f"{name}=-1" for name in finite]
    if "compact" in policies:
        reasons.append(f"cleanup.policy is {settings.cleanup_policy}")
        wanted.append("cleanup.policy=delete")
    if not reasons:
        return None
    return Loss(
        f'topic "{topic}" does not keep dead letters for good: {" and ".join(reasons)}',
        f"run 'kafka-configs.sh --alter --entity-type topics --entity-name {topic} --add-config {','.join(wanted)}'",
    )


class KafkaDeadLetters(DeadLetterQueue):
    """
    A topic, which several pipelines may share.

    The key of a record is the letter's, so a letter published again is known by key and batch time; `entries` gives
    it once. A position is `PARTITION:OFFSET`. Marks stand in a file under the state folder, so they are those of
    this machine; each names the topic and its incarnation, since another topic has other letters at the same
    positions. Nothing is taken out of the topic: what an attempt published that was not acknowledged stays, unlike
    with files.

    Args:
        admin: a connection for questions; it is asked for settings until it answers, and no more.
        producer: made at the first publication.
        reader: made at the first reading.
    """

    def __init__(
        self,
        topic: str,
        *,
        pipeline: str,
        state_dir: Path,
        admin: Callable[[], contextlib.AbstractContextManager[TopicAdmin]],
        producer: Callable[[], Producer],
        reader: Callable[[], TopicReader],
    ) -> None:
        self._topic = topic
        self._pipeline = pipeline
        self._files = FileDeadLetters(state_dir, pipeline)
        folder = folder_of(state_dir, pipeline)
        self._marks = Marks(folder / "topic.replayed")
        self._folder = folder
        self._make_admin = admin
        self._prefix: str | None = None
        self._max_value_bytes: int | None = None
        self._make_producer = producer
        self._make_reader = reader
        self._producer: Producer | None = None

    def prepare(self) -> None:
        """Ask what the topic takes; a warning goes to the log when it does not keep letters for good."""
        self._limit()

    def publish(self, letters: Sequence[bytes], batch_id: int, batch_time_ms: int) -> None:
        """Write the letters that are too large to files, then send all, then wait until they are stored."""
        parsed = [DeadLetter.from_json(line) for line in letters]
        fits = [self._fits(line, letter) for line, letter in zip(letters, parsed, strict=True)]
        large = [line for line, is_small in zip(letters, fits, strict=True) if not is_small]
        self._files.publish(large, batch_id, batch_time_ms)  # first: a pointer must never lead nowhere
        if not letters:
            return
        pointers = iter(self._files.pointers(len(large), batch_id, batch_time_ms))
        if self._producer is None:
            self._producer = self._make_producer()
        for line, letter, is_small in zip(letters, parsed, fits, strict=True):
            value = line if is_small else letter.pointing_to(next(pointers)).to_json()
            self._producer.send(self._topic, letter.key, value, _headers(letter))
        failpoint.point("dead_letters_sent")()
        self._producer.flush()

    def entries(self) -> Iterator[Entry]:
        """The letters of this pipeline, by batch time, each once, whole where its file is on this machine."""
        marks = self._load_marks()
        found: dict[tuple[bytes, int], Entry] = {}
        for stored in self._make_reader().read(self._topic):
            entry = self._entry(stored, marks)
            if entry is not None:
                found.setdefault((entry.letter.key, entry.letter.batch_time_ms), entry)
        yield from sorted(found.values(), key=lambda entry: entry.letter.batch_time_ms)

    def read(self, position: str) -> Entry:
        """The letter at `PARTITION:OFFSET`."""
        partition, _, offset = position.partition(":")
        stored = None
        if partition.isdecimal() and offset.isdecimal():
            stored = self._make_reader().read_at(self._topic, int(partition), int(offset))
        entry = None if stored is None else self._entry(stored, self._load_marks())
        if entry is None:
            raise NotFoundError(
                f'no dead letter of "{self._pipeline}" at "{position}" of topic "{self._topic}"',
                hint="'ingest dead-letters list' shows what there is",
            )
        return entry

    def mark(self, marks: Mapping[str, Mark]) -> None:
        """Note marks in the state folder, for the topic that was read: by now there may be another of its name."""
        prefix = self._prefix or self._ask_prefix()
        with on_disk(self._folder):
            self._marks.add({prefix + position: mark for position, mark in marks.items()})

    def close(self) -> None:
        """Close the producer."""
        producer, self._producer = self._producer, None
        if producer is not None:
            producer.close()

    def _load_marks(self) -> dict[str, Mark]:
        """Marks by position, of the topic that has the name now."""
        prefix = self._ask_prefix()
        marks = self._marks.load()
        return {name.removeprefix(prefix): mark for name, mark in marks.items() if name.startswith(prefix)}

    def _ask_prefix(self) -> str:
        """What marks of the topic begin with."""
        with self._make_admin() as admin:
            self._prefix = f"{self._topic}/{admin.incarnation(self._topic)}/"
        return self._prefix

    def _limit(self) -> int:
        if self._max_value_bytes is None:
            with self._make_admin() as admin:
                settings = admin.settings(self._topic)
            self._max_value_bytes = settings.max_message_bytes - OVERHEAD_BYTES
            loss = loss_of_letters(self._topic, settings)
            if loss is not None:
                _log.warning("dead letters will be lost", pipeline=self._pipeline, reason=loss.message, hint=loss.hint)
        return self._max_value_bytes

    def _fits(self, line: bytes, letter: DeadLetter) -> bool:
        headers = sum(len(name) + len(value or b"") for name, value in _headers(letter))
        return len(line) + len(letter.key) + headers <= self._limit()

    def _entry(self, stored: Stored, marks: Mapping[str, Mark]) -> Entry | None:
        position = f"{stored.partition}:{stored.offset}"
        try:
            letter = DeadLetter.from_json(stored.value or b"")
        except IntegrityError as error:  # anybody may write to a topic, and nobody can take a record out
            _log.warning("record is no dead letter", topic=self._topic, position=position, error=str(error))
            return None
        if letter.pipeline != self._pipeline:
            return None
        if letter.pointer is not None:
            with contextlib.suppress(NotFoundError):  # the letter that was cut is still worth showing
                letter = self._files.follow(letter.pointer)
        return Entry(position, letter, marks.get(position))


def _headers(letter: DeadLetter) -> Headers:
    """For consumers that route without reading the letter."""
    fields = {"pipeline": letter.pipeline, "component": letter.component, "error": letter.code}
    return [(name, value.encode("utf-8", "backslashreplace")) for name, value in fields.items()]
