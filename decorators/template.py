"""Make several attributes, and the body, of text and other parts of the event in one step."""

from collections.abc import Mapping
from typing import ClassVar, Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from ingest.api import Decorator, Event, Example, Settings, option
from ingest.api.choices import OnMissing
from ingest.expressions import Template as Text


class TemplateSettings(Settings):
    """Options of the template decorator."""

    other_names: ClassVar[None] = None

    attributes: dict[str, Text] = option(
        "Name of each attribute that is set, and the template of its value.",
        default={},
        example={"2hb_web:who": "%{user}@%{host}", "2hb_web:day": "%Y-%m-%d"},
    )
    body: Text | None = option("Template of the new body; it stays when left out.", default=None, example="%{message}")
    on_missing: OnMissing = option(
        "When a template names an attribute the event does not have: it is `empty` text, what that template is for "
        "is not set (`unset`), or the event fails (`error`).",
        default="empty",
        strict=False,
    )

    def sets(self) -> frozenset[str]:
        """Those it has templates for."""
        return frozenset(self.attributes)

    def sets_core(self) -> frozenset[str]:
        """The body where it has a template."""
        return frozenset() if self.body is None else frozenset(["body"])

    def surely_sets(self) -> frozenset[str]:
        """Where nothing stays for want of an attribute."""
        return self.set_references() if self.on_missing is not OnMissing.UNSET else frozenset()

    def made_of(self) -> Mapping[str, tuple[str, ...]]:
        """Each has a template of its own."""
        body = {} if self.body is None else {"body": ("body",)}
        return {**{f"attribute:{name}": ("attributes", name) for name in self.attributes}, **body}

    @model_validator(mode="after")
    def _does_something(self) -> Self:
        if not self.attributes and self.body is None:
            raise PydanticCustomError("missing", "template needs `attributes` or `body`")
        return self


class Template(Decorator[TemplateSettings]):
    """
    Set several attributes and the body to the expansions of templates.

    All templates see the event as it came in, so two attributes can be exchanged. For one attribute there is `value`,
    for the body alone `format`. Literal values are for `static`, values for what is absent or empty for `default`.

    Source: ours.
    """

    kind = "template"
    examples = (
        Example(
            "two attributes and the body",
            settings="{attributes: {'2hb_web:who': '%{user}@%{host}', '2hb_': '%{user}-%{offset}'}, body: '%{text}'}",
            body="ann: hello",
            attributes={"user": "ann", "text": "hello"},
            host="web-1",
            offset=7,
            after={"2hb_web:who": "ann@web-1", "2hb_": "ann-7"},
            body_after="hello",
        ),
        Example(
            "all see the event as it came in",
            settings="{attributes: {b: '%{a}', c: '<%{b}>'}}",
            attributes={"a": "1"},
            after={"b": "1", "c": "<>"},
        ),
        Example(
            "what can not be made whole is left as it was",
            settings="{attributes: {who: '%{user}@%{site}', where: '%{site}'}, on_missing: unset}",
            attributes={"site": "fra"},
            after={"where": "fra"},
        ),
        Example(
            "or fails the event", settings="{attributes: {who: '%{user}'}, on_missing: error}", error="no_attribute"
        ),
    )

    def __init__(self, settings: TemplateSettings) -> None:
        super().__init__(settings)
        self._values = tuple((name, text.renderer(settings.on_missing)) for name, text in settings.attributes.items())
        self._body = None if settings.body is None else settings.body.renderer(settings.on_missing)

    def decorate(self, event: Event) -> bool:
        """Set what there is a template for."""
        values: dict[str, bytes] = {}
        for name, render in self._values:
            value = render(event)
            if value is not None:
                values[name] = value
        body = None if self._body is None else self._body(event)
        event.update(values)
        if body is not None:
            event.body = body
        return True
