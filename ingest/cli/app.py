"""All commands in one application, in the groups the help page shows them in."""

from collections.abc import Callable, Mapping
from typing import Annotated, NamedTuple

import typer

from ingest import __version__
from ingest.api.errors import ConfigError
from ingest.cli import (
    archive,
    blob,
    config,
    control,
    dead_letter_keep,
    dead_letter_purge,
    dead_letter_topic,
    dead_letters,
    describe,
    doctor,
    dump,
    dump_retention,
    explain,
    feed,
    feed_consume,
    get,
    graph,
    history,
    import_flume,
    init,
    jars,
    keys,
    offsets,
    produce,
    reload,
    run,
    scan,
    submit,
    table,
    test,
    validate,
)
from ingest.cli.command import FormatOption, PlainOption, register
from ingest.cli.job import command_of
from ingest.cli.output import Output

_HELP = {"help_option_names": ["-h", "--help"]}


class _Job(NamedTuple):
    """
    A command of a job.

    Attributes:
        module: of its class, which is imported when the options of the command are needed.
        name: of its class.
        summary: the first paragraph of its help.
    """

    module: str
    name: str
    summary: str


_Functions = Mapping[str, Callable[..., None] | _Job]

_COMMANDS: Mapping[str, _Functions] = {
    "Write": {
        "init": init.init,
        "validate": validate.validate,
        "test": test.test,
        "explain": explain.explain,
        "graph": graph.graph,
        "doctor": doctor.doctor,
    },
    "Run": {"run": run.run, "submit": submit.submit, "produce": produce.produce},
    "Operate": {
        "status": control.status,
        "pause": control.pause,
        "resume": control.resume,
        "flush": control.flush,
        "reload": reload.reload,
        "log-level": control.log_level,
        "replay": _Job(
            "ingest.service.replay.job",
            "Replay",
            "Run the records of a time range through the pipeline again, in the micro-batches in which they were "
            "written.",
        ),
    },
    "Store": {
        "scan": scan.scan,
        "get": get.get,
        "history": history.history,
        "compact": _Job(
            "ingest.service.rewriting.compaction",
            "Compaction",
            "Merge the updates of each row of a table into one row for each window, and delete those that it covers.",
        ),
        "rollback": _Job(
            "ingest.service.rewriting.rollback",
            "Rollback",
            "Take the updates of an interval back, for example those that a wrong pipeline has written.",
        ),
    },
    "Learn": {"describe": describe.describe},
    "Migrate": {"import-flume": import_flume.import_flume},
}
"""Panel of the help page -> its commands."""


class _Group(NamedTuple):
    panel: str
    summary: str
    commands: _Functions


_GROUPS: Mapping[str, _Group] = {
    "config": _Group(
        "Write",
        "Show a pipeline file after expansion, and the schema for editors.",
        {"show": config.show, "schema": config.schema},
    ),
    "dead-letters": _Group(
        "Operate",
        "List, replay and delete events that failed.",
        {
            "list": dead_letters.list_,
            "show": dead_letters.show,
            "replay": _Job(
                "ingest.service.replay.dead_letters_job",
                "DeadLettersReplay",
                "Run dead letters again, through the pipeline as it is configured now.",
            ),
            "keep": dead_letter_keep.keep,
            "purge": dead_letter_purge.purge,
            "create-topic": dead_letter_topic.create_topic,
        },
    ),
    "offsets": _Group(
        "Operate",
        "Show the offsets of a pipeline, and reset them.",
        {
            "show": offsets.show,
            "reset": _Job(
                "ingest.service.offsets_reset_job",
                "OffsetsReset",
                "Let a pipeline start at other offsets; the old checkpoint is kept.",
            ),
        },
    ),
    "table": _Group(
        "Store",
        "Compare the tables a file declares with its stores, and create them.",
        {"plan": table.plan, "apply": table.apply},
    ),
    "blob": _Group(
        "Store",
        "Store and read blobs, large values of a table; delete those that nothing refers to.",
        {
            "put": _Job(
                "ingest.service.rewriting.blob_put",
                "BlobPut",
                "Store a blob, and print its id; bytes that are stored already are not stored again.",
            ),
            "get": blob.get,
            "stat": blob.stat,
            "pin": _Job(
                "ingest.service.rewriting.blob_put",
                "BlobPin",
                "Add a reference to a blob, so that no sweep deletes it; exit code 3 if the blob does not exist.",
            ),
            "unpin": _Job(
                "ingest.service.rewriting.blob_put",
                "BlobUnpin",
                "Remove a reference from a blob; after the last one a sweep deletes the blob once `sweep_after` has "
                "passed.",
            ),
            "sweep": _Job(
                "ingest.service.rewriting.blob_sweep",
                "BlobSweep",
                "Delete the blobs that nothing has referred to for `sweep_after`, and print their ids.",
            ),
            "fsck": _Job(
                "ingest.service.rewriting.blob_check",
                "BlobCheck",
                "Read all blobs and compare them with their ids; list damaged and orphaned blocks, and references to "
                "remove.",
            ),
        },
    ),
    "dump": _Group(
        "Store",
        "Dump tables into files, read dumps, and load them.",
        {
            "run": _Job("ingest.service.dumps.dump", "Dump", "Dump tables into files, as lines of JSON or Parquet."),
            "bootstrap": _Job(
                "ingest.service.dumps.bootstrap_job",
                "BootstrapJob",
                "Load a table from a dump into a table of any store, with the times of all cells, and then the changes "
                "since.",
            ),
            "ls": dump.ls,
            "tables": dump.tables,
            "splits": dump.splits,
            "cat": dump.cat,
            "verify": dump.verify,
            "diff": dump.diff,
            "expire": dump_retention.expire,
            "pin": dump_retention.pin,
            "unpin": dump_retention.unpin,
        },
    ),
    "archive": _Group(
        "Store",
        "Write partitions of archives again, and select batches.",
        {
            "rerun": _Job(
                "ingest.service.archive.rerun",
                "ArchiveRerun",
                "Write a partition again: read the topics, run the pipeline as it is now, and make the new batch "
                "current.",
            ),
            "join": _Job(
                "ingest.service.archive.join",
                "ArchiveJoin",
                "Write the rows of a partition into few large files, and make this batch current.",
            ),
            "history": archive.history,
            "point": archive.point,
            "keep": archive.keep,
            "unkeep": archive.unkeep,
            "cleanup": _Job(
                "ingest.service.archive.cleanup",
                "ArchiveCleanup",
                "Remove complete batches that stopped being current long ago.",
            ),
            "register": archive.register,
        },
    ),
    "feed": _Group(
        "Store",
        "Read the changes of tables with a feed, and change its shards.",
        {
            "list": feed.list_,
            "describe": feed.describe,
            "iterator": feed.iterator,
            "records": feed.records,
            "consume": feed_consume.consume,
            "groups": feed.groups,
            "split": feed.split,
            "merge": feed.merge,
        },
    ),
    "keys": _Group("Store", "Analyse how row keys spread writes over regions.", {"analyse": keys.analyse}),
    "jars": _Group("Set up", "The connector jars that Spark needs for Kafka.", {"fetch": jars.fetch}),
}


