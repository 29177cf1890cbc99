"""Lets the features of tables check a file."""

from collections.abc import Mapping, Sequence

from ingest.api import Finding, SinkSettings, StoreSettings
from ingest.api.declared_table import CheckedSink, CheckedTable, Locator
from ingest.config.components import Binding
from ingest.config.model import Component
from ingest.config.nodes import locations
from ingest.config.partial import PartialConfig, PartialPipeline, PartialTable


def check_features(partial_config: PartialConfig, binding: Binding) -> None:
    """Report what the features of tables find."""
    file = _File(partial_config, binding)
    for name, declared in partial_config.tables.items():
        for feature in declared.features:
            feature.check(feature.options_of(declared), file.tables[name], file)


class _File:
    """As `ingest.api.declared_table.CheckedFile`."""

    def __init__(self, partial_config: PartialConfig, binding: Binding) -> None:
        self.locator: Locator = binding.lookup
        self.local_slots = partial_config.spark.local_slots
        self.sinks: Sequence[CheckedSink] = [
            _Sink(sink, pipeline, binding) for pipeline in partial_config.pipelines.values() for sink in pipeline.sinks
        ]
        self.tables: Mapping[str, CheckedTable] = {
            name: self._table(each, partial_config, binding) for name, each in partial_config.tables.items()
        }

    def _table(self, declared: PartialTable, partial_config: PartialConfig, binding: Binding) -> "_Table":
        sinks = [sink for sink in self.sinks if partial_config.table_of(sink.settings) is declared]
        others = [sink for sink in self.sinks if partial_config.may_name(sink.settings, declared)]
        store = partial_config.stores.get(declared.options.store or partial_config.only_store() or "")
        return _Table(declared, store, sinks, others, binding)


class _Table:
    """As `ingest.api.declared_table.CheckedTable`."""

    def __init__(
        self,
        declared: PartialTable,
        store: Component[StoreSettings] | None,
        sinks: Sequence[CheckedSink],
        other_sinks: Sequence[CheckedSink],
        binding: Binding,
    ) -> None:
        self.name = declared.name
        self.options = declared.options
        self.components = declared.components
        self.store = None if store is None else store.settings
        self.store_kind = "" if store is None else store.kind
        self.sinks = sinks
        self.other_sinks = other_sinks
        self._declared = declared
        self._binding = binding

    def report(self, finding: Finding) -> None:
        """At the deepest part of the path that the file has, or at the table."""
        places = locations(self._declared.node)
        paths = (finding.path[:length] for length in range(len(finding.path), 0, -1))
        place = next((places[path] for path in paths if path in places), self._declared.location)
        self._binding.report(finding, place)


class _Sink:
    """As `ingest.api.declared_table.CheckedSink`."""

    def __init__(self, sink: Component[SinkSettings], pipeline: PartialPipeline, binding: Binding) -> None:
        self.pipeline = pipeline.name
        self.settings = sink.settings
        self.source = None if pipeline.source is None else pipeline.source.settings
        self._sink = sink
        self._source = pipeline.source
        self._binding = binding

    def report(self, finding: Finding) -> None:
        """At the option, or at the sink."""
        self._binding.report(finding, self._sink.place(*finding.path))

    def report_source(self, finding: Finding) -> None:
        """At the option of the source, or at the source."""
        self._binding.report(finding, (self._source or self._sink).place(*finding.path))
