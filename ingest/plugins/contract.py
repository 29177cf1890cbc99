"""What a component of a plugin must have: a kind, a docstring, examples, typed options that describe themselves."""

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ingest.api import CatalogError, Decorator, FanOut, Model
from ingest.api.component import names_settings
from ingest.plugins.loader import class_at

_KIND = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class ComponentType:
    """
    One of the four types of components.

    Attributes:
        name: as the part of a pipeline file is called, in the plural.
        singular: for messages.
        classes: import path of each of its contracts, and of the class that the options of its components extend; a
            component is a subclass of one contract.
    """

    name: str
    singular: str
    classes: Mapping[str, str]

    @property
    def group(self) -> str:
        """The group of entry points by which installed packages add to it."""
        return f"ingest.{self.name}"

    @property
    def list_name(self) -> str:
        """The name under which a module of a plugin may list its classes."""
        return self.name.upper()

    def contracts(self) -> tuple[type[Any], ...]:
        """The classes of `classes`, imported now: those of sinks need templates, which checking a store does not."""
        return tuple(class_at(path) for path in self.classes)

    def settings_of(self, contract: type[Any]) -> type[Model]:
        """The class that the options of a contract's components extend."""
        return next(class_at(settings) for path, settings in self.classes.items() if class_at(path) is contract)


TYPES = {
    each.name: each
    for each in (
        ComponentType(
            "decorators",
            "decorator",
            {"ingest.api:Decorator": "ingest.api:Settings", "ingest.api:FanOut": "ingest.api:Settings"},
        ),
        ComponentType(
            "sinks",
            "sink",
            {
                "sinks.mapping.mapper:Mapper": "sinks.mapping.mapper:MapperSettings",
                "ingest.api:Sink": "ingest.api:SinkSettings",
            },
        ),
        ComponentType("stores", "store", {"ingest.api:Store": "ingest.api:StoreSettings"}),
        ComponentType("sources", "source", {"ingest.api:Source": "ingest.api:SourceSettings"}),
    )
}


def check_component(component: type[Any], room: str, name: str) -> None:
    """
    Refuse a class that is no component, says another name than it is known by, or leaves its users without a page.

    Raises:
        CatalogError: what is missing, and how it is written.
    """
    contracts = TYPES[room].contracts()
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
    _check_settings(component, room, contracts)


def _check_settings(component: type[Any], room: str, contracts: tuple[type, ...]) -> None:
    contract = next(each for each in contracts if issubclass(component, each))
    base = TYPES[room].settings_of(contract)
    settings = component.settings_class()
    is_named = settings is not base or names_settings(component, base)
    if not is_named or not (isinstance(settings, type) and issubclass(settings, base)):
        name = contract.__name__
        raise _broken(
            f'"{component.__qualname__}" has no settings',
            f"write {name}[YourSettings] with a subclass of {base.__name__}, or {name}[{base.__name__}] for no options",
        )
    for path, other in TYPES[room].classes.items():
        other_base, other_name = class_at(other), path.partition(":")[2]
        if issubclass(settings, other_base) and not issubclass(base, other_base):
            raise _broken(
                f'"{component.__qualname__}" is a {contract.__name__}, and {settings.__name__} are the options of a '
                f"{other_name}",
                f"extend {base.__name__}, or write a {other_name}",
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