def application(word: str = "", verb: str | None = None, *, has_options: bool = True) -> typer.Typer:
    """
    The command line as a typer application; its contexts carry the Output.

    Args:
        word: the first one of the command line. If it is a command or a group, the application has no other: to build
            all takes a fifth of the time of a short command.
        verb: the second one, as `word` for the commands of a group; None for all with their options.
        has_options: whether the commands of jobs have their options, which takes as long as a start of a short command;
            a help page of several commands needs none.

    Raises:
        ConfigError: a pipeline file stands in place of the command of a group.
    """
    if word in _GROUPS and verb is not None and verb.endswith((".yaml", ".yml")):
        verbs = ", ".join(_GROUPS[word].commands)
        raise ConfigError(
            f'"{verb}" is no command of "{word}"',
            hint=f"the file follows the command: attr2hbase {word} COMMAND {verb}; the commands are {verbs}",
        )
    commands = typer.Typer(
        name="attr2hbase",
        help="Kafka events through YAML decorator chains into HBase: rows whose columns come from the data.",
        context_settings=_HELP,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    commands.callback()(_common)
    known = {name for functions in _COMMANDS.values() for name in functions} | set(_GROUPS)
    wanted = {word} if word in known else known
    verb = verb if word in known else None  # an option stands before the words
    for panel, functions in _COMMANDS.items():
        for name, function in functions.items():
            if name in wanted:
                _register(commands, function, name, name, panel, has_options=has_options)
    for name, group in _GROUPS.items():
        if name in wanted:
            commands.add_typer(_typer(name, group, verb, has_options=has_options), rich_help_panel=group.panel)
    return commands


def _typer(name: str, group: _Group, wanted: str | None, *, has_options: bool) -> typer.Typer:
    found = typer.Typer(name=name, help=group.summary, no_args_is_help=True, context_settings=_HELP)
    is_one = wanted in group.commands
    for verb, function in group.commands.items():
        if not is_one or verb == wanted:
            with_options = has_options and (is_one or wanted is None)
            _register(found, function, verb, f"{name} {verb}", has_options=with_options)
    return found


def _register(
    commands: typer.Typer,
    function: Callable[..., None] | _Job,
    name: str,
    words: str,
    panel: str = "",
    *,
    has_options: bool,
) -> None:
    if not isinstance(function, _Job):
        register(commands, function, name, panel)
    elif has_options:
        register(commands, command_of(words, function.module, function.name), name, panel)
    else:
        commands.command(name, help=function.summary, rich_help_panel=panel or None)(lambda: None)


def _version(context: typer.Context, wanted: bool) -> None:  # noqa: FBT001 - a callback of typer
    if wanted:
        _output(context).line(f"attr2hbase {__version__}")
        raise typer.Exit


def _output(context: typer.Context) -> Output:
    assert isinstance(context.obj, Output)  # noqa: S101 - for mypy: typer's contexts carry anything
    return context.obj


def _common(
    context: typer.Context,
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
    output: FormatOption = None,
    no_color: PlainOption = False,
) -> None:
    del version  # its callback has ended the command
    _output(context).choose(output, is_plain=no_color)
