"""
The registry of components: names to classes, each imported on first use.

Built-in components are listed by import path, so looking one up imports only that one. Installed packages add
components by entry points (`ingest.decorators`, `ingest.sinks`, `ingest.stores`, `ingest.sources`,
`ingest.processors`), a pipeline file by `plugins: [module]`: of a module the lists `DECORATORS`, `SINKS`, `STORES`,
`SOURCES` and `PROCESSORS` are read or, without any of them, the classes with a `kind` that it defines. If several
components have the same name, only the lookup of that name fails; the error lists all of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import metadata
from typing import Any, TypeVar

from ingest.api import CatalogError, FanOut, Model
from ingest.api.table_feature import TableFeature
from ingest.config.model import Component
from ingest.plugins.contract import TYPES, BadPluginError, check_component
from ingest.plugins.loader import NameTakenError, Plugin, PluginFile, class_at, file_of, import_plugin
from ingest.suggest import did_you_mean_ours

COMPONENT_TYPES = tuple(TYPES)
SINGULAR = {name: each.singular for name, each in TYPES.items()}
BUILTIN_SOURCES = {
    "files": ("ingest.sources.files:FilesSourceSettings", "ingest.service.files_source:FilesSource"),
    "kafka": ("ingest.sources.kafka:KafkaSourceSettings", "ingest.service.kafka.source:KafkaSource"),
}
"""Name -> path of its options, path of its class; separate, so that checking a file imports neither Kafka nor Spark."""

S = TypeVar("S", bound=Model)


@cache
def table_features() -> tuple[TableFeature[Any], ...]:
    """All features of tables, in the order in which an event passes their writers."""
    import sinks

    return tuple(class_at(path)() for path in sinks.BUILTIN_FEATURES)


class UnknownComponentError(CatalogError):
    """No decorator, sink, store or source has this name."""

    code = "unknown_component"
    remedy = "Correct the name; `attr2hbase describe` lists them all."


@dataclass(frozen=True, slots=True)
class Entry:
    """
    The location of a component's code.

    Attributes:
        path: import path of its class, `module:Class`.
        provider: the package and its version, or the module, that provides it; "" if it is built in.
    """

    path: str
    provider: str = ""

    def __str__(self) -> str:
        return f"{self.provider} ({self.path})" if self.provider else "built in"


class Catalog:
    """
    Components by type and name, imported on first use; a type is one of `COMPONENT_TYPES`.

    `ingest.config` gets the options of components from here, `ingest.plan.assemble` their classes.

    Args:
        plugins: modules named in a pipeline file.
        with_packages: whether to include the components of installed packages.

    Attributes:
        files: the plugins that are files in the pipeline's folder.

    Raises:
        CatalogError: a plugin cannot be imported, or one of its names is in use.
    """

    def __init__(self, plugins: Sequence[Plugin] = (), *, with_packages: bool = True) -> None:
        self._plugins = tuple(plugins)
        self._with_packages = with_packages
        self._added: dict[str, dict[str, list[Entry]]] = {component_type: {} for component_type in COMPONENT_TYPES}
        self.files: tuple[PluginFile, ...] = ()
        for plugin in self._plugins:
            self._add(plugin)

    def __call__(self, component_type: str, name: str) -> type[Model] | None:
        """
        The options of a component; None if the name is unknown.

        Raises:
            CatalogError: it cannot be imported, or several have this name.
        """
        return self.settings(component_type, name) if self._entries(component_type, name) else None

    def names(self, component_type: str) -> tuple[str, ...]:
        """All names of a component type, sorted."""
        installed = self._installed.get(component_type, {})
        return tuple(sorted(_builtin(component_type).keys() | installed.keys() | self._added[component_type].keys()))

    def with_plugins(self, plugins: Sequence[Plugin]) -> "Catalog":
        """
        A catalog that also has the components of these modules.

        Raises:
            CatalogError: a module cannot be imported, or one of its names is in use.
        """
        return Catalog((*self._plugins, *plugins), with_packages=self._with_packages)

    def entry(self, component_type: str, name: str) -> Entry:
        """
        The location of a component; a plan carries it to the workers.

        Raises:
            CatalogError: the name is unknown or ambiguous.
        """
        entries = self._entries(component_type, name)
        if not entries:
            hint = did_you_mean_ours(name, self.names(component_type)) or "'attr2hbase describe' lists them"
            raise UnknownComponentError(f'there is no {SINGULAR[component_type]} "{name}"', hint=hint)
        if len(entries) > 1:
            raise NameTakenError(
                f'there are {len(entries)} {component_type} named "{name}": {" and ".join(map(str, entries))}',
                hint="give one of them another kind, or remove its package",
            )
        return entries[0]

    def located(self, component_type: str, component: Component[S]) -> Component[S]:
        """
        A component of a file with the location of its code; nothing is imported.

        Raises:
            CatalogError: the name is unknown or ambiguous.
        """
        entry = self.entry(component_type, component.kind)
        return replace(component, locations={}, path=entry.path, provider=entry.provider)

    def load(self, component_type: str, name: str) -> type[Any]:
        """
        The class of a component.

        Raises:
            CatalogError: the component is unknown, cannot be imported, or violates the plugin contract.
        """
        entry = self.entry(component_type, name)
        if not entry.provider:
            return class_at(entry.path)
        try:
            component = class_at(entry.path)
            check_component(component, component_type, name)
        except CatalogError as error:
            about = f'{SINGULAR[component_type]} "{name}" of {entry}'
            raise CatalogError(f"{about}: {error.message}", code=error.code, hint=error.hint) from error
        return component

    def alias_of(self, component_type: str, name: str) -> str:
        """The component that this one is an alias of, with other options or defaults; "" if it is no alias."""
        import decorators

        return decorators.ALIASES.get(name, "") if self._is_built_in_decorator(component_type, name) else ""

    def is_for_imports(self, component_type: str, name: str) -> bool:
        """Whether a component exists only for imported configurations."""
        import decorators

        return self._is_built_in_decorator(component_type, name) and name in decorators.FOR_IMPORTS

    def is_deterministic(self, name: str) -> bool:
        """
        Whether a decorator always gives the same result for the same event.

        Raises:
            CatalogError: the decorator is unknown or cannot be imported.
        """
        return bool(self.load("decorators", name).deterministic)

    def holds_events(self, name: str) -> bool:
        """
        Whether a decorator buffers events until the end of a split.

        Raises:
            CatalogError: the decorator is unknown or cannot be imported.
        """
        component = self.load("decorators", name)
        return issubclass(component, FanOut) and component.split_end is not FanOut.split_end

    def makes_events(self, name: str) -> bool:
        """
        Whether a decorator may turn one event into several.

        Raises:
            CatalogError: the decorator is unknown or cannot be imported.
        """
        return issubclass(self.load("decorators", name), FanOut) and not self.holds_events(name)

    def table_features(self) -> tuple[TableFeature[Any], ...]:
        """As the function of this name."""
        return table_features()

    def settings(self, component_type: str, name: str) -> type[Model]:
        """
        The options of a component; for a built-in store or source, its client library is not imported.

        Raises:
            CatalogError: the component is unknown or cannot be imported.
        """
        entry, in_pairs = self.entry(component_type, name), _in_pairs(component_type)
        if name in in_pairs and not entry.provider:
            return class_at(in_pairs[name][0])
        settings: type[Model] = self.load(component_type, name).settings_class()
        return settings

    def _is_built_in_decorator(self, component_type: str, name: str) -> bool:
        if component_type != "decorators":
            return False
        return [entry.provider for entry in self._entries(component_type, name)] == [""]

    def _entries(self, component_type: str, name: str) -> list[Entry]:
        """All components of a name, each import path once."""
        path = _builtin(component_type).get(name)
        entries = [] if path is None else [Entry(path)]
        installed = self._installed.get(component_type, {})
        for entry in (*self._added[component_type].get(name, ()), *installed.get(name, ())):
            if entry.path not in (known.path for known in entries):
                entries.append(entry)
        return entries

    @cached_property
    def _installed(self) -> Mapping[str, Mapping[str, Sequence[Entry]]]:
        found: dict[str, dict[str, list[Entry]]] = {component_type: {} for component_type in TYPES}
        if self._with_packages:
            points = metadata.entry_points()  # once: each call reads the metadata of all packages
            for component_type, each in TYPES.items():
                for point in points.select(group=each.group):
                    provider = f"{point.dist.name} {point.dist.version}" if point.dist is not None else point.module
                    entry = Entry(f"{point.module}:{point.attr}", provider)
                    found[component_type].setdefault(point.name, []).append(entry)
        return found

    def _add(self, plugin: Plugin) -> None:
        file = file_of(plugin)
        if file is not None:
            self.files = (*self.files, file)
        module = import_plugin(plugin.module) if file is None else file.load()
        provider = f'"{plugin.module}"' if file is None else f'"{plugin.module}.py"'
        for component_type, components in _components_of(module).items():
            for kind, path in _named(plugin.module, components):
                self._added[component_type].setdefault(kind, []).append(Entry(path, provider))
                self.entry(component_type, kind)


def _components_of(module: Any) -> dict[str, list[object]]:
    """Component type -> the classes that a module lists or, without lists, defines."""
    content = vars(module)
    listed = {name: list(content[each.list_name] or ()) for name, each in TYPES.items() if each.list_name in content}
    if listed:
        return listed
    own = [
        value
        for value in content.values()
        if isinstance(value, type) and value.__module__ == module.__name__ and isinstance(_kind_of(value), str)
    ]
    return {
        name: [component for component in own if issubclass(component, each.contracts())]
        for name, each in TYPES.items()
    }


def _kind_of(component: object) -> object:
    return getattr(component, "kind", None)


def _named(module: str, components: Iterable[object]) -> Iterable[tuple[str, str]]:
    for component in components:
        kind = _kind_of(component)
        if not isinstance(component, type) or not isinstance(kind, str):
            raise BadPluginError(
                f'plugin "{module}": {component!r} is not a component',
                hint="list classes with a `kind`",
            )
        yield kind, f"{component.__module__}:{component.__qualname__}"


def _stores() -> Mapping[str, tuple[str, str]]:
    import sinks

    return sinks.BUILTIN_STORES


def _in_pairs(component_type: str) -> Mapping[str, tuple[str, str]]:
    return _stores() if component_type == "stores" else BUILTIN_SOURCES if component_type == "sources" else {}


def _builtin(component_type: str) -> Mapping[str, str]:
    match component_type:
        case "decorators":
            import decorators

            return decorators.BUILTIN
        case "sinks":
            import sinks

            return sinks.BUILTIN_SINKS
        case "processors":
            import sinks

            return sinks.BUILTIN_PROCESSORS
        case _:
            return {name: component for name, (_, component) in _in_pairs(component_type).items()}
