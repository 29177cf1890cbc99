"""All words of the command line, with a line about each, under the headings of the help page."""

from collections.abc import Mapping
from typing import Annotated

import typer

from ingest import __version__
from ingest.cli.command import FILE, HELP, FormatOption, NamedFileOption, PlainOption
from ingest.cli.output import Output
from ingest.cli.word_group import Function, Group, Job, Word, WordGroup

_ADMIN: Mapping[str, Group] = {
    "archive": Group(
        "Archives.",
        {
            "register": Function("Create the table of an archive in the metastore.", "archive.register"),
            "cleanup": Job("Remove versions that are not current.", "archive.cleanup.ArchiveCleanup"),
            "keep": Function("Keep a version from being removed by a cleanup.", "archive.keep"),
            "unkeep": Function("Allow a cleanup to remove a version again.", "archive.unkeep"),
        },
    ),
    "blob": Group(
        "Blobs.",
        {
            "sweep": Job("Delete the blobs that nothing refers to.", "rewriting.blob_sweep.BlobSweep"),
            "check": Job("Compare all blobs with their ids.", "rewriting.blob_check.BlobCheck"),
        },
    ),
    "dead-letters": Group(
        "Dead letters.",
        {
            "create-topic": Function("Create the topic for dead letters.", "dead_letter_topic.create_topic"),
            "purge": Function("Permanently delete dead letters.", "dead_letter_purge.purge"),
        },
    ),
    "dump": Group(
        "Dumps.",
        {
            "expire": Function("Remove old dumps.", "dump_retention.expire"),
            "pin": Function("Keep a dump for a time.", "dump_retention.pin"),
            "unpin": Function("Remove a pin.", "dump_retention.unpin"),
        },
    ),
    "feed": Group(
        "Feeds.",
        {
            "groups": Function("List the consumer groups of a change feed, or remove one.", "feed.groups"),
            "split": Function("Divide a shard in two.", "feed.split"),
            "merge": Function("Replace two adjacent shards by one.", "feed.merge"),
        },
    ),
    "keys": Group(
        "Row keys.",
        {"analyse": Function("Show how row keys spread writes over regions.", "keys.analyse")},
    ),
}
"""Group -> its commands that only the administrator of the feature needs, behind `admin`."""

