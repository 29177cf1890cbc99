"""`attr2hbase blob get` and `stat`: the blobs of a table."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from ingest.amounts import counted
from ingest.api import ConfigError, NotFoundError
from ingest.api.notation import readable, to_notation
from ingest.cli.command import FileOption, TableArgument
from ingest.cli.loading import loaded
from ingest.cli.output import Output
from ingest.durable import file_errors
from ingest.formats.times import moment
from ingest.plan.open_blobs import blob_store
from sinks.blobs.blob_store import BlobStore
from sinks.blobs.pointers import cell_of
from sinks.blobs.reading import BlobReader
from sinks.blobs.references import CELL_REFERENCE
from sinks.blobs.tables import id_of
from sinks.files.local_root import LocalRoot

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="Id of the blob: its SHA-256, 64 hex digits.")]


def get(
    out: Output,
    file: FileOption,
    table: TableArgument,
    blob: IdArgument,
    *,
    to: Annotated[
        str, typer.Option(metavar="PATH", help="File to write; it appears once it is complete. - is stdout.")
    ] = "-",
    offset: Annotated[int, typer.Option(min=0, metavar="BYTES", help="Start at this byte.")] = 0,
    length: Annotated[
        int | None, typer.Option(min=0, metavar="BYTES", help="At most this many bytes; all if left out.")
    ] = None,
) -> None:
    """
    Write a blob, or a part of it, to a file or to stdout.

    A damaged blob ends the command with exit code 5 before its last bytes are written; exit code 3 if it does not
    exist.

    Example: attr2hbase blob get events ID --to report.pdf
    """
    if out.is_json and to == "-":
        raise ConfigError("a blob cannot be printed as JSON", hint="name a file with --to")
    with _blobs(out, file, table) as blobs, blobs.open(id_of(blob)) as reader:
        if offset > reader.length:
            raise ConfigError(
                f"--offset {offset} is behind the end of the blob, which has {counted(reader.length, 'byte')}",
                hint=f"use an offset of at most {reader.length}",
            )
        stop = reader.length if length is None else min(reader.length, offset + length)
        if to == "-":
            for piece in reader.pieces(offset, stop):
                out.data(piece)
            return
        written = _write(Path(to), reader, offset, stop)
    out.plain({"id": blob.lower(), "path": to, "bytes": written})
    out.done(f"{to}: {counted(written, 'byte')}")


def stat(out: Output, file: FileOption, table: TableArgument, blob: IdArgument) -> None:
    """
    Show the status of a blob and what refers to it; exit code 3 if it does not exist.

    References are as given with `put` and `pin`. That of a cell is a zero byte, the length of the row key in two
    bytes, the row key and the column; the latter two are beside it, and in the list "cells" with --output json. That of
    a dead letter is dead-letter/PIPELINE/BATCH_TIME and the place of its record.

    Example: attr2hbase blob stat events ID
    """
    with _blobs(out, file, table) as blobs:
        status = blobs.stat(id_of(blob))
        references = blobs.references(id_of(blob))
    # a sweep removes the time from the status of a blob that is referenced again
    since = None if references else status.unreferenced_since_ms
    plain = {name: value for name, value in status.to_json().items() if name not in {"nonce", "store_id"}}
    found = {"id": blob.lower(), "blocks": status.blocks, "references": [to_notation(each) for each in references]}
    of_cells = (cell_of(each) for each in references if each.startswith(CELL_REFERENCE))
    cells = [{"row": to_notation(row), "column": to_notation(column)} for row, column in of_cells]
    out.plain(plain | found | {"cells": cells, "unreferenced_since_ms": since})
    out.line(f"state         {status.state.value}")
    out.line(f"length        {status.length}")
    out.line(f"blocks        {status.blocks}, each {status.block_bytes} bytes, compression {status.compression.value}")
    out.line(f"stored bytes  {status.stored_length}")
    out.line(f"created       {moment(status.created_ms)}")
    unreferenced = "" if since is None else f", since {moment(since)}"
    out.line(f"references    {len(references)}{unreferenced}")
    for each in references:
        cell = "row {}, column {}".format(*map(readable, cell_of(each))) if each.startswith(CELL_REFERENCE) else ""
        out.parts((f"  {readable(each)}", ""), (f"  {cell}" if cell else "", "dim"))


@contextmanager
def _blobs(out: Output, file: str, table: str) -> Iterator[BlobStore]:
    """The blob store of a table of a file."""
    configuration, catalog = loaded(out, file, shows_records=True)
    with blob_store(configuration, catalog, table) as blobs:
        yield blobs


def _write(path: Path, reader: BlobReader, start: int, stop: int) -> int:
    """
    Write a part of a blob to a file, which appears once it is complete; returns the number of bytes.

    Raises:
        NotFoundError: its folder does not exist.
        IngestError: the file cannot be written.
    """
    if not path.parent.is_dir() or path.is_dir():
        raise NotFoundError(f'cannot write "{path}": its folder does not exist, or it is a folder')
    with file_errors(path), LocalRoot(path.parent).new_file(path.name) as file:
        return sum(file.write(piece) for piece in reader.pieces(start, stop))
