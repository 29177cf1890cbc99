"""The whole file from nodes to a `Configuration`, or all of its problems."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic_core import PydanticCustomError

from ingest.api import (
    CatalogError,
    ConfigInvalidError,
    ConfigSyntaxError,
    Model,
    OptionPath,
    StoreSettings,
    alias_rejection,
)
from ingest.api.cells import TABLE_NAME
from ingest.api.files import local_path
from ingest.config.checks import check
from ingest.config.components import Binding, Lookup
from ingest.config.keys import TOP_KEYS, where_it_belongs
from ingest.config.model import Component, Configuration
from ingest.config.nodes import MappingNode, Node, NodePath, ScalarNode, SequenceNode, locations, plain, text_under
from ingest.config.options import DumpOptions, SecretsOptions, ServiceOptions, SparkOptions
from ingest.config.partial import PartialConfig, PartialPipeline, PartialTable
from ingest.config.pipelines import Pipelines
from ingest.config.problems import Kind, Place, Report, Severity, listed, report_of
from ingest.config.reading import Document, read
from ingest.config.resolving import resolve
from ingest.config.tables import TableOptions, table_options
from ingest.config.test_cases import CaseOptions
from ingest.plugins.loader import Plugin
from ingest.registry.options import RegistryOptions
from ingest.suggest import did_you_mean

VERSION = 1
STATE_DIR = "./data/state"

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")  # also a folder, a metric label and part of a consumer group
_HDFS = re.compile("hdfs:", re.IGNORECASE)
_HDFS_FOLDER = re.compile(r"hdfs://[^/\s@]+(/[^/\s]+)+/?")


def load(path: str | Path, *, env: Mapping[str, str], lookup: Lookup) -> Configuration:
    """
    Read and check a configuration.

    Args:
        path: a file, or `-` for stdin.
        env: the values of `${VAR}`.
        lookup: finds the options of components; usually an `ingest.catalog.Catalog`.

    Raises:
        ConfigSyntaxError: the file or a file it includes cannot be parsed.
        ConfigInvalidError: it has errors; `report` lists all problems.
        NotFoundError: there is no such file.
    """
    return bind(read(path, env), lookup)


def load_service(path: str | Path, *, env: Mapping[str, str], lookup: Lookup) -> Configuration | None:
    """
    What a file says about the process alone, `state_dir`, `service` and `spark`; problems elsewhere are ignored.

    Args: as `load`.

    Returns:
        A configuration without stores, tables and pipelines; None if this part has problems or cannot be read.

    Raises:
        NotFoundError: there is no such file.
    """
    document = read(path, env)
    is_known = document.is_whole and not document.unknown
    return _Binder(document, lookup).service() if is_known else None


def load_plugins(path: str | Path, *, env: Mapping[str, str], lookup: Lookup) -> tuple[Plugin, ...]:
    """
    The plugins that a file names; problems elsewhere are ignored.

    Args: as `load`.

    Raises:
        ConfigSyntaxError: the file or a file it includes cannot be parsed.
        ConfigInvalidError: a plugin cannot be imported.
        NotFoundError: there is no such file.
    """
    document = read(path, env)
    read_count = len(document.problems)
    plugins = _Binder(document, lookup).plugins() if document.is_whole else ()
    found = document.problems[read_count:] if document.is_whole else document.problems
    if found:
        error = ConfigInvalidError if document.is_whole else ConfigSyntaxError
        report = report_of(found, document.sources, document.masks)
        raise error(_headline(report, document.file), report=report)
    return plugins


def bind(document: Document, lookup: Lookup) -> Configuration:
    """
    Check the nodes of a file against the options of its components.

    Raises:
        ConfigSyntaxError: the document is incomplete, so it was not checked.
        ConfigInvalidError: it has errors; `report` lists all problems.
    """
    read_count = len(document.problems)
    configuration = _Binder(document, lookup).configuration() if document.is_whole else None
    from_binding = [problem for problem in document.problems[read_count:] if problem.location not in document.unknown]
    report = report_of([*document.problems[:read_count], *from_binding], document.sources, document.masks)
    if configuration is not None:
        return replace(configuration, report=report)
    error = ConfigInvalidError if document.is_whole else ConfigSyntaxError
    raise error(_headline(report, document.file), report=report)


def _headline(report: Report, file: str) -> str:
    count = len(report.errors)
    return f"{count} problem{'' if count == 1 else 's'} in {file}; {report.errors[0]}"


class _Binder:
    """Walks the file once; stores, tables and chains before the pipelines that reference them."""

    def __init__(self, document: Document, lookup: Lookup) -> None:
        self._document = document
        self._root = document.root
        self._binding = Binding(lookup, document.problems, document.masks)
        self._problem = self._binding.problem
        self._partial_config = PartialConfig()

    def configuration(self) -> Configuration | None:
        """The configuration; None if it has errors."""
        self._top()
        plugins = self.plugins()
        local_dir, self._partial_config.state_url = self._state_dir()
        self._sections()
        self._stores()
        self._tables()
        self._pipelines()
        self._cases()
        check(self._partial_config, self._binding)
        if any(problem.severity is Severity.ERROR for problem in self._document.problems):
            return None
        resolved = resolve(self._partial_config, self._binding.lookup)
        return Configuration(
            path=self._document.file,
            local_dir=Path(local_dir),
            state_url=self._partial_config.state_url,
            plugins=plugins,
            service=self._partial_config.service,
            spark=self._partial_config.spark,
            dump=self._partial_config.dump,
            registry=self._partial_config.registry,
            stores=self._partial_config.stores,
            tables=resolved.tables,
            pipelines=resolved.pipelines,
            tests=resolved.tests,
            masks=self._document.masks,
            effective=self._effective(),
            origins=self._origins(),
        )

    def _effective(self) -> dict[str, object]:
        """The file as plain data, with the options that other files give to its stores."""
        effective: dict[str, object] = plain(self._root, masked=True)
        for path, value, _ in self._derived():
            part: Any = effective
            for name in path[:-1]:
                if not isinstance(part.get(name), dict):
                    part[name] = {}
                part = part[name]
            part[path[-1]] = value
        return effective

    def _origins(self) -> dict[NodePath, Place]:
        origins = dict(locations(self._root))
        for path, _, place in self._derived():
            file, _, line = place.rpartition(":")
            origins[path] = Place(file, int(line), 1)
        return origins

    def _derived(self) -> Iterator[tuple[tuple[str, ...], object, str]]:
        for name, store in self._partial_config.stores.items():
            for path, value, place in store.settings.derived:
                yield ("stores", name, store.kind, *path), value, place

    def service(self) -> Configuration | None:
        """The configuration without stores, tables and pipelines; None if the rest has errors."""
        read_count = len(self._document.problems)
        local_dir, state_url = self._state_dir()
        self._sections()
        if any(problem.severity is Severity.ERROR for problem in self._document.problems[read_count:]):
            return None
        return Configuration(
            path=self._document.file,
            local_dir=Path(local_dir),
            state_url=state_url,
            plugins=(),
            service=self._partial_config.service,
            spark=self._partial_config.spark,
            stores={},
            tables={},
            pipelines={},
            tests=(),
            masks=self._document.masks,
        )

    def _top(self) -> None:
        for key, location in self._root.keys.items():
            if key not in TOP_KEYS:
                hint = "YAML 1.2 has no merge keys; use chains or include" if key == "<<" else ""
                hint = hint or where_it_belongs(key) or did_you_mean(key, TOP_KEYS)
                hint = hint or f"there are {listed(TOP_KEYS, len(TOP_KEYS))}"
                self._problem(Kind.UNKNOWN_FIELD, location, f'"{key}" is not a part of a configuration', hint)
        node = self._root.entries.get("version")
        if node is None:
            self._problem(Kind.MISSING_FIELD, self._root.place, 'the file needs "version"', f"write version: {VERSION}")
        elif not isinstance(node, ScalarNode) or node.value != VERSION or isinstance(node.value, bool):
            is_quoted = isinstance(node, ScalarNode) and node.value == str(VERSION)
            self._problem(
                Kind.NOT_ONE_OF, node.place, f"version is {VERSION}", "remove the quotes" if is_quoted else ""
            )
        if (include := self._root.entries.get("include")) is not None and not isinstance(include, ScalarNode):
            self._texts("include")
        elif isinstance(include, ScalarNode) and (not isinstance(include.value, str) or not include.value):
            self._problem(Kind.WRONG_TYPE, include.place, "include must be a file or a list of files")

    def _texts(self, key: str) -> list[ScalarNode]:
        node = self._root.entries.get(key)
        if node is None:
            return []
        if not isinstance(node, SequenceNode):
            self._problem(Kind.WRONG_TYPE, node.place, f"{key} must be a list of texts")
            return []
        texts = []
        for item in node.items:
            if isinstance(item, ScalarNode) and isinstance(item.value, str) and item.value:
                texts.append(item)
            else:
                self._problem(Kind.WRONG_TYPE, item.place, f"an item of {key} must be text")
        return texts

    def plugins(self) -> tuple[Plugin, ...]:
        """The plugins that can be imported."""
        plugins = []
        for item in self._texts("plugins"):
            # stdin has no folder, so its plugins are searched in the working directory
            plugin = Plugin(item.text, Path(item.place.file).parent)
            try:
                self._binding.lookup = self._binding.lookup.with_plugins([plugin])
            except CatalogError as error:
                self._binding.failed_plugins.append(item.text)
                self._problem(Kind.UNKNOWN_REFERENCE, item.place, error.message, error.hint or "")
            else:
                plugins.append(plugin)
        return tuple(plugins)

    def _state_dir(self) -> tuple[str, str | None]:
        """The folder of this machine, and the URL of the state if it is in HDFS."""
        node, local = self._root.entries.get("state_dir"), self._root.entries.get("local_dir")
        if isinstance(node, ScalarNode) and isinstance(node.value, str) and _HDFS.match(node.value):
            if _HDFS_FOLDER.fullmatch(node.value):
                self._partial_config.state_place = node.place
            else:
                hint = "write hdfs://NAMENODE:PORT/FOLDER"
                message = "state_dir is not the URL of a folder in HDFS"
                self._problem(Kind.WRONG_TYPE, node.place, message, hint)
            return self._folder("local_dir", local), node.value.rstrip("/")
        if local is not None:
            message = "local_dir has no effect: state_dir is a folder of this machine"
            self._problem(Kind.CONFLICT, local.place, message, "leave it out")
        return self._folder("state_dir", node), None

    def _folder(self, key: str, node: Node | None) -> str:
        if node is None:
            return STATE_DIR
        if isinstance(node, ScalarNode) and isinstance(node.value, str) and node.value and "\0" not in node.value:
            try:
                return local_path(node.value)
            except PydanticCustomError as error:
                self._problem(Kind.WRONG_TYPE, node.place, f"{key}: {error.message()}")
                return STATE_DIR
        self._problem(Kind.WRONG_TYPE, node.place, f"{key} must be the path of a folder")
        return STATE_DIR

    def _sections(self) -> None:
        self._section("secrets", SecretsOptions)
        service, spark = self._section("service", ServiceOptions), self._section("spark", SparkOptions)
        if isinstance(service, ServiceOptions):
            self._partial_config.service = service
            self._partial_config.service_places = locations(self._root.entries["service"])
        dump = self._section("dump", DumpOptions)
        if isinstance(dump, DumpOptions):
            self._partial_config.dump = dump
            self._partial_config.dump_places = locations(self._root.entries["dump"])
        self._partial_config.registry_place = self._root.keys.get("registry")
        registry = self._section("registry", RegistryOptions)
        if isinstance(registry, RegistryOptions):
            self._partial_config.registry = registry
        if isinstance(spark, SparkOptions):
            self._partial_config.spark = spark
            self._partial_config.spark_places = locations(self._root.entries["spark"])

    def _section(self, key: str, model: type[Model]) -> Model | None:
        node = self._root.entries.get(key)
        return None if node is None else self._binding.options(model, node, key, self._root.keys[key])

    def _named(self, key: str, pattern: re.Pattern[str] = _NAME) -> MappingNode:
        """The mapping of names under a top key; bad names become problems."""
        node = self._root.entries.get(key)
        mapping = None if node is None else self._binding.mapping(node, key)
        if mapping is None:
            return MappingNode(self._root.place)
        for name, location in mapping.keys.items():
            if not pattern.fullmatch(name):
                self._problem(
                    Kind.WRONG_TYPE, location, f'"{name}" is not a valid name', "use only letters, digits, _, - and ."
                )
        return mapping

    def _stores(self) -> None:
        stores = self._named("stores")
        self._partial_config.store_names = stores.entries
        for name, node in stores.entries.items():
            if isinstance(node, ScalarNode) and node.value is None:
                self._problem(
                    Kind.MISSING_FIELD, stores.keys[name], f'store "{name}" needs a kind, `kind: {{options}}`'
                )
            elif (store := self._binding.component(node, "stores", "store", {}, StoreSettings)) is not None:
                self._partial_config.stores[name] = store

    def _tables(self) -> None:
        tables = self._named("tables", TABLE_NAME)
        features = self._binding.lookup.table_features()
        model = table_options(features)
        for name, node in tables.entries.items():
            location = tables.keys[name]
            self._partial_config.table_names.add(name)
            if (hint := alias_rejection(name)) is not None:
                self._problem(Kind.WRONG_TYPE, location, f'"{name}" is not a valid name', hint)
            if (store := text_under(node, "store")) is not None:
                self._partial_config.store_uses.append(store)
            options = self._binding.options(model, _with_family_options(node), f"table {name}", location)
            if isinstance(options, TableOptions):
                table = PartialTable(name, options, node, location, {}, ())
                table.features = tuple(feature for feature in features if feature.options_of(table) is not None)
                table.components.update(self._components(table))
                self._partial_config.tables[name] = table

    def _components(self, table: PartialTable) -> Iterator[tuple[OptionPath, Component[Model]]]:
        """The components that the options of a table's features name."""
        for feature in table.features:
            node = table.node.entries[feature.name] if isinstance(table.node, MappingNode) else None
            entries = node.entries if isinstance(node, MappingNode) else {}
            for option, component_type in feature.component_types.items():
                if option in entries:
                    component = self._binding.component(entries[option], component_type, option, {}, Model)
                    if component is not None:
                        yield (feature.name, option), component

    def _pipelines(self) -> None:
        chains = self._named("chains")
        self._partial_config.chains = {name: chains.keys[name] for name in chains.entries}
        pipelines = self._named("pipelines")
        binder = Pipelines(self._binding, chains, self._partial_config)
        if not pipelines.entries:
            location = self._root.keys.get("pipelines", self._root.place)
            self._problem(Kind.MISSING_FIELD, location, "there is no pipeline", "declare one under `pipelines`")
        self._partial_config.pipeline_names = {name: pipelines.keys[name] for name in pipelines.entries}
        for name, node in pipelines.entries.items():
            mapping = self._binding.mapping(node, f"pipeline {name}")
            if mapping is not None:
                self._partial_config.pipelines[name] = binder.bind(name, mapping, pipelines.keys[name])
        # the chains of pipelines are checked where they are used
        for name in self._partial_config.chains.keys() - self._partial_config.used_chains:
            unused = PartialPipeline("", chains.keys[name], chains)
            used = set(self._partial_config.used_chains)
            Pipelines(self._binding, chains, self._partial_config).decorators(
                unused, chains.entries[name], {"timezone": "UTC"}, (name,)
            )
            self._partial_config.used_chains = used

    def _cases(self) -> None:
        node = self._root.entries.get("tests")
        if node is None or (isinstance(node, ScalarNode) and node.value is None):
            return
        if not isinstance(node, SequenceNode):
            self._problem(Kind.WRONG_TYPE, node.place, "tests must be a list")
            return
        for item in node.items:
            if (pipeline := text_under(item, "pipeline")) is not None:
                self._partial_config.pipeline_uses.append(pipeline)
            options = self._binding.options(CaseOptions, item, "a test", item.place)
            if isinstance(options, CaseOptions):
                self._partial_config.test_cases.append((options, item))


def _with_family_options(node: Node) -> Node:
    """A table with empty options for each family that has none, as in `colfam:`."""
    if not isinstance(node, MappingNode) or not isinstance(families := node.entries.get("families"), MappingNode):
        return node
    entries = {
        name: MappingNode(family.place) if isinstance(family, ScalarNode) and family.value is None else family
        for name, family in families.entries.items()
    }
    with_options = MappingNode(families.place, entries, families.keys)
    return MappingNode(node.place, {**node.entries, "families": with_options}, node.keys)
