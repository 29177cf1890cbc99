"""`attr2hbase dump ls`, `tables`, `files`, `cat`, `verify` and `diff`: read dumps."""

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from ingest.amounts import counted
from ingest.cli.output import Output
from ingest.cli.pipeline_file import command_line
from ingest.cli.shown_diff import SIGNS

if TYPE_CHECKING:
    from sinks.dumps.listing import Dump
    from sinks.dumps.reader import DumpReader
    from sinks.dumps.verifying import Verification

RootArgument = Annotated[
    str,
    typer.Argument(
        metavar="ROOT",
        help="Folder of the dumps: a path, or a URL such as hdfs://NAMENODE:PORT/FOLDER or s3://BUCKET/FOLDER.",
    ),
]
AtOption = Annotated[
    str | None,
    typer.Option(
        "--at", metavar="TIME", help="The dump, by its name or its start in UTC; by default the newest complete one."
    ),
]
TableOfDumpArgument = Annotated[str, typer.Argument(metavar="TABLE", help="Name of the table.")]


def ls(out: Output, root: RootArgument) -> None:
    """
    List the dumps of a root, oldest first, and their pins.

    An incomplete dump is being made or removed, was interrupted, or lacks files. No reader reads it. One that was
    interrupted has its id, with which 'attr2hbase dump run --resume ID' completes it.

    Example: attr2hbase dump ls /backups
    Example: attr2hbase dump ls hdfs://namenode:8020/backups --output json
    """
    from ingest.clock import now_ms
    from ingest.durable import file_errors
    from ingest.formats.times import moment
    from sinks.dumps.errors import DumpCorruptError
    from sinks.dumps.listing import complete_dump, dump_names, unfinished_dumps
    from sinks.dumps.lock import holder_of
    from sinks.dumps.pins import pins
    from sinks.files.opening import existing_root

    opened = existing_root(root)
    with file_errors(opened):
        now = now_ms()
        held = [pin for pin in pins(opened) if pin.expires_ms > now]
        holder = holder_of(opened)
        rows: list[tuple[str, ...]] = []
        unfinished = unfinished_dumps(opened)
        ids = {each.folder: run_id for run_id, each in unfinished.items() if each.can_be_resumed}
        names = dump_names(opened)
        for name in (*names, *sorted({each.folder for each in unfinished.values()} - {*names})):
            try:
                dump, status = complete_dump(opened, name), "complete"
            except DumpCorruptError as error:
                dump, status = None, "damaged"
                out.note(f"warning: {error.message}", "yellow")
            if dump is None and status == "complete":
                status = "incomplete"
            about = {"dump": name, "status": status, **_about(dump, ids.get(name))}
            of_dump = [pin for pin in held if pin.dump == name]
            about["pins"] = [{"id": pin.id, "owner": pin.owner, "expires": moment(pin.expires_ms)} for pin in of_dump]
            out.plain(about)
            amounts = ("tables", "rows", "bytes")
            shown = ("" if about[each] is None else f"{about[each]:,}" for each in amounts)
            rows.append((name, status, *shown, str(about["id"] or ""), ", ".join(pin.id for pin in of_dump)))
    if rows:
        out.table(("dump", "status", "#tables", "#rows", "#bytes", "id", "pins"), rows)
    if holder is not None:
        out.note(f"in use by {holder}, unless that process was killed", "dim")
    out.done(counted(len(rows), "dump"))
    if any(row[1] == "complete" for row in rows):
        out.next(command_line(None, "dump tables", root))
    elif ids:
        out.next(command_line(None, "dump run", "--root", root, "--resume", max(ids.values())))


def tables(out: Output, root: RootArgument, *, at: AtOption = None) -> None:
    """
    List the tables of a dump.

    Example: attr2hbase dump tables /backups
    Example: attr2hbase dump tables /backups --at 2026-01-31T02:00:00Z --output json
    """
    reader = _reader(root, at)
    dump = reader.latest()
    found = [(table, reader.table_metadata(table)) for table in reader.tables()]
    shown = []
    for table, files in found:
        size = sum(file.size_bytes for file in files)
        rows = None if dump.manifest is None else sum(file.described.rows for file in files if file.described)
        out.plain({"dump": dump.name, "table": table, "rows": rows, "bytes": size, "files": len(files)})
        shown.append((table, "" if rows is None else f"{rows:,}", f"{size:,}", f"{len(files):,}"))
    empty = [] if dump.manifest is None else dump.manifest.empty_tables
    for table in empty:
        out.plain({"dump": dump.name, "table": table, "rows": 0, "bytes": 0, "files": 0})
        shown.append((table, "0", "0", "0"))
    if shown:
        out.table(("table", "#rows", "#bytes", "#files"), shown)
    out.done(f'{counted(len(shown), "table")} in the dump "{dump.name}"')
    if found:
        out.next(command_line(None, "dump cat", root, found[0][0], "--limit", "10"))


