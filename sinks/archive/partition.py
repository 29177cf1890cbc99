"""The versions of a partition, and the pointer to the one that readers read."""

from dataclasses import dataclass
from typing import NamedTuple

from sinks.archive.errors import ArchiveCorruptError, IncompleteCurrentError, NoArchiveVersionError
from sinks.archive.layout import (
    CURRENT,
    KEEP,
    STARTED,
    SUCCESS,
    EntryKind,
    PartitionRule,
    PartName,
    kind_in_partition,
    version_folder,
    version_id_of,
    version_path,
)
from sinks.files.root import Entry, Root

_MOST_POINTER_BYTES = 64


class ArchiveVersion(NamedTuple):
    """
    A version of a partition.

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

    def path(self, version_id: int, name: str = "") -> str:
        """The path of a version, or of a file in it, below the root."""
        return version_path(self.folder, version_id, name)

    def version_ids(self) -> list[int]:
        """All versions, complete or not, ascending."""
        return sorted(found for name in self._names() if (found := version_id_of(name)) is not None)

    def versions(self) -> list[ArchiveVersion]:
        """The same, with their markers."""
        return [self.version(each) for each in self.version_ids()]

    def version(self, version_id: int) -> ArchiveVersion:
        """The markers of a version; one that does not exist is not complete."""
        names = self.root.file_names(self.path(version_id))
        return ArchiveVersion(version_id, SUCCESS in names, KEEP in names)

    def parts(self, version_id: int) -> dict[PartName, Entry]:
        """The files of rows of a version, sorted by batch time."""
        entries = self.root.entries(self.path(version_id))
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
        The version that readers read; None if the partition has none yet.

        Raises:
            ArchiveCorruptError: `_CURRENT` names no version.
            IncompleteCurrentError: it names one that is not complete.
        """
        content = self._pointer()
        if content is None:
            return None
        found = _version_in(content)
        if found is None or not self.root.exists(self.path(found, SUCCESS)):
            kind = ArchiveCorruptError if found is None else IncompleteCurrentError
            raise kind(
                f'"{self.folder}/{CURRENT}" in "{self.root}" names no complete version: {content!r}',
                hint="'attr2hbase archive history' lists the versions; 'attr2hbase archive point' selects one",
            )
        return found

    def readable_current(self) -> int | None:
        """The version that readers read; None if the partition has none, or the pointer is damaged."""
        try:
            return self.current()
        except ArchiveCorruptError:
            return None

    def pointed(self) -> int | None:
        """The version that `_CURRENT` names, complete or not; None if there is none, or the pointer is damaged."""
        content = self._pointer()
        return None if content is None else _version_in(content)

    def ensure_current(self, now_s: int, owner: str) -> int:
        """
        The version that readers read; a partition without one gets an empty one.

        Args:
            now_s: epoch UTC.
            owner: what creates it; an owner that was killed here before takes its version.

        Raises:
            ArchiveCorruptError: as `current`.
        """
        current = self.current()
        if current is not None:
            return current
        newest = self.version_ids()[-1:]
        was_killed = bool(newest) and self.owner(newest[0]) == owner  # before it set the pointer
        version_id = newest[0] if was_killed else self.create(now_s, owner)
        self.complete(version_id)
        found = self._point_first(version_id)
        if found != version_id:  # another process has created the first version meanwhile
            self.root.remove_file(self.path(version_id, SUCCESS))
            self.root.remove_tree(self.path(version_id))
        return found

    def create(self, now_s: int, owner: str) -> int:
        """
        Create a version that is not complete, and return its id: the time, or more than every other id.

        Of several processes, each gets a version of its own.

        Args:
            now_s: epoch UTC.
            owner: what creates it, for `history`.
        """
        version_id = max([now_s, *(each + 1 for each in self.version_ids()[-1:])])
        while True:
            self.root.make_folder(self.path(version_id))
            try:
                self.root.create(self.path(version_id, STARTED), f"{owner}\n".encode())
            except FileExistsError:
                version_id += 1
            else:
                return version_id

    def remove_empty(self, version_id: int) -> None:
        """Remove a version that is not complete and has no files but `_STARTED`."""
        folder = self.path(version_id)
        if [entry.name for entry in self.root.entries(folder)] == [STARTED]:
            self.root.remove_file(f"{folder}/{STARTED}")
            self.root.remove_folder(folder)

    def owner(self, version_id: int) -> str:
        """What has created a version; "" if that is not known."""
        try:
            return self.root.read(self.path(version_id, STARTED)).decode(errors="replace").strip()
        except FileNotFoundError:
            return ""

    def complete(self, version_id: int) -> None:
        """Mark a version as complete."""
        self.root.write(self.path(version_id, SUCCESS), b"")

    def write_pointer(self, version_id: int) -> None:
        """Make a complete version the one that readers read, without the checks of `switch`."""
        self.root.write(f"{self.folder}/{CURRENT}", pointer(version_id))

    def keep(self, version_id: int) -> None:
        """
        Keep a version from being removed, until `unkeep`.

        Raises:
            NoArchiveVersionError: it is not there.
        """
        self._check_exists(version_id)
        self.root.write(self.path(version_id, KEEP), b"")

    def unkeep(self, version_id: int) -> None:
        """
        The inverse of `keep`.

        Raises:
            NoArchiveVersionError: it is not there.
        """
        self._check_exists(version_id)
        self.root.remove_file(self.path(version_id, KEEP))

    def _point_first(self, version_id: int) -> int:
        """As `write_pointer`, unless the partition has a current version already; returns the current version."""
        try:
            self.root.create(f"{self.folder}/{CURRENT}", pointer(version_id))
        except FileExistsError:
            return self.current() or version_id
        return version_id

    def _check_exists(self, version_id: int) -> None:
        if version_id not in self.version_ids():
            raise NoArchiveVersionError(f'"{self.folder}" in "{self.root}" has no version {version_id}')

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


def pointer(version_id: int) -> bytes:
    """The content of `_CURRENT`."""
    return f"{version_folder(version_id)}\n".encode()


def _version_in(content: bytes) -> int | None:
    """The inverse of `pointer`; None for another content."""
    return version_id_of(content.decode(errors="replace").removesuffix("\n"))
