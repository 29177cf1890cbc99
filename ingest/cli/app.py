"""All commands in one application, in the groups the help page shows them in."""

from typing import Annotated

import typer

from ingest import __version__
from ingest.cli import (
    archive,
    archive_cleanup,
    archive_rerun,
    body,
    bootstrap,
    compact,
    config,
    control,
    dead_letter_purge,
    dead_letters,
    describe,
    doctor,
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
    replay,
    rollback,
    run,
    scan,
    stash,
    stash_retention,
    stash_run,
    submit,
    table,
    test,
    validate,
)
from ingest.cli.command import FormatOption, PlainOption, register
from ingest.cli.output import Output

_HELP = {"help_option_names": ["-h", "--help"]}


def application() -> typer.Typer:
    """The command line as a typer application; its contexts carry the Output."""
    commands = typer.Typer(
        name="ingest",
        help="Kafka events through YAML decorator chains into HBase: columns and families created by the data.",
        context_settings=_HELP,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    commands.callback()(_common)
    register(commands, init.init, "init", "Write")
    register(commands, validate.validate, "validate", "Write")
    register(commands, test.test, "test", "Write")
    register(commands, explain.explain, "explain", "Write")
    register(commands, graph.graph, "graph", "Write")
    group = _group(commands, "config", "Show a pipeline file after expansion, and the schema for editors.", "Write")
    register(group, config.show, "show")
    register(group, config.schema, "schema")
    register(commands, doctor.doctor, "doctor", "Write")
    register(commands, run.run, "run", "Run")
    register(commands, submit.submit, "submit", "Run")
    register(commands, produce.produce, "produce", "Run")
    register(commands, control.status, "status", "Operate")
    register(commands, control.pause, "pause", "Operate")
    register(commands, control.resume, "resume", "Operate")
    register(commands, control.flush, "flush", "Operate")
    register(commands, control.reload, "reload", "Operate")
    register(commands, control.log_level, "log-level", "Operate")
    group = _group(commands, "dead-letters", "List, replay and delete events that failed.", "Operate")
    register(group, dead_letters.list_, "list")
    register(group, dead_letters.show, "show")
    register(group, dead_letters.replay, "replay")
    register(group, dead_letter_purge.purge, "purge")
    register(commands, replay.replay, "replay", "Operate")
    group = _group(commands, "offsets", "Show the offsets of a pipeline, and reset them.", "Operate")
    register(group, offsets.show, "show")
    register(group, offsets.reset, "reset")
    register(commands, scan.scan, "scan", "Store")
    register(commands, get.get, "get", "Store")
    register(commands, history.history, "history", "Store")
    group = _group(commands, "table", "Compare the tables a file declares with its stores, and create them.", "Store")
    register(group, table.plan, "plan")
    register(group, table.apply, "apply")
    register(commands, compact.compact, "compact", "Store")
    register(commands, rollback.rollback, "rollback", "Store")
    group = _group(
        commands, "body", "Store and read large bodies of a table; delete those that nothing refers to.", "Store"
    )
    for verb in (body.put, body.get, body.stat, body.mark, body.unmark, body.sweep, body.fsck):
        register(group, verb, verb.__name__)
    group = _group(commands, "stash", "Dump tables into files, read dumps, and load them.", "Store")
    _register_stash(group)
    _register_archive(_group(commands, "archive", "Write partitions of archives again, and select batches.", "Store"))
    _add_feed(commands)
    group = _group(commands, "keys", "Analyse how row keys spread writes over regions.", "Store")
    register(group, keys.analyse, "analyse")
    register(commands, describe.describe, "describe", "Learn")
    register(commands, import_flume.import_flume, "import-flume", "Migrate")
    group = _group(commands, "jars", "The connector jars that Spark needs for Kafka.", "Set up")
    register(group, jars.fetch, "fetch")
    return commands


def _add_feed(commands: typer.Typer) -> None:
    group = _group(commands, "feed", "Read the changes of tables with a feed, and change its shards.", "Store")
    register(group, feed.list_, "list")
    register(group, feed.describe, "describe")
    register(group, feed.iterator, "iterator")
    register(group, feed.records, "records")
    register(group, feed_consume.consume, "consume")
    register(group, feed.groups, "groups")
    register(group, feed.split, "split")
    register(group, feed.merge, "merge")


def _register_archive(group: typer.Typer) -> None:
    register(group, archive_rerun.rerun, "rerun")
    register(group, archive_rerun.join, "join")
    register(group, archive.history, "history")
    register(group, archive.point, "point")
    register(group, archive.keep, "keep")
    register(group, archive.unkeep, "unkeep")
    register(group, archive_cleanup.cleanup, "cleanup")
    register(group, archive.register, "register")


def _register_stash(group: typer.Typer) -> None:
    register(group, stash_run.run, "run")
    register(group, bootstrap.bootstrap, "bootstrap")
    register(group, stash.ls, "ls")
    register(group, stash.tables, "tables")
    register(group, stash.splits, "splits")
    register(group, stash.cat, "cat")
    register(group, stash.verify, "verify")
    register(group, stash.diff, "diff")
    register(group, stash_retention.expire, "expire")
    register(group, stash_retention.pin, "pin")
    register(group, stash_retention.unpin, "unpin")


def _group(commands: typer.Typer, name: str, summary: str, panel: str) -> typer.Typer:
    group = typer.Typer(name=name, help=summary, no_args_is_help=True, context_settings=_HELP)
    commands.add_typer(group, rich_help_panel=panel)
    return group


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
