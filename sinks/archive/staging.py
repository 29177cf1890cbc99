"""The files that tasks have staged: how a task reports them to the driver, and how they get to their places."""

import shutil
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import orjson

from ingest.api import IntegrityError
from sinks.files.root import Root

_COPIED_BYTES = 1 << 20


class StagedFileLostError(IntegrityError):
    """A file of an archive that a task had staged was gone at the commit."""

    code = "staged_file_lost"
    hint = "exclude the folder `_tmp` from the removal of old files, then start again: the batch runs again"


class StagedPart(NamedTuple):
    """
    A file of rows that a task has staged.

    Attributes:
        partition: the folder of its partition.
        path: below the root.
    """

    partition: str
    path: str


def pack(parts: Iterable[StagedPart]) -> bytes:
    """The result of a task."""
    return orjson.dumps([list(part) for part in parts])


def unpack(result: bytes) -> list[StagedPart]:
    """The inverse of `pack`."""
    return [StagedPart(*each) for each in orjson.loads(result)]


def place(root: Root, path: str, targets: Sequence[str]) -> None:
    """
    Move a staged file to the first of its targets, after it was copied to the others; may be repeated.

    Raises:
        IntegrityError: `staged_file_lost`: it is at none of the paths.
        OSError: of the file system.
    """
    if not root.exists(path) and all(map(root.exists, targets)):
        for target in targets:
            root.settle(target.rpartition("/")[0])
        return  # an earlier call has moved it
    try:
        for target in targets[1:]:
            try:
                copy(root, path, target)
            except FileNotFoundError:
                if root.exists(target.rpartition("/")[0]):
                    raise
                # a re-run that has ended without a row has removed its version
        root.move(path, targets[0])  # in place of that of an earlier run of the micro-batch
    except FileNotFoundError as error:
        if root.exists(path):
            raise
        raise StagedFileLostError(
            f'the staged file "{path}" in "{root}" is gone',
        ) from error


def copy(root: Root, path: str, target: str) -> None:
    """Copy a file, completely or not at all."""
    with root.open(path) as source, root.new_file(target) as file:
        shutil.copyfileobj(source, file, _COPIED_BYTES)
