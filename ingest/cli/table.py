"""`ingest table`: the tables a file declares, made in their stores."""

from typing import TYPE_CHECKING, Any

from ingest.cli.command import FileArgument
from ingest.cli.output import Output

if TYPE_CHECKING:
    from ingest.api import Store, TableSpec


def apply(out: Output, file: FileArgument) -> None:
    """
    Make the tables and families under "tables" that are missing; what exists stays as it is.

    Example: ingest table apply pipeline.yaml
    """
    from ingest.cli.loading import loaded

    configuration, catalog = loaded(file)
    changes = []
    for name, component in configuration.stores.items():
        specs = [table.spec() for table in configuration.tables.values() if table.store == name]
        if not specs:
            continue
        store: Store[Any] = catalog.load("stores", component.kind)(component.settings)
        try:
            store.open()
            changes += [{"table": spec.name, "store": name} | ensured(store, spec) for spec in specs]
        finally:
            store.close()
    if out.is_json:
        out.json(changes)
        return
    if not changes:
        out.note(f'nothing to do: "{file}" declares no tables', "yellow")
        return
    out.table(
        ("table", "store", "made", "families added"),
        [
            (row["table"], row["store"], "yes" if row["made"] else "was there", ", ".join(row["families"]))
            for row in changes
        ],
    )
    out.next(f"ingest run {file}")


def ensured(store: "Store[Any]", spec: "TableSpec") -> dict[str, Any]:
    """Make what is missing of a table; what that was."""
    from ingest.cli.readable import readable

    before = store.families(spec.name)
    store.ensure_table(spec)
    added = [family.name for family in spec.families if before is None or family.name not in before]
    return {"made": before is None, "families": [readable(name) for name in added]}
