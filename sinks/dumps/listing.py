"""
The dumps of a root: which there are, which are complete, and their tables and files.

A dump is complete if it has `_SUCCESS` and its manifest, and all files of the manifest exist. A dump of EmoDB has no
manifest; its tables and files are as in its folders.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ingest.durable.record import Record, UnreadableRecordError
from sinks.dumps.errors import DumpCorruptError, DumpNotAvailableError, TableNotDumpedError, TableNotInDumpError
from sinks.dumps.layout import (
    LATEST,
    PLAN,
    SUCCESS,
    FileFormat,
    decoded_table,
    dump_time,
    encoded_table,
    file_format,
    id_of_run,
)
from sinks.dumps.manifest import Manifest, Success, TableFile, read_manifest
from sinks.files.root import Root

_MOST_LATEST_BYTES = 2_048  # of `_LATEST`: a larger one is none


class DumpFile(NamedTuple):
    """
    A file of a table in a dump.

    Attributes:
        path: below the folder of the dump.
        size_bytes: of the file.
        file_format: of the file.
        described: what the manifest says about it; None without a manifest.
    """

    path: str
    size_bytes: int
    file_format: FileFormat
    described: TableFile | None


@dataclass(frozen=True, slots=True)
class Dump:
    """
    A complete dump.

    Attributes:
        name: its folder.
        success: its start, its end and the id of its run.
        manifest: None for a dump of EmoDB.
    """

    root: Root
    name: str
    success: Success
    manifest: Manifest | None

    def tables(self) -> list[str]:
        """Tables with rows, sorted."""
        if self.manifest is not None:
            return sorted(name for name, table in self.manifest.tables.items() if table.files)
        return sorted(decoded_table(entry.name) for entry in self.root.entries(self.name) if entry.is_folder)

    def files(self, table: str) -> list[DumpFile]:
        """
        The files of a table, in the order of the ranges of its physical row keys; those of EmoDB by name.

        Raises:
            TableNotDumpedError: the table had no rows.
            TableNotInDumpError: the dump does not know the table.
        """
        if self.manifest is not None:
            known = self.manifest.tables.get(table)
            if known is None:
                raise self._unknown(table)
            if not known.files:
                raise TableNotDumpedError(f'table "{table}" had no rows in the dump "{self.name}"')
            return [DumpFile(file.path, file.size_bytes, self.manifest.file_format, file) for file in known.files]
        folder = encoded_table(table)
        try:
            entries = self.root.entries(f"{self.name}/{folder}") if folder else []
        except (FileNotFoundError, NotADirectoryError):
            raise self._unknown(table) from None
        found = ((f"{folder}/{entry.name}", entry.size, file_format(entry.name)) for entry in entries)
        return [DumpFile(path, size, kind, None) for path, size, kind in found if kind is not None]

    def _unknown(self, table: str) -> TableNotInDumpError:
        return TableNotInDumpError(
            f'the dump "{self.name}" has no table "{table}"',
        )


def dump_folders(root: Root) -> list[str]:
    """Folders of dumps, oldest first, and of runs; none if there is no root."""
    try:
        names = [entry.name for entry in root.entries("") if entry.is_folder]
    except FileNotFoundError:
        return []
    return [name for name in names if dump_time(name) is not None or id_of_run(name) is not None]


def dump_names(root: Root) -> list[str]:
    """Folders of dumps, oldest first, complete or not; none if there is no root."""
    return [name for name in dump_folders(root) if dump_time(name) is not None]


@dataclass(frozen=True, slots=True)
class RunPlan(Record, kind="plan of a dump", remedy="start another dump, without --resume"):
    """
    What a run must know to resume.

    Attributes:
        id: of the run.
        start_ms: start of the dump, ms since the epoch.
        tables: that are dumped.
        file_format: of all files.
        plan: what the caller needs to resume; None until it is made.
    """

    id: str
    start_ms: int
    tables: tuple[str, ...]
    file_format: FileFormat
    plan: Mapping[str, object] | None = None


class UnfinishedDump(NamedTuple):
    """
    A dump that is being made, or was interrupted.

    Attributes:
        folder: of its files, below the root.
        record: what its run has recorded; the error if that cannot be read.
    """

    folder: str
    record: RunPlan | UnreadableRecordError

    @property
    def can_be_resumed(self) -> bool:
        """Whether its plan was made."""
        return isinstance(self.record, RunPlan) and self.record.plan is not None


def unfinished_dumps(root: Root) -> dict[str, UnfinishedDump]:
    """The dumps that are being made, or were interrupted, by their ids; none without a root."""
    found = {}
    for folder in dump_folders(root):
        record: RunPlan | UnreadableRecordError
        try:
            record = RunPlan.of(root.read(f"{folder}/{PLAN}"), f"{folder}/{PLAN}")
            run_id = record.id
        except FileNotFoundError:
            continue  # complete, or just begun
        except UnreadableRecordError as error:
            record, run_id = error, id_of_run(folder) or folder
        if not root.exists(f"{folder}/{SUCCESS}"):
            found[run_id] = UnfinishedDump(folder, record)
    return found


def complete_dump(root: Root, name: str) -> Dump | None:
    """
    A dump, if it is complete.

    Raises:
        DumpCorruptError: `_SUCCESS` or the manifest cannot be read.
    """
    if dump_time(name) is None:
        return None
    try:
        success = Success.from_bytes(root.read(f"{name}/{SUCCESS}"), name)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        manifest = read_manifest(root, name)
    except FileNotFoundError:
        return Dump(root, name, success, None)  # of EmoDB: ours has a manifest before it has its name
    dump = Dump(root, name, success, manifest)
    return dump if not missing_files(root, manifest) else None


def missing_files(root: Root, manifest: Manifest) -> list[str]:
    """Files of a manifest that do not exist, below the folder of the dump."""
    missing = []
    for table, dumped in manifest.tables.items():
        if dumped.files:
            try:
                names = {entry.name for entry in root.entries(f"{manifest.dump}/{encoded_table(table)}")}
            except FileNotFoundError:
                names = set()
            missing += [file.path for file in dumped.files if file.path.rpartition("/")[2] not in names]
    return missing


def complete_dumps(root: Root, on_unreadable: Callable[[str], None] = lambda _reason: None) -> list[Dump]:
    """Complete dumps, oldest first; those with an unreadable `_SUCCESS` or manifest are reported and left out."""
    return [dump for name in dump_names(root) if (dump := readable_dump(root, name, on_unreadable)) is not None]


def newest_dump(root: Root, on_unreadable: Callable[[str], None] = lambda _reason: None) -> Dump:
    """
    The newest complete dump, whatever `_LATEST` says.

    Raises:
        DumpNotAvailableError: there is none.
    """
    for name in reversed(dump_names(root)):
        dump = readable_dump(root, name, on_unreadable)
        if dump is not None:
            return dump
    raise DumpNotAvailableError(
        f'there is no complete dump in "{root}"', hint="make one with 'attr2hbase dump run', or correct the root"
    )


def named_latest(root: Root) -> str | None:
    """The dump that `_LATEST` names, complete or not; None if there is no such file, or it names no dump."""
    try:
        content = root.read(LATEST, _MOST_LATEST_BYTES + 1)
    except FileNotFoundError:
        return None
    name = content.decode("ascii", "replace").strip()
    return name if len(content) <= _MOST_LATEST_BYTES and dump_time(name) is not None else None


def readable_dump(root: Root, name: str, on_unreadable: Callable[[str], None] = lambda _reason: None) -> Dump | None:
    """A dump, if it is complete and its `_SUCCESS` and manifest can be read; else the reason is reported."""
    try:
        return complete_dump(root, name)
    except DumpCorruptError as error:
        on_unreadable(error.message)
        return None
