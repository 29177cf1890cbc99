"""
Which dump is the oldest one that may have the rows of a table, complete or not.

Complete dumps count, and those that run, were interrupted and may be resumed, or are being removed and may be
restored. A run writes its plan before it reads a row, and its manifest before it removes the plan.
"""

from collections.abc import Iterator
from typing import NamedTuple

from ingest.durable import file_errors
from ingest.durable.record import UnreadableRecordError
from sinks.dumps.layout import MANIFEST, PLAN, dump_time, id_of_run
from sinks.dumps.listing import RunPlan, dump_folders
from sinks.dumps.manifest import Manifest
from sinks.files.root import Root


class ExistingDump(NamedTuple):
    """
    A dump that may have rows of a table.

    Attributes:
        path: of its folder, with the root.
        start_ms: every row was read at or after this time, ms since the epoch; 0 if that is not known.
    """

    path: str
    start_ms: int


def oldest_with_pointers(root: Root, table: str) -> ExistingDump | None:
    """
    The oldest dump that may have rows of a table with pointers to blobs; None without one.

    A dump whose manifest or plan cannot be read counts as one of every table.

    Args:
        root: that has the dumps; it may not exist yet.
        table: its name.

    Raises:
        StoreUnavailableError: the file system does not answer, or the root may not be read.
    """
    with file_errors(root):
        while True:
            folders = dump_folders(root)
            found = _oldest(root, folders, table)
            if dump_folders(root) == folders:  # else a dump may have been renamed between the calls
                return found


def _oldest(root: Root, folders: list[str], table: str) -> ExistingDump | None:
    complete = next(_with_pointers(root, (name for name in folders if dump_time(name) is not None), table), None)
    runs = _with_pointers(root, (name for name in folders if id_of_run(name) is not None), table)
    return min([*runs, *([] if complete is None else [complete])], key=lambda dump: dump.start_ms, default=None)


def _with_pointers(root: Root, folders: Iterator[str], table: str) -> Iterator[ExistingDump]:
    for folder in folders:
        start_ms = _start_with_pointers(root, folder, table)
        if start_ms is not None:
            yield ExistingDump(f"{root}/{folder}", start_ms)


def _start_with_pointers(root: Root, folder: str, table: str) -> int | None:
    """The start of a dump; None if it has no pointers of the table."""
    plan = _content(root, f"{folder}/{PLAN}")
    content = _content(root, f"{folder}/{MANIFEST}")  # after the plan: one of the two exists
    if plan is not None and content is None:
        return _start_of_run(plan, dump_time(folder) or 0, table)
    if content is None:
        return None  # before its plan is written, of another product, or removed meanwhile
    try:
        manifest = Manifest.of(content, folder)
    except UnreadableRecordError:
        return dump_time(folder) or 0
    dumped = manifest.tables.get(table)
    return None if dumped is None or not dumped.files or dumped.has_values else manifest.start_ms


def _start_of_run(plan: bytes, unknown_ms: int, table: str) -> int | None:
    """The start of a run; None if it does not dump the table."""
    try:
        found = RunPlan.of(plan, PLAN)
    except UnreadableRecordError:
        return unknown_ms
    return found.start_ms if table in found.tables else None


def _content(root: Root, path: str) -> bytes | None:
    try:
        return root.read(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