_SECTIONS: Mapping[str, Mapping[str, Word]] = {
    "Write a pipeline": {
        "init": Function("Write a working pipeline with tests and sample events.", "init.init"),
        "validate": Function("Check a pipeline file and show all problems.", "validate.validate"),
        "test": Function("Run the tests of a pipeline file.", "test.test"),
        "explain": Function("Show what each decorator does to events.", "explain.explain"),
        "describe": Function("Describe a component, an option or an error.", "describe.describe"),
        "doctor": Function("Check all that a pipeline file names, or a region server.", "doctor.doctor"),
        "graph": Function("Draw the pipelines of a file.", "graph.graph"),
        "config": Group(
            "Show a file after expansion, and the schema for editors.",
            {
                "show": Function("Show a pipeline file after include and expansion.", "config.show"),
                "schema": Function("Print the JSON Schema of pipeline files.", "config.schema"),
            },
        ),
        "import-flume": Function("Write a pipeline file from a Flume configuration.", "import_flume.import_flume"),
    },
    "Run it": {
        "run": Function("Run the pipelines of a file, as a service or once.", "run.run"),
        "submit": Function("Run the pipelines of a file with spark-submit.", "submit.submit"),
        "jars": Group(
            "The connector jars that Spark needs for Kafka.",
            {"fetch": Function("Download and verify the jars.", "jars.fetch")},
        ),
        "produce": Function("Produce sample events to a topic.", "produce.produce"),
        "status": Function("Show the pipelines and jobs of a running service.", "control.status"),
        "pause": Function("Pause a pipeline after its micro-batch.", "control.pause"),
        "resume": Function("Resume a paused pipeline where it stopped.", "control.resume"),
        "flush": Function("Start the next micro-batch of a pipeline now.", "control.flush"),
        "reload": Function("Let a running service read its file again.", "reload.reload"),
        "dead-letters": Group(
            "List events that failed, and run them again.",
            {
                "list": Function("List dead letters, oldest first.", "dead_letters.list_"),
                "show": Function("Show one dead letter with its event.", "dead_letters.show"),
                "replay": Job("Run dead letters again.", "replay.dead_letters_job.DeadLettersReplay"),
                "keep": Function("Mark dead letters that no replay retries.", "dead_letter_keep.keep"),
            },
            _ADMIN["dead-letters"],
        ),
        "replay": Job("Run the records of a time range of Kafka again.", "replay.job.Replay"),
        "offsets": Group(
            "Show the offsets in Kafka of a pipeline, and reset them.",
            {
                "show": Function("Show the offsets of a pipeline.", "offsets.show"),
                "reset": Job("Let a pipeline start at other offsets.", "offsets_reset_job.OffsetsReset"),
            },
        ),
    },
    "Use the tables": {
        "scan": Function("Show rows of a table.", "scan.scan"),
        "get": Function("Show one row of a table.", "get.get"),
        "history": Function("Show the updates of one row, and its values after each.", "history.history"),
        "blob": Group(
            "Store and read blobs, large values of a table.",
            {
                "put": Job("Store a blob, and print its id.", "rewriting.blob_put.BlobPut"),
                "get": Function("Write a blob to a file or to stdout.", "blob.get"),
                "stat": Function("Show the status of a blob and what refers to it.", "blob.stat"),
                "pin": Job("Add a reference to a blob.", "rewriting.blob_put.BlobPin"),
                "unpin": Job("Remove a reference from a blob.", "rewriting.blob_put.BlobUnpin"),
            },
            _ADMIN["blob"],
        ),
        "feed": Group(
            "Read the change feeds of tables.",
            {
                "list": Function("List the tables with a change feed.", "feed.list_"),
                "describe": Function("Describe the change feed of a table.", "feed.describe"),
                "iterator": Function("Print the place in a shard where to read.", "feed.iterator"),
                "records": Function("Show the next changes of a shard.", "feed.records"),
                "consume": Function("Copy the changes of a table to stdout or a topic.", "feed_consume.consume"),
            },
            _ADMIN["feed"],
        ),
        "dump": Group(
            "Dump tables into files, read dumps, and load them.",
            {
                "run": Job("Dump tables into files.", "dumps.dump.Dump"),
                "bootstrap": Job("Load a table from a dump.", "dumps.bootstrap_job.BootstrapJob"),
                "ls": Function("List the dumps of a root.", "dump.ls"),
                "tables": Function("List the tables of a dump.", "dump.tables"),
                "files": Function("List the files of a table in a dump.", "dump.files"),
                "cat": Function("Print the rows of a table in a dump.", "dump.cat"),
                "verify": Function("Compare the files of a dump with its manifest.", "dump.verify"),
                "diff": Function("Show which rows differ between two dumps.", "dump.diff"),
            },
            _ADMIN["dump"],
        ),
        "archive": Group(
            "Write partitions of archives again, and select versions.",
            {
                "rerun": Job("Write a partition again from its topics.", "archive.rerun.ArchiveRerun"),
                "join": Job("Write a partition into few large files.", "archive.join.ArchiveJoin"),
                "history": Function("List the versions of an archived table.", "archive.history"),
                "point": Function("Select the version of a partition that readers read.", "archive.point"),
            },
            _ADMIN["archive"],
        ),
    },
    "Look after them": {
        "table": Group(
            "Compare the tables of a file with its stores, and create them.",
            {
                "plan": Function("Show how the tables in the stores differ.", "table.plan"),
                "apply": Function("Change the tables in the stores to what is declared.", "table.apply"),
            },
        ),
        "compact": Job("Merge the updates of each row of a table.", "rewriting.compaction.Compaction"),
        "rollback": Job("Take the updates of an interval back.", "rewriting.rollback.Rollback"),
        "admin": Group(
            "What only the administrator of dumps, feeds, … needs.",
            {**_ADMIN, "log-level": Function("Set the log level of a running service.", "control.log_level")},
        ),
    },
}
"""Heading of the help page -> its words."""

_BEGINNING = """\
Kafka events through YAML decorator chains into HBase. In an empty folder:

  attr2hbase init        write pipeline.yaml, with its tests and sample events
  attr2hbase test        run the tests; "explain" shows each step of each event
  attr2hbase run --once  store the events that exist now
  attr2hbase scan TABLE  show the rows of a table, as "mytable" of the sample
  attr2hbase validate    show the problems of the file after you have changed it

All commands: attr2hbase --help. The options of one: attr2hbase COMMAND --help."""


def application() -> WordGroup:
    """The command line; its contexts carry the Output."""
    root = typer.Typer(
        cls=WordGroup,
        name="attr2hbase",
        help="Kafka events through YAML decorator chains into HBase.",
        context_settings=HELP,
        invoke_without_command=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    root.callback()(_common)
    found = typer.main.get_command(root)
    assert isinstance(found, WordGroup)  # noqa: S101 - for mypy
    return found.fill(_SECTIONS)


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
    file: NamedFileOption = None,
) -> None:
    del version  # its callback has ended the command
    context.meta[FILE] = file
    _output(context).choose(output, is_plain=no_color)
    if context.invoked_subcommand is None:
        for line in _BEGINNING.splitlines():
            _output(context).line(line)
