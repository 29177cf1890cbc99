"""`ingest table`: the tables a file declares, compared with those in the stores, and applied to them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ingest.cli.command import FileArgument
from ingest.cli.output import Output, counted

if TYPE_CHECKING:
    from ingest.api import SchemaError, Store, TableSpec
    from ingest.catalog import Catalog
    from ingest.config.model import Configuration
    from sinks.schema_diff import Difference, Value

DIFFERS = 4  # the exit code of a conflict, here between the file and its stores

_WORDS = {
    "make": "creates it",
    "change": "changes it",
    "data_loss": "only with --allow-data-loss",
    "empty_only": "changes it: the table is empty",
    "copy_rows": "cannot: the table has rows",
    "by_hand": "shows the command",
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

    Example: ingest table plan pipeline.yaml
    Example: ingest table plan pipeline.yaml --from-hbasewd 'RowKeyDistributorByHashPrefix$OneByteSimpleHash--16'
    """
    from ingest.cli.loading import loaded

    configuration, catalog = loaded(out, file)
    distribute = None if from_hbasewd is None else {"hash": _buckets_of(from_hbasewd)}
    if distribute is not None and not out.is_json:
        out.line(f"distribute: {{hash: {distribute['hash']}}}")
    rows = _differences(configuration, catalog)
    drift = [row for row in rows if row["apply"] != "nothing"]
    if out.is_json:
        found_in_text = {} if distribute is None else {"distribute": distribute}
        out.json({"drift": bool(drift), "differences": [_plain(row) for row in rows]} | found_in_text)
    elif rows:
        out.table(
            ("table", "store", "family", "what", "declared", "found", "apply"),
            [(*_shown(row), _WORDS[row["apply"]]) for row in rows],
        )
    if drift:
        if not out.is_json:
            out.note(counted(len(drift), "difference"), "yellow")
        _print_rejected(out, drift)
        remedies = {row["apply"] for row in drift} - {"copy_rows"}
        if remedies:
            out.next(f"ingest table apply {file}{' --allow-data-loss' if remedies == {'data_loss'} else ''}")
        raise typer.Exit(DIFFERS)
    _nothing_to_do(out, file, configuration)


def apply(
    out: Output,
    file: FileArgument,
    *,
    allow_data_loss: Annotated[
        bool,
        typer.Option("--allow-data-loss", help="Also reduce versions or ttl, which deletes cells."),
    ] = False,
    adopt: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TABLE",
            help="Record the declared `distribute` of this table although it has rows, if HBaseWD stored them so: up "
            "to 200 rows of each bucket are checked. Repeat it for several tables.",
        ),
    ] = None,
) -> None:
    """
    Change the tables in the stores to what "tables" declares, and show the changes as read back.

    Creates missing tables and families; changes versions, ttl, compression and bloom; never removes a table or family.
    Exit code 4 if a difference remains: with the commands of the HBase shell if the Thrift server cannot make the
    change, else with the reason.

    Example: ingest table apply pipeline.yaml
    Example: ingest table apply pipeline.yaml --adopt mytable
    """
    from ingest.cli.loading import loaded
    from sinks.schema_diff import reconcile

    configuration, catalog = loaded(out, file)
    for table in adopt or ():
        _check_adopted(configuration, table)
    done: list[dict[str, Any]] = []
    left: list[dict[str, Any]] = []
    refused: list[SchemaError] = []
    for name, specs in _declared(configuration).items():
        with _store(configuration, catalog, name, for_reading=False) as store:
            store.open()
            for spec in specs:
                changes = reconcile(store, spec, allow_data_loss=allow_data_loss, adopt=spec.name in (adopt or ()))
                done += [_row(name, change) for change in changes.done]
                left += [_row(name, change) | {"apply": change.remedy(store).value} for change in changes.left]
                refused += changes.refused
    commands = [error.command for error in refused if error.command is not None]
    if out.is_json:
        out.json({"done": [_plain(row) for row in done], "left": [_plain(row) for row in left], "commands": commands})
    else:
        _print_changes(out, done, left)
        _print_not_adopted(out, left, adopt or ())
        for error in refused:
            out.note(error.message if error.command else str(error), "yellow")
        for command in commands:
            out.line(command)
    if left:
        if any(row["apply"] == "data_loss" for row in left):
            out.next(f"ingest table apply {file} --allow-data-loss")
        raise typer.Exit(DIFFERS)
    if done:
        out.next(f"ingest run {file}")
    else:
        _nothing_to_do(out, file, configuration)


def _buckets_of(params: str) -> int:
    """The number of buckets of HBaseWD's hash distributor, from its parameters."""
    from ingest.api import ConfigError
    from ingest.api.buckets import buckets_rejection
    from sinks.rowkeys.distribution import Distribution

    buckets = Distribution.of_hbasewd(params).buckets
    rejection = buckets_rejection(buckets)
    if rejection is not None:
        raise ConfigError(rejection, hint="copy the rows into a new table")
    return buckets


