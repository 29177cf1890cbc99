"""Creates the components of a plan."""

from typing import Any, Protocol

from ingest.api import Decorator, FanOut, Model, Store
from ingest.plugins.contract import BadPluginError
from ingest.plugins.guard import FATAL, describe_exception
from ingest.plugins.loader import class_at


class Located(Protocol):
    """A component of a plan, as `ingest.config.model.Component`."""

    @property
    def name(self) -> str:
        """Its name in errors."""

    @property
    def path(self) -> str:
        """Import path of its class."""

    @property
    def provider(self) -> str:
        """The package that provides it; "" if it is built in."""

    @property
    def settings(self) -> Model:
        """Its options."""


def create(component: Located, *arguments: object) -> Any:
    """
    A component of a plan, constructed with its settings.

    Raises:
        CatalogError: a plugin cannot be created with its settings.
    """
    component_class = class_at(component.path)
    make = component_class.of if issubclass(component_class, Store) else component_class
    if not component.provider:
        return make(component.settings, *arguments)
    try:
        created = make(component.settings, *arguments)
        _check_created(created, component)
    except FATAL:
        raise
    except BaseException as error:
        about = describe_exception(error, component_class.__module__, component.provider)
        raise BadPluginError(
            f'"{component.name}" cannot be created: {about}',
            hint="call super().__init__(settings) in its constructor; files that it reads must exist here too",
        ) from error
    return created


def _check_created(created: Any, component: Located) -> None:
    if getattr(created, "settings", None) is not component.settings:
        raise TypeError("its attribute `settings` is not the settings it was given")
    if isinstance(created, Decorator | FanOut) and not isinstance(created.drop_reason, str):
        raise TypeError(f"its drop_reason is {created.drop_reason!r}; it must be a str")
