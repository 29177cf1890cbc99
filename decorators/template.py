"""Set attributes and the body from templates: `template`, and three shorter forms of it."""

from collections.abc import Mapping
from typing import ClassVar, Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from ingest.api import Decorator, Event, Example, Settings, option
from ingest.decorating.choices import OnMissing
from ingest.expressions import Template as Text


class TextSettings(Settings):
    """Options that all four decorators have."""

    other_names: ClassVar[None] = None

    def texts(self) -> Mapping[str, Text]:
        """Attribute -> the template of its value."""
        return {}

    def body_text(self) -> Text | None:
        """The template of the new body; None if the body stays."""
        return None

    def missing(self) -> OnMissing:
        """The action if a template names an absent attribute."""
        return OnMissing.EMPTY

    def sets(self) -> frozenset[str]:
        """The attributes that have a template."""
        return frozenset(self.texts())

    def sets_core(self) -> frozenset[str]:
        """The body, if it has a template."""
        return frozenset() if self.body_text() is None else frozenset(["body"])


class TaggedSettings(TextSettings):
    """Options of decorators whose templates may name absent attributes."""

    on_missing: OnMissing = option(
        "If a template names an attribute that the event does not have, the name expands to `empty` text, the target "
        "of that template is not set (`unset`), or the event fails (`error`).",
        default="empty",
        strict=False,
    )

    def missing(self) -> OnMissing:
        """The option `on_missing`."""
        return self.on_missing

    @property
    def always_sets_made(self) -> bool:
        """False if a missing attribute may leave a target unset."""
        return self.on_missing is not OnMissing.UNSET


class TemplateSettings(TaggedSettings):
    """Options of the template decorator."""

    attributes: dict[str, Text] = option(
        "Attribute names, and the template of each value.",
        default={},
        example={"2hb_web:who": "%{user}@%{host}", "2hb_web:day": "%Y-%m-%d"},
    )
    body: Text | None = option(
        "Template of the new body; when left out, the body stays unchanged.", default=None, example="%{message}"
    )

    def texts(self) -> Mapping[str, Text]:
        """The option `attributes`."""
        return self.attributes

    def body_text(self) -> Text | None:
        """The option `body`."""
        return self.body

    def made_of(self) -> Mapping[str, tuple[str, ...]]:
        """Each target, from its own template."""
        body = {} if self.body is None else {"body": ("body",)}
        return {**{f"attribute:{name}": ("attributes", name) for name in self.attributes}, **body}

    @model_validator(mode="after")
    def _does_something(self) -> Self:
        if not self.attributes and self.body is None:
            raise PydanticCustomError("missing", "template needs `attributes` or `body`")
        return self


class Template(Decorator[TextSettings]):
    """
    Set attributes and the body to the expansions of templates.

    All templates see the event before this decorator, so two attributes can be swapped. For one attribute, use `value`;
    for the body only, `format`; for literal values, `static`; for attributes that are absent or empty, `default`.

    Source: own design.
    """

    kind = "template"
    examples: ClassVar[tuple[Example, ...]] = (
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
            "all templates see the event before this decorator",
            settings="{attributes: {b: '%{a}', c: '<%{b}>'}}",
            attributes={"a": "1"},
            after={"b": "1", "c": "<>"},
        ),
        Example(
            "an absent attribute, with `on_missing: unset`",
            settings="{attributes: {who: '%{user}@%{site}', where: '%{site}'}, on_missing: unset}",
            attributes={"site": "fra"},
            after={"where": "fra"},
        ),
        Example(
            "an absent attribute, with `on_missing: error`",
            settings="{attributes: {who: '%{user}'}, on_missing: error}",
            error="no_attribute",
        ),
    )

    def __init__(self, settings: TextSettings) -> None:
        super().__init__(settings)
        on_missing, body = settings.missing(), settings.body_text()
        self._values = tuple((name, text.renderer(on_missing)) for name, text in settings.texts().items())
        self._body = None if body is None else body.renderer(on_missing)
        # the usual cases of one attribute, and of the body alone, need no dict
        is_one = len(self._values) == 1 and body is None
        self._one = self._values[0] if is_one else None

    @classmethod
    def settings_class(cls) -> type[TextSettings]:
        """The options of `template`."""
        return TemplateSettings

    def decorate(self, event: Event) -> bool:
        """Set the attributes and the body."""
        if self._one is not None:
            name, render = self._one
            value = render(event)
            if value is not None:
                event.set(name, value)
            return True
        values: dict[str, bytes] | None = None
        if self._values:
            values = {}
            for name, render in self._values:
                value = render(event)
                if value is not None:
                    values[name] = value
        body = None if self._body is None else self._body(event)
        if values:
            event.update(values)
        if body is not None:
            event.body = body
        return True


