"""Copy values to other attributes."""

from typing import Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from ingest.api import Decorator, Event, Example, option
from ingest.decorating.edits import EditSettings, edit


class CopySettings(EditSettings):
    """Options of the copy decorator."""

    attribute: str | None = option("Attribute that receives the copy.", default=None, example="2hb_app:raw")
    attributes: dict[str, str] | None = option(
        "Several attributes, instead of `source` and `attribute`: a mapping from attributes that are copied to "
        "attributes that receive the copies.",
        default=None,
        example={"ip": "2hb_web:ip"},
        min_length=1,
    )

    @model_validator(mode="after")
    def _target_differs(self) -> Self:
        if self.attribute is None and self.attributes is None:
            raise PydanticCustomError("missing", "copy needs `attribute` or `attributes`")
        for name, target in (self.targets() or {}).items():
            if name == target:
                raise PydanticCustomError("conflict", '"{name}" is copied to itself', {"name": name})
        return self


class Copy(Decorator[CopySettings]):
    """
    Copy the body or attributes to other attributes; the originals stay.

    Every copy has the value before this decorator: two attributes may be copied to each other. For a value of several
    parts, use `value`; to change a name only, use `rename`.

    Source: own design.
    """

    kind = "copy"
    examples = (
        Example(
            "two attributes become columns as well",
            settings="{attributes: {ip: '2hb_web:ip', user: '2hb_web:user'}}",
            attributes={"ip": "10.0.0.1"},
            after={"2hb_web:ip": "10.0.0.1"},
        ),
        Example("the body", settings="{attribute: raw}", body="GET /", after={"raw": "GET /"}),
        Example(
            "an absent attribute with `on_missing: error`",
            settings="{source: ip, attribute: '2hb_web:ip', on_missing: error}",
            error="no_attribute",
        ),
    )

    def __init__(self, settings: CopySettings) -> None:
        super().__init__(settings)
        self._edit = edit(settings, bytes)

    def decorate(self, event: Event) -> bool:
        """Set the copies."""
        self._edit(event)
        return True
