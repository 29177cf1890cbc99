"""`attr2hbase archive history`, `point`, `keep`, `unkeep` and `register`: versions of archived tables."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from ingest.amounts import counted, size
from ingest.cli import completion
from ingest.cli.command import FileOption
from ingest.cli.output import Output
from ingest.cli.pipeline_file import command_line

if TYPE_CHECKING:
    from ingest.service.archived_tables import ArchivedTable
    from ingest.service.jobs.place import Place

ArchiveTableArgument = Annotated[
    str,
    typer.Argument(metavar="TABLE", help="Name of the archived table.", autocompletion=completion.archived_tables),
]
DtOption = Annotated[
    str | None, typer.Option("--dt", metavar="VALUE", help="Only the partition of this value, as 20151210.")
]
OneDtOption = Annotated[str, typer.Option("--dt", metavar="VALUE", help="Value of the partition, as 20151210.")]
VersionOption = Annotated[str, typer.Option("--version", metavar="ID", help="Id of the version, as 1449784608.")]


def history(out: Output, file: FileOption, table: ArchiveTableArgument, *, dt: DtOption = None) -> None:
    """
    List the versions of an archived table.

    "current" is the version that readers read, "writing" one that a re-run writes, "incomplete" one whose re-run has
    failed; "foreign" names were not written by this product. With a metastore, a partition whose SQL location is
    another version than the current one is reported; "attr2hbase archive point" corrects it.

    Example: attr2hbase archive history customer --dt 20151210
    """
    from ingest.clock import now_ms
    from ingest.formats.times import moment
    from ingest.service.archive.history import history_of

    with opened(out, file, table) as (place, archived):
        found = history_of(place, archived, dt, now_ms=now_ms())
    rows: list[tuple[str, ...]] = []
    for partition in found:
        for version in partition.versions:
            path, state, owner = partition.path(version), version.state.value, partition.owners[version.id]
            is_located = partition.sql_path == path
            since = "" if version.superseded_ms is None else moment(version.superseded_ms)
            out.plain(
                {
                    "partition": partition.value,
                    "version": version.id,
                    "path": path,
                    "status": state,
                    "kept": version.is_kept,
                    "sql": is_located,
                    "files": version.files,
                    "bytes": version.size_bytes,
                    "superseded": since or None,
                    "owner": owner,
                }
            )
            status = ", ".join([state, *["kept"] * version.is_kept, *["SQL"] * is_located])
            rows.append((path, status, f"{version.files:,}", size(version.size_bytes), since, owner))
        for name in partition.foreign:
            path = f"{partition.folder}/{name}"
            none = {"kept": False, "sql": False, "files": 0, "bytes": 0, "superseded": None, "owner": ""}
            out.plain({"partition": partition.value, "version": None, "path": path, "status": "foreign", **none})
            rows.append((path, "foreign", "0", size(0), "", ""))
    if not rows:
        root = archived.settings.root
        out.note(f'no partition at "{root}/{table}"; a relative root starts at the current folder', "yellow")
    if rows:
        out.table(("version", "status", "#files", "#size", "not current since", "created by"), rows)
    differing = [(each.value, each.sql_difference) for each in found if each.sql_difference is not None]
    for value, difference in differing:
        out.note(f"differs: {archived.rule.column}={value}: {difference}", "yellow")
    unread = [(each.value, each.unread.id) for each in found if each.unread is not None]
    for value, version_id in unread:
        out.note(f"{value}: no version is current, so readers see no rows; version {version_id} is complete", "yellow")
    out.done(counted(sum(len(each.versions) for each in found), "version", "versions"))
    for value, version_id in unread[:1]:
        out.next(command_line(file, "archive point", table, "--dt", value, "--version", str(version_id)))
    for value, _ in differing[:1]:
        out.next(command_line(file, "archive point", table, "--dt", value))


def point(
    out: Output,
    file: FileOption,
    table: ArchiveTableArgument,
    *,
    dt: OneDtOption,
    version: Annotated[
        str | None,
        typer.Option("--version", metavar="ID", help="Id of a complete version; by default the current one, for SQL."),
    ] = None,
) -> None:
    """
    Make a complete version of a partition the one that readers read, also in the metastore of the file.

    Without --version, only the SQL location follows the current version, as after a failure of the metastore.

    Example: attr2hbase archive point customer --dt 20151210 --version 1449784608
    """
    from ingest.clock import now_ms
    from ingest.service.archive import sql as archive_sql
    from ingest.service.archived_tables import version_id_from

    def warn(later: int) -> None:
        out.note(
            f"the version before has {counted(later, 'file')} of later micro-batches, which readers do not see now; "
            "'attr2hbase archive rerun' writes their events again, if the topics still have them",
            "yellow",
        )

    with opened(out, file, table) as (place, archived):
        version_id = None if version is None else version_id_from(version, archived.rule.folder_of(dt))
        found = archive_sql.point(place, archived, dt, version_id, now_ms=now_ms(), on_later=warn)
    changed = found.sql_changed
    out.plain({"partition": dt, "before": found.before, "current": found.current, "sql_changed": changed})
    path = found.path or "no version"
    out.done(f"readers read {path}" + ("" if changed is None else f"; {counted(changed, 'SQL location')} changed"))


def keep(
    out: Output, file: FileOption, table: ArchiveTableArgument, *, dt: OneDtOption, version: VersionOption
) -> None:
    """
    Keep a version from being removed by a cleanup, until "attr2hbase admin archive unkeep".

    Example: attr2hbase admin archive keep customer --dt 20151210 --version 1449784608
    """
    _mark(out, file, table, dt, version, is_kept=True)


def unkeep(
    out: Output, file: FileOption, table: ArchiveTableArgument, *, dt: OneDtOption, version: VersionOption
) -> None:
    """
    Allow a cleanup to remove a version again.

    Example: attr2hbase admin archive unkeep customer --dt 20151210 --version 1449784608
    """
    _mark(out, file, table, dt, version, is_kept=False)


def register(out: Output, file: FileOption, table: ArchiveTableArgument) -> None:
    """
    Create the table in the metastore of the file, or add new columns, and point its partitions at the current versions.

    It is safe to repeat. Without "spark.sql.catalogImplementation: hive" under "spark: conf", print the statements, for
    a session of your own. Never run MSCK REPAIR TABLE: it registers folders in which Spark finds no row.

    Example: attr2hbase admin archive register customer
    """
    from ingest.service.archive import sql as archive_sql

    with opened(out, file, table) as (place, archived):
        done = archive_sql.register(place, archived)
    if done.unread:
        out.note(
            f"{counted(done.unread, 'partition')} without a current version: 'attr2hbase archive history' names them",
            "yellow",
        )
    partitions = counted(done.partitions, "partition")
    if done.changed is None:
        for statement in done.statements:
            out.plain({"statement": statement})
            out.line(f"{statement};")
        out.done(f"{partitions}; the file names no metastore, so the statements are printed")
        return
    out.plain({"table": table, "partitions": done.partitions, "changed": done.changed})
    out.done(f"{partitions}, {counted(done.changed, 'location')} changed")


def _mark(out: Output, file: str, table: str, dt: str, version: str, *, is_kept: bool) -> None:
    from ingest.durable import file_errors
    from ingest.service.archived_tables import version_id_from

    with opened(out, file, table) as (_, archived), file_errors(archived.root):
        version_id = version_id_from(version, archived.rule.folder_of(dt))
        partition = archived.partition(dt)
        (partition.keep if is_kept else partition.unkeep)(version_id)
    out.plain({"partition": dt, "version": version_id, "kept": is_kept})
    out.done(f"version {version_id} is {'kept' if is_kept else 'not kept any more'}")


@contextmanager
def opened(out: Output, file: str, table: str) -> "Iterator[tuple[Place, ArchivedTable]]":
    """This process with the checked pipeline file, and one of its archived tables; sets up the log."""
    from ingest.cli.loading import loaded, set_up_logs
    from ingest.service.archived_tables import archived_table
    from ingest.service.jobs.place import OwnProcess

    configuration, catalog = loaded(out, file)
    set_up_logs(configuration, is_watched=True)
    with ExitStack() as used:
        yield OwnProcess(configuration, catalog, used), archived_table(configuration, table)
