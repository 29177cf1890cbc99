"""`ingest body`: the large bodies of a table."""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from ingest.amounts import counted
from ingest.cli.command import FileArgument, TableArgument
from ingest.cli.output import Output

if TYPE_CHECKING:
    from sinks.bodies.body_store import BodyStore
    from sinks.bodies.reading import BodyReader

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="Id of the body: its SHA-256, 64 hex digits.")]
ReferenceArgument = Annotated[
    str, typer.Argument(metavar="REFERENCE", help=r"Any text that says what refers to it, with \xNN for other bytes.")
]


def put(
    out: Output,
    file: FileArgument,
    table: TableArgument,
    path: Annotated[str, typer.Argument(metavar="PATH", help="File with the body; - is stdin.")],
    *,
    reference: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="Also mark the body with this reference; repeat it for several."),
    ] = None,
    sha256: Annotated[
        str | None, typer.Option("--sha256", metavar="HEX", help="Store nothing if the body has another SHA-256.")
    ] = None,
) -> None:
    """
    Store a body, and print its id; bytes that are stored already are not stored again.

    Without a reference the body is deleted by a sweep after the time `sweep_after` of the table's `bodies`.

    Example: ingest body put pipeline.yaml events report.pdf --reference report-2026-01
    """
    from ingest.api.notation import from_readable
    from sinks.bodies.tables import id_of

    references = [from_readable(text) for text in reference or ()]
    expected = None if sha256 is None else id_of(sha256)
    with _bodies(out, file, table, is_written=True, creates=True) as bodies, _source(path) as source:
        stored = bodies.put(source, expected=expected, references=references)
    body = stored.id.hex()
    if out.is_json:
        out.json({"id": body, "length": stored.length, "is_new": stored.is_new})
    else:
        out.line(body)
        out.done(f"{counted(stored.length, 'byte')} {'stored' if stored.is_new else 'were stored already'}")
        out.next(f"ingest body get {file} {table} {body} --to PATH")


