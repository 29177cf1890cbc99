"""
Making a dump: where its files are written, and the changes that make it visible.

::

    lock ► _run-ID/ with _PLAN.json ► the files of the tables, in any process ► manifest ► rename to the time of the
    start ► _SUCCESS ► _LATEST ► the plan and `_parts` are removed ► release

Nothing reads `_run-ID`, and a folder without `_SUCCESS` is no complete dump, so a process may be killed at any moment.
The next run removes what remains of others, or resumes it: each file that is complete, and the end of each range, is
recorded in `_parts`. Plan and `_parts` stay until `_SUCCESS` exists, so that a run can be resumed wherever it ended. On
an object store, which cannot rename a folder, the files are written below their final name; an interrupted run is then
removed by `expire`, as one that was killed after the rename.
"""

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Self

from ingest import __version__, failpoint
from ingest.api import ConflictError, IntegrityError, LifecycleError, NotFoundError
from ingest.clock import now_ms
from ingest.durable import file_errors
from ingest.formats.times import moment
from sinks.dumps.layout import (
    LATEST,
    MANIFEST,
    PARTS,
    PLAN,
    SUCCESS,
    FileFormat,
    check_tables,
    dump_name,
    encoded_table,
    id_of_run,
    run_folder,
)
from sinks.dumps.listing import (
    RunPlan,
    complete_dumps,
    dump_folders,
    dump_names,
    named_latest,
    newest_dump,
    readable_dump,
    unfinished_dumps,
)
from sinks.dumps.lock import root_lock
from sinks.dumps.manifest import DumpedPart, DumpedTable, Manifest, Success, TableFile
from sinks.files.root import Root


