"""Give attributes a second name."""

from typing import Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from ingest.api import Decorator, Event, Example, option
from ingest.decorating.edits import EditSettings, edit


class CopySettings(EditSettings):
    """Options of the copy decorator."""

    attribute: str | None = option("Attribute that receives the copy.", default=None, example="2hb_app:raw")
    attributes: dict[str, str] | None = option(
        "Several, in place of `source` and `attribute`: attributes that are copied -> those that receive the copies.",
        default=None,
        example={"ip": "2hb_web:ip"},
        min_length=1,
    )

    @model_validator(mode="after")
    def _goes_elsewhere(self) -> Self:
        if self.attribute is None and self.attributes is None:
            raise PydanticCustomError("missing", "copy needs `attribute` or `attributes`")
        for name, target in (self.targets() or {}).items():
            if name == target:
                raise PydanticCustomError("conflict", '"{name}" is copied to itself', {"name": name})
        return self


class Copy(Decorator[CopySettings]):
    """
    Copy the body or attributes into other attributes; what was copied stays.

    All copies are of the values before: two attributes may be copied to each other. For a value made of several
    parts there is `value`, for a new name alone `rename`.

    Source: ours.
    """

    kind = "copy"
    examples = (
        Example(
            "two attributes become columns too",
            settings="{attributes: {ip: '2hb_web:ip', user: '2hb_web:user'}}",
            attributes={"ip": "10.0.0.1"},
            after={"2hb_web:ip": "10.0.0.1"},
        ),
        Example("the body", settings="{attribute: raw}", body="GET /", after={"raw": "GET /"}),
        Example(
            "an absent attribute fails the event where it must be there",
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
