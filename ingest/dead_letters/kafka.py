"""Dead letters in a Kafka topic; those too large for it in files, with a dead letter in the topic that names them."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, Protocol

from ingest import failpoint
from ingest.api import ConfigError, IntegrityError, NotFoundError
from ingest.dead_letters.envelope import DeadLetter
from ingest.dead_letters.files import FileDeadLetters, folder_of
from ingest.dead_letters.marks import Marks
from ingest.dead_letters.queue import DeadLetterQueue, Entry, Keeps, Mark, keeps_none
from ingest.dead_letters.topic_records import TopicRecord, dead_letter_of, in_json
from ingest.durable import StatePath, file_errors, make_folder, write_durably
from ingest.kafka.loops import refuse_topic_of_sinks, refuse_topic_of_source
from ingest.kafka.stored import Header, Stored, TopicSettings
from ingest.observe.logs import logger

CREATED_BY = "attr2hbase admin dead-letters create-topic"
"""The command that creates the topic of a pipeline."""
TOPIC_SETTINGS = {"retention.ms": "-1", "retention.bytes": "-1", "cleanup.policy": "delete"}
"""Settings with which a topic keeps its dead letters, which are the only copies of their events."""

OVERHEAD_BYTES = 480  # of a record batch with one record: 61 for the batch, about 20 for the record, rounded up
_TOPICS = "topics"
"""File with the names of the topics, one in a line: another topic in the file of the pipeline must not hide them."""

_log = logger(__name__)

Envelope = Callable[[bytes, DeadLetter], TopicRecord]
"""The record of a dead letter, of which it has the line and the content."""


class SentLetter(Protocol):
    """A record that was sent."""

    @property
    def key(self) -> bytes | None:
        """As it was sent."""

    @property
    def value(self) -> bytes | None:
        """As it was sent."""

    @property
    def headers(self) -> Sequence[Header]:
        """As they were sent."""

    @property
    def is_durable(self) -> bool:
        """Whether all in-sync replicas have acknowledged it."""

    @property
    def time_refused(self) -> str:
        """Why the broker has it without a time; else ""."""


class Producer(Protocol):
    """Sends records; `flush` returns when all in-sync replicas have acknowledged all of them, or raises."""

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[Header],
        *,
        partition_key: bytes | None,
    ) -> SentLetter:
        """Queue a record for sending, to the partition of `partition_key`."""

    def flush(self) -> None:
        """Wait for the acknowledgement of all queued records."""

    def close(self) -> None:
        """Close the connection."""


class TopicReader(Protocol):
    """Reads the topic from its start to its end at the time of the call."""

    def read(self, topic: str) -> Iterable[Stored]:
        """All records, within a partition in their order."""

    def read_at(self, topic: str, partition: int, offset: int) -> Stored | None:
        """One record, None if there is none."""


class TopicAdmin(Protocol):
    """Reads the settings of the topic."""

    def settings(self, topic: str, *, created_by: str = "") -> TopicSettings:
        """Its size limit and retention."""

    def incarnation(self, topic: str) -> str:
        """An id that no other topic of its name has."""

    def cluster_id(self) -> str:
        """The id of the cluster."""


class Loss(NamedTuple):
    """How the settings of a topic delete dead letters, and how to change them."""

    message: str
    hint: str


def loss_of_dead_letters(topic: str, settings: TopicSettings) -> Loss | None:
    """The reason if the settings of a topic delete dead letters; None if they retain all of them."""
    limits = {"retention.ms": settings.retention_ms, "retention.bytes": settings.retention_bytes}
    finite = {name: value for name, value in limits.items() if value >= 0}
    reasons = [f"{name} is {value}" for name, value in finite.items()] if settings.deletes else []
    wanted = [f"{name}=-1" for name in finite]
    if settings.is_compacted:
        reasons.append(f"cleanup.policy is {settings.cleanup_policy}")
        wanted.append("cleanup.policy=delete")
    if not reasons:
        return None
    return Loss(
        f'topic "{topic}" deletes dead letters: {" and ".join(reasons)}',
        f"run 'kafka-configs.sh --alter --entity-type topics --entity-name {topic} --add-config {','.join(wanted)}'",
    )


def noted_topics(state: StatePath, pipeline: str) -> frozenset[str]:
    """The topics into which a pipeline has published dead letters whose values are in a blob store."""
    path = folder_of(state, pipeline) / _TOPICS
    with file_errors(path):
        return frozenset(path.read_text().split()) if path.exists() else frozenset()


class KafkaDeadLetters(DeadLetterQueue):
    """
    Dead letters in a topic, which several pipelines may share.

    The key of a dead letter determines the partition of its record, whatever the key of that one is. A dead letter that
    was published again has the same key and batch time; `entries` gives it once, as it was published last, also in
    another envelope: with that position, content and mark. A position is `PARTITION:OFFSET`. Marks are in a file of the
    state, so without a shared one they belong to this machine. Each names the topic and its incarnation, since a
    recreated topic has other dead letters at the same positions. No record is removed from the topic: unlike files, it
    keeps the dead letters of attempts that were not acknowledged.

    Args:
        admin: an admin connection; its settings are requested until it answers once.
        producer: created at the first publication.
        reader: created at the first read.
        cluster_of_reader: as in `refuse_topic_of_source`.
        clusters_of_sinks: as in `refuse_topic_of_sinks`.
        envelope: of those that are published; both are read.
    """

    def __init__(  # noqa: PLR0913 - the topic, its clients, and what is checked and written
        self,
        topic: str,
        *,
        pipeline: str,
        state: StatePath,
        admin: Callable[[], contextlib.AbstractContextManager[TopicAdmin]],
        producer: Callable[[], Producer],
        reader: Callable[[], TopicReader],
        cluster_of_reader: Callable[[], str] | None = None,
        clusters_of_sinks: Mapping[str, Callable[[], str]] = MappingProxyType({}),
        envelope: Envelope = in_json,
    ) -> None:
        self._topic = topic
        self._pipeline = pipeline
        self._state = state
        self._files = FileDeadLetters(state, pipeline)
        folder = folder_of(state, pipeline)
        self._marks = Marks(folder / "topic.replayed")
        self._folder = folder
        self._make_admin = admin
        self._prefix: str | None = None
        self._max_value_bytes: int | None = None
        self._make_producer = producer
        self._make_reader = reader
        self._cluster_of_reader = cluster_of_reader
        self._clusters_of_sinks = clusters_of_sinks
        self._envelope = envelope
        self._producer: Producer | None = None
        self._incarnation = ""
        # of a publication that failed: the next call resumes it
        self._sent: dict[bytes, SentLetter] = {}
        self._sent_ms: int | None = None

    def prepare(self) -> None:
        """
        Read the size limit of the topic; log a warning if its settings delete dead letters.

        Raises:
            ConfigError: the source of the pipeline reads the topic, or a sink writes it.
        """
        self._files.prepare()
        self._limit()

    def publish(
        self, dead_letters: Sequence[bytes], batch_id: int, batch_time_ms: int, keeps: Keeps = keeps_none
    ) -> Sequence[DeadLetter]:
        """
        Write dead letters that are too large to files, then send all, then wait for their acknowledgement.

        After a failure, the next call for the micro-batch sends those that were not acknowledged, or differ.

        Returns none: the topic keeps those of an earlier call.
        """
        parsed = [DeadLetter.from_json(line) for line in dead_letters]
        whole = [self._envelope(line, dead_letter) for line, dead_letter in zip(dead_letters, parsed, strict=True)]
        fits = [record.size <= self._limit() for record in whole]
        large = [line for line, is_small in zip(dead_letters, fits, strict=True) if not is_small]
        self._files.publish(large, batch_id, batch_time_ms, keeps)  # first, so that each pointer has its file
        if not dead_letters:
            return ()
        if any(dead_letter.blob is not None for dead_letter in parsed):
            self._note_topic()
        pointers = iter(self._files.pointers(len(large), batch_id, batch_time_ms))
        self._resume(batch_time_ms)
        if self._producer is None:
            self._producer = self._make_producer()
        for dead_letter, complete, is_small in zip(parsed, whole, fits, strict=True):
            record = complete if is_small else _pointing(dead_letter, next(pointers))
            sent = self._sent.get(dead_letter.key)
            if sent is None or not sent.is_durable or (sent.key, sent.value, [*sent.headers]) != record:
                self._sent[dead_letter.key] = self._producer.send(self._topic, *record, partition_key=dead_letter.key)
        failpoint.point("dead_letters_sent")()
        self._producer.flush()
        self._end_publication()
        return ()

    def entries(self) -> Iterator[Entry]:
        """The dead letters of this pipeline, by batch time, each once; complete if its file is on this machine."""
        marks = self._load_marks()
        found: dict[tuple[bytes, int], Entry] = {}
        for stored in self._make_reader().read(self._topic):
            entry = self._entry(stored, marks)
            if entry is not None:
                found[entry.dead_letter.key, entry.dead_letter.batch_time_ms] = entry
        yield from sorted(found.values(), key=lambda entry: entry.dead_letter.batch_time_ms)

    def read(self, position: str) -> Entry:
        """The dead letter at `PARTITION:OFFSET`."""
        partition, _, offset = position.partition(":")
        stored = None
        if partition.isdecimal() and offset.isdecimal():
            stored = self._make_reader().read_at(self._topic, int(partition), int(offset))
        entry = None if stored is None else self._entry(stored, self._load_marks())
        if entry is None:
            raise NotFoundError(
                f'no dead letter of "{self._pipeline}" at "{position}" of topic "{self._topic}"',
                hint="'attr2hbase dead-letters list' shows all positions",
            )
        return entry

    def mark(self, marks: Mapping[str, Mark]) -> None:
        """Write marks to the state folder, for the topic that was read: it may have been recreated since."""
        prefix = self._prefix or self._read_prefix()
        with file_errors(self._folder):
            self._marks.add({prefix + position: mark for position, mark in marks.items()})

    def remove(self, positions: Iterable[str]) -> None:
        """Refuse it: Kafka deletes records only by age and size, or those of a partition up to an offset."""
        del positions
        raise ConfigError(
            f'dead letters of topic "{self._topic}" cannot be deleted one by one',
            hint="set retention.ms of the topic, or run 'kafka-delete-records.sh' with the offsets to delete up to",
        )

    def close(self) -> None:
        """Close the producer."""
        self._sent, self._sent_ms = {}, None
        producer, self._producer = self._producer, None
        if producer is not None:
            producer.close()

    def _resume(self, batch_time_ms: int) -> None:
        """Keep what an earlier call for this micro-batch has made durable, if the topic is still the same one."""
        if self._sent_ms == batch_time_ms:
            with self._make_admin() as admin:
                incarnation = admin.incarnation(self._topic)
            if incarnation == self._incarnation:
                return
            self._incarnation = incarnation
        self._sent, self._sent_ms = {}, batch_time_ms

    def _end_publication(self) -> None:
        """Forget what was sent: a micro-batch that runs again publishes all of it again."""
        refused = next((sent.time_refused for sent in self._sent.values() if sent.time_refused), "")
        if refused:
            _log.warning(
                "broker refuses the time of this machine; dead letters have no time of their own",
                pipeline=self._pipeline,
                topic=self._topic,
                reason=refused,
                hint="compare the clocks of this machine and of the broker",
            )
        self._sent, self._sent_ms = {}, None

    def _note_topic(self) -> None:
        noted = noted_topics(self._state, self._pipeline)
        if self._topic not in noted:
            with file_errors(self._folder):
                make_folder(self._folder)
                write_durably(self._folder / _TOPICS, "\n".join(sorted({self._topic} | noted)).encode() + b"\n")

    def _load_marks(self) -> dict[str, Mark]:
        """Marks by position, for the present topic of this name."""
        prefix = self._read_prefix()
        marks = self._marks.load()
        return {name.removeprefix(prefix): mark for name, mark in marks.items() if name.startswith(prefix)}

    def _read_prefix(self) -> str:
        """The prefix of the topic's marks."""
        with self._make_admin() as admin:
            self._prefix = f"{self._topic}/{admin.incarnation(self._topic)}/"
        return self._prefix

    def _limit(self) -> int:
        if self._max_value_bytes is None:
            with self._make_admin() as admin:
                settings = admin.settings(self._topic, created_by=CREATED_BY)
                self._incarnation = admin.incarnation(self._topic)
                refuse_topic_of_source(self._topic, admin, self._cluster_of_reader, "dead letters")
                refuse_topic_of_sinks(self._topic, admin, self._clusters_of_sinks)
            self._max_value_bytes = settings.max_message_bytes - OVERHEAD_BYTES
            loss = loss_of_dead_letters(self._topic, settings)
            if loss is not None:
                _log.warning("dead letters will be lost", pipeline=self._pipeline, reason=loss.message, hint=loss.hint)
        return self._max_value_bytes

    def _entry(self, stored: Stored, marks: Mapping[str, Mark]) -> Entry | None:
        position = f"{stored.partition}:{stored.offset}"
        try:
            dead_letter = dead_letter_of(stored)
        except IntegrityError as error:  # other programs may write to the topic, and a record cannot be removed
            _log.warning("record is not a dead letter", topic=self._topic, position=position, error=str(error))
            return None
        if dead_letter.pipeline != self._pipeline:
            return None
        if dead_letter.pointer is not None:
            with contextlib.suppress(NotFoundError):  # the cut dead letter is still shown
                whole = self._files.follow(dead_letter.pointer)
                # a batch that was published again may have another dead letter in this line
                dead_letter = whole if whole.key == dead_letter.key else dead_letter
        return Entry(position, dead_letter, marks.get(position))


def _pointing(dead_letter: DeadLetter, pointer: str) -> TopicRecord:
    """The record that names the file of a dead letter."""
    cut = dead_letter.pointing_to(pointer)
    return in_json(cut.to_json(), cut)