def files(out: Output, root: RootArgument, table: TableOfDumpArgument, *, at: AtOption = None) -> None:
    """
    List the files of a table in a dump, each with a token for "cat --token".

    A token names its dump, so it reads the same file when there is a newer dump.

    Example: attr2hbase dump files /backups users
    """
    from ingest.api.notation import to_notation
    from ingest.reference.readable import readable

    reader = _reader(root, at)
    described = reader.table_metadata(table)
    shown = []
    for ref, file in zip(reader.files(table), described, strict=True):
        about = file.described
        rows = {} if about is None else {"rows": about.rows, "first_row": to_notation(about.first_row)}
        out.plain({"dump": ref.dump, "file": ref.path, "bytes": ref.size_bytes, **rows, "token": ref.token})
        counts = ("", "") if about is None else (f"{about.rows:,}", readable(about.first_row))
        shown.append((ref.path.rpartition("/")[2], *counts, f"{ref.size_bytes:,}", ref.token))
    out.table(("file", "#rows", "first row", "#bytes", "token"), shown)
    out.done(f'{counted(len(shown), "file")} in the dump "{reader.latest().name}"')


def cat(  # noqa: PLR0913 - the options of the command
    out: Output,
    root: RootArgument,
    table: Annotated[str | None, typer.Argument(metavar="[TABLE]", help="Name of the table; not with --token.")] = None,
    *,
    at: AtOption = None,
    token: Annotated[
        str | None, typer.Option("--token", metavar="TOKEN", help='Only one file, by its token of "files".')
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Maximum number of rows.")] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Skip damaged lines, and report their number at the end.")
    ] = False,
    raw: Annotated[
        bool, typer.Option("--raw", help="The lines as they are in the files, without the types of columns.")
    ] = False,
) -> None:
    """
    Print the rows of a table in a dump, one JSON object a line, whatever the format of its files.

    Values have the types that the pipeline file declared for their columns when the dump was made.

    The dump does not expire meanwhile: the command writes a pin, if it may write below the root.

    Example: attr2hbase dump cat /backups users --limit 10
    Example: attr2hbase dump cat /backups users --at 2026-01-31T02:00:00Z | jq .
    """
    from itertools import islice

    from ingest.api import ConfigError
    from ingest.formats.column_types import AS_BYTES
    from sinks.dumps.file_ref import FileRef
    from sinks.dumps.rows import with_types

    if (table is None) == (token is None):
        raise ConfigError("name either a table or a token", hint="'attr2hbase dump cat ROOT TABLE', or --token TOKEN")
    if token is not None and at is not None:
        raise ConfigError("--token TOKEN names a dump already", hint="leave --at out")
    named = None if token is None else FileRef.of_token(token)
    count = 0
    with _pinned(out, root, at if named is None else named.dump) as reader:
        chosen = reader.files(table or "") if named is None else [named]
        types = AS_BYTES if raw else reader.column_types(chosen[0].table, chosen[0].dump)
        with reader.documents(*chosen, skip_bad=skip_bad) as documents:
            for document in islice(documents, limit):
                out.json(with_types(document, types))
                count += 1
            if documents.skipped:
                out.note(f"{counted(documents.skipped, 'damaged line')} skipped", "yellow")
    out.done(counted(count, "row"))


