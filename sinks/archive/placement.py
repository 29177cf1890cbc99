"""Where the files of a micro-batch go: a value, from which follow what is recorded, removed, moved and copied."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Self

from ingest.api import Batch
from ingest.durable.record import Record
from sinks.archive.layout import version_path


@dataclass(frozen=True, slots=True)
class LastCommit(
    Record,
    kind="record of the last commit",
    remedy="restore it from a copy; without it, a micro-batch that was not acknowledged may be there twice",
):
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


@dataclass(frozen=True, slots=True)
class Placement:
    """
    Where a file of rows goes.

    Attributes:
        folder: of its partition.
        staged: where a task has written it.
        targets: its paths in versions of the partition; it is moved to the first one and copied to the others.
    """

    folder: str
    staged: str
    targets: tuple[str, ...]

    @classmethod
    def into(cls, folder: str, staged: str, version_ids: Collection[int], name: str) -> Self:
        """The placement in versions under a name; a version may be given twice."""
        ids = dict.fromkeys(version_ids)
        return cls(folder, staged, tuple(version_path(folder, each, name) for each in ids))

    def path_in(self, version_id: int) -> str:
        """Its path in a version of the partition."""
        return version_path(self.folder, version_id, self.targets[0].rpartition("/")[2])

    def is_in(self, version_id: int) -> bool:
        """Whether a version gets the file."""
        return self.path_in(version_id) in self.targets

    def also_in(self, version_id: int) -> Self:
        """The placement in one more version, unless it gets the file already."""
        return self if self.is_in(version_id) else replace(self, targets=(*self.targets, self.path_in(version_id)))


@dataclass(frozen=True, slots=True)
class CommitPlan:
    """
    What a commit does to the files of partitions.

    Attributes:
        placements: of the files of the micro-batch.
        earlier: paths that an earlier run of the micro-batch may have written.
        rewrites: folders of partitions, and the versions of rewrites in them, that get the rows of a replay which they
            do not have.
    """

    placements: tuple[Placement, ...]
    earlier: frozenset[str]
    rewrites: tuple[tuple[str, int], ...] = ()

    @property
    def files(self) -> frozenset[str]:
        """The paths that the micro-batch will have."""
        return frozenset(path for placement in self.placements for path in placement.targets)

    @property
    def obsolete(self) -> list[str]:
        """The paths of an earlier run that the micro-batch no longer has."""
        return sorted(self.earlier - self.files)

    @property
    def folders(self) -> list[str]:
        """The folders of the partitions that get files."""
        return list(dict.fromkeys(placement.folder for placement in self.placements))

    def lacking(self, folder: str, version_id: int) -> list[Placement]:
        """The files of a partition that a version does not get."""
        return [each for each in self.placements if each.folder == folder and not each.is_in(version_id)]

    def with_version(self, folder: str, version_id: int) -> Self:
        """The plan in which a version gets all files of its partition."""
        return replace(
            self,
            placements=tuple(each.also_in(version_id) if each.folder == folder else each for each in self.placements),
        )

    def record(self, batch: Batch) -> LastCommit:
        """What a later run of the micro-batch has to know; it is written before the first change."""
        return LastCommit(batch.name, batch.time_ms, tuple(sorted(self.files | self.earlier)))
