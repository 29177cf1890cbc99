"""The time to live of the cells of an event: a duration, as a template gives it."""

from collections.abc import Callable
from typing import Annotated

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from ingest.api import MAX_TIME_MS, Event, MappingError
from ingest.api.cells import ttl_rejection
from ingest.api.event_errors import NoAttributeError
from ingest.api.notation import shown_start
from ingest.api.settings import seconds_of
from ingest.decorating.choices import OnMissing
from ingest.decorating.names import BoundedMemo
from ingest.expressions import Template

_MAX_TEXTS = 1_000  # cached; a bound, since they come from the data


class BadTtlError(MappingError):
    """What `ttl` of the sink gives for the event is not a duration, or none that cells can have."""

    code = "bad_ttl"
    remedy = "Correct the template, or the producer; then replay the dead letters."


def ttl_renderer(template: Template) -> Callable[[Event], int | None]:
    """
    Event -> time to live of its cells in milliseconds, or None if the text is empty: that of their families.

    The function raises MappingError if the event lacks an attribute of the template, or the text is no duration.
    """
    if template.constant is not None:
        constant = constant_ttl(template)
        return lambda _event: constant
    render = template.renderer(OnMissing.ERROR, _no_attribute)
    known = BoundedMemo(_milliseconds, max_keys=_MAX_TEXTS)
    return lambda event: known[render(event) or b""]


def constant_ttl(template: Template) -> int | None:
    """The time to live that a template gives for every event, in milliseconds; None if it depends on the event."""
    return None if template.constant is None else _milliseconds(template.constant)


def check_ttl(ttl_ms: int, timestamp_ms: int) -> None:
    """
    Refuse a time to live that cells of this timestamp cannot have, as in `ttl_rejection`.

    Raises:
        MappingError: they cannot.
    """
    if (reason := ttl_rejection(ttl_ms, timestamp_ms)) is not None:
        raise BadTtlError(reason)


def _milliseconds(text: bytes) -> int | None:
    if not text:
        return None
    seconds = seconds_of(text.decode("utf-8", "replace"))
    if seconds is None:
        raise BadTtlError(
            f"`ttl` is {shown_start(text)}, which is no duration",
            hint="a duration is a number and one of ms, s, m, h, d; of a number alone the template adds the unit, as "
            'in "%{ttl}ms"',
        )
    found = round(seconds * 1000)
    if not 0 < found <= MAX_TIME_MS:
        raise BadTtlError(f"`ttl` is {shown_start(text)}; a cell lives for 1 ms to {MAX_TIME_MS} ms")
    return found


def _no_attribute(missing: str) -> MappingError:
    return MappingError(
        f"no {missing} for `ttl`",
        code=NoAttributeError.code,
        hint="with an empty text, as of %{default(NAME, '')}, cells live as long as their family says",
    )


def _can_be(template: Template) -> Template:
    if template.constant is not None:
        try:
            _milliseconds(template.constant)
        except BadTtlError as error:
            about = {"why": error.message, "hint": error.hint or ""}
            raise PydanticCustomError("out_of_range", "{why}", about) from error
    return template


TtlTemplate = Annotated[Template, AfterValidator(_can_be)]
"""Type of an option: a template of a duration; a constant one is checked with the configuration."""
