"""
Code that is not ours: how it is found and imported, where in it something failed, and what a component of it must have.

A plugin is an installed package with entry points, or a module named under `plugins`: a file `NAME.py` in the folder of
the pipeline file that names it, else a module that is installed. A file is imported by itself, and its folder does not
become a place for modules, so nothing else that lies there can stand in for a library.
"""

import inspect
import keyword
import re
import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from importlib.abc import ExecutionLoader
from importlib.util import decode_source, find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from reprlib import repr as short
from types import ModuleType
from typing import Any, ClassVar

from ingest.api import (
    CatalogError,
    Decorator,
    Disposition,
    Event,
    EventError,
    FanOut,
    IngestError,
    Model,
    Origin,
    Priority,
    Settings,
    Store,
    StoreSettings,
)
from ingest.api.component import names_settings

_KIND = re.compile(r"[a-z][a-z0-9_]*")
_CONTRACTS = {"decorators": (Decorator, FanOut), "stores": (Store,)}
_OPTIONS: dict[str, type[Model]] = {"decorators": Settings, "stores": StoreSettings}
_NAMES = frozenset({str})
_VALUES = frozenset({bytes})
_FIELDS = (
    ("attributes", dict),
    ("body", bytes),
    ("timestamp_ms", int),
    ("nanos", int),
    ("host", str),
    ("priority", Priority),
    ("key", bytes),
    ("tombstone", bool),
)

# what no plugin is to blame for: somebody ends the program, or the machine has no memory; for all else it is, even for
# what is no Exception: SystemExit, asyncio.CancelledError, or what extensions in other languages raise
PASSED_ON = (KeyboardInterrupt, MemoryError)


class OutOfMemoryError(IngestError):
    """A step or a sink got no memory; the batch waits until there is enough."""

    code = "out_of_memory"
    disposition: ClassVar[Disposition] = Disposition.RETRY


@dataclass(frozen=True, slots=True)
class Plugin:
    """A module named under `plugins`, and the folder of the file that names it; None where no file does."""

    module: str
    folder: Path | None = None


@dataclass(frozen=True, slots=True)
class PluginFile:
    """A module that is one file beside a pipeline: its text goes to the workers with the plan."""

    module: str
    path: str
    source: bytes

    def load(self) -> ModuleType:
        """
        The module; one that was made of the same text before is the same.

        Raises:
            CatalogError: it can not be imported.
        """
        known = sys.modules.get(self.module)
        loader = _text_loader(known)
        if known is not None and loader is not None and loader.file == self:
            return known
        spec = spec_from_file_location(self.module, self.path, loader=_TextLoader(self))
        assert spec is not None  # noqa: S101 - for mypy: there is always a spec where there is a loader
        assert spec.loader is not None  # noqa: S101 - as above
        module = module_from_spec(spec)
        sys.modules[self.module] = module
        try:
            spec.loader.exec_module(module)
        except BaseException as error:
            del sys.modules[self.module]
            if isinstance(error, PASSED_ON):
                raise
            raise _import_error(self.module, error) from error
        return module


class _TextLoader(ExecutionLoader):
    """Makes a module of text that is at hand, wherever its file is."""

    def __init__(self, file: PluginFile) -> None:
        self.file = file

    def get_filename(self, fullname: str) -> str:  # noqa: ARG002 - a loader of one module
        return self.file.path

    def get_source(self, fullname: str) -> str:  # noqa: ARG002 - as above
        return decode_source(self.file.source)


def file_of(plugin: Plugin) -> PluginFile | None:
    """
    The file beside the pipeline that a plugin is; None when it is an installed module.

    Raises:
        CatalogError: it is no name of a module, can not be read, or another module has this name.
    """
    name = plugin.module
    parts = name.split(".")
    if not all(part.isidentifier() and not keyword.iskeyword(part) for part in parts):
        raise CatalogError(
            f'"{name}" is no name of a module',
            code="import_failed",
            hint='for the file "steps.py" in the folder of this one, write steps',
        )
    if plugin.folder is None or len(parts) > 1:
        return None
    path = (plugin.folder / f"{name}.py").absolute()
    if not path.is_file():
        return None
    other = _origin_of(name)
    if other is not None and not (Path(other).exists() and path.samefile(other)):
        raise CatalogError(
            f'"{path}" has the name of another module: "{name}" of {other}',
            code="name_taken",
            hint="give the file another name",
        )
    try:
        return PluginFile(name, str(path), path.read_bytes())
    except OSError as error:
        raise CatalogError(f'can not read "{path}": {error.strerror}', code="import_failed") from error


