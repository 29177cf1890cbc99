"""A pipeline as data: what the driver sends to the workers."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar, cast

from ingest.api import Decoding, FeedSpec, OffsetUnit, OnError, Settings, SinkSettings, StoreSettings
from ingest.config.model import Component, TableUpdates
from ingest.masks import Masks
from ingest.plugins.loader import PluginFile
from sinks.blobs.large_values import DeadLetterPlace, LargeValues
from sinks.mapping.mapper import MapperSettings

T = TypeVar("T")
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
        files: plugin modules beside the pipeline file.
        updates: store -> table -> its deferred updates, for the tables that its sinks name.
        blobs: store -> table -> which of its large values are moved into a blob store.
        feeds: store -> table -> its feed, for the tables that its sinks name.
        existing: effect of setting an attribute that exists, as `ingest.sources.decoding.Existing`.
        masks: of the configuration, so that workers hide the secrets in the settings.
        dead_letter_blobs: where large values of records that fail are kept; None if dead letters contain them.
        publishes_dead_letters: whether dead letters are published; else only their errors are used.
        read_again_by: as in `ingest.api.SourceSettings`.
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
    updates: Mapping[str, Mapping[str, TableUpdates]] = field(default_factory=dict)
    blobs: Mapping[str, Mapping[str, LargeValues]] = field(default_factory=dict)
    feeds: Mapping[str, Mapping[str, FeedSpec]] = field(default_factory=dict)
    masks: Masks = field(default_factory=Masks, repr=False, compare=False)
    state_dir: Path = Path("state")
    is_replay: bool = False
    dead_letter_blobs: DeadLetterPlace | None = None
    publishes_dead_letters: bool = True
    read_again_by: OffsetUnit | None = None

    @property
    def needs_splits(self) -> bool:
        """Whether a destination needs the ranks of the splits, so that the driver computes `TaskSpec.splits`."""
        return bool(self.updates or self.feeds)

    @property
    def tables_of_sinks(self) -> dict[str, str]:
        """Name of each sink -> the table that it names; its kind if it names none."""
        return {sink.name: sink.settings.fixed_table or sink.kind for sink in self.sinks}

    @property
    def sinks_of_updates(self) -> frozenset[str]:
        """Names of the sinks that write tables with deferred updates."""
        return frozenset(
            sink.name
            for name, tables in self.updates.items()
            for sink in self.mapped_to(name)
            if sink.settings.fixed_table in tables
        )

    @property
    def sinks_of_feeds(self) -> frozenset[str]:
        """Names of the sinks that write tables with a change feed and without deferred updates."""
        return frozenset(
            sink.name
            for name, tables in self.feeds.items()
            for sink in self.mapped_to(name)
            if sink.settings.fixed_table in tables and sink.name not in self.sinks_of_updates
        )

    def with_tables(self, tables: Collection[str]) -> "Plan":
        """The plan with only the sinks that write these tables with deferred updates."""
        updated = (sink for sink in self.sinks if sink.name in self.sinks_of_updates)
        return self.with_sinks({sink.name for sink in updated if sink.settings.fixed_table in tables})

    def with_sinks(self, chosen: Collection[str]) -> "Plan":
        """The plan with only the sinks of these names."""
        sinks = tuple(sink for sink in self.sinks if sink.name in chosen)
        tables = {sink.settings.fixed_table for sink in sinks}
        names = {sink.settings.store_name for sink in sinks}
        stores = {name: store for name, store in self.stores.items() if name in names}
        updates = _of_tables(self.updates, tables, names)
        feeds = _of_tables(self.feeds, tables, names)
        kept = self.dead_letter_blobs
        blobs = kept if kept is not None and kept.store in stores else None
        return replace(self, sinks=sinks, stores=stores, updates=updates, feeds=feeds, dead_letter_blobs=blobs)

    def mapped_to(self, store: str) -> list[Component[MapperSettings]]:
        """The sinks that write to a store."""
        # only the settings of a mapper name a store
        return [cast("Component[MapperSettings]", sink) for sink in self.sinks if sink.settings.store_name == store]

    def destination_of(self, sink: Component[SinkSettings]) -> str:
        """The name of the destination that a sink writes to: its store, or its own; see also `DEAD_LETTERS`."""
        # a store's name has no space
        return f"sink {sink.name}" if sink.settings.store_name is None else sink.settings.store_name


def _of_tables(
    declared: Mapping[str, Mapping[str, T]], tables: Collection[str | None], stores: Collection[str | None]
) -> dict[str, Mapping[str, T]]:
    """Store -> table -> what is declared of it, of these tables; a store without one of them is not in it."""
    found = {
        name: {table: each for table, each in by_table.items() if table in tables}
        for name, by_table in declared.items()
        if name in stores
    }
    return {name: by_table for name, by_table in found.items() if by_table}
