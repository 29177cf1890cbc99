"""Checks of the tables that a pipeline file writes: do they exist, and may they be read?"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ingest.amounts import counted
from ingest.doctor.connecting import CONNECT_TIMEOUT_S
from ingest.doctor.examination import Finding, Found, Severity
from ingest.doctor.pipelines.guide import docs_of
from ingest.plan.stores import reading_store

if TYPE_CHECKING:
    from ingest.catalog import Catalog
    from ingest.config.model import Component, Configuration

_ANY_KEY = b"\x00"
"""A row key that may or may not exist: reading it shows the right to read."""


def names(configuration: "Configuration", store: str) -> list[str]:
    """Tables of a store that the file declares, or that a sink writes under a fixed name."""
    sinks = [sink.settings for pipeline in configuration.pipelines.values() for sink in pipeline.sinks]
    written = [sink.fixed_table for sink in sinks if sink.store_name == store and sink.fixed_table is not None]
    declared = [table.name for table in configuration.tables.values() if table.store == store]
    return list(dict.fromkeys([*written, *declared]))


def readable(catalog: "Catalog", component: "Component[Any]", tables: Sequence[str], *, subject: str) -> Found:
    """Whether the tables exist and can be read; the right to write cannot be shown without writing."""
    findings = []
    with reading_store(component, catalog, timeout_s=CONNECT_TIMEOUT_S) as store:
        for table in tables:
            if store.families(table) is None:
                findings.append(_missing(table, subject))
            else:
                store.get(table, _ANY_KEY)
    return Found(f"{counted(len(tables) - len(findings), 'table')} can be read", tuple(findings))


def _missing(table: str, subject: str) -> Finding:
    return Finding(
        "tables",
        Severity.ERROR,
        f'table "{table}" does not exist',
        subject,
        {"table": table},
        hint="declare it under tables, then run 'ingest table apply'",
        why="a pipeline that writes to it is blocked until it exists",
        docs=docs_of("tables"),
    )
