"""Give attributes a value where they have none."""

from typing import ClassVar

from ingest.api import Decorator, Event, Example, Settings, option
from ingest.expressions import Template


class DefaultSettings(Settings):
    """Options of the default decorator."""

    other_names: ClassVar[None] = None

    attributes: dict[str, Template] = option(
        "Name of each attribute, and the template of the value it gets when it has none.",
        example={"user": "nobody", "2hb_web:host": "%{host}"},
        min_length=1,
    )
    replace_empty: bool = option(
        "True counts an attribute with an empty value as one that has none.",
        default=True,
    )

    def sets(self) -> frozenset[str]:
        """Those it has values for."""
        return frozenset(self.attributes)


class Default(Decorator[DefaultSettings]):
    """
    Set those of some attributes that are absent or empty; the others stay as they are.

    All values are made of the event as it came in. Where attributes are written once, an empty one can not be replaced
    and fails the event. To set attributes whatever they hold, take `template`.

    Source: ours.
    """

    kind = "default"
    examples = (
        Example(
            "the absent and the empty one are set",
            settings="{attributes: {user: nobody, level: info, host: '%{host}'}}",
            host="web-1",
            attributes={"level": "warn"},
            after={"user": "nobody", "host": "web-1"},
        ),
        Example(
            "an empty value may be one",
            settings="{attributes: {user: nobody, level: info}, replace_empty: false}",
            attributes={"user": ""},
            after={"level": "info"},
        ),
    )

    def __init__(self, settings: DefaultSettings) -> None:
        super().__init__(settings)
        self._renders = tuple((name, template.render) for name, template in settings.attributes.items())
        self._replaces_empty = settings.replace_empty

    def decorate(self, event: Event) -> bool:
        """Set what is missing."""
        attributes = event.attributes
        values: dict[str, bytes] = {}
        for name, render in self._renders:
            value = attributes.get(name)
            if value is None or (not value and self._replaces_empty):
                values[name] = render(event)
        if values:
            event.update(values)
        return True
