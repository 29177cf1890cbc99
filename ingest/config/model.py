"""The checked configuration: immutable, picklable, and without secrets in its repr."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from ingest.api import (
    ConfigError,
    Model,
    NotFoundError,
    OnError,
    OptionPath,
    Settings,
    SinkSettings,
    SourceSettings,
    StoreSettings,
    TableSpec,
)
from ingest.api.table_feature import TableFeature
from ingest.config.nodes import NodePath
from ingest.config.options import DumpOptions, ErrorBudgetOptions, ReplayOptions, ServiceOptions, SparkOptions
from ingest.config.problems import Place, Report
from ingest.config.tables import TableOptions
from ingest.config.test_cases import Expect
from ingest.formats.column_types import AS_BYTES, ColumnTypes
from ingest.masks import Masks
from ingest.plugins.loader import Plugin
from ingest.registry.options import RegistryOptions

Locations = Mapping[NodePath, Place]
"""Keys and indexes inside a part of the file -> the place of the value."""


S_co = TypeVar("S_co", bound=Model, covariant=True)


@dataclass(frozen=True, slots=True)
class Component(Generic[S_co]):
    """
    A decorator, sink, store, source or dead-letter destination, as the file declares it.

    The configuration leaves `name`, `path`, `provider` and `on_error` empty; the plan fills them in for the workers.

    Attributes:
        location: place of its kind in the file.
        locations: places of its options, for messages; empty in a plan.
        chain: names of the chains that contain it, the outermost first.
        name: unique name in errors and metrics: of a store its key, of a decorator or sink see `names_of`.
        path: import path of its class, `module:Class`.
        provider: the package and its version, or the module, that provides it; "" if it is built in.
        on_error: failure action for events that fail in it; the pipeline's where its own options have none.
    """

    kind: str
    settings: S_co = field(repr=False)
    location: Place
    locations: Locations = field(default_factory=dict, repr=False, compare=False)
    chain: tuple[str, ...] = ()
    name: str = ""
    path: str = ""
    provider: str = ""
    on_error: OnError = OnError.DEAD_LETTER

    def place(self, *path: str | int) -> Place:
        """The place of an option; that of the component if the option was left out."""
        return self.locations.get(path, self.location)


def names_of(components: Sequence[Component[Settings]]) -> list[str]:
    """Names of the decorators or sinks of a pipeline: the label or the kind, as `kind#POSITION` if it is not unique."""
    return unique_names([(component.kind, component.settings.label) for component in components])


def unique_names(components: Sequence[tuple[str, str | None]]) -> list[str]:
    """As `names_of`, of kinds and labels."""
    kinds = [kind for kind, _ in components]
    return [
        label or (kind if kinds.count(kind) == 1 else f"{kind}#{number}")
        for number, (kind, label) in enumerate(components, start=1)
    ]


@dataclass(frozen=True, slots=True)
class Table:
    """
    A declared table.

    Attributes:
        components: path of an option that names a component -> the component.
        features: that it has, in the order in which an event passes their writers.
        column_types: with which values are shown: those of its options, and those of its features.
    """

    name: str
    store: str
    options: TableOptions
    location: Place
    components: Mapping[OptionPath, Component[Model]] = field(default_factory=dict)
    features: tuple[TableFeature[Any], ...] = ()
    column_types: ColumnTypes = AS_BYTES

    def spec(self) -> TableSpec:
        """The definition with which a store creates the table."""
        spec = self.options.spec(self.name)
        for feature in self.features:
            spec = feature.declared(spec, self)
        return spec

    @property
    def adds_to_rows(self) -> bool:
        """Whether events add to a row of the table, so that none may be counted twice."""
        return any(feature.adds_to_rows for feature in self.features)

    def internal_tables(self) -> Iterator[TableSpec]:
        """The tables that its store has beside it, and that no file may declare."""
        return (spec for feature in self.features for spec in feature.internal_tables(self.spec()))


@dataclass(frozen=True, slots=True)
class Pipeline:
    """
    A source, its decorators and its sinks.

    Attributes:
        decorators: in order, with chains expanded.
        max_rate: records per second; None without a limit.
        fingerprint: SHA-256 of all that determines its results: its own options, with the content of files and what is
            derived from the secrets of decorators, stores and tables; other secrets are masked.
    """

    name: str
    location: Place
    source: Component[SourceSettings]
    decorators: tuple[Component[Settings], ...]
    sinks: tuple[Component[SinkSettings], ...]
    dead_letters: Component[Model]
    on_error: OnError
    error_budget: ErrorBudgetOptions
    timezone: str
    existing: Literal["replace", "error"]
    trigger_every_s: float
    max_rate: int | None
    replay: ReplayOptions
    description: str
    fingerprint: str

    @property
    def targets(self) -> frozenset[tuple[str | None, str | None]]:
        """Store and table of each sink; no table if the event decides it, neither without a store."""
        return frozenset((sink.settings.store_name, sink.settings.fixed_table) for sink in self.sinks)

    @property
    def stores(self) -> list[str]:
        """Names of the stores of its sinks, sorted."""
        return sorted({name for sink in self.sinks if (name := sink.settings.store_name) is not None})

    def may_write(self, table: Table) -> bool:
        """Whether a sink writes the table, or one into its store that the event decides."""
        return not self.targets.isdisjoint({(table.store, table.name), (table.store, None)})


@dataclass(frozen=True, slots=True)
class TestCase:
    """
    A test of a pipeline.

    Attributes:
        given: input events, in the format of `attr2hbase explain --events`.
        locations: places of everything in it.
    """

    __test__ = False  # keeps pytest from collecting it

    name: str
    pipeline: str
    given: tuple[dict[str, object], ...]
    expect: Expect
    location: Place
    locations: Locations = field(default_factory=dict, repr=False, compare=False)


def declared_in(store: str, tables: Iterable[Table]) -> dict[str, TableSpec]:
    """Table name -> declaration, for the tables of one store and those that their features have beside them."""
    found = [table for table in tables if table.store == store]
    specs = [table.spec() for table in found]
    internal = [spec for table in found for spec in table.internal_tables()]
    return {spec.name: spec for spec in (*specs, *internal)}


def column_types_in(tables: Mapping[str, Table], table: str, store: str | None = None) -> ColumnTypes:
    """As `Configuration.column_types`, of declared tables by name."""
    declared = tables.get(table)
    return AS_BYTES if declared is None or store not in {None, declared.store} else declared.column_types


def no_pipeline(name: str, known: Iterable[str]) -> NotFoundError:
    """The error for the name of no pipeline, with the names of those that there are."""
    names = ", ".join(f'"{each}"' for each in known)
    return NotFoundError(f'there is no pipeline "{name}"', hint=f"there is {names}")


@dataclass(frozen=True, slots=True)
class Configuration:
    """
    A whole configuration, with its included files.

    Attributes:
        path: as passed to `load`; `<stdin>` for stdin.
        local_dir: folder on this machine: of all state, or with `state_url` of what belongs to this machine.
        state_url: URL in HDFS of the state that a driver on another machine needs; None if it is in `local_dir`.
        dump: dumps of tables; None if the file declares none.
        registry: of schemas; None if the file declares none.
        report: warnings; a configuration with errors is never built.
        masks: masks every secret that was read.
        effective: plain data after includes and expansion, secrets masked.
        origins: places of the values of `effective`.
    """

    path: str
    local_dir: Path
    plugins: tuple[Plugin, ...]
    service: ServiceOptions
    spark: SparkOptions
    stores: dict[str, Component[StoreSettings]]
    tables: dict[str, Table]
    pipelines: dict[str, Pipeline]
    tests: tuple[TestCase, ...]
    state_url: str | None = None
    dump: DumpOptions | None = None
    registry: RegistryOptions | None = None
    report: Report = field(default_factory=Report, repr=False, compare=False)
    masks: Masks = field(default_factory=Masks, repr=False, compare=False)
    effective: dict[str, object] = field(default_factory=dict, repr=False, compare=False)
    origins: Locations = field(default_factory=dict, repr=False, compare=False)

    @property
    def secret_settings(self) -> frozenset[str]:
        """Names under `spark.conf` whose values contain a secret."""
        return frozenset(name for name, value in self.spark.conf.items() if self.masks.hide(value) != value)

    def pipeline(self, name: str) -> Pipeline:
        """
        The pipeline of a name.

        Raises:
            NotFoundError: there is none.
        """
        if name not in self.pipelines:
            raise no_pipeline(name, self.pipelines)
        return self.pipelines[name]

    def written_by(self, pipeline: Pipeline, feature: type[TableFeature[Any]] | None = None) -> list[Table]:
        """The declared tables that a pipeline names, by name; with a feature only those that have it."""
        targets = pipeline.targets
        tables = (self.tables[name] for name in sorted(self.tables))
        named = [table for table in tables if (table.store, table.name) in targets]
        return named if feature is None else [table for table in named if feature.options_of(table) is not None]

    def column_types(self, table: str, store: str | None = None) -> ColumnTypes:
        """
        The types with which the values of a table are shown.

        Args:
            table: its name.
            store: name of its store; by default the declared one. A table of another store has no types.
        """
        return column_types_in(self.tables, table, store)

    def store_of_table(self, table: str) -> str:
        """
        The store of a table: the declared one, else one that a sink writes it to, else the only store.

        Raises:
            ConfigError: it could be in several stores.
        """
        if table in self.tables:
            return self.tables[table].store
        written = {
            sink.settings.store_name
            for pipeline in self.pipelines.values()
            for sink in pipeline.sinks
            if sink.settings.table_text == table
        }
        candidates = written or set(self.stores)
        if len(candidates) == 1:
            return str(candidates.pop())
        raise ConfigError(
            f'table "{table}" could be in any of the stores {", ".join(sorted(map(str, candidates)))}',
            hint=f"declare it in the file: tables: {{{table}: {{store: NAME}}}}",
        )
