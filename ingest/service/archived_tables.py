"""The archived tables of a configuration, and the pipelines that write them."""

from collections.abc import Collection
from datetime import UTC, datetime
from typing import NamedTuple

from ingest.api import ConfigError, NotFoundError
from ingest.config.model import Component, Configuration, Pipeline, names_of
from ingest.formats.times import milliseconds_of
from sinks.archive.errors import NoArchiveVersionError
from sinks.archive.layout import NO_TIME, PartitionRule, version_id_of
from sinks.archive.partition import Partition, partitions
from sinks.archive.sink import ArchiveSettings
from sinks.files.root import Root


class ArchiveSink(NamedTuple):
    """
    A sink that writes an archived table.

    Attributes:
        name: of the sink in its pipeline.
    """

    pipeline: Pipeline
    name: str
    component: Component[ArchiveSettings]


class ArchivedTable(NamedTuple):
    """
    An archived table.

    Attributes:
        name: of the table.
        sinks: that write it; not empty. They agree about partitions, format and columns.
        root: its files.
    """

    name: str
    sinks: tuple[ArchiveSink, ...]
    root: Root

    @property
    def settings(self) -> ArchiveSettings:
        """Of its first sink."""
        return self.sinks[0].component.settings

    @property
    def rule(self) -> PartitionRule:
        """How event times name partitions."""
        return self.settings.rule

    def partition(self, value: str) -> Partition:
        """
        A partition that exists.

        Raises:
            ConfigError: no partition can have this value.
            NoArchiveVersionError: there is none of this value.
            OSError: of the file system.
        """
        found = partitions(self.root, self.rule).get(value)
        if found is None:
            check_value(self.rule, value)
            raise NoArchiveVersionError(
                f'the archive "{self.root}" has no partition {self.rule.column}={value}',
                hint="'attr2hbase archive history' lists the partitions",
            )
        return found

    def partitions(self, value: str | None) -> dict[str, Partition]:
        """Value -> partition, of one value or of all; raises as `partition`."""
        return partitions(self.root, self.rule) if value is None else {value: self.partition(value)}


def archived_table(configuration: Configuration, table: str) -> ArchivedTable:
    """
    An archived table, by its name.

    Raises:
        NotFoundError: no sink writes it.
        ConfigError: its sinks disagree about where or how.
    """
    found = [sink for sink in _archive_sinks(configuration) if sink.component.settings.table == table]
    if not found:
        names = sorted({sink.component.settings.table for sink in _archive_sinks(configuration)})
        raise NotFoundError(
            f'no sink of the file archives a table "{table}"',
            hint=f"it archives {', '.join(names)}" if names else "add a sink `archive` to a pipeline",
        )
    first = found[0].component.settings
    for other in found[1:]:
        for option in ("root", "partition", "format", "columns"):
            if getattr(other.component.settings, option) != getattr(first, option):
                raise ConfigError(
                    f'{other.component.location}: the sinks of the table "{table}" differ in `{option}`',
                    hint="give both the same, or archive into two tables",
                )
    return ArchivedTable(table, tuple(found), first.open_table())


def archived_tables(configuration: Configuration) -> list[ArchivedTable]:
    """
    All archived tables, sorted by name.

    Raises:
        ConfigError: the sinks of one disagree about where or how.
    """
    names = {sink.component.settings.table for sink in _archive_sinks(configuration)}
    return [archived_table(configuration, name) for name in sorted(names)]


def refuse_archives(pipeline: Pipeline, names: Collection[str]) -> None:
    """
    Check that records of a pipeline may run a second time through the sinks of these names.

    Raises:
        ConfigError: a sink archives them: it would add their rows again.
    """
    for name, sink in zip(names_of(pipeline.sinks), pipeline.sinks, strict=True):
        if name in names and isinstance(sink.settings, ArchiveSettings):
            raise ConfigError(
                f"{sink.location}: a replay of a time range would add the rows to the archive a second time",
                hint="give the other sinks with --sink",
            )


def check_value(rule: PartitionRule, value: str) -> None:
    """
    Check that an event time can give a partition this value.

    Raises:
        ConfigError: none can.
    """
    try:
        time = datetime.strptime(value, rule.pattern).replace(tzinfo=UTC)
        is_value = rule.value_of(milliseconds_of(time)) == value
    except ValueError:
        is_value = value == NO_TIME
    if not is_value:
        raise ConfigError(
            f'"{value}" is no value of {rule.column}, whose pattern is {rule.pattern}',
            hint=f"write it as in {rule.value_of(1449705600000)}",
        )


def version_id_from(text: str, folder: str) -> int:
    """
    The id of a version, as a user writes it: `1449784608`, `version=1449784608` or `dt=20151210/version=1449784608`.

    Args:
        text: as above.
        folder: of the partition that has the version, as in `dt=20151210`.

    Raises:
        NoArchiveVersionError: it is a number that is the id of no version.
        ConfigError: it is no number, or is a path in another partition.
    """
    before, _, name = text.rpartition("/")  # `history` prints it with the partition before
    if before and before.rpartition("/")[2] != folder:
        raise ConfigError(f'"{text}" is no version of the partition {folder}', hint="give the --dt of the version")
    number = name.removeprefix("version=")
    found = version_id_of(f"version={number}")
    if found is None and number.isdecimal():
        raise NoArchiveVersionError(f"there is no version {number}")
    if found is None:
        raise ConfigError(f'"{text}" is no version', hint="write its id, as in --version 1449784608")
    return found


def _archive_sinks(configuration: Configuration) -> list[ArchiveSink]:
    return [
        ArchiveSink(pipeline, name, sink)  # type: ignore[arg-type] # the settings have been checked
        for pipeline in configuration.pipelines.values()
        for name, sink in zip(names_of(pipeline.sinks), pipeline.sinks, strict=True)
        if isinstance(sink.settings, ArchiveSettings)
    ]