def verify(
    out: Output,
    root: RootArgument,
    *,
    at: AtOption = None,
    all_: Annotated[bool, typer.Option("--all", help="All dumps, also incomplete ones.")] = False,
) -> None:
    """
    Read the files of a dump, and compare size, checksum, rows and row keys with its manifest.

    Exit code 5 if a file is damaged, 3 if a dump is incomplete.

    Example: attr2hbase dump verify /backups
    Example: attr2hbase dump verify /backups --all --output json
    """
    from contextlib import ExitStack, suppress

    from ingest.durable import file_errors
    from sinks.dumps.errors import DumpCorruptError, DumpNotAvailableError
    from sinks.dumps.listing import dump_names, newest_dump
    from sinks.dumps.reader import name_of
    from sinks.dumps.verifying import verify_dump
    from sinks.files.opening import existing_root

    opened = existing_root(root)
    with file_errors(opened):
        names = dump_names(opened) if all_ else [name_of(at) if at is not None else newest_dump(opened).name]
    found: list[Verification] = []
    for name in names:
        with ExitStack() as reading, out.progress(f"files of {name}") as advance:
            with suppress(DumpNotAvailableError, DumpCorruptError):  # it can be verified, and not be pinned
                reading.enter_context(_pinned(out, root, name))
            found.append(verify_dump(opened, name, advance))
        _show_verification(out, found[-1])
    damages = [damage for each in found for damage in each.damages]
    if damages:
        for damage in damages[1:]:
            out.note(f"damaged: {damage.message}", "red")
        raise damages[0]
    incomplete = [each for each in found if each.missing]
    if incomplete:
        raise DumpNotAvailableError(
            f'the dump "{incomplete[0].dump}" is incomplete: {incomplete[0].missing}',
            hint="'attr2hbase admin dump expire' removes it after a day",
        )


def diff(
    out: Output,
    root: RootArgument,
    before: Annotated[str, typer.Argument(metavar="BEFORE", help="Name or start of a dump.")],
    after: Annotated[str, typer.Argument(metavar="AFTER", help="Name or start of another one.")],
    table: TableOfDumpArgument,
    *,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Maximum number of rows shown.")] = None,
) -> None:
    """
    Show which rows of a table differ between two dumps: added (+), removed (-) or changed (~).

    A row is changed if a value or the time of a cell differs.

    Example: attr2hbase dump diff /backups 2026-01-30T02:00:00Z 2026-01-31T02:00:00Z users
    """
    from contextlib import ExitStack, closing

    from ingest.api.notation import to_notation
    from ingest.reference.readable import readable
    from sinks.dumps.diff import diff_table

    counts: Counter[str] = Counter()
    with ExitStack() as reading:
        old, new = (reading.enter_context(_pinned(out, root, name)).latest() for name in (before, after))
        differences = reading.enter_context(closing(diff_table(old, new, table)))
        for row in differences:
            counts[row.kind] += 1
            if limit is not None and counts.total() > limit:
                continue
            versions = {
                name: None if each is None else each.version
                for name, each in (("before", row.before), ("after", row.after))
            }
            out.plain({"change": row.kind.value, "row": to_notation(row.key), **versions})
            sign, color = SIGNS[row.kind]
            out.parts((f"{sign} ", color), (readable(row.key), ""))
    out.done(", ".join(f"{counts[kind]:,} {kind}" for kind in SIGNS))


def note_unpinned(out: Output) -> Callable[[str], None]:
    """What is called with the reason why a dump that the command reads could not be pinned."""
    return lambda reason: out.note(f"the dump may expire while it is read: {reason}", "yellow")


def _reader(root: str, at: str | None) -> "DumpReader":
    from sinks.dumps.reader import DumpReader

    reader = DumpReader(root)
    if at is not None:
        reader.lock(at, pin=False)
    return reader


def _pinned(out: Output, root: str, at: str | None) -> "DumpReader":
    """A reader with a pin, so that the dump does not expire meanwhile; a context manager."""
    from sinks.dumps.reader import DumpReader

    return DumpReader(root).locked_view(at, on_unpinned=note_unpinned(out))


def _about(dump: "Dump | None", run_id: str | None) -> dict[str, object]:
    if dump is None:
        return {"id": run_id, "end": None, "tables": None, "rows": None, "bytes": None}
    from ingest.formats.times import moment

    manifest = dump.manifest
    about: dict[str, object] = {"id": dump.success.id, "end": moment(dump.success.end_ms), "tables": len(dump.tables())}
    if manifest is None:
        return about | {"rows": None, "bytes": None}
    tables = manifest.tables.values()
    return about | {"rows": sum(each.rows for each in tables), "bytes": sum(each.size_bytes for each in tables)}


def _show_verification(out: Output, found: "Verification") -> None:
    out.plain(
        {
            "dump": found.dump,
            "status": found.status,
            "missing": found.missing or None,
            "files": found.files,
            "rows": found.rows,
            "bytes": found.size_bytes,
            "damaged": [{"file": each.file, "reason": each.message} for each in found.damages],
        }
    )
    color = "green" if found.status == "complete" else "red"
    amounts = f"{counted(found.files, 'file')}, {counted(found.rows, 'row')}, {counted(found.size_bytes, 'byte')}"
    out.parts((f"{found.dump}  ", "bold"), (found.status, color), (f"  {amounts}", ""))
