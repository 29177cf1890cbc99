"""The parts of a file that were bound without errors; later checks run on them despite errors elsewhere."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ingest.api import Model, OptionPath, Settings, SinkSettings, SourceSettings, StoreSettings
from ingest.api.declared_table import NamedColumn
from ingest.api.table_feature import TableFeature
from ingest.config.model import Component, Locations
from ingest.config.nodes import MappingNode, Node, ScalarNode
from ingest.config.options import DumpOptions, PipelineOptions, ServiceOptions, SparkOptions
from ingest.config.problems import Place
from ingest.config.tables import TableOptions
from ingest.config.test_cases import CaseOptions
from ingest.registry.options import RegistryOptions


@dataclass(slots=True)
class PartialPipeline:
    """
    A pipeline; components that could not be bound are missing.

    Attributes:
        decorator_nodes: the nodes of all decorators, chains expanded, for the fingerprint.
    """

    name: str
    location: Place
    node: MappingNode
    options: PipelineOptions = field(default_factory=PipelineOptions)
    source: Component[SourceSettings] | None = None
    decorators: list[Component[Settings]] = field(default_factory=list)
    decorator_nodes: list[Node] = field(default_factory=list)
    sinks: list[Component[SinkSettings]] = field(default_factory=list)
    dead_letters: Component[Model] | None = None


@dataclass(slots=True)
class PartialTable:
    """
    A declared table and its place.

    Attributes:
        components: as `Table.components`, without those that are invalid.
        features: as `Table.features`.
    """

    name: str
    options: TableOptions
    node: Node
    location: Place
    components: dict[OptionPath, Component[Model]]
    features: tuple[TableFeature[Any], ...]

    @property
    def adds_to_rows(self) -> bool:
        """Whether events add to a row of the table, so that none replaces what another has written."""
        return any(feature.adds_to_rows for feature in self.features)

    def named_columns(self) -> Iterator[NamedColumn]:
        """The columns and families that the options of its features name."""
        for feature in self.features:
            yield from feature.columns(feature.options_of(self))

    def declared_tables(self) -> Iterator[str]:
        """Names of the further tables that the file declares with it."""
        for feature in self.features:
            yield from feature.declared_tables(self)


@dataclass(slots=True)
class PartialConfig:
    """
    A whole file.

    Attributes:
        registry_place: of the part `registry`, also if it has errors.
        state_url: of the state in HDFS, and `state_place` where the file has it; None for a folder of this machine.
        store_names: all declared stores, with invalid options too; `table_names` and `pipeline_names` likewise.
        store_uses: references to stores in sinks and tables, with invalid options too; `pipeline_uses` those in tests.
        chains: all declared chains; `used_chains` those that a pipeline uses, directly or not.
    """

    state_url: str | None = None
    state_place: Place | None = None
    service: ServiceOptions = field(default_factory=ServiceOptions)
    service_places: Locations = field(default_factory=dict)
    dump: DumpOptions | None = None
    dump_places: Locations = field(default_factory=dict)
    registry: RegistryOptions | None = None
    registry_place: Place | None = None
    spark: SparkOptions = field(default_factory=SparkOptions)
    spark_places: Locations = field(default_factory=dict)
    store_names: dict[str, Node] = field(default_factory=dict)
    stores: dict[str, Component[StoreSettings]] = field(default_factory=dict)
    table_names: set[str] = field(default_factory=set)
    tables: dict[str, PartialTable] = field(default_factory=dict)
    pipeline_names: dict[str, Place] = field(default_factory=dict)
    pipelines: dict[str, PartialPipeline] = field(default_factory=dict)
    chains: dict[str, Place] = field(default_factory=dict)
    used_chains: set[str] = field(default_factory=set)
    test_cases: list[tuple[CaseOptions, Node]] = field(default_factory=list)
    store_uses: list[ScalarNode] = field(default_factory=list)
    pipeline_uses: list[ScalarNode] = field(default_factory=list)

    def table_of(self, sink: SinkSettings) -> PartialTable | None:
        """The declared table that a sink names, in its store; None if there is none."""
        declared = self.tables.get(sink.fixed_table or "")
        return declared if declared is not None and self._share_store(sink, declared) else None

    def may_name(self, sink: SinkSettings, declared: PartialTable) -> bool:
        """Whether events of a sink that names no table may name a declared one, in its store."""
        return sink.fixed_table is None and sink.store_name is not None and self._share_store(sink, declared)

    def _share_store(self, sink: SinkSettings, declared: PartialTable) -> bool:
        only = self.only_store()
        return (sink.store_name or only) == (declared.options.store or only)

    def only_store(self) -> str | None:
        """The default store of sinks and tables; None unless the file has exactly one."""
        return next(iter(self.store_names)) if len(self.store_names) == 1 else None

    def only_pipeline(self) -> str | None:
        """The default pipeline of tests; None unless the file has exactly one."""
        return next(iter(self.pipeline_names)) if len(self.pipeline_names) == 1 else None
