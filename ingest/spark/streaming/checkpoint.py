"""
A query's checkpoint: which source it belongs to, whether it is intact, and what it has acknowledged.

Spark writes `offsets/N` before and `commits/N` after batch N, each with a checksum file in Hadoop's format. This
product adds `format` (of these additions), `identity.json` (the source that the offsets belong to), `configuration`
(its fingerprint), `times/` (see batch_time) and `lock`.
"""

import errno
import json
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from ingest.api import CheckpointError, ConflictError, IngestError
from ingest.durable import StatePath, file_errors, sync_folder, write_durably
from ingest.durable.lease import folder_lock
from ingest.observe.logs import logger
from ingest.spark.streaming.batch_time import stored_time
from ingest.spark.streaming.spark_files import checksum_file, flaw_of, has_checksums, sync_files

FORMAT = b"1"
"""Of the product's files and of the offsets of its sources; incremented with a change that earlier versions misread."""
FOLDERS = ("offsets", "commits", "sources", "times")
_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class Restart:
    """
    How to start a pipeline without its checkpoint; each ends a hint, after "and".

    Attributes:
        resume: with the same source, at the acknowledged positions if possible.
        anew: with another source.
    """

    resume: str
    anew: str


READS_ALL = Restart(resume="start again, which reads everything again", anew="start again, which reads everything")


