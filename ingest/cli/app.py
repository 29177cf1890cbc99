"""All words of the command line, with a line about each, under the headings of the help page."""

from collections.abc import Iterator, Mapping
from typing import Annotated

import typer

from ingest import __version__
from ingest.api.feature_surface import FunctionWord, GroupWord, JobWord, Word
from ingest.cli.command import FormatOption, NamedFileOption, PlainOption, options_before, output_of
from ingest.cli.word_group import WordGroup, group_of
from ingest.plugins.surfaces import surfaces_of
from sinks import BUILTIN_FEATURES

_FEATURES = surfaces_of(BUILTIN_FEATURES)


def _of_features(heading: str) -> dict[str, Word]:
    """The words of the table features under a heading."""
    return {name: word for each in _FEATURES for name, word in each.commands.get(heading, {}).items()}


def _admin_of_features() -> Iterator[tuple[str, Word]]:
    """The words of the table features behind `admin`."""
    for heading in {heading: None for each in _FEATURES for heading in each.commands}:
        for name, word in _of_features(heading).items():
            if isinstance(word, GroupWord) and word.admin is not None:
                yield name, word.admin


_ADMIN: Mapping[str, GroupWord] = {
    "archive": GroupWord(
        "Archives.",
        {
            "register": FunctionWord("Create the table of an archive in the metastore.", "archive.register"),
            "cleanup": JobWord("Remove versions that are not current.", "archive-cleanup"),
            "keep": FunctionWord("Keep a version from being removed by a cleanup.", "archive.keep"),
            "unkeep": FunctionWord("Allow a cleanup to remove a version again.", "archive.unkeep"),
        },
    ),
    "dead-letters": GroupWord(
        "Dead letters.",
        {
            "create-topic": FunctionWord("Create the topic for dead letters.", "dead_letter_topic.create_topic"),
            "purge": FunctionWord("Permanently delete dead letters.", "dead_letter_purge.purge"),
        },
    ),
    "dump": GroupWord(
        "Dumps.",
        {
            "expire": FunctionWord("Remove old dumps.", "dump_retention.expire"),
            "pin": FunctionWord("Keep a dump for a time.", "dump_retention.pin"),
            "unpin": FunctionWord("Remove a pin.", "dump_retention.unpin"),
        },
    ),
    "keys": GroupWord(
        "Row keys.",
        {"analyse": FunctionWord("Show how row keys spread writes over regions.", "keys.analyse")},
    ),
}
"""Group -> its commands that only the administrator of the feature needs, behind `admin`."""
_OF_ADMIN: Mapping[str, Word] = dict(
    sorted(
        {
            **_ADMIN,
            **dict(_admin_of_features()),
            "log-level": FunctionWord("Set the log level of a running service.", "control.log_level"),
        }.items()
    )
)
"""The words behind `admin`."""

