"""What the pipelines of a file write to HBase: the tables, and the options of the sinks that matter to a server."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from ingest.api import ConfigError, Durability, IngestError, StoreSettings, TableSpec
from ingest.config.model import declared_in
from ingest.doctor.hbase.inputs import Writers
from ingest.plan.stores import reading_store

if TYPE_CHECKING:
    from ingest.api import SinkSettings
    from ingest.catalog import Catalog
    from ingest.config.model import Component, Configuration
    from sinks.mapping.mapper import MapperSettings

_KIND = "hbase"
_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Written:
    """
    What the pipelines of a file write to HBase.

    Attributes:
        pipelines: names of those that write to HBase.
        writers: their sinks.
        tables: the tables, as they are in HBase; those that HBase does not describe, as they are declared.
        notes: why tables are not described by HBase.
    """

    pipelines: frozenset[str]
    writers: Writers
    tables: tuple[TableSpec, ...]
    notes: tuple[str, ...] = ()

    @property
    def regions(self) -> int:
        """Regions of all tables, on all servers."""
        return sum(len(table.splits) + 1 for table in self.tables)

    @property
    def families(self) -> int:
        """The largest number of families of a table."""
        return max((len(table.families) for table in self.tables), default=0)


def written(configuration: "Configuration", catalog: "Catalog") -> Written:
    """
    What the pipelines of a configuration write to HBase; connects to its Thrift server.

    Raises:
        ConfigError: no sink writes to HBase.
    """
    stores = {name: store for name, store in configuration.stores.items() if store.kind == _KIND}
    sinks: list[Component[MapperSettings]] = []
    pipelines = set()
    for name, pipeline in configuration.pipelines.items():
        # only the settings of a mapper name a store
        found = [cast("Component[MapperSettings]", sink) for sink in pipeline.sinks if _store_of(sink) in stores]
        sinks += found
        pipelines |= {name} if found else set()
    if not sinks:
        raise ConfigError(f'no sink of "{configuration.path}" writes to HBase', hint="omit FILE")
    tables: list[TableSpec] = []
    notes: list[str] = []
    for name, store in stores.items():
        declared = declared_in(name, configuration.tables.values())
        fixed = (sink.settings.fixed_table for sink in sinks if sink.settings.store_name == name)
        wanted = list(dict.fromkeys([*(table for table in fixed if table is not None), *declared]))
        try:
            tables += _described(catalog, store, wanted)
        except IngestError as error:
            notes.append(f'tables of store "{name}" are taken from the file: {error.message}')
            tables += [declared[table] for table in wanted if table in declared]
    return Written(frozenset(pipelines), _writers([sink.settings for sink in sinks]), tuple(tables), tuple(notes))


def _store_of(sink: "Component[SinkSettings]") -> str | None:
    return sink.settings.store_name


def _writers(settings: "list[MapperSettings]") -> Writers:
    return Writers(
        max(each.write_buffer_size for each in settings),
        all(durability is not Durability.SKIP for each in settings for durability in each.row_durabilities()),
    )


def _described(catalog: "Catalog", component: "Component[StoreSettings]", tables: list[str]) -> list[TableSpec]:
    """Those of the tables that exist."""
    with reading_store(component, catalog, timeout_s=_TIMEOUT_S) as store:
        found = (store.describe_table(table) for table in tables)
        return [table for table in found if table is not None]