def import_plugin(module: str) -> Any:
    """
    An installed module.

    Raises:
        CatalogError: it is not there, or fails when it is imported; the message says where.
    """
    try:
        return import_module(module)
    except PASSED_ON:
        raise
    except BaseException as error:
        raise _import_error(module, error) from error


def class_at(path: str) -> type[Any]:
    """
    The class at `module:Class`.

    Raises:
        CatalogError: the module can not be imported or has no such class.
    """
    module, _, name = path.partition(":")
    found: Any = import_plugin(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type):
        raise CatalogError(f'there is no class "{name}" in "{module}"', code="import_failed")
    return found


def pass_on(error: BaseException, name: str, module: str, provider: str = "", origin: object = None) -> None:
    """
    Raise what is neither an event's fault nor that of the step or sink, of this name, that it came out of.

    Raises:
        KeyboardInterrupt: it is one.
        OutOfMemoryError: it is a want of memory; says where.
    """
    if isinstance(error, KeyboardInterrupt):
        raise error
    if isinstance(error, MemoryError):
        event = f" for event {origin.topic}/{origin.partition}/{origin.offset}" if isinstance(origin, Origin) else ""
        raise OutOfMemoryError(
            f'"{name}" got no memory{event}: {told(error, module, provider)}',
            hint="give the workers more; where the event itself asks for too much, drop it before this step",
        ) from error


def told(error: BaseException, module: str, *about: str) -> str:
    """What was raised, with the line of the module's package where that was, as in `KeyError: 'x' (steps:12)`."""
    try:
        text = str(error)
    except BaseException:  # noqa: BLE001 - an error of a plugin, which may be broken too
        text = ""
    name = type(error).__name__
    places = ", ".join(part for part in (_place_in(error, module), *about) if part)
    return (f"{name}: {text}" if text else name) + (f" ({places})" if places else "")


def check_component(component: type[Any], room: str, name: str) -> None:
    """
    Refuse a class that is no component, says another name than it is known by, or leaves its users without a page.

    Raises:
        CatalogError: what is missing, and how it is written.
    """
    contracts: tuple[type, ...] = _CONTRACTS[room]
    if not issubclass(component, contracts):
        names = " nor ".join(contract.__name__ for contract in contracts)
        raise _broken(f'"{component.__qualname__}" is no {names}', "it must be a subclass of it")
    left_out = sorted(getattr(component, "__abstractmethods__", ()))
    if left_out:
        raise _broken(
            f'"{component.__qualname__}" leaves out {", ".join(left_out)}',
            "write it",
        )
    kind = getattr(component, "kind", None)
    if kind != name or not _KIND.fullmatch(name):
        raise _broken(
            f'"{component.__qualname__}" has the kind {kind!r} and is known as "{name}"',
            "both are one name of a-z, 0-9 and _",
        )
    if (inspect.getdoc(component) or "") in ("", *(inspect.getdoc(contract) for contract in contracts)):
        raise _broken(f'"{component.__qualname__}" has no docstring', "say what it does: `ingest describe` shows it")
    if issubclass(component, Decorator | FanOut) and not component.examples:
        raise _broken(f'"{component.__qualname__}" has no examples', "give it some: see ingest.api.Example")
    _check_settings(component, room)


def check_event(event: Event, origin: Origin) -> None:
    """
    Refuse what a later step or a store would fall over, without saying who left it there.

    Args:
        event: as a plugin left it.
        origin: as it was before.

    Raises:
        TypeError: what is wrong with it.
    """
    attributes = event.attributes
    if not (
        event.body.__class__ is bytes
        and attributes.__class__ is dict
        and _NAMES.issuperset(map(type, attributes))
        and _VALUES.issuperset(map(type, attributes.values()))
        and event.origin is origin
        and event.timestamp_ms.__class__ is int
        and event.nanos.__class__ is int
        and event.host.__class__ is str
        and event.priority.__class__ is Priority
        and event.key.__class__ is bytes
        and event.tombstone.__class__ is bool
    ):
        raise TypeError(_what_is_wrong(event))


def _what_is_wrong(event: Event) -> str:
    for name, kind in _FIELDS:
        value = getattr(event, name)
        if value.__class__ is not kind:
            return f"the step left {short(value)} as the event's {name}; it must be {kind.__name__}"
    for attribute, text in event.attributes.items():
        if not _is_attribute(attribute, text):
            return f"the step set attribute {short(attribute)} to {short(text)}; names are str, values are bytes"
    return "the step changed the event's origin, which tells it from all others"