class DumpRun:
    """
    A run that makes one dump; a context manager that has the lock of the root.

    ::

        with DumpRun(root, "2026-01-31") as run:
            run.start(["users"], plan=lambda: {"users": ranges})
            for number, rows in ...:
                run.add("users", number, write_table_file(root, run.folder, "users", number, rows))
            run.finish({"users": DumpedTable(())})

    Called by one thread. Tasks of other processes write the files with `write_table_file`.

    Args:
        root: that gets the dump.
        run_id: of this run; unique among the dumps of the root.
        clock_ms: milliseconds since the epoch.
        wait: waits for a number of seconds; raises to end a wait for the lock.
        on_wait: called with a message while the lock of another process may be valid.

    Attributes:
        id: as the argument.
        start_ms: start of the dump, ms since the epoch; once it has started.
        folder: of its files, below the root; once it has started.
        name: of the dump when it is complete.
        plan: as passed to `start`.
    """

    def __init__(
        self,
        root: Root,
        run_id: str,
        *,
        clock_ms: Callable[[], int] = now_ms,
        wait: Callable[[float], object] = time.sleep,
        on_wait: Callable[[str], None] = lambda _message: None,
    ) -> None:
        self.id = run_id
        self.plan: Mapping[str, Any] = {}
        self._folder = run_folder(run_id)
        self._root = root
        self._clock_ms = clock_ms
        self._lock = root_lock(root, f'the dump "{run_id}"', wait=wait, on_wait=on_wait)
        self._opened = ExitStack()
        self._record: RunPlan | None = None
        self._results: dict[str, dict[int, TableFile | None]] = {}

    def __enter__(self) -> Self:
        """
        Take the lock of the root; waits while the process that has it may be alive.

        Raises:
            ConflictError: another process makes a dump, or a dump has this id.
            StoreUnavailableError: the file system does not answer, or may not be written.
        """
        self._opened.enter_context(self._lock)
        with ExitStack() as failing, file_errors(self._root):
            failing.callback(self._opened.close)
            for dump in complete_dumps(self._root):
                if dump.success.id == self.id:
                    raise ConflictError(
                        f'the dump "{dump.name}" has the id "{self.id}" already',
                        hint="it is complete, so there is nothing to resume; a new dump needs another id",
                    )
            failing.pop_all()
        return self

    def __exit__(self, *_exception: object) -> None:
        """Release the lock; the files of a run that did not finish stay until the next one."""
        self._opened.close()

    @property
    def start_ms(self) -> int:
        """Start of the dump, ms since the epoch."""
        return self._started.start_ms

    @property
    def name(self) -> str:
        """Of the dump when it is complete."""
        return dump_name(self.start_ms)

    @property
    def folder(self) -> str:
        """Of the files of this run, below the root."""
        return self._folder if self._root.renames_folders else self.name

    @property
    def tables(self) -> list[str]:
        """Names of the tables."""
        return list(self._started.tables)

    @property
    def file_format(self) -> FileFormat:
        """Of all files."""
        return self._started.file_format

    def start(
        self,
        tables: Sequence[str],
        file_format: FileFormat = FileFormat.GZIP,
        plan: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        """
        Start a new dump, now; what killed runs have left is removed once it is planned.

        Args:
            tables: that are dumped; also those that may have no rows.
            file_format: of all files.
            plan: called after the start, with the lock; what a later process needs to resume, as JSON.

        Raises:
            ConfigError: two tables would have one folder.
            ConflictError: an interrupted dump of this id can be resumed, a dump of this second or a later one exists,
                or another process has taken the lock.
        """
        check_tables(list(tables))
        start_ms = self._clock_ms()
        with file_errors(self._root):
            interrupted = unfinished_dumps(self._root).get(self.id)
            if interrupted is not None and interrupted.can_be_resumed:
                raise ConflictError(
                    f'the dump "{self.id}" was interrupted, and can be resumed',
                    hint=f"resume it with --resume {self.id}, or choose another id",
                )
            if dump_name(start_ms) in dump_names(self._root):
                raise self._exists(dump_name(start_ms))
            self._refuse_later(start_ms)
        self._record = RunPlan(self.id, start_ms, tuple(tables), file_format)
        with file_errors(self._root):
            self._root.remove_tree(self.folder)  # without a plan: what it says to be complete is of no use
            self._root.make_folder(f"{self.folder}/{PARTS}")
            self._write_record(self._record)  # a sweep of blobs sees the dump before it reads its first row
        try:
            self.plan = plan()
        except BaseException:
            with contextlib.suppress(OSError):
                self._root.remove_tree(self.folder)
            raise
        self._record = replace(self._record, plan=self.plan)
        with file_errors(self._root):
            self._write_record(self._record)
            self._remove_leftovers()

    def resume(self) -> None:
        """
        Resume the run of this id that was killed; `done` returns which files are complete.

        Raises:
            NotFoundError: there is none.
            IntegrityError: its plan cannot be read.
        """
        with file_errors(self._root):
            unfinished = unfinished_dumps(self._root)
            found = unfinished.get(self.id)
            if found is None or (isinstance(found.record, RunPlan) and not found.can_be_resumed):
                known = ", ".join(run_id for run_id, each in unfinished.items() if each.can_be_resumed) or "none"
                raise NotFoundError(
                    f'no interrupted dump that can be resumed has the id "{self.id}"',
                    hint=f"there is {known}; a new dump starts without --resume",
                )
            self._folder = found.folder  # it has its final name if the run ended after the rename
            if not isinstance(found.record, RunPlan):
                raise found.record
            self._record = found.record
            self.plan = self._record.plan or {}
            for path, _ in self._root.files_below(f"{found.folder}/{PARTS}"):
                done = DumpedPart.of(self._root.read(path), path)
                self._results.setdefault(done.table, {})[done.number] = done.file

    def done(self, table: str) -> dict[int, TableFile | None]:
        """
        What is complete of a table.

        Returns:
            Number of a file in the table -> file; None after the last file of a range.
        """
        return dict(self._results.get(table, {}))

    def add(self, table: str, number: int, file: TableFile | None) -> None:
        """
        Record a complete file, or the end of a range, durably.

        Args:
            table: its name.
            number: of the file in the table.
            file: that `write_table_file` has returned; None after the last file of a range.

        Raises:
            ConflictError: another process has taken the lock.
        """
        self._lock.check()
        content = DumpedPart(table, number, file).to_bytes()
        with file_errors(self._root):
            self._root.write(f"{self.folder}/{PARTS}/{encoded_table(table)}-{number}", content)
        self._results.setdefault(table, {})[number] = file

    def finish(
        self,
        tables: Mapping[str, DumpedTable],
        *,
        feed: Mapping[str, Mapping[str, object]] | None = None,
    ) -> Manifest:
        """
        Make the dump visible.

        Args:
            tables: what the manifest says about each table, besides its files.
            feed: positions of the feeds at the start, as `Manifest.feed`.

        Raises:
            ConflictError: another process has taken the lock, or a dump of this second exists.
            IntegrityError: a file that was added is missing or has another size.
        """
        files = {name: [each for _, each in sorted(self.done(name).items()) if each] for name in self.tables}
        manifest = Manifest(
            dump=self.name,
            id=self.id,
            start_ms=self.start_ms,
            end_ms=max(self._clock_ms(), self.start_ms),
            file_format=self.file_format,
            tables={name: replace(tables[name], files=tuple(files[name])) for name in self.tables},
            feed=feed or {},
            software=f"attr2hbase {__version__}",
        )
        with file_errors(self._root):
            self._lock.check()
            self._keep_only(manifest)
            self._lock.check()
            self._root.write(f"{self.folder}/{MANIFEST}", manifest.to_bytes())
            if self.folder != self.name:
                try:
                    self._root.rename(self.folder, self.name)
                except FileExistsError:
                    raise self._exists(self.name) from None
            failpoint.point("dump_renamed")()
            self._lock.check()
            success = Success(manifest.start_ms, manifest.end_ms, self.id)
            self._create_success(success.to_bytes())
            move_latest(self._root)
            self._root.remove_tree(f"{self.name}/{PARTS}")
            self._root.remove_file(f"{self.name}/{PLAN}")
        return manifest

    @property
    def _started(self) -> RunPlan:
        if self._record is None:
            raise LifecycleError("a dump is used before it has started")
        return self._record

    def _create_success(self, content: bytes) -> None:
        path = f"{self.name}/{SUCCESS}"
        try:
            self._root.create(path, content)
        except FileExistsError:
            if self._root.read(path) != content:  # else the answer was lost, and the client has repeated the request
                raise

    def _keep_only(self, manifest: Manifest) -> None:
        """Check the files of the manifest, and remove those of attempts that were repeated or killed."""
        expected = {file.path: file for table in manifest.tables.values() for file in table.files}
        for path, entry in list(self._root.files_below(self.folder)):
            name = path.removeprefix(f"{self.folder}/")
            file = expected.pop(name, None)
            if file is None and name != PLAN and not name.startswith(f"{PARTS}/"):
                self._root.remove_file(path)
            elif file is not None and entry.size != file.size_bytes:
                message = f'"{path}" has {entry.size} bytes, but {file.size_bytes} were written'
                raise IntegrityError(message, hint="start the dump again")
        if expected:
            raise IntegrityError(f'"{min(expected)}" of the dump "{self.id}" is missing', hint="start the dump again")
        for entry in self._root.entries(self.folder):
            if entry.is_folder and not self._root.entries(f"{self.folder}/{entry.name}"):
                self._root.remove_folder(f"{self.folder}/{entry.name}")

    def _write_record(self, record: RunPlan) -> None:
        self._root.write(f"{self.folder}/{PLAN}", record.to_bytes())

    def leftover_bytes(self) -> int:
        """Size of the files that `start` removes, which killed runs have left."""
        with file_errors(self._root):
            return sum(entry.size for folder in self._leftovers() for _, entry in self._root.files_below(folder))

    def _remove_leftovers(self) -> None:
        for folder in self._leftovers():
            self._root.remove_tree(folder)

    def _leftovers(self) -> list[str]:
        return [each for each in dump_folders(self._root) if each != self._folder and id_of_run(each) is not None]

    def _refuse_later(self, start_ms: int) -> None:
        """Refuse a start before that of a complete dump: readers would not find the new dump."""
        for name in reversed(dump_names(self._root)):
            if name <= dump_name(start_ms):
                return
            if readable_dump(self._root, name) is not None:
                raise ConflictError(
                    f'the dump "{name}" in "{self._root}" is later than now, {moment(start_ms)}',
                    hint="correct the clock of this machine; if it was ahead then, remove or rename that dump",
                )

    def _exists(self, name: str) -> ConflictError:
        return ConflictError(f'there is a dump "{name}" of this second', hint="start the dump again")


def move_latest(root: Root) -> None:
    """Let `_LATEST` name the newest complete dump, if it does not."""
    newest = newest_dump(root).name
    if named_latest(root) != newest:
        root.write(LATEST, f"{newest}\n".encode())
