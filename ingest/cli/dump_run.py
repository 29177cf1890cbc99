"""`ingest dump run`: dump tables into files."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ingest.amounts import counted
from ingest.cli.by_service import OwnProcessOption, requested
from ingest.cli.command import FileArgument
from ingest.cli.output import Output

if TYPE_CHECKING:
    from ingest.catalog import Catalog
    from ingest.config.model import Configuration
    from ingest.service.dumps.request import DumpRequest
    from ingest.service.dumps.result import DumpResult
    from ingest.service.jobs.client import FollowedJob


def run(  # noqa: PLR0913 - the options of the command
    out: Output,
    file: FileArgument,
    *,
    root: Annotated[
        str | None,
        typer.Option(
            metavar="ROOT",
            help="Folder of the dumps: a path, or a URL such as webhdfs://HOST:PORT/FOLDER or s3://BUCKET/FOLDER; by "
            "default that of `dump` in the file.",
        ),
    ] = None,
    tables: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TABLE",
            help="Only these tables; repeat it, or separate them with commas. By default those of `dump`, or else all "
            "that the file declares.",
        ),
    ] = None,
    id_: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="Id of the dump, unique in its root; by default a new one.")
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Resume the interrupted dump of this id: its complete files are kept."),
    ] = None,
    format_: Annotated[
        Literal["gzip", "zstd", "parquet"] | None,
        typer.Option("--format", help="Lines of JSON with gzip or Zstandard, or Parquet; by default that of `dump`."),
    ] = None,
    bodies: Annotated[
        bool,
        typer.Option(
            "--bodies", help="Dump large values instead of the pointers to their bodies; name the tables with --tables."
        ),
    ] = False,
    min_ranges: Annotated[
        int | None, typer.Option(min=1, max=10_000, metavar="N", help="Divide each table into at least N ranges.")
    ] = None,
    max_rate: Annotated[
        int | None, typer.Option(min=1, metavar="ROWS", help="Read at most so many rows per second.")
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="Then remove complete dumps older than this, except the newest one and those that are pinned; by "
            "default that of `dump`.",
        ),
    ] = None,
    ignore_space: Annotated[
        bool, typer.Option("--ignore-space", help="Start although the root may have too little free space.")
    ] = False,
    own_process: OwnProcessOption = False,
) -> None:
    """
    Dump tables into files, as lines of JSON or Parquet.

    A dump has every change before its start. From RocksDB it is the state of one moment; from HBase each row is as it
    was at some moment of the dump. Of a table with deferred updates it has the merged rows up to the table's mark.

    If the service runs, it makes the dump beside its pipelines; interrupting the command (Ctrl-C) cancels it. Readers
    see a dump when it is complete. One process at a time makes a dump in a root; another one is refused with exit
    code 4, and a second request to the service waits.

    Example: ingest dump run pipeline.yaml --root ./dumps --tables logs,users
    Example: ingest dump run pipeline.yaml --resume 2026-01-31-02-00-00-5f0c1a
    """
    from ingest.cli.loading import loaded, set_up_logs
    from ingest.durable import private_files
    from ingest.service.dumps.request import DumpRequest
    from ingest.service.dumps.result import DumpResult

    configuration, catalog = loaded(out, file)
    set_up_logs(configuration, is_watched=True)
    names = tuple(name for each in tables or () for name in each.split(",") if name)
    request = DumpRequest.of_command(
        configuration.dump,
        root=root,
        tables=names,
        id_=id_,
        resume=resume,
        format=format_,
        bodies=bodies or None,
        min_ranges=min_ranges,
        max_rate=max_rate,
        keep=keep,
        ignore_space=ignore_space,
    )
    request = request.model_copy(update={"root": _absolute(request.root)})
    with private_files(), out.progress("rows", total=None) as advance:
        note = _IdNote(out, file, root)
        by_service = None if own_process else _by_service(out, configuration, request)
        if by_service is None:

            def on_progress(result: DumpResult, _done: int, _total: int) -> None:
                note(result.id)
                advance(result.rows)

            result = _alone(out, configuration, catalog, request, on_progress)
        else:

            def on_result(content: dict[str, Any], _done: int, _total: int) -> None:
                note(content["id"])
                advance(content["rows"])

            found = by_service.follow(
                on_result,
                out.state,
            )
            result = DumpResult.from_json(found)
    _show(out, result)


class _IdNote:
    """Shows the id of the dump once, with which it can be resumed."""

    def __init__(self, out: Output, file: str, root: str | None) -> None:
        self._out = out
        self._where = file if root is None else shlex.join([file, "--root", root])
        self._is_shown = False

    def __call__(self, run_id: str) -> None:
        if not self._is_shown:
            self._is_shown = True
            self._out.note(f"if it is interrupted, resume it: ingest dump run {self._where} --resume {run_id}", "dim")


def _absolute(root: str) -> str:
    """A path of this machine from the current folder of this command, not of the service."""
    return root if "://" in root else str(Path(root).absolute())


def _alone(
    out: Output,
    configuration: "Configuration",
    catalog: "Catalog",
    request: "DumpRequest",
    on_progress: "Callable[[DumpResult, int, int], None]",
) -> "DumpResult":
    from contextlib import ExitStack

    from ingest.service.dumps.host import SparkWhenNeeded, dump_alone

    with ExitStack() as opened:
        return dump_alone(
            configuration,
            catalog,
            request,
            SparkWhenNeeded(configuration, opened),
            on_progress=on_progress,
            on_blocked=out.blocked,
        )


def _by_service(out: Output, configuration: "Configuration", request: "DumpRequest") -> "FollowedJob | None":
    """The dump by the running service; None, with a note, if no service runs."""
    from ingest.service.dumps.plan import tables_of

    tables_of(configuration, request.tables)
    return requested(
        out,
        configuration,
        lambda client: client.dump(request.model_dump(mode="json")),
        does="makes the dump",
        resumes="with --resume, as above, the files that are complete are kept",
    )


def _show(out: Output, result: "DumpResult") -> None:
    if out.is_json:
        out.json(result.to_json())
        return
    out.table(
        ("table", "#files", "#rows", "#bytes"),
        [
            (name, f"{each.files:,}", f"{each.rows:,}", f"{each.size_bytes:,}")
            for name, each in sorted(result.tables.items())
        ],
    )
    for name in result.expired:
        out.line(f'dump "{name}" is removed')
    consistency = "rows of one moment" if result.is_exact else "rows of several moments"
    out.done(f'{counted(result.rows, "row")} in dump "{result.dump}", {consistency}')
    out.next(f"ingest dump tables {result.root}")