def checked(decorate: Callable[[Event], bool]) -> Callable[[Event], bool]:
    """A decorator's call, after which the event is looked at."""

    def decorate_and_check(event: Event) -> bool:
        origin = event.origin
        kept = decorate(event)
        if kept is True:
            check_event(event, origin)
        return kept

    return decorate_and_check


def events_of(answer: Iterable[Event]) -> list[Event]:
    """
    What a fan-out returned.

    Raises:
        TypeError: these are no events, or not each one of its own.
    """
    if not hasattr(answer, "__iter__"):
        raise TypeError(f"decorate returned {short(answer)}; a fan-out returns events")
    made = list(answer)
    if len({id(each) for each in made}) != len(made):
        raise TypeError("a fan-out gave the same event twice; each must be a copy of its own")
    for each in made:
        if not isinstance(each, Event):
            raise TypeError(f"a fan-out gave {short(each)}, which is no event")
    if len({id(each.attributes) for each in made}) != len(made):
        raise TypeError("a fan-out gave two events the same attributes; copy them: dict(event.attributes)")
    return made


def can_be_told(error: EventError) -> bool:
    """Whether an error that a plugin made has what a dead letter and a metric need, and can say it."""
    try:
        return isinstance(error.code, str) and isinstance(error.message, str) and isinstance(str(error), str)
    except BaseException:  # noqa: BLE001 - as in `told`
        return False


def without_rubbish(event: Event) -> Event:
    """An event as a plugin left it when it failed, with those attributes alone that a dead letter can hold."""
    attributes = event.attributes if isinstance(event.attributes, dict) else {}
    kept = {name: value for name, value in attributes.items() if _is_attribute(name, value)}
    return event if len(kept) == len(attributes) and attributes is event.attributes else Event(b"", kept)


def _is_attribute(name: object, value: object) -> bool:
    return type(name) is str and type(value) is bytes


def _check_settings(component: type[Any], room: str) -> None:
    base = _OPTIONS[room]
    settings = component.settings_class()
    is_named = settings is not base or names_settings(component)
    if not is_named or not (isinstance(settings, type) and issubclass(settings, base)):
        contract = next(each.__name__ for each in _CONTRACTS[room] if issubclass(component, each))
        raise _broken(
            f'"{component.__qualname__}" has no settings',
            f"write {contract}[YourSettings] with a subclass of {base.__name__}, or {contract}[{base.__name__}] for "
            "no options",
        )
    for option, field in settings.model_fields.items():
        if field.annotation in (Any, object, None):
            raise _broken(f'option "{option}" of {settings.__name__} has no type', "annotate it, as in `index: int`")
        if not field.description:
            raise _broken(
                f'option "{option}" of {settings.__name__} says nothing of itself', 'write option("what it is for")'
            )


def _broken(message: str, hint: str) -> CatalogError:
    return CatalogError(message, code="bad_plugin", hint=hint)


def _text_loader(module: ModuleType | None) -> _TextLoader | None:
    loader = getattr(getattr(module, "__spec__", None), "loader", None)
    return loader if isinstance(loader, _TextLoader) else None


def _origin_of(name: str) -> str | None:
    """Where a module of this name is that is no file beside a pipeline; None when there is none."""
    known = sys.modules.get(name)
    if _text_loader(known) is not None:
        return None
    try:
        spec = find_spec(name)
    except ValueError:  # one that was made by hand has no spec
        return getattr(known, "__file__", None) or "this process"
    return None if spec is None else spec.origin or "a folder without code"


def _import_error(module: str, error: BaseException) -> CatalogError:
    if isinstance(error, ModuleNotFoundError):
        missing = error.name or module
        if module == missing or module.startswith(f"{missing}."):
            return CatalogError(
                f'there is no module "{module}"',
                code="import_failed",
                hint="install the package it is in, or write its file beside the pipeline file",
            )
        return CatalogError(
            f'"{module}" needs the module "{missing}"', code="package_missing", hint=f'install what "{missing}" is in'
        )
    return CatalogError(f'"{module}" can not be imported: {told(error, module)}', code="import_failed")


def _place_in(error: BaseException, module: str) -> str:
    """Module and line of the innermost call in the package of a module; "" when nothing of it was running."""
    package = module.partition(".")[0]
    names = ((str(frame.f_globals.get("__name__", "")), line) for frame, line in traceback.walk_tb(error.__traceback__))
    own = [f"{name}:{line}" for name, line in names if name.partition(".")[0] == package]
    return own[-1] if own else ""
