"""`attr2hbase table`: the tables a file declares, compared with those in the stores, and applied to them."""

from collections.abc import Callable, Collection, Iterable
from typing import Annotated, Any

import typer

from ingest.amounts import counted
from ingest.api import BucketsDifferError, FamilySpec, TableSpec
from ingest.api.notation import to_notation
from ingest.cli.command import FileArgument
from ingest.cli.loading import loaded, to_run
from ingest.cli.output import Output
from ingest.cli.pipeline_file import command_line
from ingest.config.model import Configuration
from ingest.plan.starting import START_TIMEOUT_S, when_started
from ingest.plan.tables import AppliedChanges, PlannedChange, apply_tables, plan_tables
from ingest.reference.readable import readable
from sinks.rowkeys.distribution import Distribution
from sinks.schema_diff import Aspect, Attributes, Remedy, Value

DIFFERS = 4  # the exit code of a conflict, here between the file and its stores

_WORDS = {
    "make": "creates it",
    "change": "changes it",
    "data_loss": "only with --allow-data-loss",
    "empty_only": "changes it: the table is empty",
    "by_hand": "shows the command",
    "new_table": "copy the rows into a new table",
    "nothing": "no change",
}
_UNITS_S = (("d", 86_400), ("h", 3_600), ("m", 60))


def plan(
    out: Output,
    file: FileArgument,
    *,
    from_hbasewd: Annotated[
        str | None,
        typer.Option(
            "--from-hbasewd",
            metavar="TEXT",
            help="First show the `distribute` of a table that was written with HBaseWD, from its distributor's "
            "getParamsToStore().",
        ),
    ] = None,
) -> None:
    """
    Show how the tables in the stores differ from those under "tables"; changes nothing.

    Exit code 0 if they are as declared, 4 if not. Undeclared families and split points are shown but do not count:
    events may have created the families, and split points of an existing table cannot be changed.

    Example: attr2hbase table plan
    Example: attr2hbase table plan --from-hbasewd 'RowKeyDistributorByHashPrefix$OneByteSimpleHash--16'
    """
    configuration, catalog = loaded(out, file)
    distribute = None if from_hbasewd is None else {"hash": Distribution.of_hbasewd(from_hbasewd).buckets}
    if distribute is not None:
        out.line(f"distribute: {{hash: {distribute['hash']}}}")
    planned = plan_tables(configuration, catalog)
    drift = [change for change in planned if change.remedy is not Remedy.NOTHING]
    found_in_text = {} if distribute is None else {"distribute": distribute}
    out.plain({"drift": bool(drift), "differences": [_plain_with_remedy(each) for each in planned]} | found_in_text)
    if planned:
        out.table(
            ("table", "store", "family", "what", "declared", "found", "apply"),
            [(*_shown(change), _WORDS[change.remedy]) for change in planned],
        )
    if drift:
        if not out.is_json:
            out.note(counted(len(drift), "difference"), "yellow")
            _print_rejected(out, drift)
        remedies = {change.remedy for change in drift} - {Remedy.NEW_TABLE}
        if remedies:
            out.next(command_line(file, "table apply", *["--allow-data-loss"] * (remedies == {Remedy.DATA_LOSS})))
        raise typer.Exit(DIFFERS)
    _nothing_to_do(out, file, configuration)


def apply(
    out: Output,
    file: FileArgument,
    *,
    allow_data_loss: Annotated[
        bool,
        typer.Option(
            "--allow-data-loss",
            help="Also reduce versions or ttl, which deletes cells; or show the command for it, if the Thrift server "
            "cannot.",
        ),
    ] = False,
    adopt: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TABLE",
            help="Record the declared `distribute` of this table although it has rows, if HBaseWD stored them so; "
            "without a declared one, remove the record, if the rows are stored as they are. Up to 200 rows of each "
            "bucket are checked. Repeat it for several tables.",
        ),
    ] = None,
) -> None:
    """
    Change the tables in the stores to what "tables" declares, and show the changes as read back.

    Creates missing tables and families; changes versions, ttl, compression, bloom and the listed attributes; never
    removes a table or family. While HBase's master is starting, waits up to a minute. Exit code 4 if a difference
    remains: with the commands of the HBase shell if the Thrift server cannot make the change, else with the reason.

    Example: attr2hbase table apply
    Example: attr2hbase table apply --adopt mytable
    """
    configuration, catalog = loaded(out, file)
    applied = when_started(
        lambda: apply_tables(configuration, catalog, allow_data_loss=allow_data_loss, adopt=adopt or ()),
        lambda error: out.note(f"{error.message}; waiting up to {START_TIMEOUT_S:.0f} s for its start", "yellow"),
    )
    commands = [error.command for error in applied.refused if error.command is not None]
    if out.is_json:
        left = [_plain_with_remedy(change) for change in applied.left]
        out.json({"done": [_plain(change) for change in applied.done], "left": left, "commands": commands})
    else:
        _print_changes(out, applied)
        _print_not_adopted(out, applied.left, adopt or ())
        for error in applied.refused:
            out.note(error.message if error.command else str(error), "yellow")
        for command in commands:
            out.line(command)
    if applied.left:
        if not allow_data_loss and any(change.remedy is Remedy.DATA_LOSS for change in applied.left):
            out.next(command_line(file, "table apply", "--allow-data-loss"))
        raise typer.Exit(DIFFERS)
    if applied.done:
        out.next(to_run(file, configuration, alone="run"))
    else:
        _nothing_to_do(out, file, configuration)