def _check_adopted(configuration: "Configuration", table: str) -> None:
    """Refuse a name of `--adopt` that is not a table with buckets."""
    from ingest.api import ConfigError, NotFoundError
    from ingest.suggest import did_you_mean

    declared = configuration.tables.get(table)
    if declared is None:
        hint = did_you_mean(table, configuration.tables) or f"it declares {', '.join(configuration.tables) or 'none'}"
        raise NotFoundError(f'the file declares no table "{table}"', hint=hint)
    if declared.spec().buckets is None:
        raise ConfigError(
            f'the file declares no `distribute` for table "{table}"',
            hint="'ingest table plan FILE --from-hbasewd TEXT' shows it",
        )


def _declared(configuration: "Configuration") -> "dict[str, list[TableSpec]]":
    """Store -> the tables declared for it."""
    declared: dict[str, list[TableSpec]] = {}
    for table in configuration.tables.values():
        declared.setdefault(table.store, []).append(table.spec())
    return declared


@contextmanager
def _store(
    configuration: "Configuration", catalog: "Catalog", name: str, *, for_reading: bool
) -> "Iterator[Store[Any]]":
    """A store of the file, not open yet."""
    component = configuration.stores[name]
    store_class = catalog.load("stores", component.kind)
    store: Store[Any] = store_class.reader(component.settings) if for_reading else store_class(component.settings)
    try:
        yield store
    finally:
        store.close()


def _differences(configuration: "Configuration", catalog: "Catalog") -> list[dict[str, Any]]:
    """The differences of all declared tables, as rows."""
    from ingest.api import NotFoundError
    from sinks.schema_diff import Aspect, differences

    rows: list[dict[str, Any]] = []
    for name, specs in _declared(configuration).items():
        with _store(configuration, catalog, name, for_reading=True) as store:
            found: list[TableSpec | None] = [None] * len(specs)
            try:
                store.open()
            except NotFoundError:
                if not store.capabilities.creates_tables:  # else the first write creates the store
                    raise
            else:
                found = [store.describe_table(spec.name) for spec in specs]
            is_local = configuration.stores[name].settings.own_folder is not None
            for spec, table in zip(specs, found, strict=True):
                rows += [
                    _row(name, change) | {"apply": change.remedy(store).value}
                    for change in differences(spec, table)
                    # those of buckets: a local store has no regions
                    if not (is_local and spec.buckets is not None and change.aspect is Aspect.SPLITS)
                ]
    return rows


def _row(store: str, difference: "Difference") -> dict[str, Any]:
    return {
        "table": difference.table,
        "store": store,
        "family": difference.family,
        "what": difference.aspect.value,
        "declared": difference.declared,
        "found": difference.found,
    }


def _print_changes(out: Output, done: list[dict[str, Any]], left: list[dict[str, Any]]) -> None:
    columns = ("table", "store", "family", "what", "declared")
    if done:
        out.table((*columns, "before"), [_shown(row) for row in done])
        out.done(f"{counted(len(done), 'difference')} applied, as read back")
    if left:
        out.table((*columns, "still"), [_shown(row) for row in left])
        out.note(f"{counted(len(left), 'difference')} left", "yellow")


def _print_rejected(out: Output, rows: list[dict[str, Any]]) -> None:
    """Numbers of buckets that cannot be changed, with what to do instead."""
    from ingest.api import BucketsDifferError

    for row in rows:
        if row["apply"] == "copy_rows":
            out.note(str(BucketsDifferError(row["table"], row["declared"], row["found"])), "yellow")


def _print_not_adopted(out: Output, left: list[dict[str, Any]], adopt: Sequence[str]) -> None:
    """Tables of `--adopt` that have a record already."""
    for row in left:
        if row["table"] in adopt and row["what"] == "distribute" and row["found"] is not None:
            record = _text("distribute", row["found"], str)
            out.note(f'table "{row["table"]}" is not adopted: its buckets are already recorded ({record})', "yellow")


def _nothing_to_do(out: Output, file: str, configuration: "Configuration") -> None:
    if not configuration.tables:
        out.note(f'nothing to do: "{file}" declares no tables', "yellow")
    else:
        out.done("all tables are as declared")


def _shown(row: dict[str, Any]) -> tuple[str, ...]:
    """A row as text."""
    from ingest.reference.readable import readable

    family = "" if row["family"] is None else readable(row["family"])
    what = {"table": "missing", "family": "missing", "undeclared": "not declared"}.get(row["what"], row["what"])
    values = (_text(row["what"], row[side], readable) for side in ("declared", "found"))
    return (row["table"], row["store"], family, what, *values)


def _text(what: str, value: "Value", readable: Callable[[bytes], str]) -> str:
    from ingest.api import FamilySpec, TableSpec

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
        case tuple():
            return ", ".join(map(readable, value)) or "none"
        case int() if what == "ttl":
            return next((f"{value // size}{unit}" for unit, size in _UNITS_S if value % size == 0), f"{value}s")
        case None:
            return {"ttl": "for ever", "undeclared": ""}.get(what, "nothing")
        case _:
            return f"hash {value}" if what == "distribute" else str(value)


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row as JSON."""
    family = row["family"]
    return row | {
        "family": None if family is None else _value(family),
        "declared": _value(row["declared"]),
        "found": _value(row["found"]),
    }


def _value(value: "Value | bytes") -> Any:
    from ingest.api import FamilySpec, TableSpec
    from ingest.api.notation import to_notation

    match value:
        case bytes():
            return to_notation(value)
        case tuple():
            return [to_notation(split) for split in value]
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
