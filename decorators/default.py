"""Set attributes that are absent or empty."""

from collections.abc import Mapping
from typing import ClassVar

from ingest.api import Decorator, Event, Example, Settings, attribute_references, option
from ingest.decorating.choices import OnMissing
from ingest.expressions import Template


class DefaultSettings(Settings):
    """Options of the default decorator."""

    other_names: ClassVar[None] = None

    attributes: dict[str, Template] = option(
        "Attribute names, and the template of the value that each gets if it has none.",
        example={"user": "nobody", "2hb_web:host": "%{host}"},
        min_length=1,
    )
    replace_empty: bool = option(
        "True also replaces empty values.",
        default=True,
    )
    on_missing: OnMissing = option(
        "If a template names an attribute that the event does not have, its target stays unchanged (`unset`), the "
        "name expands to `empty` text, or the event fails (`error`).",
        default="unset",
        strict=False,
    )

    def sets(self) -> frozenset[str]:
        """The attributes with a default."""
        return frozenset(self.attributes)

    def reads(self) -> frozenset[str]:
        """The attributes with a default: their values are checked."""
        return attribute_references(self.attributes)

    @property
    def always_sets_made(self) -> bool:
        """False if a missing attribute may leave the target unset."""
        return self.on_missing is not OnMissing.UNSET

    def made_of(self) -> Mapping[str, tuple[str, ...]]:
        """Each attribute, from its own template."""
        return {f"attribute:{name}": ("attributes", name) for name in self.attributes}


class Default(Decorator[DefaultSettings]):
    """
    Set those of the given attributes that are absent or empty; the others stay unchanged.

    All templates see the event before this decorator. If attributes are written once, an empty one cannot be replaced
    and fails the event. To set attributes whatever their values, use `template`.

    Source: own design.
    """

    kind = "default"
    examples = (
        Example(
            "an absent attribute is set, others stay",
            settings="{attributes: {user: nobody, level: info, host: '%{host}'}}",
            host="web-1",
            attributes={"level": "warn"},
            after={"user": "nobody", "host": "web-1"},
        ),
        Example(
            "an empty value stays, with `replace_empty: false`",
            settings="{attributes: {user: nobody, level: info}, replace_empty: false}",
            attributes={"user": ""},
            after={"level": "info"},
        ),
        Example(
            "a template with an absent attribute sets nothing",
            settings="{attributes: {user: '%{login}', level: info}}",
            after={"level": "info"},
        ),
        Example(
            "the same with `on_missing: error`",
            settings="{attributes: {user: '%{login}'}, on_missing: error}",
            error="no_attribute",
        ),
    )

    def __init__(self, settings: DefaultSettings) -> None:
        super().__init__(settings)
        self._values = tuple((name, text.renderer(settings.on_missing)) for name, text in settings.attributes.items())
        self._replaces_empty = settings.replace_empty

    def decorate(self, event: Event) -> bool:
        """Set the absent and empty attributes."""
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
