"""Stores a blob, and adds and removes the references of one: small jobs, which the holder of the store carries out."""

import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ingest.amounts import counted
from ingest.api import ConfigError, Model, NotFoundError, option
from ingest.api.files import open_regular, reason_of
from ingest.api.notation import from_readable
from ingest.config.model import Configuration
from ingest.service.jobs.command import JobCommand, Summary
from ingest.service.jobs.job import O, Steps
from ingest.service.jobs.job_run import Progress
from ingest.service.jobs.option_types import Id, LocalPath, Value
from ingest.service.jobs.place import Place
from ingest.service.rewriting.blobs_job import BlobsJob
from sinks.blobs.tables import id_of

if TYPE_CHECKING:  # a command that asks the service starts without Spark and Kafka
    from ingest.service.shared import Shared

STDIN = "-"


class BlobPutOptions(Model):
    """What is stored."""

    path: LocalPath = option("File with the blob; - is stdin.")
    reference: list[Value] = option("Also pin the blob with this reference.", default=[])
    sha256: Id = option("Store nothing if the blob has another SHA-256.", default="")


class SmallBlobsJob(BlobsJob[O]):
    """
    A small command: it does not wait for the jobs that wait, since a sweep among them may delete the blob meanwhile.

    A store that several processes may write is written by the process of the command, which waits for no job at all.
    """

    overtakes = True
    _is_in_service = True

    def checked(self, configuration: Configuration) -> None:
        """Refuse a table without a blob store; `is_of_this_process` answers for its store from now on."""
        table = self.declared(configuration)
        self._is_in_service = configuration.stores[table.store].settings.own_folder is not None

    @property
    def is_of_this_process(self) -> bool:
        """Whether the process of the command may write the store, while a service does."""
        return not self._is_in_service


class BlobPut(SmallBlobsJob[BlobPutOptions]):
    """
    Stores a blob in the blob store of a table.

    Args:
        subject: name of the table.
        options: which file.
    """

    kind = "blob-put"
    options_model = BlobPutOptions
    command = JobCommand(
        help="""
        Store a blob, and print its id; bytes that are stored already are not stored again.

        Without a reference the blob is deleted by a sweep after the time `sweep_after` of the table's `blobs`.

        If the service runs and has the store in RocksDB, it reads the file, which must be a regular one, and stores the
        blob; interrupting the command (Ctrl-C) cancels it. Else, and from stdin or a named pipe, the command does.

        Example: attr2hbase blob put events report.pdf --reference report-2026-01
        """,
        arguments=("path",),
        advances=("bytes", "length"),
        does="stores the blob",
        resumes="run the same command again",
    )

    @property
    def is_of_this_process(self) -> bool:
        """The same, or stdin has the blob, or what this process alone has open, as the pipe of `<(command)`."""
        return super().is_of_this_process or self.options.path == STDIN or _may_block(self.options.path)

    def check(self, shared: "Shared") -> None:
        """Refuse the stdin of the service, too."""
        super().check(shared)
        if self.options.path == STDIN:
            raise ConfigError("path: a service has no stdin", hint="name a file, by its absolute path")

    def steps(self, place: Place) -> Steps:
        """
        Store the blob.

        Raises:
            NotFoundError: there is no such file, or it cannot be read; in a service also if it is no regular file.
            ConflictError: it was cancelled; the next sweeps delete what is stored.
            ConfigError: a reference or the expected id is none.
            IngestError: as `BlobsJob.blobs` and `BlobStore.put`.
        """
        references = [from_readable(text) for text in self.options.reference]
        expected = id_of(self.options.sha256) if self.options.sha256 else None
        blobs = self.blobs(place, creates=True)
        with _source(self.options.path, place) as source, place.resting(self.kind) as rest:
            stored = blobs.put(source, expected=expected, references=references, on_piece=rest)
        yield Progress(1, 1, {"id": stored.id.hex(), "length": stored.length, "is_new": stored.is_new})

    def summary(self, content: Mapping[str, Any], *, is_dry_run: bool) -> Summary:  # noqa: ARG002 - there is none
        """The id."""
        what = "stored" if content["is_new"] else "were stored already"
        return Summary(content, lines=[content["id"]], done=f"{counted(content['length'], 'byte')} {what}")


class ReferenceOptions(Model):
    """A reference to a blob."""

    id: Id = option("Id of the blob: its SHA-256, 64 hex digits.")
    reference: Value = option(r"Any text that says what refers to it, with \xNN for other bytes.")


class BlobPin(SmallBlobsJob[ReferenceOptions]):
    """
    Adds a reference to a blob.

    Args:
        subject: name of the table.
        options: the blob and the reference.
    """

    kind = "blob-pin"
    options_model = ReferenceOptions
    command = JobCommand(
        help="""
        Add a reference to a blob, so that no sweep deletes it; exit code 3 if the blob does not exist.

        Example: attr2hbase blob pin events ID report-2026-01
        """,
        arguments=("id", "reference"),
        advances=("references", "references"),
        does="adds the reference",
        resumes="run the same command again",
    )
    is_added = True

    def steps(self, place: Place) -> Steps:
        """
        Add, or remove, the reference.

        Raises:
            NotFoundError: there is no such blob, or no such reference to be removed.
            ConfigError: it is no id, or no reference.
            IngestError: as `BlobsJob.blobs`.
        """
        blob, reference = id_of(self.options.id), from_readable(self.options.reference)
        blobs = self.blobs(place)
        (blobs.pin if self.is_added else blobs.unpin)(blob, reference)
        yield Progress(1, 1, {"id": blob.hex(), "reference": self.options.reference, "references": 1})

    def summary(self, content: Mapping[str, Any], *, is_dry_run: bool) -> Summary:  # noqa: ARG002 - there is none
        """That it is done."""
        plain = {name: content[name] for name in ("id", "reference")}
        return Summary(plain, done=f"reference {'added' if self.is_added else 'removed'}")


class BlobUnpin(BlobPin):
    """Removes a reference from a blob; as `BlobPin`."""

    kind = "blob-unpin"
    command = BlobPin.command._replace(
        help="""
        Remove a reference from a blob; after the last one a sweep deletes the blob once `sweep_after` has passed.

        Exit code 3 if there is no such reference.

        Example: attr2hbase blob unpin events ID report-2026-01
        """,
        does="removes the reference",
    )
    is_added = False


@contextmanager
def _source(path: str, place: Place) -> Iterator[BinaryIO]:
    """A file, or stdin; what may block is for a process that its user can interrupt."""
    with ExitStack() as opened:
        try:
            if path == STDIN:
                source = sys.stdin.buffer
            elif place.is_service:
                source = opened.enter_context(open_regular(path))
            else:
                source = opened.enter_context(Path(path).open("rb"))
        except (OSError, ValueError) as error:
            hint = "a service reads regular files alone: write the bytes to one" if _may_block(path) else None
            raise NotFoundError(f'cannot read "{path}": {reason_of(error)}', hint=hint) from error
        yield source


def _may_block(path: str) -> bool:
    """Whether a path of this process is a named pipe, a device or a socket."""
    with suppress(OSError, ValueError):
        return not stat.S_ISREG(mode := Path(path).stat().st_mode) and not stat.S_ISDIR(mode)
    return False
