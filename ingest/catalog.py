"""
Which components there are, and where their code is: names to classes, imported when they are asked for.

Built-in names are tables of strings, so asking for one imports that one alone. Installed packages add to them by entry
points (`ingest.decorators`, `ingest.stores`), and a file by `plugins: [module]`: there the module's `DECORATORS` and
`STORES` count, or else the classes with a `kind` that are defined in it. A built-in name can not be taken by others.
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module, metadata
from typing import Any

from ingest.api import CatalogError, Decorator, FanOut, Model, Store

ROOMS = ("decorators", "sinks", "stores", "sources")
BUILTIN_SOURCES = {"files": "ingest.sources.files:FilesSource", "kafka": "ingest.sources.kafka:KafkaSource"}

_SINGULAR = {"decorators": "decorator", "sinks": "sink", "stores": "store", "sources": "source"}
_GROUPS = {"decorators": "ingest.decorators", "stores": "ingest.stores"}


class Catalog:
    """
    Components by name; each is imported once, when it is first asked for.

    Answers `ingest.config` what options a component has, and `ingest.build` what its class is.
    """

    def __init__(self, plugins: Sequence[str] = ()) -> None:
        self._plugins = tuple(plugins)
        self._added: dict[str, dict[str, str]] = {room: {} for room in ROOMS}
        for module in self._plugins:
            self._add_plugin(module)
        self._entry_points: dict[str, dict[str, str]] | None = None

    def __call__(self, room: str, name: str) -> type[Model] | None:
        """
        The options of a component; None when there is none of that name.

        Raises:
            CatalogError: it can not be imported.
        """
        return self.settings(room, name) if self._path(room, name) is not None else None

    def names(self, room: str) -> tuple[str, ...]:
        """All names of a room, sorted."""
        return tuple(sorted(_builtin(room).keys() | self._installed(room).keys() | self._added[room].keys()))

    def with_plugins(self, modules: Sequence[str]) -> "Catalog":
        """
        The same with the components of some modules.

        Raises:
            CatalogError: a module can not be imported, or takes a name that is taken.
        """
        return Catalog((*self._plugins, *modules))

    def path(self, room: str, name: str) -> str:
        """
        Where the class of a component is, `module:Class`; what a plan carries to the workers.

        Raises:
            CatalogError: there is no such component.
        """
        path = self._path(room, name)
        if path is None:
            near = difflib.get_close_matches(name, self.names(room), n=1)
            hint = f'did you mean "{near[0]}"?' if near else "'ingest describe' lists them"
            raise CatalogError(f'there is no {_SINGULAR[room]} "{name}"', code="unknown_component", hint=hint)
        return path

    def load(self, room: str, name: str) -> type[Any]:
        """
        The class of a component.

        Raises:
            CatalogError: there is no such component, or it can not be imported.
        """
        return load_class(self.path(room, name))

    def is_deterministic(self, name: str) -> bool:
        """
        Whether a decorator gives the same for the same event.

        Raises:
            CatalogError: there is no such decorator, or it can not be imported.
        """
        return bool(getattr(self.load("decorators", name), "deterministic", True))

    def settings(self, room: str, name: str) -> type[Model]:
        """
        The options of a component, without importing what talks to its store.

        Raises:
            CatalogError: there is no such component, or it can not be imported.
        """
        apart = _stores()[name][0] if room == "stores" and name in _stores() else None
        found = load_class(apart or self.path(room, name))
        of_component = getattr(found, "settings_class", None)
        settings = found if of_component is None else of_component()
        if not (isinstance(settings, type) and issubclass(settings, Model)):
            raise CatalogError(f'{_SINGULAR[room]} "{name}" has no settings', hint="see ingest.api.Settings")
        return settings

    def _path(self, room: str, name: str) -> str | None:
        built_in = _builtin(room).get(name)
        return built_in or self._added[room].get(name) or self._installed(room).get(name)

    def _installed(self, room: str) -> Mapping[str, str]:
        if self._entry_points is None:
            self._entry_points = {
                room: {point.name: point.value for point in metadata.entry_points(group=group)}
                for room, group in _GROUPS.items()
            }
        return self._entry_points.get(room, {})

    def _add_plugin(self, name: str) -> None:
        module = _imported(name)
        listed = {
            "decorators": getattr(module, "DECORATORS", None),
            "stores": getattr(module, "STORES", None),
        }
        own = [value for value in vars(module).values() if _is_own_component(value, name)]
        if all(components is None for components in listed.values()):
            listed["decorators"] = [component for component in own if not issubclass(component, Store)]
            listed["stores"] = [component for component in own if issubclass(component, Store)]
        for room, components in listed.items():
            for kind, path in _named(name, components or ()):
                if kind in _builtin(room) or self._added[room].get(kind, path) != path:
                    raise CatalogError(
                        f'plugin "{name}": the {_SINGULAR[room]} "{kind}" exists already', hint="give it another kind"
                    )
                self._added[room][kind] = path


def load_class(path: str) -> type[Any]:
    """
    The class at `module:Class`.

    Raises:
        CatalogError: the module can not be imported or has no such class.
    """
    module, _, name = path.partition(":")
    found = getattr(_imported(module), name, None)
    if not isinstance(found, type):
        raise CatalogError(f'there is no class "{name}" in "{module}"', code="import_failed")
    return found


def _imported(module: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        missing = error.name or module
        if module == missing or module.startswith(f"{missing}."):
            raise CatalogError(
                f'there is no module "{module}"', code="import_failed", hint="install the package it is in"
            ) from error
        raise CatalogError(
            f'"{module}" needs the module "{missing}"', code="package_missing", hint=f'install what "{missing}" is in'
        ) from error
    except (ImportError, SyntaxError, ValueError, TypeError) as error:
        raise CatalogError(f'"{module}" can not be imported: {error}', code="import_failed") from error


def _is_own_component(value: object, module: str) -> bool:
    return (
        isinstance(value, type)
        and issubclass(value, Decorator | FanOut | Store)
        and value.__module__ == module
        and isinstance(getattr(value, "kind", None), str)
    )


def _named(module: str, components: Iterable[object]) -> Iterable[tuple[str, str]]:
    for component in components:
        kind = getattr(component, "kind", None)
        if not isinstance(component, type) or not isinstance(kind, str):
            raise CatalogError(f'plugin "{module}": {component!r} is no component', hint="list classes with a `kind`")
        yield kind, f"{component.__module__}:{component.__qualname__}"


def _stores() -> Mapping[str, tuple[str, str]]:
    import sinks

    return sinks.BUILTIN_STORES


def _builtin(room: str) -> Mapping[str, str]:
    match room:
        case "decorators":
            import decorators

            return decorators.BUILTIN
        case "sinks":
            import sinks

            return sinks.BUILTIN_SINKS
        case "stores":
            return {name: store for name, (_, store) in _stores().items()}
        case _:
            return BUILTIN_SOURCES
