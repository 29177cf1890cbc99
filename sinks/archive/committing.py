"""The driver's half of the sink: it moves the files of a micro-batch into place, and answers rewrites."""

import contextlib
import threading
from collections.abc import Callable, Collection, Iterable, Sequence

from ingest.api import Batch, Committer, IngestError
from ingest.clock import now_ms
from ingest.durable import file_errors
from ingest.observe.logs import logger
from sinks.archive.answering import Answering
from sinks.archive.layout import STARTED, WRITERS, PartName, staging_folder, writer_digits
from sinks.archive.partition import Partition
from sinks.archive.placement import CommitPlan, LastCommit, Placement
from sinks.archive.replayed_rows import copy_new_rows, own_parts
from sinks.archive.rewrites import Announcement, of_partition
from sinks.archive.staging import StagedPart, copy, place, unpack
from sinks.files.root import Root

_LAST_ANSWER_S = 30.0
"""For an answer that the file system holds when the process ends."""
POLL_S = 3.0
"""Between looks for rewrites, which are answered within ten seconds."""
_log = logger(__name__)


class ArchiveCommitter(Committer):
    """
    Moves files from the staging folder to the current versions of their partitions.

    Steps of a commit: read the announcements of rewrites; record the files that the micro-batch will have; remove those
    of an earlier run of it that it no longer has; create the first version of partitions that have none; move the
    files; copy them to a version that became current meanwhile, as by 'attr2hbase archive point'. Each step may be
    repeated.

    A replay leaves what an earlier run of it has written to a version that is not current any more: nothing replaces it
    there, and 'attr2hbase archive point' may make that version current again.

    Args:
        root: of the table.
        writer: name of the sink, unique among those that write to the table.
        suffix: end of the names of the files.
        is_replay: dead letters or a time range are replayed; such a process does not answer rewrites while it is idle.
        check: called at each start; refuses a table that the files do not fit into.
        check_owner: as in `SinkContext`.
        clock_ms: milliseconds since the epoch.
        poll_s: between looks for rewrites.
    """

    def __init__(  # noqa: PLR0913 - the last two are for tests
        self,
        root: Root,
        writer: str,
        suffix: str,
        *,
        is_replay: bool = False,
        check: Callable[[], None] = lambda: None,
        check_owner: Callable[[], None] = lambda: None,
        clock_ms: Callable[[], int] = now_ms,
        poll_s: float = POLL_S,
    ) -> None:
        self._root = root
        self._writer = writer
        self._suffix = suffix
        self._is_replay = is_replay
        self._check = check
        self._check_owner = check_owner
        self._clock_ms = clock_ms
        self._poll_s = poll_s
        self._last = LastCommit()
        self._answering = Answering(writer)
        self._repeated: set[str] = set()  # staged files that had no new row
        self._settled: dict[str, int] = {}
        # a commit that a pause has abandoned may go on after the file system answers: `recover` waits for it
        self._runs = threading.Lock()
        self._ending = threading.Event()
        self._poller: threading.Thread | None = None

    def recover(self) -> None:
        """Remove what an earlier process staged, and begin to answer rewrites."""
        with file_errors(self._root), self._runs:
            self._check()
            self._root.remove_tree(staging_folder(self._writer))
            with contextlib.suppress(FileNotFoundError):
                path = self._record_path
                self._last = LastCommit.of(self._root.read(path), path)
        self._answering.start(self._last.time_ms)
        self._ending.clear()
        self.answer_rewrites()
        if self._poller is None and not self._is_replay:
            self._poller = threading.Thread(target=self._poll, name="archive-rewrites", daemon=True)
            self._poller.start()

    def newest_batch_ms(self) -> int:
        """The time of the micro-batch that was committed last."""
        return self._last.time_ms

    def prepare(self, batch: Batch, requests: Sequence[bytes]) -> bytes:  # noqa: ARG002 - tasks make no requests
        """The staging folder of the attempt."""
        return staging_folder(self._writer, batch.attempt).encode()

    def commit(self, batch: Batch, results: Sequence[bytes]) -> None:
        """Move the files of all tasks into place."""
        with file_errors(self._root), self._runs:
            plan = self._planned(batch, results)
            self._record(plan.record(batch))
            for path in plan.obsolete:
                self._root.remove_file(path)
            for placement in plan.placements:
                place(self._root, placement.staged, placement.targets)
            self._follow(batch, plan)
            self._remove_staged(batch)

    def abort(self, batch: Batch) -> None:
        """Remove the files of an attempt."""
        with file_errors(self._root):
            self._remove_staged(batch)

    def close(self) -> None:
        """Stop answering rewrites; an answer that the file system holds does not delay the end of the process."""
        self._ending.set()
        poller, self._poller = self._poller, None
        if poller is not None:
            poller.join(_LAST_ANSWER_S)

    def answer_rewrites(self) -> None:
        """
        Answer the rewrites that are not answered yet; called every few seconds.

        Raises:
            IngestError: another driver has taken the pipeline, or the file system does not answer.
        """
        self._check_owner()
        with file_errors(self._root):
            self._answering.answer_all(self._root, self._clock_ms(), self._ending.is_set)

    def _poll(self) -> None:
        reason = ""
        while not self._ending.wait(self._poll_s):
            try:
                self.answer_rewrites()
            except IngestError as error:  # the next look may succeed
                if error.message != reason:
                    _log.warning(
                        "a re-run or a join of an archive is not answered", writer=self._writer, reason=str(error)
                    )
                reason = error.message
            else:
                reason = ""

    def _planned(self, batch: Batch, results: Sequence[bytes]) -> CommitPlan:
        """Where the files of all tasks go; each of their partitions has a current version then."""
        now_ms = self._clock_ms()
        rewrites = self._answering.announced_for(self._root, now_ms, batch.time_ms, is_replay=self._is_replay)
        digits = writer_digits(self._writer, batch.name)
        earlier = set(self._last.files) if self._last.batch_name == batch.name else set()
        kept: set[str] = set()
        rewritten: dict[tuple[str, int], None] = {}
        placements = []
        for rank, result in enumerate(results):
            name = str(PartName(batch.time_ms, rank, digits, self._suffix))
            for part in unpack(result):
                partition = Partition(self._root, part.partition)
                current = partition.ensure_current(now_ms // 1000, self._writer)
                self._settle(part.partition, current)
                if self._is_replay:
                    # the record is that of the last replay alone; these records may have run before it
                    own = own_parts(partition, current, batch.time_ms, digits)
                    earlier |= {partition.path(current, str(each)) for each in own}
                    if not self._drop_known_rows(partition, current, part.path, own):
                        kept |= _outside(partition, [current], earlier)
                        continue
                if moved := self._moved(part, name, earlier):
                    placements.append(Placement(part.partition, part.path, moved))
                else:
                    rewrite_ids = _rewrite_ids(partition, rewrites)
                    ids = [current, *rewrite_ids]
                    if self._is_replay:
                        kept |= _outside(partition, ids, earlier)
                        rewritten |= dict.fromkeys((part.partition, each) for each in rewrite_ids)
                        ids = [current]
                    placements.append(Placement.into(part.partition, part.path, ids, name))
        return CommitPlan(tuple(placements), frozenset(earlier - kept), tuple(rewritten))

    def _settle(self, folder: str, current: int) -> None:
        """Make the pointer of a partition durable before rows rely on it: who has moved it may have been killed."""
        if self._settled.get(folder) != current:
            self._root.settle(folder)
            self._settled[folder] = current

    def _moved(self, part: StagedPart, name: str, recorded: Collection[str]) -> tuple[str, ...]:
        """Where an earlier call of this commit has moved a staged file; the pointer may be another one since."""
        if not recorded or self._root.exists(part.path):
            return ()
        found = [path for path in recorded if path.startswith(f"{part.partition}/") and path.endswith(f"/{name}")]
        return tuple(sorted(filter(self._root.exists, found)))

    def _follow(self, batch: Batch, plan: CommitPlan) -> None:
        """
        Copy files to the versions of rewrites that are left, and to the version that is current now, if it has become
        so since the pointer was read.
        """
        for folder, version_id in plan.rewrites:
            plan = self._copied(batch, plan, Partition(self._root, folder), version_id)
        for folder in plan.folders:
            partition = Partition(self._root, folder)
            while (current := partition.pointed()) is not None:
                self._settle(folder, current)
                if not plan.lacking(folder, current):
                    break
                plan = self._copied(batch, plan, partition, current)

    def _copied(self, batch: Batch, plan: CommitPlan, partition: Partition, version_id: int) -> CommitPlan:
        """Copy the files of a partition to one more version; in a replay without the rows that this version has."""
        lacking = plan.lacking(partition.folder, version_id)
        plan = plan.with_version(partition.folder, version_id)
        self._record(plan.record(batch))
        digits = writer_digits(self._writer, batch.name)
        own = own_parts(partition, version_id, batch.time_ms, digits) if self._is_replay else set()
        for placement in lacking:
            source, target = placement.targets[0], placement.path_in(version_id)
            if self._is_replay:
                copy_new_rows(partition, version_id, own, source, target)
            else:
                copy(self._root, source, target)
        return plan

    def _drop_known_rows(self, partition: Partition, current: int, path: str, own: Collection[PartName]) -> bool:
        """
        Remove the rows from a staged file whose events the current version has in files that are not of this
        micro-batch: a re-run of the partition may have written the rows of dead letters. Returns whether rows are left.
        """
        if path in self._repeated:
            return False
        if not self._root.exists(path):
            return True  # an earlier call of this commit has moved it
        if copy_new_rows(partition, current, own, path, path):
            return True
        self._repeated.add(path)
        return False

    def _record(self, commit: LastCommit) -> None:
        self._root.make_folder(WRITERS)
        self._root.write(self._record_path, commit.to_bytes())
        self._last = commit

    def _remove_staged(self, batch: Batch) -> None:
        self._root.remove_tree(staging_folder(self._writer, batch.attempt))

    @property
    def _record_path(self) -> str:
        return f"{WRITERS}/{self._writer}.json"


def recorded_writers(root: Root) -> list[str]:
    """The names of the writers of a table, sorted; not replays, which have a record of their own."""
    found = [name.removesuffix(".json") for name in root.file_names(WRITERS) if name.endswith(".json")]
    # a replay is the third part of `SinkContext.staging_name`; a sink may have that name
    return sorted(name for name in found if not name.endswith("+replay") or name.count("+") == 1)


def _rewrite_ids(partition: Partition, rewrites: Iterable[Announcement]) -> list[int]:
    """The versions that rewrites of a partition write; one that was removed gets nothing."""
    ids = [announcement.version_id for announcement in of_partition(rewrites, partition.folder)]
    return [each for each in ids if partition.root.exists(partition.path(each, STARTED))]


def _outside(partition: Partition, version_ids: Iterable[int], paths: Iterable[str]) -> set[str]:
    """Those paths in a partition that are not in some versions of it."""
    inside = tuple(f"{partition.path(each)}/" for each in version_ids)
    return {path for path in paths if path.startswith(f"{partition.folder}/") and not path.startswith(inside)}
