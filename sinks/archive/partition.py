"""The batches of a partition, and the pointer to the one that readers read."""

from dataclasses import dataclass
from typing import NamedTuple

from sinks.archive.errors import ArchiveCorruptError, IncompleteCurrentError, NoArchiveBatchError
from sinks.archive.layout import (
    CURRENT,
    KEEP,
    STARTED,
    SUCCESS,
    EntryKind,
    PartitionRule,
    PartName,
    batch_folder,
    batch_id_of,
    batch_path,
    kind_in_partition,
)
from sinks.files.root import Entry, Root

_MOST_POINTER_BYTES = 64


class ArchiveBatch(NamedTuple):
    """
    A batch of a partition.

    Attributes:
        id: about the second in which it was created, epoch UTC; rises within a partition.
        is_complete: readers may be pointed at it.
        is_kept: it is never removed.
    """

    id: int
    is_complete: bool
    is_kept: bool


@dataclass(frozen=True, slots=True)
class Partition:
    """
    A partition of an archived table.

    Attributes:
        root: of the table.
        folder: of the partition, as `PartitionRule.folder_of`.
    """

    root: Root
    folder: str

    def path(self, batch_id: int, name: str = "") -> str:
        """The path of a batch, or of a file in it, below the root."""
        return batch_path(self.folder, batch_id, name)

    def batch_ids(self) -> list[int]:
        """All batches, complete or not, ascending."""
        return sorted(found for name in self._names() if (found := batch_id_of(name)) is not None)

    def batches(self) -> list[ArchiveBatch]:
        """The same, with their markers."""
        return [self.batch(each) for each in self.batch_ids()]

    def batch(self, batch_id: int) -> ArchiveBatch:
        """The markers of a batch; one that does not exist is not complete."""
        names = self.root.file_names(self.path(batch_id))
        return ArchiveBatch(batch_id, SUCCESS in names, KEEP in names)

    def parts(self, batch_id: int) -> dict[PartName, Entry]:
        """The files of rows of a batch, sorted by batch time."""
        entries = self.root.entries(self.path(batch_id))
        found = {name: entry for entry in entries if not entry.is_folder and (name := PartName.parsed(entry.name))}
        return dict(sorted(found.items()))

    def foreign(self) -> list[str]:
        """Names in its folder that this product has not written."""
        return [
            entry.name
            for entry in self._entries()
            if kind_in_partition(entry.name, is_folder=entry.is_folder) is EntryKind.FOREIGN
        ]

    def current(self) -> int | None:
        """
        The batch that readers read; None if the partition has none yet.

        Raises:
            ArchiveCorruptError: `_CURRENT` names no batch.
            IncompleteCurrentError: it names one that is not complete.
        """
        content = self._pointer()
        if content is None:
            return None
        found = _batch_in(content)
        if found is None or not self.root.exists(self.path(found, SUCCESS)):
            kind = ArchiveCorruptError if found is None else IncompleteCurrentError
            raise kind(
                f'"{self.folder}/{CURRENT}" in "{self.root}" names no complete batch: {content!r}',
                hint="'attr2hbase archive history' lists the batches; 'attr2hbase archive point' selects one",
            )
        return found

    def readable_current(self) -> int | None:
        """The batch that readers read; None if the partition has none, or the pointer is damaged."""
        try:
            return self.current()
        except ArchiveCorruptError:
            return None

    def pointed(self) -> int | None:
        """The batch that `_CURRENT` names, complete or not; None if there is none, or the pointer is damaged."""
        content = self._pointer()
        return None if content is None else _batch_in(content)

    def ensure_current(self, now_s: int, owner: str) -> int:
        """
        The batch that readers read; a partition without one gets an empty one.

        Args:
            now_s: epoch UTC.
            owner: what creates it; an owner that was killed here before takes its batch.

        Raises:
            ArchiveCorruptError: as `current`.
        """
        current = self.current()
        if current is not None:
            return current
        newest = self.batch_ids()[-1:]
        was_killed = bool(newest) and self.owner(newest[0]) == owner  # before it set the pointer
        batch_id = newest[0] if was_killed else self.create(now_s, owner)
        self.complete(batch_id)
        found = self._point_first(batch_id)
        if found != batch_id:  # another process has created the first batch meanwhile
            self.root.remove_file(self.path(batch_id, SUCCESS))
            self.root.remove_tree(self.path(batch_id))
        return found

    def create(self, now_s: int, owner: str) -> int:
        """
        Create a batch that is not complete, and return its id: the time, or more than every other id.

        Of several processes, each gets a batch of its own.

        Args:
            now_s: epoch UTC.
            owner: what creates it, for `history`.
        """
        batch_id = max([now_s, *(each + 1 for each in self.batch_ids()[-1:])])
        while True:
            self.root.make_folder(self.path(batch_id))
            try:
                self.root.create(self.path(batch_id, STARTED), f"{owner}\n".encode())
            except FileExistsError:
                batch_id += 1
            else:
                return batch_id

    def remove_empty(self, batch_id: int) -> None:
        """Remove a batch that is not complete and has no files but `_STARTED`."""
        folder = self.path(batch_id)
        if [entry.name for entry in self.root.entries(folder)] == [STARTED]:
            self.root.remove_file(f"{folder}/{STARTED}")
            self.root.remove_folder(folder)

    def owner(self, batch_id: int) -> str:
        """What has created a batch; "" if that is not known."""
        try:
            return self.root.read(self.path(batch_id, STARTED)).decode(errors="replace").strip()
        except FileNotFoundError:
            return ""

    def complete(self, batch_id: int) -> None:
        """Mark a batch as complete."""
        self.root.write(self.path(batch_id, SUCCESS), b"")

    def write_pointer(self, batch_id: int) -> None:
        """Make a complete batch the one that readers read, without the checks of `switch`."""
        self.root.write(f"{self.folder}/{CURRENT}", pointer(batch_id))

    def keep(self, batch_id: int) -> None:
        """
        Keep a batch from being removed, until `unkeep`.

        Raises:
            NoArchiveBatchError: it is not there.
        """
        self._check_exists(batch_id)
        self.root.write(self.path(batch_id, KEEP), b"")

    def unkeep(self, batch_id: int) -> None:
        """
        The inverse of `keep`.

        Raises:
            NoArchiveBatchError: it is not there.
        """
        self._check_exists(batch_id)
        self.root.remove_file(self.path(batch_id, KEEP))

    def _point_first(self, batch_id: int) -> int:
        """As `write_pointer`, unless the partition has a current batch already; returns the current batch."""
        try:
            self.root.create(f"{self.folder}/{CURRENT}", pointer(batch_id))
        except FileExistsError:
            return self.current() or batch_id
        return batch_id

    def _check_exists(self, batch_id: int) -> None:
        if batch_id not in self.batch_ids():
            raise NoArchiveBatchError(f'"{self.folder}" in "{self.root}" has no batch {batch_id}')

    def _pointer(self) -> bytes | None:
        try:
            return self.root.read(f"{self.folder}/{CURRENT}", _MOST_POINTER_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _names(self) -> list[str]:
        return [entry.name for entry in self._entries() if entry.is_folder]

    def _entries(self) -> list[Entry]:
        try:
            return self.root.entries(self.folder)
        except (FileNotFoundError, NotADirectoryError):
            return []


def partitions(root: Root, rule: PartitionRule) -> dict[str, Partition]:
    """The partitions of a table: value -> partition, sorted; none if there is no table."""
    try:
        entries = root.entries("")
    except FileNotFoundError:
        return {}
    values = ((rule.value_in(entry.name), entry.name) for entry in entries if entry.is_folder)
    return {value: Partition(root, folder) for value, folder in values if value is not None}


def pointer(batch_id: int) -> bytes:
    """The content of `_CURRENT`."""
    return f"{batch_folder(batch_id)}\n".encode()


def _batch_in(content: bytes) -> int | None:
    """The inverse of `pointer`; None for another content."""
    return batch_id_of(content.decode(errors="replace").removesuffix("\n"))
