"""What a plugin's component must have: a kind, a docstring, examples, and typed options with descriptions."""

import inspect
import re
from dataclasses import dataclass
from typing import Any

from ingest.api import CatalogError, Decorator, FanOut, Model, Processor
from ingest.api.component import names_settings
from ingest.plugins.loader import class_at

_KIND = re.compile(r"[a-z][a-z0-9_]*")


class BadPluginError(CatalogError):
    """A plugin's component violates the plugin contract, or cannot be created; the message has the reason."""

    code = "bad_plugin"
    remedy = "Correct the plugin; docs/guides/plugins.md has the contract."


@dataclass(frozen=True, slots=True)
class ComponentType:
    """
    One of the five types of components.

    Attributes:
        name: its key in a pipeline file, in the plural.
        singular: for messages.
        paths: import paths of its contracts; a component extends one.
    """

    name: str
    singular: str
    paths: tuple[str, ...]

    @property
    def group(self) -> str:
        """The entry-point group under which packages register components of this type."""
        return f"ingest.{self.name}"

    @property
    def list_name(self) -> str:
        """The variable in which a plugin module lists its classes."""
        return self.name.upper()

    def contracts(self) -> tuple[type[Any], ...]:
        """The contract classes; imported on demand, since those of sinks import templates."""
        return tuple(map(class_at, self.paths))


TYPES = {
    each.name: each
    for each in (
        ComponentType("decorators", "decorator", ("ingest.api:Decorator", "ingest.api:FanOut")),
        ComponentType("sinks", "sink", ("sinks.mapping.mapper:Mapper", "ingest.api:Sink")),
        ComponentType("stores", "store", ("ingest.api:Store",)),
        ComponentType("sources", "source", ("ingest.api:Source",)),
        ComponentType("processors", "processor", ("ingest.api:Processor",)),
    )
}


def check_component(component: type[Any], component_type: str, name: str) -> None:
    """
    Check that a class is a component, is registered under its own kind, and is documented.

    Raises:
        CatalogError: the first rule it violates.
    """
    contracts = TYPES[component_type].contracts()
    if not issubclass(component, contracts):
        names = " or ".join(contract.__name__ for contract in contracts)
        raise _broken(f'"{component.__qualname__}" is not a {names}', "make it a subclass")
    abstract = sorted(getattr(component, "__abstractmethods__", ()))
    if abstract:
        raise _broken(
            f'"{component.__qualname__}" does not implement {", ".join(abstract)}',
            "implement every abstract method",
        )
    kind = getattr(component, "kind", None)
    if kind != name or not _KIND.fullmatch(name):
        raise _broken(
            f'"{component.__qualname__}" has the kind {kind!r} but is registered as "{name}"',
            "use one name of a-z, 0-9 and _",
        )
    if (inspect.getdoc(component) or "") in ("", *(inspect.getdoc(contract) for contract in contracts)):
        raise _broken(f'"{component.__qualname__}" has no docstring', "add one: `attr2hbase describe` shows it")
    if issubclass(component, Decorator | FanOut) and not component.examples:
        raise _broken(f'"{component.__qualname__}" has no examples', "add some: see ingest.api.Example")
    if issubclass(component, Processor) and not component.merge_examples:
        raise _broken(f'"{component.__qualname__}" has no merge_examples', "add some: see ingest.api.ProcessorExample")
    _check_settings(component, contracts)


def _check_settings(component: type[Any], contracts: tuple[type[Any], ...]) -> None:
    contract = next(each for each in contracts if issubclass(component, each))
    base = contract.settings_base
    settings: type[Model] = component.settings_class()
    is_named = settings is not base or names_settings(component, base)
    if not is_named or not (isinstance(settings, type) and issubclass(settings, base)):
        name = contract.__name__
        raise _broken(
            f'"{component.__qualname__}" has no settings',
            f"write {name}[YourSettings] with a subclass of {base.__name__}, or {name}[{base.__name__}] for no options",
        )
    for other in contracts:
        if issubclass(settings, other.settings_base) and not issubclass(base, other.settings_base):
            raise _broken(
                f'"{component.__qualname__}" is a {contract.__name__}, and {settings.__name__} are the options of a '
                f"{other.__name__}",
                f"extend {base.__name__}, or write a {other.__name__}",
            )
    for option, field in settings.model_fields.items():
        if field.annotation in (Any, object, None):
            raise _broken(f'option "{option}" of {settings.__name__} has no type', "annotate it, as in `index: int`")
        if not field.description:
            raise _broken(
                f'option "{option}" of {settings.__name__} has no description', 'write option("what it is for")'
            )


def _broken(message: str, hint: str) -> CatalogError:
    return BadPluginError(message, hint=hint)