def get(
    out: Output,
    file: FileArgument,
    table: TableArgument,
    body: IdArgument,
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
    Write a body, or a part of it, to a file or to stdout.

    A damaged body ends the command with exit code 5 before its last bytes are written; exit code 3 if it does not
    exist.

    Example: ingest body get pipeline.yaml events ID --to report.pdf
    """
    from ingest.api import ConfigError
    from sinks.bodies.tables import id_of

    if out.is_json and to == "-":
        raise ConfigError("a body cannot be printed as JSON", hint="name a file with --to")
    with _bodies(out, file, table, is_written=False) as bodies, bodies.open(id_of(body)) as reader:
        if offset > reader.length:
            raise ConfigError(
                f"--offset {offset} is behind the end of the body, which has {counted(reader.length, 'byte')}",
                hint=f"use an offset of at most {reader.length}",
            )
        stop = reader.length if length is None else min(reader.length, offset + length)
        if to == "-":
            for piece in reader.pieces(offset, stop):
                out.data(piece)
            return
        written = _write(Path(to), reader, offset, stop)
    if out.is_json:
        out.json({"id": body.lower(), "path": to, "bytes": written})
    out.done(f"{to}: {counted(written, 'byte')}")


def stat(out: Output, file: FileArgument, table: TableArgument, body: IdArgument) -> None:
    """
    Show the status of a body and what refers to it; exit code 3 if it does not exist.

    References are as given with `put` and `mark`. That of a cell is a zero byte, the length of the row key in two
    bytes, the row key and the column; the latter two are beside it, and in the list "cells" with --output json. That of
    a dead letter is dead-letter/PIPELINE/BATCH_TIME and the place of its record.

    Example: ingest body stat pipeline.yaml events ID
    """
    from ingest.api.notation import readable, to_notation
    from ingest.formats.times import moment
    from sinks.bodies.pointers import cell_of
    from sinks.bodies.references import CELL_REFERENCE
    from sinks.bodies.tables import id_of

    with _bodies(out, file, table, is_written=False) as bodies:
        status = bodies.stat(id_of(body))
        references = bodies.references(id_of(body))
    # a sweep removes the time from the status of a body that is referenced again
    since = None if references else status.unreferenced_since_ms
    if out.is_json:
        plain = {name: value for name, value in status.to_json().items() if name not in {"nonce", "store_id"}}
        found = {"id": body.lower(), "blocks": status.blocks, "references": [to_notation(each) for each in references]}
        of_cells = (cell_of(each) for each in references if each.startswith(CELL_REFERENCE))
        cells = [{"row": to_notation(row), "column": to_notation(column)} for row, column in of_cells]
        out.json(plain | found | {"cells": cells, "unreferenced_since_ms": since})
        return
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


def mark(out: Output, file: FileArgument, table: TableArgument, body: IdArgument, reference: ReferenceArgument) -> None:
    """
    Add a reference to a body, so that no sweep deletes it; exit code 3 if the body does not exist.

    Example: ingest body mark pipeline.yaml events ID report-2026-01
    """
    from ingest.api.notation import from_readable
    from sinks.bodies.tables import id_of

    with _bodies(out, file, table, is_written=True) as bodies:
        bodies.mark(id_of(body), from_readable(reference))
    _show_reference(out, body, reference, "added")


def unmark(
    out: Output, file: FileArgument, table: TableArgument, body: IdArgument, reference: ReferenceArgument
) -> None:
    """
    Remove a reference from a body; after the last one a sweep deletes the body once `sweep_after` has passed.

    Exit code 3 if there is no such reference.

    Example: ingest body unmark pipeline.yaml events ID report-2026-01
    """
    from ingest.api.notation import from_readable
    from sinks.bodies.tables import id_of

    with _bodies(out, file, table, is_written=True) as bodies:
        bodies.unmark(id_of(body), from_readable(reference))
    _show_reference(out, body, reference, "removed")


def fsck(
    out: Output,
    file: FileArgument,
    table: TableArgument,
    *,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair",
            help="Delete orphaned blocks, dangling references of cells without a pointer, and unneeded references.",
        ),
    ] = False,
) -> None:
    """
    Read all bodies and compare them with their ids; list damaged and orphaned blocks, and references to remove.

    Exit code 5 if a body is damaged. Orphaned blocks, dangling and unneeded references only take space. A reference is
    unneeded if its dead letter was replayed, deleted or never published; --repair leaves those of running pipelines.
    It is unknown, and --repair leaves it, if its dead letter may wait in another state_dir: this one has no dead letter
    and no micro-batch of its time. Remove it with 'ingest body unmark' if it waits nowhere.
    With --output json, a line for each finding, then one with their numbers and those of the bodies and blocks that
    were read.

    Example: ingest body fsck pipeline.yaml events
    """
    from ingest.api import IntegrityError
    from ingest.cli.loading import loaded
    from ingest.plan.bodies import body_store
    from ingest.service.dead_letters.references import DeadLetterReferences

    configuration, catalog = loaded(out, file, shows_records=True)
    kinds = Counter[str]()
    damaged = read_bodies = read_blocks = 0

    def on_read(blocks: int) -> None:
        nonlocal read_bodies, read_blocks
        read_bodies += 1
        read_blocks += blocks

    with (
        body_store(configuration, catalog, table, is_written=repair) as bodies,
        DeadLetterReferences(configuration, is_repair=repair) as dead_letters,
    ):
        for finding in bodies.findings(dead_letters, is_repair=repair, on_read=on_read):
            kinds[finding.kind.value] += 1
            damaged += finding.kind.is_damage
            if out.is_json:
                out.json(finding._asdict() | {"body": finding.body.hex()})
            else:
                block = "" if finding.block is None else f" block {finding.block}"
                text = f"{finding.body.hex()}{block}: {finding.kind.value.replace('_', ' ')}: {finding.detail}"
                out.line(text, "red" if finding.kind.is_damage else "yellow")
    for name, topics in dead_letters.earlier_topics.items():
        shown = ", ".join(f'"{topic}"' for topic in topics)
        out.note(
            f'the references of pipeline "{name}" stay: dead letters may wait in its earlier topic {shown}', "yellow"
        )
        out.note(f'once they are replayed, remove the topic from "dead-letters/{name}/topics" in `state_dir`')
    others = sum(kinds.values()) - damaged
    if out.is_json:
        stats = {"bodies": read_bodies, "blocks": read_blocks, "damaged": damaged, "others": others}
        out.json({"stats": stats})
    read = f"{counted(read_bodies, 'body', 'bodies')} and {counted(read_blocks, 'block')} read"
    if damaged:
        out.note(f"{read}: {counted(damaged, 'finding')} of damage; {counted(others, 'other finding')}", "red")
        raise typer.Exit(IntegrityError.exit_code)
    out.done(f"{read}: no body is damaged; {counted(others, 'other finding')}")


def _show_reference(out: Output, body: str, reference: str, verb: str) -> None:
    if out.is_json:
        out.json({"id": body.lower(), "reference": reference})
    out.done(f"reference {verb}")


@contextmanager
def _bodies(out: Output, file: str, table: str, *, is_written: bool, creates: bool = False) -> "Iterator[BodyStore]":
    """The body store of a table of a file."""
    from ingest.cli.loading import loaded
    from ingest.plan.bodies import body_store

    configuration, catalog = loaded(out, file, shows_records=True)
    with body_store(configuration, catalog, table, is_written=is_written, creates=creates) as bodies:
        yield bodies


@contextmanager
def _source(path: str) -> Iterator[BinaryIO]:
    """
    A file, or stdin.

    Raises:
        NotFoundError: there is no such file, or it is a folder.
    """
    from ingest.api import NotFoundError

    if path == "-":
        yield sys.stdin.buffer
        return
    with ExitStack() as opened:
        try:
            source = opened.enter_context(Path(path).open("rb"))
        except OSError as error:
            raise NotFoundError(f'cannot read "{path}": {error.strerror}') from error
        yield source


def _write(path: Path, reader: "BodyReader", start: int, stop: int) -> int:
    """
    Write a part of a body to a file, which appears once it is complete; returns the number of bytes.

    Raises:
        NotFoundError: its folder does not exist.
        IngestError: the file cannot be written.
    """
    from ingest.api import NotFoundError
    from ingest.durable import file_errors
    from sinks.files.local_root import LocalRoot

    if not path.parent.is_dir() or path.is_dir():
        raise NotFoundError(f'cannot write "{path}": its folder does not exist, or it is a folder')
    with file_errors(path), LocalRoot(path.parent).new_file(path.name) as file:
        return sum(file.write(piece) for piece in reader.pieces(start, stop))
