"""`attr2hbase run`: the pipelines of a file, as a service or once."""

from typing import TYPE_CHECKING, Annotated

import typer

from ingest.cli.command import FileArgument
from ingest.cli.output import Output
from ingest.cli.pipeline_file import command_line
from ingest.observe.log_level import LogLevel

if TYPE_CHECKING:
    from ingest.config.model import Configuration
    from ingest.service.run import Outcome

OnceOption = Annotated[
    bool,
    typer.Option(
        "--once",
        help="Read the records that exist now, then exit. A blocked micro-batch is retried; a source or store that is "
        "unavailable, or a table that is missing, at the start is an error. Thrift servers are first contacted by a "
        "micro-batch.",
    ),
]
StartOption = Annotated[
    str | None,
    typer.Option(
        metavar="POSITION",
        help="Where to start without a checkpoint: group, group:NAME for the committed offsets of another consumer "
        "group, earliest, latest, or a time as in 2026-01-31T12:00:00Z. A pipeline that has a checkpoint resumes "
        "there, so the option may stay in a unit or a script.",
    ),
]

TakeOverOption = Annotated[
    bool,
    typer.Option("--take-over", help="Take tables with deferred updates that another pipeline owns, which has ended."),
]
LogLevelOption = Annotated[
    LogLevel | None,
    typer.Option(
        help="Lowest level of the log, in place of `service: {log: {level}}`; until a reload, as `attr2hbase "
        "admin log-level`.",
        show_default=False,
    ),
]
RecountOption = Annotated[
    bool,
    typer.Option(
        "--recount",
        help="Start at the checkpoint, or where --start-from says, although deferred updates or an archive are "
        "complete beyond it: the events in between are counted, or archived, again.",
    ),
]


def run(
    out: Output,
    file: FileArgument,
    *,
    once: OnceOption = False,
    start_from: StartOption = None,
    take_over: TakeOverOption = False,
    recount: RecountOption = False,
    log_level: LogLevelOption = None,
) -> None:
    """
    Run the pipelines of a file until SIGTERM or Ctrl-C.

    Exit code 1 with --once if events of a pipeline became dead letters, and no sink stored any.

    Example: attr2hbase run --once
    """
    from ingest.cli.loading import loaded, set_up_logs

    configuration, catalog = loaded(out, file)
    is_watched = once and out.is_live
    dropped_lines = out.write_without_blocking(_log_dropped, with_data=not once)  # before the first line
    out.problems(configuration.report)
    set_up_logs(configuration, is_watched=is_watched, level=log_level)
    _announce(out)  # before the imports, which take longer than all above
    from ingest.cli.progress import RunProgress, show_totals
    from ingest.durable import private_files
    from ingest.service.lifecycle import Stop
    from ingest.service.run import RunOptions
    from ingest.service.run import run as run_service
    from ingest.service.tables import OwnerOptions

    stop = Stop()
    with (
        private_files(),
        stop.on_signals(),
        RunProgress(out, list(configuration.pipelines), is_shown=once) as progress,
    ):
        options = RunOptions(once, start_from, progress, dropped_lines, OwnerOptions(take_over, recount))
        outcome = run_service(configuration, catalog, options, stop)
    for error in outcome.errors:
        _print_error(out, error)
    if out.is_json or not outcome.errors or any(totals.batches for totals in outcome.totals.values()):
        show_totals(out, outcome.totals)
    if once:
        for name in outcome.paused:
            out.note(f'pipeline "{name}" is paused and reads nothing', "yellow")
    failed = _all_failed(outcome) if once else []
    for name in failed:
        out.note(f'pipeline "{name}" has stored nothing: its events became dead letters', "red")
    _suggest(out, file, configuration, outcome)
    raise typer.Exit(outcome.exit_code or (1 if failed else 0))


def _all_failed(outcome: "Outcome") -> list[str]:
    """The pipelines of which events became dead letters, and no sink stored any."""
    counts = {name: totals.counts for name, totals in outcome.totals.items()}
    return [name for name, each in counts.items() if each.dead_lettered.total() and not each.has_stored]


def _announce(out: Output) -> None:
    """Say what takes the time until the first event: in the log, and on the terminal."""
    from ingest.observe.logs import logger

    logger(__name__).info("Spark is starting")
    out.to_terminal("Spark is starting, which takes some seconds")


def _log_dropped(lines: int) -> None:
    from ingest.observe.logs import logger

    logger(__name__).warning("log lines were dropped because stderr was not read", lines=lines)


def _print_error(out: Output, error: BaseException) -> None:
    from ingest.api import IngestError

    if isinstance(error, IngestError):
        out.error(error)
    elif isinstance(error, Exception):
        out.bug(error, with_traceback=True)


def _suggest(out: Output, file: str, configuration: "Configuration", outcome: "Outcome") -> None:
    from ingest.cli.loading import with_pipeline

    counts = {name: totals.counts for name, totals in outcome.totals.items()}
    commands = []
    if configuration.stores and any(count.has_stored for count in counts.values()):
        commands.append(command_line(file, "scan", _table(configuration)))
    commands += [
        command_line(file, "dead-letters list", *with_pipeline(configuration, name))
        for name, count in counts.items()
        if count.dead_lettered
    ]
    commands += [command_line(file, "resume", name) for name in outcome.paused]
    out.next(*commands)


def _table(configuration: "Configuration") -> str:
    """A table of the file to name in the suggestion."""
    for pipeline in configuration.pipelines.values():
        for sink in pipeline.sinks:
            if sink.settings.fixed_table is not None:
                return sink.settings.fixed_table
    return next(iter(configuration.tables), "TABLE")
