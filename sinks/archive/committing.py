"""The driver's half of the sink: it moves the files of a micro-batch into place, and answers re-runs."""

import contextlib
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple, Self

import orjson

from ingest.api import Batch, Committer, IngestError
from ingest.clock import now_ms
from ingest.observe.logs import logger
from sinks.archive.copying import copy_rows
from sinks.archive.errors import ArchiveCorruptError
from sinks.archive.layout import STARTED, WRITERS, PartName, staging_folder, writer_digits
from sinks.archive.partition import Partition
from sinks.archive.reading import origins_in
from sinks.archive.reruns import Answer, RerunLease, answer_of, leases, of_partition, put_answer
from sinks.archive.staging import copy, place, unpack
from sinks.files.root import Root, root_errors

_LAST_ANSWER_S = 30.0
"""For an answer that the file system holds when the process ends."""
POLL_S = 3.0
"""Between looks for re-runs, which are answered within ten seconds."""
_log = logger(__name__)


class LastCommit(NamedTuple):
    """
    The micro-batch that a sink committed last, or was about to.

    Attributes:
        batch_name: "" if there is none.
        time_ms: the batch time.
        files: paths below the root that it, or an earlier run of it, may have written.
    """

    batch_name: str = ""
    time_ms: int = 0
    files: tuple[str, ...] = ()

    def to_bytes(self) -> bytes:
        """The content of the file."""
        return orjson.dumps({"batch": self.batch_name, "time_ms": self.time_ms, "files": self.files})

    @classmethod
    def from_bytes(cls, content: bytes, path: str) -> Self:
        """
        The inverse of `to_bytes`.

        Raises:
            ArchiveCorruptError: it is not.
        """
        try:
            found = orjson.loads(content)
            return cls(str(found["batch"]), int(found["time_ms"]), tuple(map(str, found["files"])))
        except (ValueError, TypeError, KeyError) as error:
            raise ArchiveCorruptError(
                f'"{path}" is damaged: {error}',
                hint="restore it from a copy; without it, a micro-batch that was not acknowledged may be there twice",
            ) from error


