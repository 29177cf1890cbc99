"""What a configuration is once everything in it has been checked: frozen, picklable, without secrets in its repr."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ingest.api import Model, OnError, TableSpec
from ingest.config.cases import Expect
from ingest.config.nodes import Path as NodePath
from ingest.config.options import ErrorBudget, ServiceOptions, SparkOptions, TableOptions
from ingest.config.problems import Masks, Place, Report
from ingest.plugin import Plugin

Places = Mapping[NodePath, Place]
"""Keys and indexes inside a part of the file -> where that stands."""


@dataclass(frozen=True, slots=True)
class Component:
    """
    A decorator, sink, store, source or place for dead letters: what it is, and its checked options.

    Attributes:
        where: the place of its name.
        places: of its options, for messages.
        chain: names of the chains it came from, the outermost first.
    """

    kind: str
    settings: Model = field(repr=False)
    where: Place
    places: Places = field(default_factory=dict, repr=False, compare=False)
    chain: tuple[str, ...] = ()

    def place(self, *path: str | int) -> Place:
        """Where an option stands; the component itself when it was left out."""
        return self.places.get(path, self.where)


def names_of(components: Sequence[Component]) -> list[str]:
    """What steps or sinks of a pipeline are called: the label, else the kind, numbered where there are several."""
    kinds = [component.kind for component in components]
    return [
        getattr(component.settings, "label", None)
        or (component.kind if kinds.count(component.kind) == 1 else f"{component.kind}#{number}")
        for number, component in enumerate(components, start=1)
    ]


@dataclass(frozen=True, slots=True)
class Table:
    """A table that the file declares."""

    name: str
    store: str
    options: TableOptions
    where: Place

    def spec(self) -> TableSpec:
        """The table as a store makes it."""
        return self.options.spec(self.name)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """
    A source, a chain and its sinks.

    Attributes:
        decorators: steps in order, named chains put in.
        fingerprint: sha256 of what makes its results: its own text, its stores and tables, secrets masked.
    """

    name: str
    where: Place
    source: Component
    decorators: tuple[Component, ...]
    sinks: tuple[Component, ...]
    dead_letters: Component
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
    where: Place
    places: Places = field(default_factory=dict, repr=False, compare=False)


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
    stores: dict[str, Component]
    tables: dict[str, Table]
    pipelines: dict[str, Pipeline]
    tests: tuple[TestCase, ...]
    report: Report = field(default_factory=Report, repr=False, compare=False)
    masks: Masks = field(default_factory=Masks, repr=False, compare=False)
    effective: dict[str, object] = field(default_factory=dict, repr=False, compare=False)
    origins: Places = field(default_factory=dict, repr=False, compare=False)
