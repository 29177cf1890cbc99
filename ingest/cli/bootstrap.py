"""`ingest dump bootstrap`: load a table from a dump into any store, and the changes since from its feed."""

from typing import TYPE_CHECKING, Annotated

import typer

from ingest.amounts import counted
from ingest.cli.command import FileArgument
from ingest.cli.dump import note_unpinned
from ingest.cli.output import Output

if TYPE_CHECKING:
    from ingest.service.dumps.bootstrap import OpenedBootstrap, SourceTable
    from sinks.bootstrap.run import Verified

_SHOWN = 5  # keys of rows that differ


def bootstrap(  # noqa: PLR0913 - the options of the command
    out: Output,
    file: FileArgument,
    *,
    dump: Annotated[str, typer.Option("--dump", metavar="ROOT", help="Root of the dumps: a folder or a URL.")],
    to: Annotated[
        str, typer.Option("--to", metavar="STORE:TABLE", help="Store of FILE, and the table that is written there.")
    ],
    at: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="The dump, by its name or start; without it the newest complete one."),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Table in the dump; without it the table of --feed, else of --to."),
    ] = None,
    feed: Annotated[
        str | None,
        typer.Option(
            "--feed",
            metavar="FILE2:TABLE",
            help="Then apply the changes since the dump: the pipeline file that declares the dumped table, and its "
            "name there.",
        ),
    ] = None,
    concurrent: Annotated[
        bool,
        typer.Option(
            "--concurrent",
            help="Apply the feed while the rows are loaded, if loading takes longer than the feed keeps its changes.",
        ),
    ] = False,
    no_verify: Annotated[bool, typer.Option("--no-verify", help="Do not compare the rows at the end.")] = False,
) -> None:
    """
    Load a table from a dump into a table of any store, with the times of all cells, and then the changes since.

    FILE declares the store that is written; the table must have no rows. With --feed, the changes are read from the
    positions that the dump has recorded, up to the newest complete micro-batch. At the end every row is compared with
    the source, times included; without --feed, with the dump.

    It can be interrupted: the same command resumes. When it has ended, the same command applies the changes since. Exit
    code 5 if rows differ. A RocksDB store that is written is locked, so stop the service that uses it.

    Example: ingest dump bootstrap laptop.yaml --dump /backups --to local:orders
    Example: ingest dump bootstrap new.yaml --dump /backups --feed old.yaml:orders --to hbase:orders
    """
    from ingest.api import ConfigError, IntegrityError
    from ingest.cli.loading import loaded
    from ingest.service.dumps.bootstrap import BootstrapRequest, TableOfStore, opened_bootstrap

    if concurrent and feed is None:
        raise ConfigError("--concurrent applies a feed, and none is named", hint="add --feed FILE2:TABLE")
    configuration, catalog = loaded(out, file)
    target = TableOfStore.of(to, configuration)
    source = None if feed is None else _source(out, feed)
    dumped = table or (target.table if source is None else source.table)
    request = BootstrapRequest(dump, at, dumped, target, is_concurrent=concurrent)

    with opened_bootstrap(configuration, catalog, request, source, on_unpinned=note_unpinned(out)) as opened:
        _run(out, opened)
        verified = None if no_verify else _verified(out, opened)
        _show(out, to, opened, verified)
    if verified is not None and not verified.is_equal:
        raise typer.Exit(IntegrityError.exit_code)


def _source(out: Output, feed: str) -> "SourceTable":
    from ingest.api import ConfigError
    from ingest.cli.loading import loaded
    from ingest.service.dumps.bootstrap import SourceTable

    file, _, table = feed.partition(":")
    if not file or not table:
        raise ConfigError(f'"{feed}" names no table of a file', hint="write FILE2:TABLE")
    configuration, catalog = loaded(out, file)
    return SourceTable(configuration, catalog, table)


def _run(out: Output, opened: "OpenedBootstrap") -> None:
    run = opened.run
    with out.progress("rows", total=opened.rows) as advance:
        run.on_progress = lambda progress: advance(progress.checksum.rows)
        run.load()
    with out.progress("changes") as advance:
        run.on_progress = lambda progress: advance(progress.changes)
        run.follow()


def _verified(out: Output, opened: "OpenedBootstrap") -> "Verified | None":
    with out.progress("rows compared", total=opened.rows) as advance:
        return opened.run.verify(advance)


def _show(out: Output, to: str, opened: "OpenedBootstrap", verified: "Verified | None") -> None:
    from ingest.api.notation import to_notation

    progress = opened.run.progress
    if out.is_json:
        found: dict[str, object] = {
            "dump": opened.dump,
            "table": progress.source,
            "to": to,
            "rows": progress.checksum.rows,
            "cells": progress.checksum.cells,
            "changes": progress.changes,
        }
        if verified is not None:
            found["verified"] = {
                "equal": verified.is_equal,
                "source": verified.source.to_json(),
                "target": verified.target.to_json(),
                "compared_again": verified.recompared,
                "differing": [to_notation(key) for key in verified.differing],
            }
        out.json(found)
        return
    loaded = counted(progress.checksum.rows, "row")
    applied = f", {counted(progress.changes, 'change')} applied" if progress.stream else ""
    out.done(f'{loaded} of table "{progress.source}" in dump {opened.dump} loaded into {to}{applied}')
    if verified is None:
        out.note("the rows were not compared", "yellow")
    elif verified.is_equal:
        again = f"; {counted(verified.recompared, 'row')} compared again" if verified.recompared else ""
        out.done(f"{counted(verified.target.rows, 'row')} equal, times included: {verified.target.digest:032x}{again}")
    else:
        _show_differing(out, verified)


def _show_differing(out: Output, verified: "Verified") -> None:
    from ingest.reference.readable import readable

    one, other = verified.source, verified.target
    out.note(
        f"the tables differ: {counted(one.rows, 'row')} in the source, {counted(other.rows, 'row')} in the target",
        "red",
    )
    for key in verified.differing[:_SHOWN]:
        out.note(f"  row {readable(key)}", "red")
    if len(verified.differing) > _SHOWN:
        out.note(f"  and {len(verified.differing) - _SHOWN:,} more", "red")
