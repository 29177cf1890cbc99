"""Give attributes a value where they have none."""

from collections.abc import Mapping
from typing import ClassVar

from ingest.api import Decorator, Event, Example, Settings, attribute_references, option
from ingest.decorating.choices import OnMissing
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
    on_missing: OnMissing = option(
        "When a template names an attribute the event does not have: the attribute it would set stays as it is "
        "(`unset`), the name expands to `empty` text, or the event fails (`error`).",
        default="unset",
        strict=False,
    )

    def sets(self) -> frozenset[str]:
        """Those it has values for."""
        return frozenset(self.attributes)

    def reads(self) -> frozenset[str]:
        """The attributes it has values for, which it looks at."""
        return attribute_references(self.attributes)

    @property
    def always_sets_made(self) -> bool:
        """Unless a missing attribute leaves it out."""
        return self.on_missing is not OnMissing.UNSET

    def made_of(self) -> Mapping[str, tuple[str, ...]]:
        """Each has a template of its own."""
        return {f"attribute:{name}": ("attributes", name) for name in self.attributes}


class Default(Decorator[DefaultSettings]):
    """
    Set those of some attributes that are absent or empty; the others stay as they are.

    All values are made of the event as it came in. Where attributes are written once, an empty one cannot be replaced
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
        Example(
            "a value with an absent attribute is not set",
            settings="{attributes: {user: '%{login}', level: info}}",
            after={"level": "info"},
        ),
        Example(
            "or fails the event", settings="{attributes: {user: '%{login}'}, on_missing: error}", error="no_attribute"
        ),
    )

    def __init__(self, settings: DefaultSettings) -> None:
        super().__init__(settings)
        self._values = tuple((name, text.renderer(settings.on_missing)) for name, text in settings.attributes.items())
        self._replaces_empty = settings.replace_empty

    def decorate(self, event: Event) -> bool:
        """Set what is missing."""
        attributes = event.attributes
        values: dict[str, bytes] = {}
        for name, render in self._values:
            value = attributes.get(name)
            if value or (value is not None and not self._replaces_empty):
                continue
            value = render(event)
            if value is not None:
                values[name] = value
        if values:
            event.update(values)
        return True
