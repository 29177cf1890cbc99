"""What a configuration is once everything in it has been checked: frozen, picklable, without secrets in its repr."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Literal, TypeVar

from ingest.api import Model, OnError, Settings, SinkSettings, SourceSettings, StoreSettings, TableSpec
from ingest.config.nodes import Path as NodePath
from ingest.config.options import ErrorBudget, ServiceOptions, SparkOptions, TableOptions
from ingest.config.problems import Place, Report
from ingest.config.test_cases import Expect
from ingest.masks import Masks
from ingest.plugins.loader import Plugin

Locations = Mapping[NodePath, Place]
"""Keys and indexes inside a part of the file -> where that stands."""


S_co = TypeVar("S_co", bound=Model, covariant=True)


@dataclass(frozen=True, slots=True)
class Component(Generic[S_co]):
    """
    A decorator, sink, store, source or place for dead letters, from the file to the worker.

    Reading a file fills in what the file says; a plan adds the name, the code and `on_error`.

    Attributes:
        location: of its kind in the file.
        locations: of its options, for messages; a plan goes without.
        chain: names of the chains it came from, the outermost first.
        name: of a store, or what tells a decorator or sink from others of its kind, for errors and metrics.
        path: import path of its class, `module:Class`.
        provider: the package and its version, or the module, that brings it; "" when it is built in.
        on_error: what becomes of an event that fails in it, the pipeline's rule filled in.
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
        """Where an option stands; the component itself when it was left out."""
        return self.locations.get(path, self.location)


def names_of(components: Sequence[Component[Settings]]) -> list[str]:
    """Names of the decorators or sinks of a pipeline: the label, else the kind, numbered where there are several."""
    kinds = [component.kind for component in components]
    return [
        component.settings.label
        or (component.kind if kinds.count(component.kind) == 1 else f"{component.kind}#{number}")
        for number, component in enumerate(components, start=1)
    ]


@dataclass(frozen=True, slots=True)
class Table:
    """A table that the file declares."""

    name: str
    store: str
    options: TableOptions
    location: Place

    def spec(self) -> TableSpec:
        """The table as a store creates it."""
        return self.options.spec(self.name)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """
    A source, a chain and its sinks.

    Attributes:
        decorators: in order, with named chains expanded.
        fingerprint: sha256 of what makes its results: its own text, its stores and tables, secrets masked.
    """

    name: str
    location: Place
    source: Component[SourceSettings]
    decorators: tuple[Component[Settings], ...]
    sinks: tuple[Component[SinkSettings], ...]
    dead_letters: Component[Model]
    on_error: OnError
    error_budget: ErrorBudget
    timezone: str
    existing: Literal["replace", "error"]
    trigger_every_s: float
    description: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class TestCase:
    """
    A test of a pipeline.

    Attributes:
        given: events as `ingest explain --events` takes them, plain data.
        places: of everything in it.
    """

    __test__ = False  # pytest looks at names that begin so

    name: str
    pipeline: str
    given: tuple[dict[str, object], ...]
    expect: Expect
    location: Place
    locations: Locations = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Configuration:
    """
    A whole file.

    Attributes:
        path: as given to `load`; `<stdin>` for stdin.
        report: warnings; a configuration with errors is never made.
        masks: hides every secret that was read in any text.
        effective: everything as plain data after include and expansion, secrets masked.
        origins: where each value of `effective` stands.
    """

    path: str
    state_dir: Path
    plugins: tuple[Plugin, ...]
    service: ServiceOptions
    spark: SparkOptions
    stores: dict[str, Component[StoreSettings]]
    tables: dict[str, Table]
    pipelines: dict[str, Pipeline]
    tests: tuple[TestCase, ...]
    report: Report = field(default_factory=Report, repr=False, compare=False)
    masks: Masks = field(default_factory=Masks, repr=False, compare=False)
    effective: dict[str, object] = field(default_factory=dict, repr=False, compare=False)
    origins: Locations = field(default_factory=dict, repr=False, compare=False)

    @property
    def secret_settings(self) -> frozenset[str]:
        """Names under `spark.conf` whose values hold a secret."""
        return frozenset(name for name, value in self.spark.conf.items() if self.masks.hide(value) != value)