def _print_changes(out: Output, applied: AppliedChanges) -> None:
    columns = ("table", "store", "family", "what", "declared")
    if applied.done:
        out.table((*columns, "before"), [_shown(change) for change in applied.done])
        out.done(f"{counted(len(applied.done), 'difference')} applied, as read back")
    if applied.left:
        out.table((*columns, "still"), [_shown(change) for change in applied.left])
        out.note(f"{counted(len(applied.left), 'difference')} left", "yellow")


def _print_rejected(out: Output, drift: Iterable[PlannedChange]) -> None:
    """Numbers of buckets that cannot be changed, with what to do instead."""
    for change in drift:
        match change.difference.aspect, change.remedy, change.difference.declared, change.difference.found:
            case Aspect.DISTRIBUTE, Remedy.NEW_TABLE, (int() | None) as declared, (int() | None) as found:
                out.note(str(BucketsDifferError(change.difference.table, declared, found)), "yellow")


def _print_not_adopted(out: Output, left: Iterable[PlannedChange], adopt: Collection[str]) -> None:
    """Tables of `--adopt` that have a record already."""
    for difference in (change.difference for change in left if change.difference.table in adopt):
        if difference.aspect is Aspect.DISTRIBUTE and None not in (difference.declared, difference.found):
            record = _text("distribute", difference.found, str)
            note = f'table "{difference.table}" is not adopted: its buckets are already recorded ({record})'
            out.note(note, "yellow")


def _nothing_to_do(out: Output, file: str, configuration: Configuration) -> None:
    if not configuration.tables:
        out.note(f'nothing to do: "{file}" declares no tables', "yellow")
    else:
        out.done("all tables are as declared")


def _shown(change: PlannedChange) -> tuple[str, ...]:
    """A change as text."""
    found = change.difference
    words = {
        Aspect.TABLE: "missing",
        Aspect.FAMILY: "missing",
        Aspect.UNDECLARED: "not declared",
        Aspect.MISPLACED: "row in no bucket",
    }
    values = (_text(found.aspect, value, readable) for value in (found.declared, found.found))
    family = "" if found.family is None else readable(found.family)
    return (found.table, change.store, family, words.get(found.aspect, found.aspect), *values)


def _text(what: str, value: Value, readable: Callable[[bytes], str]) -> str:

    match value:
        case TableSpec():
            named = [readable(family.name) for family in value.families]
            splits = f"; splits {_text('splits', value.splits, readable)}" if value.splits else ""
            distribute = "" if value.buckets is None else f"; hash {value.buckets}"
            return f"families {', '.join(named) or 'none'}{splits}{distribute}"
        case FamilySpec():
            options: tuple[tuple[str, Value], ...] = (
                ("versions", value.versions),
                ("ttl", value.ttl_s),
                ("compression", value.compression),
                ("bloom", value.bloom),
            )
            return ", ".join(f"{name} {_text(name, option, readable)}" for name, option in options)
        case bytes() | tuple():
            return ", ".join(map(readable, (value,) if isinstance(value, bytes) else value)) or "none"
        case int() if what == "ttl":
            return next((f"{value // size}{unit}" for unit, size in _UNITS_S if value % size == 0), f"{value}s")
        case None:
            return {"ttl": "for ever", "undeclared": ""}.get(what, "nothing")
        case _:
            return f"hash {value}" if what in {"distribute", "misplaced"} else str(value)


def _plain(change: PlannedChange) -> dict[str, Any]:
    """A change as JSON."""
    found = change.difference
    return {
        "table": found.table,
        "store": change.store,
        "family": None if found.family is None else _value(found.family),
        "what": found.aspect,
        "declared": _value(found.declared),
        "found": _value(found.found),
    }


def _plain_with_remedy(change: PlannedChange) -> dict[str, Any]:
    return _plain(change) | {"apply": change.remedy}


def _value(value: Value | bytes) -> Any:

    match value:
        case bytes():
            return to_notation(value)
        case tuple():
            return [to_notation(split) for split in value]
        case Attributes():
            return dict(value.values)
        case FamilySpec():
            options = {"versions": value.versions, "ttl_s": value.ttl_s}
            return (
                {"name": to_notation(value.name)} | options | {"compression": value.compression, "bloom": value.bloom}
            )
        case TableSpec():
            families = [_value(family) for family in value.families]
            return {"families": families, "splits": _value(value.splits), "buckets": value.buckets}
        case _:
            return value
