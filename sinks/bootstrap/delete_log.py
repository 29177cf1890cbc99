"""The deletes that a feed had while rows of a dump were loaded, in a file."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import orjson

from ingest.api import Delete, IntegrityError
from ingest.api.notation import from_notation, to_notation
from ingest.durable.append_log import AppendLog, lines_of


class DeleteLog:
    """
    Deletes in a file, to apply them again once all rows are loaded.

    A store hides cells that are written after a delete of a later time, but not for ever: HBase until a major
    compaction, RocksDB for a day. A row of the dump that is loaded after that would be visible again.

    Args:
        path: of the file; it need not exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._log = AppendLog(path)

    def append(self, deletes: Iterable[Delete]) -> int:
        """
        Add deletes; they are durable when this returns.

        Returns:
            Their number.

        Raises:
            StoreUnavailableError: the disk is full.
        """
        lines = [_line(delete) for delete in deletes]
        if lines:
            self._log.append(*lines)
        return len(lines)

    def deletes(self, least: int) -> Iterator[Delete]:
        """
        All deletes, oldest first.

        Args:
            least: number of deletes that were added.

        Raises:
            IntegrityError: there are fewer; the file was lost.
        """
        found = 0
        for line in lines_of(self._path):
            found += 1
            yield _delete(line)
        if found < least:
            raise IntegrityError(
                f'"{self._path}" has {found} of {least} deletes',
                hint="run the bootstrap on the machine where it was started; or load the dump into another table",
            )

    def remove(self) -> None:
        """Remove the file; it may be missing."""
        self._log.close()
        self._path.unlink(missing_ok=True)


def _line(delete: Delete) -> bytes:
    names = [to_notation(name) for name in (delete.family, delete.qualifier) if name is not None]
    return orjson.dumps([to_notation(delete.row), delete.timestamp_ms, delete.exact, *names])


def _delete(line: bytes) -> Delete:
    row, timestamp_ms, is_exact, *names = orjson.loads(line)
    family, qualifier = [*map(from_notation, names), None, None][:2]
    return Delete(from_notation(row), timestamp_ms, family, qualifier, exact=is_exact)
