"""A sink for attr2hbase that writes events as rows of Parquet files, each event exactly once."""

import errno
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from ingest.api import (
    Batch,
    Committer,
    ConflictError,
    Event,
    Example,
    IntegrityError,
    MappingError,
    Sink,
    SinkContext,
    SinkResult,
    SinkSettings,
    SinkWriter,
    StoreUnavailableError,
    TaskSpec,
    WriteCounts,
    option,
)
from ingest.expressions import Template

ROWS_PER_GROUP = 20_000  # a task buffers one row group in memory


class ParquetSettings(SinkSettings):
    """Options of the parquet sink."""

    path: str = option("Folder of the files, on a disk that the driver and all workers share.", example="./data/rows")
    columns: dict[str, Template] = option(
        "Name of each column, and the template of its text, which must be UTF-8.",
        example={"user": "%{json.user}"},
        min_length=1,
    )


class Parquet(Sink[ParquetSettings]):
    """
    Write each event as a row of a Parquet file, in columns of text.

    A micro-batch becomes one folder, `batch=NAME`, with a file for each task. A rename makes the whole folder visible
    at once. If the batch runs again after that, its new folder replaces the old one, since a corrected configuration
    may give other rows. A path belongs to one sink of one pipeline.
    """

    kind = "parquet"
    examples = (
        Example("two columns", settings="{path: ./data/rows, columns: {user: '%{user}', line: '%{topic}:%{offset}'}}"),
    )

    def writer(self, context: SinkContext) -> SinkWriter:  # noqa: ARG002 - the committer provides the staging folder
        """Writes the file of a task."""
        return _Writer(self.settings.columns)

    def committer(self, context: SinkContext) -> Committer:
        """Moves the files of a batch to their final folder."""
        return _Committer(Path(self.settings.path).absolute(), context)

    def check(self, context: SinkContext) -> str:
        """How many micro-batches are in the folder, which is created when a pipeline starts."""
        folder = Path(self.settings.path).absolute()
        with _on_disk(folder):
            nearest = next(path for path in (folder, *folder.parents) if path.exists())
            if not nearest.is_dir():
                raise NotADirectoryError(f'"{nearest}" is no folder')
            if not os.access(nearest, os.W_OK | os.X_OK):
                raise PermissionError(f'no right to write in "{nearest}"')
            batches = len(list(folder.glob("batch=*")))
        _check_owner(folder, context)
        return f"batches: {batches}"


class _Writer(SinkWriter):
    def __init__(self, columns: dict[str, Template]) -> None:
        self._columns = [(name, template.render) for name, template in columns.items()]
        self._schema = pa.schema([(name, pa.string()) for name in columns])
        self._rows: list[list[str]] = []
        self._counts = WriteCounts()
        self._path = Path()
        self._file: pq.ParquetWriter | None = None

    def begin(self, spec: TaskSpec, prepared: bytes, counts: WriteCounts) -> None:
        with _on_disk(self._path):
            self.close()
        self._rows = []
        self._counts = counts
        self._path = Path(os.fsdecode(prepared)) / f"part-{spec.task_id}.parquet"

    def write(self, event: Event) -> None:
        try:
            self._rows.append([render(event).decode() for _, render in self._columns])
        except UnicodeDecodeError as error:
            raise MappingError("the text of a column is not UTF-8", code="not_utf8") from error
        if len(self._rows) >= ROWS_PER_GROUP:
            self._write_rows()

    def flush(self) -> SinkResult:
        if self._rows:
            self._write_rows()
        if self._file is None:
            return SinkResult()
        with _on_disk(self._path):
            self.close()
            _sync(self._path)
            self._counts.bytes += self._path.stat().st_size
        return SinkResult(os.fsencode(self._path.name))

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def _write_rows(self) -> None:
        table = pa.table([list(column) for column in zip(*self._rows, strict=True)], schema=self._schema)
        with _on_disk(self._path):
            if self._file is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._file = pq.ParquetWriter(self._path, self._schema)
            self._file.write_table(table)
        self._counts.write_calls += 1
        self._counts.rows_sent += len(self._rows)
        self._counts.cells += len(self._rows) * len(self._columns)
        self._rows = []


