"""Give an attribute a value made of text and other parts of the event."""

from collections.abc import Mapping
from typing import ClassVar

from ingest.api import Decorator, Event, Example, Settings, option
from ingest.api.choices import OnMissing
from ingest.expressions import Template


class ValueSettings(Settings):
    """Options of the value decorator."""

    other_names: ClassVar[None] = None

    attribute: str = option("Attribute that receives the value.", example="2hb_")
    value: Template = option("Template of the value.", example="%{key}-%{nanos}")
    on_missing: OnMissing = option(
        "When the template names an attribute the event does not have: it is `empty` text, nothing is set (`unset`), "
        "or the event fails (`error`).",
        default="empty",
        strict=False,
    )

    def surely_sets(self) -> frozenset[str]:
        """Where it is not left out for want of an attribute."""
        return self.set_references() if self.on_missing is not OnMissing.UNSET else frozenset()

    def made_of(self) -> Mapping[str, tuple[str, ...]]:
        """The one that it sets."""
        return {f"attribute:{self.attribute}": ("value",)}


class Value(Decorator[ValueSettings]):
    """
    Set one attribute to the expansion of a template.

    Bytes stay bytes: an attribute in the template is put in as it is. `%%` is a percent sign. For several attributes
    there is `template`, for the body `format`, for literal text `static`.

    Source: Flume decorator `value` with escape=true.
    """

    kind = "value"
    examples = (
        Example(
            "a row key of two parts",
            settings="{attribute: 2hb_, value: '%{key}-%{nanos}'}",
            key="k1",
            nanos=1308748686334000700,
            after={"2hb_": "k1-1308748686334000700"},
        ),
        Example(
            "an absent attribute is empty",
            settings="{attribute: '2hb_web:user', value: '<%{user}>'}",
            after={"2hb_web:user": "<>"},
        ),
        Example(
            "or leaves the attribute alone",
            settings="{attribute: '2hb_web:user', value: '<%{user}>', on_missing: unset}",
            after={},
        ),
    )

    def __init__(self, settings: ValueSettings) -> None:
        super().__init__(settings)
        self._attribute = settings.attribute
        self._render = settings.value.renderer(settings.on_missing)

    def decorate(self, event: Event) -> bool:
        """Set the attribute."""
        value = self._render(event)
        if value is not None:
            event.set(self._attribute, value)
        return True
