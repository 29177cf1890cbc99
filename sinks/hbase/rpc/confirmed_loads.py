"""What the files of a table may not do: what they bypass has to be confirmed in the pipeline file."""

from collections.abc import Container, Sequence

from ingest.api import StoreRefusedError
from ingest.api.bulk_load import Confirmed
from ingest.api.notation import shown
from sinks.hbase.rpc.loadable_table import LoadableTable


class ReplicatedLoadError(StoreRefusedError):
    """A table with bulk load has families that are replicated to other clusters, which may not get the rows."""

    code = "bulk_load_replicated"
    remedy = "Set `replicated: true` of `bulk_load` if the cluster replicates loads; else write `bulk_load: never`."

    def __init__(self, table: str, families: Sequence[bytes]) -> None:
        names = ", ".join(map(shown, families))
        super().__init__(
            f'table "{table}" has replicated families, {names}, and a cluster replicates the rows of files only with '
            "`hbase.replication.bulkload.enabled`",
            hint="if it has that, write `bulk_load: {from: …, replicated: true}`; else `bulk_load: never`",
        )


class CoprocessorLoadError(StoreRefusedError):
    """A table with bulk load has coprocessors, which do not see the rows of files."""

    code = "bulk_load_coprocessors"
    remedy = "Set `coprocessors: true` of `bulk_load` if they need not see every row; else write `bulk_load: never`."

    def __init__(self, table: str, classes: Sequence[str]) -> None:
        super().__init__(
            f'table "{table}" has coprocessors, {", ".join(classes)}, which do not see the rows of files: indexes that '
            "they keep would lack these rows",
            hint="if they need not see every row, write `bulk_load: {from: …, coprocessors: true}`; else "
            "`bulk_load: never`",
        )


class NoLoadError(StoreRefusedError):
    """A table with bulk load in which no family may have files, so that all rows go in calls."""

    code = "bulk_load_no_family"
    remedy = "Write `bulk_load: never`, or change the table."

    def __init__(self, table: str) -> None:
        super().__init__(
            f'table "{table}" has bulk load, but no family that may have files: the table is read-only, or each family '
            "is encrypted or has `NEW_VERSION_BEHAVIOR`",
            hint="write `bulk_load: never`",
        )


def refuse_unconfirmed(table: str, loadable: LoadableTable, families: Container[bytes], confirmed: Confirmed) -> None:
    """Raise the error of a load of files into some families that bypasses what is not confirmed."""
    if not confirmed.replicated and any(family in families for family in loadable.replicated):
        raise ReplicatedLoadError(table, loadable.replicated)
    if loadable.coprocessors and not confirmed.coprocessors:
        raise CoprocessorLoadError(table, loadable.coprocessors)