class _Committer(Committer):
    def __init__(self, folder: Path, context: SinkContext) -> None:
        self._folder = folder
        self._context = context
        self._owner = folder / _owner_name(context)
        self._staging = self._owner / context.staging_name
        self._visible = ""  # the attempt whose files are renamed, but may not be durable yet

    def recover(self) -> None:
        with _on_disk(self._folder):
            self._owner.mkdir(parents=True, exist_ok=True)
            for replaced in self._staging.glob("*/batch=*"):
                if not (self._folder / replaced.name).exists():  # killed between the two renames of `_replace`
                    replaced.rename(self._folder / replaced.name)
                    _sync(self._folder)
            if self._staging.exists():
                shutil.rmtree(self._staging)
        _check_owner(self._folder, self._context)

    def prepare(self, batch: Batch, requests: Sequence[bytes]) -> bytes:  # noqa: ARG002 - tasks make no requests
        return os.fsencode(self._staging / batch.attempt)

    def commit(self, batch: Batch, results: Sequence[bytes]) -> None:
        target, attempt = self._folder / f"batch={batch.name}", self._staging / batch.attempt
        names = [os.fsdecode(name) for name in results if name]
        with _on_disk(target):
            if self._visible != batch.attempt:  # a failed commit is repeated
                self._replace(target, attempt, names)
                self._visible = batch.attempt
            _sync(self._folder)
        self.abort(batch)

    def _replace(self, target: Path, attempt: Path, names: Sequence[str]) -> None:
        """Make these files the content of the batch, instead of those of an earlier run; may be repeated."""
        replaced = attempt / target.name
        if not names and not target.exists() and not replaced.exists():
            return
        # a failed task may still be writing, so files of successful tasks move to a folder of their own
        complete = attempt / "complete"
        complete.mkdir(parents=True, exist_ok=True)
        for name in names:
            if not (complete / name).exists():
                _move_staged(attempt / name, complete / name)
        _sync(complete)
        if target.exists():
            target.rename(replaced)
        complete.rename(target)

    def abort(self, batch: Batch) -> None:
        shutil.rmtree(self._staging / batch.attempt, ignore_errors=True)


def _move_staged(path: Path, target: Path) -> None:
    try:
        path.rename(target)
    except FileNotFoundError as error:
        raise IntegrityError(
            f'the staged file "{path.name}" is no longer in "{path.parent}"',
            code="staged_file_lost",
            hint="exclude this folder from the removal of old files, then start again: the batch runs again",
        ) from error


def _owner_name(context: SinkContext) -> str:
    """Of the hidden folder that says which sink the folder belongs to."""
    return f".of-{quote(context.pipeline, safe='')}+{quote(context.sink, safe='')}"


def _check_owner(folder: Path, context: SinkContext) -> None:
    with _on_disk(folder):
        others = [path.name for path in folder.glob(".of-*") if path.name != _owner_name(context)]
    if others:
        raise ConflictError(
            f'"{folder}" belongs to another sink: "{others[0]}"',
            hint="give each sink a path of its own; after a sink was renamed, rename that hidden folder too",
        )


@contextmanager
def _on_disk(path: Path) -> Iterator[None]:
    """
    Report every error as an unavailable store, so that the batch runs again; a failure of the disk stops the pipeline.

    This includes the timeout of an event during a write, because it leaves an incomplete row group.
    """
    try:
        yield
    except (KeyboardInterrupt, IntegrityError):
        raise
    except BaseException as error:
        if isinstance(error, OSError) and error.errno == errno.EIO:
            # after a failed sync the content of the disk is unknown, and a second sync that succeeds proves nothing
            raise IntegrityError(
                f'"{path}" cannot be written: {error}',
                code="disk_failed",
                hint="the disk fails; move the files to another disk, then start again",
            ) from error
        raise StoreUnavailableError(
            f'"{path}" cannot be written: {type(error).__name__}: {error}',
            hint="check that the disk is mounted and has free space",
        ) from error


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