class ArchiveCommitter(Committer):
    """
    Moves files from the staging folder to the current batches of their partitions.

    Steps of a commit: read the leases of re-runs; record the files that the micro-batch will have; remove those of an
    earlier run of it that it no longer has; create the first batch of partitions that have none; move the files; copy
    them to a batch that became current meanwhile, as by 'ingest archive point'. Each step may be repeated.

    Args:
        root: of the table.
        writer: name of the sink, unique among those that write to the table.
        suffix: end of the names of the files.
        is_replay: dead letters or a time range are replayed; such a process does not answer re-runs while it is idle.
        check: called at each start; refuses a table that the files do not fit into.
        clock_ms: milliseconds since the epoch.
        poll_s: between looks for re-runs.
    """

    def __init__(
        self,
        root: Root,
        writer: str,
        suffix: str,
        *,
        is_replay: bool = False,
        check: Callable[[], None] = lambda: None,
        clock_ms: Callable[[], int] = now_ms,
        poll_s: float = POLL_S,
    ) -> None:
        self._root = root
        self._writer = writer
        self._suffix = suffix
        self._is_replay = is_replay
        self._check = check
        self._clock_ms = clock_ms
        self._poll_s = poll_s
        self._last = LastCommit()
        self._first_twice_ms = 0  # the batch time that a re-run is answered with
        self._answers: dict[str, int] = {}
        self._repeated: set[str] = set()  # staged files that had no new row
        self._lock = threading.Lock()  # between reading the leases for a commit, and answering the re-runs
        # a commit that a pause has abandoned may go on after the file system answers: `recover` waits for it
        self._runs = threading.Lock()
        self._ending = threading.Event()
        self._poller: threading.Thread | None = None

    def recover(self) -> None:
        """Remove what an earlier process staged, and begin to answer re-runs."""
        with root_errors(self._root), self._runs:
            self._check()
            self._root.remove_tree(staging_folder(self._writer))
            with contextlib.suppress(FileNotFoundError):
                path = self._record_path
                self._last = LastCommit.from_bytes(self._root.read(path), path)
        # the last one may run again: it stays in the batches that it has, and a re-run waits for it
        self._first_twice_ms = self._last.time_ms + 1
        self._answers = {}
        self._ending.clear()
        self.answer_reruns()
        if self._poller is None and not self._is_replay:
            self._poller = threading.Thread(target=self._poll, name="archive-reruns", daemon=True)
            self._poller.start()

    def prepare(self, batch: Batch, requests: Sequence[bytes]) -> bytes:  # noqa: ARG002 - tasks make no requests
        """The staging folder of the attempt."""
        return staging_folder(self._writer, batch.attempt).encode()

    def commit(self, batch: Batch, results: Sequence[bytes]) -> None:
        """Move the files of all tasks into place."""
        with root_errors(self._root), self._runs:
            reruns = self._leases_for(batch)
            digits = writer_digits(self._writer, batch.name)
            targets: dict[str, list[str]] = {}
            placed: dict[Partition, list[list[str]]] = {}
            earlier = set(self._last.files) if self._last.batch_name == batch.name else set()
            for rank, result in enumerate(results):
                name = str(PartName(batch.time_ms, rank, digits, self._suffix))
                for part in unpack(result):
                    partition = Partition(self._root, part.partition)
                    current = partition.ensure_current(self._clock_ms() // 1000, self._writer)
                    if self._is_replay:
                        # the record is that of the last replay alone; these records may have run before it
                        own = _own_parts(partition, current, batch.time_ms, digits)
                        earlier |= {partition.path(current, str(each)) for each in own}
                        if not self._drop_known_rows(partition, current, part.path, own):
                            continue
                    ids = [current, *_rerun_ids(partition, reruns)]
                    paths = self._moved(part.path, f"{part.partition}/", f"/{name}", earlier)
                    targets[part.path] = paths or [partition.path(each, name) for each in dict.fromkeys(ids)]
                    placed.setdefault(partition, []).append(targets[part.path])
            files = tuple(sorted(path for paths in targets.values() for path in paths))
            self._record(LastCommit(batch.name, batch.time_ms, tuple(sorted({*files, *earlier}))))
            for path in sorted(earlier - set(files)):
                self._root.remove_file(path)
            for path, paths in targets.items():
                place(self._root, path, paths)
            for partition, files_of_it in placed.items():
                self._follow(partition, files_of_it, batch.time_ms, digits)
            self._remove_staged(batch)

    def abort(self, batch: Batch) -> None:
        """Remove the files of an attempt."""
        with root_errors(self._root):
            self._remove_staged(batch)

    def close(self) -> None:
        """Stop answering re-runs; an answer that the file system holds does not delay the end of the process."""
        self._ending.set()
        poller, self._poller = self._poller, None
        if poller is not None:
            poller.join(_LAST_ANSWER_S)

    def answer_reruns(self) -> None:
        """Answer the re-runs that are not answered yet; called every few seconds."""
        with root_errors(self._root), self._lock:
            for lease in leases(self._root, self._clock_ms()):
                if not self._ending.is_set():
                    self._answer(lease)

    def _poll(self) -> None:
        reason = ""
        while not self._ending.wait(self._poll_s):
            try:
                self.answer_reruns()
            except IngestError as error:  # the next look may succeed
                if error.message != reason:
                    _log.warning("a re-run of an archive is not answered", writer=self._writer, reason=str(error))
                reason = error.message
            else:
                reason = ""

    def _leases_for(self, batch: Batch) -> list[RerunLease]:
        """
        The leases whose batches get the files of this micro-batch too.

        They are read before the pointers: a re-run switches the pointer before it removes its lease.
        """
        with self._lock:
            found = list(leases(self._root, self._clock_ms()))
            # not lower: a call that failed has moved files, for which a re-run since then has to wait
            self._first_twice_ms = max(self._first_twice_ms, batch.time_ms)
            chosen = [lease for lease in found if self._answer(lease) <= batch.time_ms or self._is_replay]
            self._first_twice_ms = max(self._first_twice_ms, batch.time_ms + 1)
        return chosen

    def _answer(self, lease: RerunLease) -> int:
        known = self._answers.get(lease.id)
        if known is not None:
            return known
        answer = answer_of(self._root, lease.id, self._writer)
        if answer is None:
            answer = Answer(self._writer, self._first_twice_ms)
            put_answer(self._root, lease.id, answer)
        self._answers[lease.id] = answer.from_ms
        return answer.from_ms

    def _moved(self, staged: str, start: str, end: str, recorded: Collection[str]) -> list[str]:
        """Where an earlier call of this commit has moved a staged file; the pointer may be another one since."""
        if not recorded or self._root.exists(staged):
            return []
        found = [path for path in recorded if path.startswith(start) and path.endswith(end)]
        return sorted(filter(self._root.exists, found))

    def _follow(self, partition: Partition, files: Sequence[list[str]], time_ms: int, digits: str) -> None:
        """
        Copy files to the batch that is current now, if it has become so since the pointer was read; in a replay without
        the rows that this batch has.

        Args:
            partition: that has the files.
            files: the paths of each; a copy is added.
            time_ms: batch time of the micro-batch.
            digits: of the writer, in the names of its files.
        """
        while (current := partition.pointed()) is not None:
            folder = partition.path(current)
            lacking = [paths for paths in files if all(path.rpartition("/")[0] != folder for path in paths)]
            if not lacking:
                return
            for paths in lacking:
                paths.append(f"{folder}/{paths[0].rpartition('/')[2]}")
            copies = {paths[-1] for paths in lacking}
            self._record(self._last._replace(files=tuple(sorted({*self._last.files, *copies}))))
            if self._is_replay:
                own = _own_parts(partition, current, time_ms, digits)
                for paths in lacking:
                    self._copy_new_rows(partition, current, own, paths[0], paths[-1])
            else:
                for paths in lacking:
                    copy(self._root, paths[0], paths[-1])

    def _drop_known_rows(self, partition: Partition, current: int, path: str, own: Collection[PartName]) -> bool:
        """
        Remove the rows from a staged file whose events the current batch has in files that are not of this micro-batch:
        a re-run of the partition may have written the rows of dead letters. Returns whether rows are left.
        """
        if path in self._repeated:
            return False
        if not self._root.exists(path):
            return True  # an earlier call of this commit has moved it
        if self._copy_new_rows(partition, current, own, path, path):
            return True
        self._repeated.add(path)
        return False

    def _copy_new_rows(
        self, partition: Partition, batch_id: int, own: Collection[PartName], path: str, target: str
    ) -> bool:
        """
        Write the rows of a file to a target, which may be the file, without those whose events the batch has in files
        that are not of this micro-batch. Returns whether there are any; else there is no target.
        """
        staged = set(origins_in(self._root, path))
        records = {origin[:3] for origin in staged}
        others = [partition.path(batch_id, str(name)) for name in partition.parts(batch_id) if name not in own]
        known = {origin for each in others for origin in origins_in(self._root, each, records)} & staged
        if known:
            return copy_rows(self._root, [path], target, lambda origin: origin not in known) > 0
        if target != path:
            copy(self._root, path, target)
        return True

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
    """The streams that have written to a table, sorted; not replays, which have a record of their own."""
    found = [name.removesuffix(".json") for name in root.file_names(WRITERS) if name.endswith(".json")]
    return sorted(name for name in found if not name.endswith("+replay"))


def _rerun_ids(partition: Partition, reruns: Iterable[RerunLease]) -> list[int]:
    """The batches that re-runs of a partition write; one that was removed gets nothing."""
    ids = [lease.batch_id for lease in of_partition(reruns, partition.folder)]
    return [each for each in ids if partition.root.exists(partition.path(each, STARTED))]


def _own_parts(partition: Partition, batch_id: int, time_ms: int, digits: str) -> set[PartName]:
    """The files that a micro-batch has in a batch."""
    return {part for part in partition.parts(batch_id) if part.time_ms == time_ms and part.writer == digits}
