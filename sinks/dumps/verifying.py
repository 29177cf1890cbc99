"""Checks that the files of a dump are those that were written."""

import hashlib
from collections.abc import Callable
from typing import NamedTuple

from ingest.api import IngestError
from ingest.durable import file_errors
from sinks.dumps.errors import DumpCorruptError
from sinks.dumps.file_ref import FileRef
from sinks.dumps.layout import MANIFEST, PLAN, SUCCESS, decoded_table, file_format, part_of, table_file_name
from sinks.dumps.listing import complete_dump, missing_files
from sinks.dumps.manifest import Manifest, TableFile, read_manifest
from sinks.dumps.reading import documents_of, opened, refuse_bad, rows_of
from sinks.files.root import Root

_CHUNK_BYTES = 1 << 20


class Verification(NamedTuple):
    """
    What a check of a dump has found.

    Attributes:
        dump: its folder.
        missing: why it is not complete; "" if it is.
        files: number of files that were read.
        rows: in the undamaged files.
        size_bytes: of the undamaged files.
        damages: one for each damaged file.
    """

    dump: str
    missing: str
    files: int
    rows: int
    size_bytes: int
    damages: tuple[DumpCorruptError, ...]

    @property
    def status(self) -> str:
        """`complete`, `incomplete` or `damaged`."""
        return "damaged" if self.damages else "incomplete" if self.missing else "complete"


def verify_dump(root: Root, name: str, on_file: Callable[[int], object] = lambda _files: None) -> Verification:
    """
    Read all files of a dump, and compare size, checksum, rows and row keys with the manifest.

    Without a manifest, as in a dump of EmoDB, each file must be readable to its end.

    Args:
        root: that has it.
        name: its folder.
        on_file: called with the number of files read so far.

    Raises:
        StoreUnavailableError: the file system does not answer.
    """
    with file_errors(root):
        try:
            missing = _missing(root, name)
            dump = None if missing else complete_dump(root, name)
        except DumpCorruptError as error:
            return Verification(name, "", 0, 0, 0, (error,))
        if dump is None:
            return Verification(name, missing or "the folder changes", 0, 0, 0, ())
        files = [(table, file) for table in dump.tables() for file in dump.files(table)]
        rows = size_bytes = 0
        damages: list[DumpCorruptError] = []
        for number, (table, file) in enumerate(files, start=1):
            ref = FileRef(name, table, file.path, file.size_bytes)
            try:
                rows += _check(root, ref, file.described, dump.manifest)
                size_bytes += file.size_bytes
            except DumpCorruptError as error:
                damages.append(error)
            on_file(number)
        return Verification(name, "", len(files), rows, size_bytes, tuple(damages))


def _missing(root: Root, name: str) -> str:
    """Why a dump is not complete; "" if it is, or if it is one of EmoDB."""
    if not root.exists(name):
        return "there is no such folder"
    if not root.exists(f"{name}/{SUCCESS}"):
        return f"it has no {SUCCESS}"
    if not root.exists(f"{name}/{MANIFEST}"):
        is_ours = root.exists(f"{name}/{PLAN}") or any(_is_ours(path) for path, _ in root.files_below(name))
        return f"it has no {MANIFEST}" if is_ours else ""
    missing = missing_files(root, read_manifest(root, name))
    return f'it lacks the file "{missing[0]}"' if missing else ""


def _is_ours(path: str) -> bool:
    """Whether a file has the name that this product gives it; those of EmoDB's tables have other ids."""
    *_, folder, name = path.split("/")
    part, form = part_of(name), file_format(name)
    if part is None or form is None:
        return False
    return f"{folder}/{name}" == table_file_name(decoded_table(folder), part, form)


def _check(root: Root, ref: FileRef, file: TableFile | None, manifest: Manifest | None) -> int:
    """
    Check one file, and return the number of its rows.

    Raises:
        DumpCorruptError: it is damaged.
    """
    path = f"{ref.dump}/{ref.path}"
    if file is not None:
        size_bytes, sha256 = _measured(root, ref)
        if size_bytes != file.size_bytes:
            raise DumpCorruptError(path, f"it has {size_bytes} bytes, but {file.size_bytes} were written")
        if sha256 != file.sha256:
            raise DumpCorruptError(path, f"its SHA-256 is {sha256}, but {file.sha256} was written")
    has_columns = manifest is not None and manifest.tables[ref.table].columns is not None
    if file is None or has_columns:
        rows = sum(1 for _ in documents_of(root, ref, refuse_bad))
        first = last = None
    else:
        rows, first, last = _counted(root, ref, path)
    if file is not None and rows != file.rows:
        raise DumpCorruptError(path, f"it has {rows} rows, but {file.rows} were written")
    if file is not None and first is not None and (first, last) != (file.first_row, file.last_row):
        raise DumpCorruptError(path, "its first or last row key differs from the manifest")
    return rows


def _counted(root: Root, ref: FileRef, path: str) -> tuple[int, bytes | None, bytes | None]:
    rows = 0
    first = last = None
    for row in rows_of(root, ref, refuse_bad):
        if row.table != ref.table:
            raise DumpCorruptError(path, f'it has a row of the table "{row.table}"')
        if last is not None and row.key <= last:
            raise DumpCorruptError(path, "its rows are not in the order of their keys")
        rows += 1
        first, last = first if first is not None else row.key, row.key
    return rows, first, last


def _measured(root: Root, ref: FileRef) -> tuple[int, str]:
    try:
        with opened(root, ref) as file:
            size_bytes, sha256 = 0, hashlib.sha256()
            while chunk := file.read(_CHUNK_BYTES):
                size_bytes += len(chunk)
                sha256.update(chunk)
    except IngestError as error:
        raise DumpCorruptError(f"{ref.dump}/{ref.path}", error.message) from error
    return size_bytes, sha256.hexdigest()
