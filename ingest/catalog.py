"""
Which components there are, and where their code is: names to classes, imported when they are asked for.

Built-in names are tables of strings, so asking for one imports that one alone. Installed packages add to them by entry
points (`ingest.decorators`, `ingest.sinks`, `ingest.stores`, `ingest.sources`), and a file by `plugins: [module]`:
there the module's `DECORATORS`, `SINKS`, `STORES` and `SOURCES` count, or else the classes with a `kind` that are
defined in it. A name means one component: where several have it, asking for it is an error that names them all, and
nothing else is.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import metadata
from typing import Any, TypeVar

from ingest.api import CatalogError, FanOut, Model
from ingest.config.model import Component
from ingest.plugins.contract import TYPES, check_component
from ingest.plugins.loader import Plugin, PluginFile, class_at, file_of, import_plugin
from ingest.suggest import did_you_mean_ours

COMPONENT_TYPES = tuple(TYPES)
SINGULAR = {name: each.singular for name, each in TYPES.items()}
BUILTIN_SOURCES = {
    "files": ("ingest.sources.files:FilesSourceSettings", "ingest.service.sources:FilesSource"),
    "kafka": ("ingest.sources.kafka:KafkaSourceSettings", "ingest.service.kafka_source:KafkaSource"),
}
"""Name -> its options, its class; in two, so that checking a file does not load what talks to Kafka and Spark."""

S = TypeVar("S", bound=Model)


@dataclass(frozen=True, slots=True)
class Entry:
    """
    Where a component is.

    Attributes:
        path: of its class, `module:Class`.
        provider: the package and its version, or the module, that brings it; "" when it is built in.
    """

    path: str
    provider: str = ""

    def __str__(self) -> str:
        return f"{self.provider} ({self.path})" if self.provider else "built in"


class Catalog:
    """
    Components by name; each is imported once, when it is first asked for.

    Answers `ingest.config` what options a component has, and `ingest.plan.assemble` what its class is.

    Args:
        plugins: modules named in a pipeline file.
        with_packages: also what installed packages add.

    Attributes:
        files: those of the plugins that are files beside a pipeline.

    Raises:
        CatalogError: a plugin can not be imported, or takes a name that is taken.
    """

    def __init__(self, plugins: Sequence[Plugin] = (), *, with_packages: bool = True) -> None:
        self._plugins = tuple(plugins)
        self._with_packages = with_packages
        self._added: dict[str, dict[str, list[Entry]]] = {room: {} for room in COMPONENT_TYPES}
        self.files: tuple[PluginFile, ...] = ()
        for plugin in self._plugins:
            self._add(plugin)

    def __call__(self, room: str, name: str) -> type[Model] | None:
        """
        The options of a component; None when there is none of that name.

        Raises:
            CatalogError: it can not be imported, or several have this name.
        """
        return self.settings(room, name) if self._entries(room, name) else None

    def names(self, room: str) -> tuple[str, ...]:
        """All names of a room, sorted."""
        return tuple(sorted(_builtin(room).keys() | self._installed.get(room, {}).keys() | self._added[room].keys()))

    def with_plugins(self, plugins: Sequence[Plugin]) -> "Catalog":
        """
        The same with the components of some modules.

        Raises:
            CatalogError: a module can not be imported, or takes a name that is taken.
        """
        return Catalog((*self._plugins, *plugins), with_packages=self._with_packages)

    def entry(self, room: str, name: str) -> Entry:
        """
        Where a component is; what a plan carries to the workers.

        Raises:
            CatalogError: there is no such component, or there are several.
        """
        entries = self._entries(room, name)
        if not entries:
            hint = did_you_mean_ours(name, self.names(room)) or "'ingest describe' lists them"
            raise CatalogError(f'there is no {SINGULAR[room]} "{name}"', code="unknown_component", hint=hint)
        if len(entries) > 1:
            raise CatalogError(
                f'there are {len(entries)} {SINGULAR[room]}s named "{name}": {" and ".join(map(str, entries))}',
                code="name_taken",
                hint="give one of them another kind, or remove its package",
            )
        return entries[0]

    def located(self, room: str, component: Component[S]) -> Component[S]:
        """
        A component of a file with the place of its code; nothing is imported.

        Raises:
            CatalogError: there is no such component, or there are several.
        """
        entry = self.entry(room, component.kind)
        return replace(component, locations={}, path=entry.path, provider=entry.provider)

    def load(self, room: str, name: str) -> type[Any]:
        """
        The class of a component.

        Raises:
            CatalogError: there is no such component, it can not be imported, or it breaks the rules for plugins.
        """
        entry = self.entry(room, name)
        if not entry.provider:
            return class_at(entry.path)
        try:
            component = class_at(entry.path)
            check_component(component, room, name)
        except CatalogError as error:
            about = f'{SINGULAR[room]} "{name}" of {entry}'
            raise CatalogError(f"{about}: {error.message}", code=error.code, hint=error.hint) from error
        return component

    def alias_of(self, room: str, name: str) -> str:
        """The component that this one is with other options or defaults; "" for one of its own."""
        import decorators

        return decorators.ALIASES.get(name, "") if self._is_built_in_decorator(room, name) else ""

    def is_for_imports(self, room: str, name: str) -> bool:
        """Whether a component is there for imported configurations."""
        import decorators

        return self._is_built_in_decorator(room, name) and name in decorators.FOR_IMPORTS

    def is_deterministic(self, name: str) -> bool:
        """
        Whether a decorator gives the same for the same event.

        Raises:
            CatalogError: there is no such decorator, or it can not be imported.
        """
        return bool(self.load("decorators", name).deterministic)

    def holds_events(self, name: str) -> bool:
        """
        Whether a decorator holds events until the end of a share.

        Raises:
            CatalogError: there is no such decorator, or it can not be imported.
        """
        component = self.load("decorators", name)
        return issubclass(component, FanOut) and component.split_end is not FanOut.split_end

    def makes_events(self, name: str) -> bool:
        """
        Whether a decorator may make several events of one.

        Raises:
            CatalogError: there is no such decorator, or it can not be imported.
        """
        return issubclass(self.load("decorators", name), FanOut) and not self.holds_events(name)

    def settings(self, room: str, name: str) -> type[Model]:
        """
        The options of a component; of a built-in one without importing what talks to its store or source.

        Raises:
            CatalogError: there is no such component, or it can not be imported.
        """
        entry, in_pairs = self.entry(room, name), _in_pairs(room)
        if name in in_pairs and not entry.provider:
            return class_at(in_pairs[name][0])
        settings: type[Model] = self.load(room, name).settings_class()
        return settings

    def _is_built_in_decorator(self, room: str, name: str) -> bool:
        return room == "decorators" and [entry.provider for entry in self._entries(room, name)] == [""]

    def _entries(self, room: str, name: str) -> list[Entry]:
        """Every component of a name; one that is found in two ways is one."""
        path = _builtin(room).get(name)
        entries = [] if path is None else [Entry(path)]
        for entry in (*self._added[room].get(name, ()), *self._installed.get(room, {}).get(name, ())):
            if entry.path not in (known.path for known in entries):
                entries.append(entry)
        return entries

    @cached_property
    def _installed(self) -> Mapping[str, Mapping[str, Sequence[Entry]]]:
        found: dict[str, dict[str, list[Entry]]] = {room: {} for room in TYPES}
        if self._with_packages:
            for room, each in TYPES.items():
                for point in metadata.entry_points(group=each.group):
                    provider = f"{point.dist.name} {point.dist.version}" if point.dist is not None else point.module
                    found[room].setdefault(point.name, []).append(Entry(f"{point.module}:{point.attr}", provider))
        return found

    def _add(self, plugin: Plugin) -> None:
        file = file_of(plugin)
        if file is not None:
            self.files = (*self.files, file)
        module = import_plugin(plugin.module) if file is None else file.load()
        provider = f'"{plugin.module}"' if file is None else f'"{plugin.module}.py"'
        for room, components in _components_of(module).items():
            for kind, path in _named(plugin.module, components):
                self._added[room].setdefault(kind, []).append(Entry(path, provider))
                self.entry(room, kind)


def _components_of(module: Any) -> dict[str, list[object]]:
    """Room -> the classes a module lists, or else has."""
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
            raise CatalogError(
                f'plugin "{module}": {component!r} is no component',
                code="bad_plugin",
                hint="list classes with a `kind`",
            )
        yield kind, f"{component.__module__}:{component.__qualname__}"


def _stores() -> Mapping[str, tuple[str, str]]:
    import sinks

    return sinks.BUILTIN_STORES


def _in_pairs(room: str) -> Mapping[str, tuple[str, str]]:
    return _stores() if room == "stores" else BUILTIN_SOURCES if room == "sources" else {}


def _builtin(room: str) -> Mapping[str, str]:
    match room:
        case "decorators":
            import decorators

            return decorators.BUILTIN
        case "sinks":
            import sinks

            return sinks.BUILTIN_SINKS
        case _:
            return {name: component for name, (_, component) in _in_pairs(room).items()}
