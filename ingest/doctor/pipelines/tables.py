"""Checks of the tables that a pipeline file writes: do they exist, may they be read, and are they as declared?"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from ingest.amounts import counted, size
from ingest.api import BucketsDifferError, NoTableError, Scan, SchemaError, Store, TableSpec, UpdatesDifferError
from ingest.api.notation import shown_start
from ingest.doctor.connecting import ANY_KEY, CONNECT_TIMEOUT_S
from ingest.doctor.examination import Finding, Found, Severity, Skipped
from ingest.doctor.pipelines.guide import docs_of
from ingest.doctor.versions import numbers_of, rated
from ingest.plan.stores import reading_store_if_exists
from sinks.rowkeys.row_format import RowFormat
from sinks.scanning.stored_rows import misplaced_row

if TYPE_CHECKING:
    from ingest.catalog import Catalog
    from ingest.config.model import Component


def server_version(catalog: "Catalog", component: "Component[Any]", *, subject: str) -> Found | Skipped:
    """The version of the servers of a store, if the support matrix has one and they say it."""
    with reading_store_if_exists(component, catalog, timeout_s=CONNECT_TIMEOUT_S) as (store, _):
        found = store.server_version()
    if found is None:
        return Skipped(f"{store.connected_by} does not tell the version; 'attr2hbase doctor hbase --jmx URL' shows it")
    check = f"{component.kind}_version"
    return rated(check, component.kind, numbers_of(found), subject=subject, docs=docs_of(check))


def readable(
    catalog: "Catalog",
    component: "Component[Any]",
    tables: Sequence[str],
    *,
    declared: Mapping[str, TableSpec],
    subject: str,
) -> Found:
    """
    Whether the tables exist, can be read, and have the declared row format.

    The right to write cannot be shown without writing.

    Args:
        catalog: has the class of the store.
        component: the store.
        tables: names of its tables.
        declared: table -> its declaration, for those that have one.
        subject: the store, for messages.
    """
    findings: list[Finding] = []
    existing = 0
    regions: list[str] = []
    with reading_store_if_exists(component, catalog, timeout_s=CONNECT_TIMEOUT_S) as (store, exists):
        if not exists:
            return Found("the first write creates the store")
        for table in tables:
            if store.families(table) is not None:
                existing += 1
                store.get(table, ANY_KEY)
                findings += _differs(store, declared.get(table), subject)
                regions += _regions(store, table)
            elif not store.capabilities.creates_tables:
                findings.append(_missing(table, subject))
    return Found("; ".join([f"{counted(existing, 'table')} can be read", *regions]), tuple(findings))


def _regions(store: Store[Any], table: str) -> Iterator[str]:
    """The number of regions and servers of a table, and its size; nothing if the store does not report them."""
    if regions := store.regions(table):
        servers = {region.server for region in regions if region.server}
        sizes = [region.file_bytes + region.memory_bytes for region in regions]
        text = f'table "{table}" has {counted(len(regions), "region")} on {counted(len(servers), "server")}'
        # HBase reports whole MiB
        yield f"{text}, {size(sum(sizes))}, the largest {size(max(sizes))}" if any(sizes) else f"{text}, below 1 MiB"


def _missing(table: str, subject: str) -> Finding:
    return Finding(
        "tables",
        Severity.ERROR,
        f'table "{table}" does not exist',
        subject,
        {"table": table},
        hint=NoTableError.hint,
        why="a pipeline that writes to it is blocked until it exists",
        docs=docs_of("tables"),
    )


def _differs(store: Store[Any], declared: TableSpec | None, subject: str) -> Iterator[Finding]:
    """A finding if a pipeline that writes to the table would not start, or if reads do not find all of its rows."""
    if declared is None:
        return
    recorded = RowFormat.recorded(store, declared.name)
    if recorded == RowFormat(declared.buckets, declared.updates):
        if recorded.buckets is not None:
            yield from _misplaced(store, declared.name, recorded.buckets, subject)
        return
    if store.capabilities.creates_tables and not _has_rows(store, declared.name):
        return  # the start records the declared row format
    error: SchemaError = (
        UpdatesDifferError(declared.name, declared.updates, recorded.updates)
        if recorded.buckets == declared.buckets
        else BucketsDifferError(declared.name, declared.buckets, recorded.buckets)
    )
    yield Finding(
        "tables",
        Severity.ERROR,
        error.message,
        subject,
        {"table": declared.name},
        hint=error.hint or "",
        why="a pipeline that writes to it does not start",
        docs=docs_of("tables"),
    )


def _misplaced(store: Store[Any], table: str, buckets: int, subject: str) -> Iterator[Finding]:
    key = misplaced_row(store, table, buckets)
    if key is not None:
        yield Finding(
            "tables",
            Severity.ERROR,
            f'table "{table}" has the row key {shown_start(key)}, which is in none of its {buckets} buckets',
            subject,
            {"table": table},
            hint="copy the rows into a new table; another program writes to this one, or created it again",
            why="get and scan do not find such rows",
            docs=docs_of("tables"),
        )


def _has_rows(store: Store[Any], table: str) -> bool:
    with closing(store.scan(table, Scan(limit=1))) as rows:
        return next(rows, None) is not None
