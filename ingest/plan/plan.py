"""A pipeline as data: what the driver sends to the workers."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from ingest.api import Decoding, OffsetUnit, OnError, Settings, SinkSettings, StoreSettings
from ingest.api.table_feature import DeadLetterPlace, FeaturePlan, TableFeature
from ingest.catalog import table_features
from ingest.config.model import Component
from ingest.masks import Masks
from ingest.plan.features import tables_with_feature
from ingest.plugins.loader import PluginFile
from ingest.receipt import ComponentKey, ComponentType
from ingest.registry.options import RegistryOptions
from sinks.mapping.mapper import MapperSettings

DEAD_LETTERS = "dead letters"
"""Name of the destination that keeps large values of records that fail; no store has a space in its name."""


@dataclass(frozen=True, slots=True)
class Plan:
    """
    One pipeline as data.

    Attributes:
        decoding: how the source's records become events.
        stores: name -> store, for the stores its sinks use.
        state_dir: of the service, absolute.
        is_replay: the plan replays dead letters or a time range.
        empty: name of a store -> tables that had no rows when the replay began, so that it writes none of their cells
            again.
        files: plugin modules beside the pipeline file.
        features: of the tables, what tasks need to know of them.
        existing: effect of setting an attribute that exists, as `ingest.sources.decoding.Existing`.
        masks: of the configuration, so that workers hide the secrets in the settings.
        dead_letter_place: where large values of records that fail are kept; None if dead letters contain them.
        publishes_dead_letters: whether dead letters are published; else only their errors are used.
        read_again_by: as in `ingest.api.SourceSettings`.
        registry: of schemas, without what a worker does not need: how to log in there; None if the file has none.
    """

    pipeline: str
    fingerprint: str
    timezone: str
    on_error: OnError
    decoding: Decoding
    decorators: tuple[Component[Settings], ...]
    sinks: tuple[Component[SinkSettings], ...]
    stores: Mapping[str, Component[StoreSettings]]
    files: tuple[PluginFile, ...] = ()
    existing: str = "replace"
    features: FeaturePlan = field(default_factory=dict)
    masks: Masks = field(default_factory=Masks, repr=False, compare=False)
    state_dir: Path = Path("state")
    is_replay: bool = False
    empty: Mapping[str, Collection[str]] = field(default_factory=dict)
    dead_letter_place: DeadLetterPlace | None = None
    publishes_dead_letters: bool = True
    read_again_by: OffsetUnit | None = None
    registry: RegistryOptions | None = None

    @property
    def needs_splits(self) -> bool:
        """Whether a destination needs the ranks of the splits, so that the driver computes `TaskSpec.splits`."""
        return any(
            feature.needs_ranks and tables_with_feature(self.features, feature.name) for feature in table_features()
        )

    @property
    def uses_registry(self) -> bool:
        """Whether a decorator reads values with schemas of the registry."""
        return any(decorator.settings.uses_registry for decorator in self.decorators)

    @property
    def kinds(self) -> dict[ComponentKey, str]:
        """The decorators and sinks in their order -> kind of each."""
        by_type = {ComponentType.DECORATOR: self.decorators, ComponentType.SINK: self.sinks}
        return {(kind, each.name): each.kind for kind, components in by_type.items() for each in components}

    @property
    def tables_of_sinks(self) -> dict[str, str]:
        """Name of each sink -> the table that it names; its kind if it names none."""
        return {sink.name: sink.settings.fixed_table or sink.kind for sink in self.sinks}

    def tables_with(self, feature: type[TableFeature[Any]]) -> dict[str, dict[str, Any]]:
        """Store -> table -> what is planned of a feature, for the stores with such tables."""
        return tables_with_feature(self.features, feature.name)

    def owned_in(self, store: str) -> frozenset[str]:
        """The tables of a store that the pipeline must own."""
        owning = {feature.name for feature in table_features() if feature.has_owner}
        return frozenset(table for table, found in self.features.get(store, {}).items() if owning & found.keys())

    def sinks_of(self, feature: str) -> frozenset[str]:
        """Names of the sinks that name tables with a feature."""
        return frozenset(
            sink.name
            for name, tables in tables_with_feature(self.features, feature).items()
            for sink in self.mapped_to(name)
            if sink.settings.fixed_table in tables
        )

    def with_tables(self, tables: Collection[str], feature: str) -> "Plan":
        """The plan with only the sinks that name these tables, of those with a feature."""
        named = self.sinks_of(feature)
        return self.with_sinks(
            {sink.name for sink in self.sinks if sink.name in named and sink.settings.fixed_table in tables}
        )

    def with_sinks(self, chosen: Collection[str]) -> "Plan":
        """The plan with only the sinks of these names."""
        sinks = tuple(sink for sink in self.sinks if sink.name in chosen)
        tables = {sink.settings.fixed_table for sink in sinks}
        names = {sink.settings.store_name for sink in sinks}
        stores = {name: store for name, store in self.stores.items() if name in names}
        features = _of_tables(self.features, tables, names)
        place = self.dead_letter_place
        kept = place if place is not None and place.store in stores else None
        return replace(self, sinks=sinks, stores=stores, features=features, dead_letter_place=kept)

    def mapped_to(self, store: str) -> list[Component[MapperSettings]]:
        """The sinks that write to a store."""
        # only the settings of a mapper name a store
        return [cast("Component[MapperSettings]", sink) for sink in self.sinks if sink.settings.store_name == store]

    def destination_of(self, sink: Component[SinkSettings]) -> str:
        """The name of the destination that a sink writes to: its store, or its own; see also `DEAD_LETTERS`."""
        # a store's name has no space
        return f"sink {sink.name}" if sink.settings.store_name is None else sink.settings.store_name


def _of_tables(
    features: FeaturePlan, tables: Collection[str | None], stores: Collection[str | None]
) -> dict[str, dict[str, dict[str, Any]]]:
    """Those features that sinks with these tables in these stores use; None among the tables if events name some."""
    not_named = {feature.name for feature in table_features() if not feature.only_named} if None in tables else set()
    found = {
        store: {
            table: {name: each for name, each in planned.items() if table in tables or name in not_named}
            for table, planned in by_table.items()
        }
        for store, by_table in features.items()
        if store in stores
    }
    kept = {store: {table: each for table, each in by_table.items() if each} for store, by_table in found.items()}
    return {store: by_table for store, by_table in kept.items() if by_table}