class Checkpoint:
    """
    One pipeline's checkpoint folder.

    Called by one thread; `check_locked`, `lost`, `newest_commit` and `end_offsets` by any. Order: `lock`, `verify`,
    `claim`, then the queries.

    Args:
        folder: of the checkpoint.
        restart: how the source starts without it, for hints.
        changed: name of a part of the identity -> how to go on although this part has changed, for hints.
    """

    def __init__(
        self, folder: StatePath, restart: Restart = READS_ALL, changed: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self.folder = folder
        self._restart = restart
        self._changed = changed
        self._start_is_synced = False
        self._lock = folder_lock(
            folder,
            kind="checkpoint",
            hint="stop that process first, or give this pipeline another state_dir",
            on_wait=_log.warning,
        )

    @property
    def _identity(self) -> StatePath:
        return self.folder / "identity.json"

    @property
    def times_folder(self) -> StatePath:
        """Folder of the batch times; see `ingest.spark.streaming.batch_time`."""
        return self.folder / "times"

    @property
    def exists(self) -> bool:
        """Whether a query has started here: it has planned a batch, or stored where its source starts."""
        return bool(self._numbers("offsets") or self._numbers("sources/0"))

    def lock(self) -> None:
        """
        Lock the folder against other processes until `unlock` or the end of this process.

        On a cluster it may wait, as `ingest.durable.lease.Lease.acquire`.

        Raises:
            ConflictError: another process uses this checkpoint.
            StoreUnavailableError: the folder is not writable, or the disk is full.
        """
        self._lock.acquire()
        if isinstance(self.folder, Path):  # on a cluster the same user has just written the lease
            try:
                _check_access([self.folder, *(self.folder / name for name in FOLDERS)])
            except BaseException:
                self._lock.release()
                raise

    def is_locked(self) -> bool:
        """
        Whether a process has the lock; one that starts meanwhile is not refused.

        Raises:
            StoreUnavailableError: permission is denied, or the file system does not answer.
        """
        return self._lock.is_held()

    def check_locked(self) -> None:
        """
        Check that this process still has the lock, before it changes anything for the pipeline.

        Raises:
            ConflictError: `lease_lost`: it was suspended or cut off, and another process has taken the checkpoint.
            StoreUnavailableError: the file system does not answer.
        """
        self._lock.check()

    def lost(self) -> IngestError | None:
        """The error if the lock is known to be lost; None otherwise. Returns at once."""
        return self._lock.lost

    def unlock(self) -> None:
        """Release the lock; may be called twice."""
        self._lock.release()

    def verify(self) -> None:
        """
        Check every file that a restart depends on.

        Raises:
            CheckpointError: a newer version wrote it, or a file is damaged or missing; the message names it and the
                last good batch.
            StoreUnavailableError: a file cannot be read now.
        """
        self._start_is_synced = False  # the folder may be another one since the last pipeline, after a reset
        with file_errors(self.folder):
            self.verify_format()
            self._verify()

    def verify_format(self) -> None:
        """
        Check that this version can read the checkpoint.

        Raises:
            CheckpointError: a newer version wrote it, or its `format` is damaged.
        """
        path = self.folder / "format"
        try:
            found = path.read_bytes()
        except FileNotFoundError:  # new, or of a version before 0.2.0
            return
        if not found.isdigit():
            raise self.damaged(path, "is not a number")
        if found != FORMAT:
            raise CheckpointError(
                f'checkpoint "{self.folder}" has format {found.decode()}, this version reads {FORMAT.decode()}',
                hint="run it with the version that wrote it, or a later one",
            )

    def _verify(self) -> None:
        planned, committed = self._numbers("offsets"), self._numbers("commits")
        if not planned and not committed:
            if (begun := len(self._numbers("times"))) > 1:  # a plan is durable before the next batch begins
                raise self.damaged(self.folder / "offsets", f"is empty, but {begun} batches have begun")
            return
        for name, numbers in (("offsets", planned), ("commits", committed)):
            for number in sorted(numbers)[-2:]:
                self._verify_file(self.folder / name / str(number))
        newest_planned, newest_committed = max(planned, default=-1), max(committed, default=-1)
        if newest_committed > newest_planned:
            missing = self.folder / "offsets" / str(newest_committed)
            raise self.damaged(missing, "is missing, but its commit exists")
        for number in range(max(newest_planned - 1, 0), newest_planned):
            for name, numbers in (("offsets", planned), ("commits", committed)):
                if number not in numbers:
                    raise self.damaged(self.folder / name / str(number), "is missing")
        self._verify_file(self.folder / "metadata")
        for number in (newest_planned - 1, newest_planned):
            time = self.times_folder / str(number)
            if time.exists() and not time.read_bytes().isdigit():
                raise self.damaged(time, "is not a time")

    def is_claimed(self) -> bool:
        """
        Whether it belongs to a source: see `claim`.

        Raises:
            StoreUnavailableError: the folder cannot be read now.
        """
        with file_errors(self.folder):
            return self._identity.exists()

    def claim(self, identity: Mapping[str, str]) -> None:
        """
        As `check_identity`; a new checkpoint stores its format and its identity.

        Raises: as `check_identity`.
        """
        written_format = self.folder / "format"
        with file_errors(written_format):
            if not written_format.exists():
                write_durably(written_format, FORMAT)
        with file_errors(self._identity):
            if not self._identity.exists():
                write_durably(self._identity, json.dumps(dict(identity)).encode())
            sync_folder(self.folder)  # a process that was killed before its own sync may have written them
        self.check_identity(identity)

    def check_identity(self, identity: Mapping[str, str], *, may_differ: Collection[str] = ()) -> None:
        """
        Check that the offsets belong to this source; those of a new checkpoint will.

        Args:
            identity: name -> value, such as source, topics and cluster.
            may_differ: names whose values are not compared.

        Raises:
            ConflictError: the checkpoint belongs to another source.
            CheckpointError: the stored identity is damaged.
            StoreUnavailableError: it cannot be read now.
        """
        path = self._identity
        with file_errors(path):
            if not path.exists():
                return
            content = path.read_bytes()
        try:
            known = json.loads(content)
        except ValueError as error:
            raise self.damaged(path, "is not JSON") from error
        if not isinstance(known, dict):
            raise self.damaged(path, "is not a JSON object")
        # the kind of source first: it determines the other names
        for name in sorted(known.keys() | identity.keys(), key=lambda name: (name != "source", name)):
            if known.get(name) != identity.get(name) and name not in may_differ:
                may_go_on = name in self._changed
                why = "" if may_go_on else "offsets of one are meaningless for the other: "
                go_on = f"; {self._changed[name]}" if may_go_on else ""
                raise ConflictError(
                    f'checkpoint "{self.folder}" was made for {name} "{known.get(name)}", '
                    f'the configuration says "{identity.get(name)}"',
                    hint=f"{why}restore the configuration, or give the pipeline another name or state_dir and "
                    f"{self._restart.anew}{go_on}",
                )

    def query_id(self) -> str:
        """
        Spark's id of the query, which no other checkpoint has; "" before the first start.

        Raises:
            CheckpointError: the file is damaged.
            StoreUnavailableError: it cannot be read now.
        """
        path = self.folder / "metadata"
        with file_errors(path):
            if not path.exists():
                return ""
            content = path.read_bytes()
        try:
            return str(json.loads(content)["id"])
        except (ValueError, KeyError, TypeError) as error:
            raise self.damaged(path, "has no id") from error

    def is_changed(self, fingerprint: str) -> bool:
        """Whether the last run is known to have had another configuration."""
        path = self.folder / "configuration"
        with file_errors(path):
            return path.exists() and path.read_text() != fingerprint

    def note_configuration(self, fingerprint: str) -> None:
        """Store the fingerprint of the configuration that runs from now on."""
        path = self.folder / "configuration"
        with file_errors(path):
            if not path.exists() or path.read_text() != fingerprint:
                write_durably(path, fingerprint.encode())
            else:
                sync_folder(self.folder)  # as in `claim`

    def sync_plan(self, batch_id: int) -> None:
        """
        Make durable what Spark has written before a batch: its plan, and the acknowledgement of the batch before.

        Called before the time of the batch is chosen, so no row is written whose offsets a power cut can remove.

        Raises:
            StoreUnavailableError: not possible now.
            IntegrityError: the disk fails.
        """
        written = ["sources/0/0", "metadata"] if not self._start_is_synced else []
        written += [f"offsets/{batch_id}", f"commits/{batch_id - 1}"]
        sync_files(self.folder / name for name in written)
        self._start_is_synced = True

    def newest_commit(self) -> int | None:
        """
        Number of the newest acknowledged batch.

        Raises:
            StoreUnavailableError: the folder cannot be read now.
        """
        return max(self._numbers("commits"), default=None)

    def uncommitted(self) -> int | None:
        """
        Number of the batch that has started and is not acknowledged, so that a restart runs it again; None for none.

        A batch that Spark has only planned does not count: nothing of it was written; but see `without_time`.
        """
        return self._open_plan() if self.without_time() is None else None

    def without_time(self) -> int | None:
        """
        Number of the batch that is planned and not acknowledged, and has no time; None for none. It has not begun, or
        the time is lost: then the batch runs at another time, and what was written of it must be withdrawn.
        """
        planned = self._open_plan()
        return None if planned in self._numbers("times") else planned

    def _open_plan(self) -> int | None:
        planned = max(self._numbers("offsets"), default=None)
        return None if planned == self.newest_commit() else planned

    def unplanned(self) -> tuple[int, ...]:
        """
        Numbers of the batches after the newest plan that have begun: their plans are lost, as after a power cut, or in
        a copy of the folder that was made while the pipeline ran.

        Their records are planned again in other batches, so what was written of them must be withdrawn.
        """
        planned = max(self._numbers("offsets"), default=-1)
        return tuple(sorted(number for number in self._numbers("times") if number > planned))

    def uncommitted_ms(self) -> int | None:
        """
        The time of the batch of `uncommitted`; None without one.

        Raises:
            CheckpointError: the stored time is damaged.
            StoreUnavailableError: a file cannot be read now.
        """
        number = self.uncommitted()
        return None if number is None else stored_time(self.times_folder, number)

    def end_offsets(self, batch_id: int) -> dict[str, object]:
        """
        The end of a batch, as its source wrote it: for Kafka `{topic: {partition: offset}}`.

        Raises:
            CheckpointError: the file is damaged.
            StoreUnavailableError: the file cannot be read now.
        """
        path = self.folder / "offsets" / str(batch_id)
        with file_errors(path):
            try:
                content = json.loads(path.read_bytes().decode().split("\n")[2])
            except (FileNotFoundError, IndexError, ValueError) as error:
                raise self.damaged(path, f"cannot be read: {error}") from error
        if not isinstance(content, dict):
            raise self.damaged(path, "contains no offsets")
        return content

    def damaged(self, path: StatePath, what: str) -> CheckpointError:
        """The error of a damaged file; it names the last good batch, and how to start without the checkpoint."""
        before = int(path.name) if path.name.isdecimal() else None
        both = self._numbers("offsets") & self._numbers("commits")
        good = max((number for number in both if before is None or number < before), default=None)
        last = "no batch is known to be good" if good is None else f"the last good batch is {good}"
        return CheckpointError(
            f'the checkpoint is damaged: "{path}" {what}; {last}',
            hint=f"restore the folder from a copy, or move it away and {self._restart.resume}",
        )

    def _numbers(self, name: str) -> frozenset[int]:
        folder = self.folder / name
        with file_errors(folder):
            try:
                return frozenset(int(entry.name) for entry in folder.iterdir() if entry.name.isdecimal())
            except FileNotFoundError:
                return frozenset()

    def _verify_file(self, path: StatePath) -> None:
        try:
            content = path.read_bytes()
        except FileNotFoundError as error:
            raise self.damaged(path, "is missing") from error
        if not content:
            raise self.damaged(path, "is empty")
        checksums = checksum_file(path)
        if checksums.exists() and not has_checksums(content, checksums.read_bytes()):
            raise self.damaged(path, "does not match its checksum")
        if (flaw := flaw_of(path.parent.name, content)) is not None:
            raise self.damaged(path, flaw)


def _check_access(folders: Iterable[Path]) -> None:
    """Report missing permissions now, not when the first batch is planned."""
    for folder in folders:
        with file_errors(folder):
            if folder.exists() and not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