_SECTIONS: Mapping[str, Mapping[str, Word]] = {
    "Write a pipeline": {
        "init": FunctionWord("Write a working pipeline with tests and sample events.", "init.init"),
        "validate": FunctionWord("Check a pipeline file and show all problems.", "validate.validate"),
        "test": FunctionWord("Run the tests of a pipeline file.", "test.test"),
        "explain": FunctionWord("Show what each decorator does to events.", "explain.explain"),
        "diff": FunctionWord("Show what a change of a file does to events and rows.", "diff.diff"),
        "describe": FunctionWord("Describe a component, an option or an error.", "describe.describe"),
        "doctor": FunctionWord("Check all that a pipeline file names, or a region server.", "doctor.doctor"),
        "graph": FunctionWord("Draw the pipelines of a file.", "graph.graph"),
        "config": GroupWord(
            "Show a file after expansion, and the schema for editors.",
            {
                "show": FunctionWord("Show a pipeline file after include and expansion.", "config.show"),
                "schema": FunctionWord("Print the JSON Schema of pipeline files.", "config.schema"),
            },
        ),
        "import-flume": FunctionWord("Write a pipeline file from a Flume configuration.", "import_flume.import_flume"),
    },
    "Run it": {
        "run": FunctionWord("Run the pipelines of a file, as a service or once.", "run.run"),
        "submit": FunctionWord("Run the pipelines of a file with spark-submit.", "submit.submit"),
        "jars": GroupWord(
            "The connector jars that Spark needs for Kafka.",
            {"fetch": FunctionWord("Download and verify the jars.", "jars.fetch")},
        ),
        "produce": FunctionWord("Produce sample events to a topic.", "produce.produce"),
        "status": FunctionWord("Show the pipelines and jobs of a running service.", "control.status"),
        "top": FunctionWord("Show what each decorator and sink does, live.", "top.top"),
        "tap": FunctionWord("Show events of a running pipeline at a decorator or sink.", "tap.tap"),
        "pause": FunctionWord("Pause a pipeline after its micro-batch.", "control.pause"),
        "resume": FunctionWord("Resume a paused pipeline where it stopped.", "control.resume"),
        "flush": FunctionWord("Start the next micro-batch of a pipeline now.", "control.flush"),
        "reload": FunctionWord("Let a running service read its file again.", "reload.reload"),
        "dead-letters": GroupWord(
            "List events that failed, and run them again.",
            {
                "list": FunctionWord("List dead letters, oldest first.", "dead_letters.list_"),
                "show": FunctionWord("Show one dead letter with its event.", "dead_letters.show"),
                "replay": JobWord("Run dead letters again.", "dead-letters-replay"),
                "keep": FunctionWord("Mark dead letters that no replay retries.", "dead_letter_keep.keep"),
            },
            _ADMIN["dead-letters"],
        ),
        "replay": JobWord("Run the records of a time range of Kafka again.", "replay"),
        "offsets": GroupWord(
            "Show the offsets in Kafka of a pipeline, and reset them.",
            {
                "show": FunctionWord("Show the offsets of a pipeline.", "offsets.show"),
                "reset": JobWord("Let a pipeline start at other offsets.", "offsets-reset"),
            },
        ),
    },
    "Use the tables": {
        "scan": FunctionWord("Show rows of a table.", "scan.scan"),
        "get": FunctionWord("Show one row of a table.", "get.get"),
        **_of_features("Use the tables"),
        "dump": GroupWord(
            "Dump tables into files, read dumps, and load them.",
            {
                "run": JobWord("Dump tables into files.", "dump"),
                "bootstrap": JobWord("Load a table from a dump.", "bootstrap"),
                "ls": FunctionWord("List the dumps of a root.", "dump.ls"),
                "tables": FunctionWord("List the tables of a dump.", "dump.tables"),
                "files": FunctionWord("List the files of a table in a dump.", "dump.files"),
                "cat": FunctionWord("Print the rows of a table in a dump.", "dump.cat"),
                "verify": FunctionWord("Compare the files of a dump with its manifest.", "dump.verify"),
                "diff": FunctionWord("Show which rows differ between two dumps.", "dump.diff"),
            },
            _ADMIN["dump"],
        ),
        "archive": GroupWord(
            "Write partitions of archives again, and select versions.",
            {
                "rerun": JobWord("Write a partition again from its topics.", "archive-rerun"),
                "join": JobWord("Write a partition into few large files.", "archive-join"),
                "history": FunctionWord("List the versions of an archived table.", "archive.history"),
                "point": FunctionWord("Select the version of a partition that readers read.", "archive.point"),
            },
            _ADMIN["archive"],
        ),
    },
    "Look after them": {
        "table": GroupWord(
            "Compare the tables of a file with its stores, and create them.",
            {
                "plan": FunctionWord("Show how the tables in the stores differ.", "table.plan"),
                "apply": FunctionWord("Change the tables in the stores to what is declared.", "table.apply"),
                "compare": FunctionWord("Show which rows of two tables differ.", "table_compare.compare"),
            },
        ),
        **_of_features("Look after them"),
        "admin": GroupWord(
            "What only the administrator of dumps, feeds, … needs.",
            _OF_ADMIN,
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
    summary = "Kafka events through YAML decorator chains into HBase."
    return group_of("attr2hbase", summary, _common, invoke_without_command=True).fill(_SECTIONS, admin=_OF_ADMIN)


def _version(context: typer.Context, wanted: bool) -> None:  # noqa: FBT001 - a callback of typer
    if wanted:
        output_of(context).line(f"attr2hbase {__version__}")
        raise typer.Exit


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
    options_before(context, output=output, no_color=no_color, file=file)
    if context.invoked_subcommand is None:
        for line in _BEGINNING.splitlines():
            output_of(context).line(line)
