"""The durable progress of a replay, so that an interrupted one resumes after its last finished micro-batch."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ingest.dead_letters.replay import InterruptedReplayError
from ingest.durable import StatePath, file_errors, make_folder, sync_folder, write_durably
from ingest.durable.record import Record
from ingest.receipt import Counts
from ingest.service.replay.options import ReplayOptions
from ingest.service.replay.plan import ReplayBatch

_REMEDY = "remove the file of the plan, and the replay starts from its first micro-batch"


@dataclass(slots=True)
class ReplayTotals(Record, kind="progress of a replay", remedy=_REMEDY):
    """
    Events of the finished micro-batches; read = stored + dropped + dead-lettered.

    Attributes:
        batches: number of finished micro-batches.
        records: read from Kafka, before fan-outs.
        has_changed: whether some of them ran with another version of the pipeline than those after them.
        not_durable: number of offsets of the time range that were left out when the replay began, because the pipeline
            had not stored them.
        gone: number of offsets of micro-batches that were rolled back which the topics had deleted when the replay
            began.
    """

    batches: int = 0
    records: int = 0
    read: int = 0
    stored: int = 0
    cells: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    dead_lettered: Counter[str] = field(default_factory=Counter)
    has_changed: bool = False
    not_durable: int = 0
    gone: int = 0

    def add(self, counts: Counts) -> None:
        """Add a finished micro-batch."""
        self.batches += 1
        self.records += counts.records
        self.read += counts.read
        self.stored += counts.stored
        self.cells += counts.cells
        self.dropped.update(counts.dropped)
        self.dead_lettered.update(counts.dead_lettered)


@dataclass(frozen=True, slots=True)
class _Plan(Record, kind="plan of a replay", remedy=_REMEDY):
    """The content of the plan's file; `request` has the options that select records, and how they run."""

    request: Mapping[str, object]
    pipeline: str
    topic_ids: Mapping[str, str]
    batches: tuple[ReplayBatch, ...]


class StoredReplay(NamedTuple):
    """
    An unfinished replay.

    Attributes:
        batches: of its plan.
        totals: of the finished batches.
        fingerprint: of the pipeline when the replay began.
        topic_ids: topic -> its id when the replay began, as far as the cluster reports it.
    """

    batches: list[ReplayBatch]
    totals: ReplayTotals
    fingerprint: str
    topic_ids: Mapping[str, str]

    @property
    def next(self) -> ReplayBatch | None:
        """The first batch that is not finished; None if there is none."""
        return next(iter(self.batches[self.totals.batches :]), None)


class ReplayState:
    """
    The plan of an unfinished replay and its progress: the files `FROM-TO.plan` and `FROM-TO.done` of a folder.

    The plan is written once, before anything runs: a resumed replay runs the same batches, even if the batch log or
    the topics have changed since. One process at a time, which holds the lock of the pipeline's replays.

    Args:
        folder: of the pipeline's replays.
        fingerprint: of the pipeline.
    """

    def __init__(self, folder: StatePath, options: ReplayOptions, fingerprint: str) -> None:
        self._folder = folder
        self._options = options
        self._fingerprint = fingerprint
        name = f"{options.from_}-{options.to}"
        self._plan_file = folder / f"{name}.plan"
        self._done = folder / f"{name}.done"

    @property
    def plan_file(self) -> StatePath:
        """The file of the plan; without it the replay starts anew."""
        return self._plan_file

    def load(self) -> StoredReplay | None:
        """
        The unfinished replay; None if there is none.

        Raises:
            ConflictError: the unfinished replay of this range has other options.
            IntegrityError: a file is damaged, or has the format of another version.
            StoreUnavailableError: a file cannot be read now.
        """
        with file_errors(self._plan_file):
            if not self._plan_file.exists():
                return None
            sync_folder(self._folder)  # a process that was killed before its own sync may have written it
            plan = self._plan_file.read_bytes()
            done = self._done.read_bytes() if self._done.exists() else ReplayTotals().to_bytes()
        found, totals = _Plan.of(plan, self._plan_file), ReplayTotals.of(done, self._done)
        if found.request != self._options.selection():
            raise InterruptedReplayError(
                f'an unfinished replay of this range has other options: "{self._plan_file}"',
                hint="run it again with its --at, --overwrite and --sink, or remove the file, and it starts anew",
            )
        return StoredReplay([*found.batches], totals, found.pipeline, found.topic_ids)

    def start(self, batches: Sequence[ReplayBatch], topic_ids: Mapping[str, str], totals: ReplayTotals) -> None:
        """
        Store the plan before anything of it runs.

        Args:
            batches: of the plan.
            topic_ids: topic -> its id, as far as the cluster reports it.
            totals: of no batch.

        Raises:
            StoreUnavailableError: not possible now.
            IntegrityError: the disk fails.
        """
        plan = _Plan(self._options.selection(), self._fingerprint, topic_ids, tuple(batches))
        with file_errors(self._folder):
            make_folder(self._folder)
            self.progress(totals)  # before the plan, so that it replaces that of another replay
            write_durably(self._plan_file, plan.to_bytes())

    def progress(self, totals: ReplayTotals) -> None:
        """
        Store that the first `totals.batches` batches are durable, with their dead letters.

        Raises:
            StoreUnavailableError: not possible now.
            IntegrityError: the disk fails.
        """
        with file_errors(self._done):
            write_durably(self._done, totals.to_bytes())

    def finish(self) -> None:
        """Remove the files of a replay that is complete: the plan first, so that no part of it runs again."""
        with file_errors(self._folder):
            self._plan_file.unlink(missing_ok=True)
            sync_folder(self._folder)
            self._done.unlink(missing_ok=True)