class ValueSettings(TaggedSettings):
    """Options of the value decorator."""

    attribute: str = option("Attribute that receives the value.", example="2hb_")
    value: Text = option("Template of the value.", example="%{key}-%{nanos}")

    def texts(self) -> Mapping[str, Text]:
        """The one template."""
        return {self.attribute: self.value}

    def made_of(self) -> Mapping[str, tuple[str, ...]]:
        """The attribute, from its template."""
        return {f"attribute:{self.attribute}": ("value",)}


class Value(Template):
    """
    Set one attribute to the expansion of a template.

    Attributes in the template are inserted as unchanged bytes. `%%` is a percent sign. For several attributes, use
    `template`; for the body, `format`; for literal text, `static`.

    Source: Flume decorator `value` with escape=true.
    """

    kind = "value"
    examples = (
        Example(
            "a row key from two parts",
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
            "an absent attribute, with `on_missing: unset`",
            settings="{attribute: '2hb_web:user', value: '<%{user}>', on_missing: unset}",
            after={},
        ),
    )

    @classmethod
    def settings_class(cls) -> type[TextSettings]:
        """The options of `value`."""
        return ValueSettings


class StaticSettings(TextSettings):
    """Options of the static decorator."""

    attributes: dict[str, str] = option(
        "Attribute names and their values, which are literal: a percent sign has no special meaning.",
        example={"2hb_meta:env": "prod", "2hb_meta:site": "fra"},
        min_length=1,
    )

    def texts(self) -> Mapping[str, Text]:
        """Templates without tags."""
        return {name: Text.parse(value.replace("%", "%%")) for name, value in self.attributes.items()}

    def sets(self) -> frozenset[str]:
        """The attributes that are listed."""
        return frozenset(self.attributes)


class Static(Template):
    """
    Set attributes to literal values.

    For values with parts of the event, use `template`.

    Source: own design.
    """

    kind = "static"
    examples = (
        Example(
            "the site of a pipeline",
            settings="{attributes: {'2hb_meta:env': prod, '2hb_meta:site': fra}}",
            after={"2hb_meta:env": "prod", "2hb_meta:site": "fra"},
        ),
        Example(
            "nothing is expanded",
            settings="{attributes: {load: '100%', shown: '%{host}'}}",
            host="web-1",
            after={"load": "100%", "shown": "%{host}"},
        ),
    )

    @classmethod
    def settings_class(cls) -> type[TextSettings]:
        """The options of `static`."""
        return StaticSettings


class FormatSettings(TaggedSettings):
    """Options of the format decorator."""

    template: Text = option("Template of the new body.", example="%{host} %{body}")

    def body_text(self) -> Text | None:
        """The one template."""
        return self.template


class Format(Template):
    """
    Replace the body with the expansion of a template; everything else stays.

    The old body and attributes in the template are inserted as unchanged bytes. To set one attribute, use `value`; for
    attributes and the body together, `template`.

    Source: Flume decorator `format`.
    """

    kind = "format"
    examples = (
        Example(
            "the host before the body",
            settings="{template: '%{host} %{body}'}",
            body="up 3 days",
            host="web-1",
            body_after="web-1 up 3 days",
        ),
        Example(
            "inserted text is not expanded",
            settings="{template: '%{body}!'}",
            body="%{host}",
            body_after="%{host}!",
        ),
        Example(
            "an absent attribute with `on_missing: unset`",
            settings="{template: '%{user}: %{body}', on_missing: unset}",
            body="up 3 days",
            body_after="up 3 days",
        ),
        Example(
            "an absent attribute with `on_missing: error`",
            settings="{template: '%{user}', on_missing: error}",
            error="no_attribute",
        ),
    )

    @classmethod
    def settings_class(cls) -> type[TextSettings]:
        """The options of `format`."""
        return FormatSettings
