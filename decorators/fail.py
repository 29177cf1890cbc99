"""Fail events on purpose."""

import re
from typing import Annotated, ClassVar

from pydantic import AfterValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from ingest.api import DecorateError, Decorator, Event, Example, Settings, option
from ingest.expressions import Template

_CODE = r"[A-Z][A-Z0-9_]{0,63}"


def _code(code: str) -> str:
    if re.fullmatch(_CODE, code) is None:
        raise PydanticCustomError(
            "out_of_range",
            '"{code}" is not a code of `fail`',
            {
                "code": code,
                "hint": "write up to 64 capital letters, digits and underscores, as in NO_CUSTOMER: codes in small "
                "letters are those of attr2hbase",
            },
        )
    return code


Code = Annotated[str, AfterValidator(_code), WithJsonSchema({"type": "string", "pattern": f"^{_CODE}$"})]
"""A code of the user: never one of this product, whose codes are in small letters."""


class FailSettings(Settings):
    """Options of the fail decorator."""

    other_names: ClassVar[None] = None

    code: Code = option(
        "Error code of the event in dead letters, metrics and commands: capital letters, digits and underscores, so "
        "that it is never a code of attr2hbase, which are in small letters.",
        example="NEGATIVE_AMOUNT",
    )
    message: Template = option(
        "Template of the error message; an absent attribute is empty text, and bytes that are not UTF-8 are `\\xNN`.",
        example="amount %{amount} of customer %{customer} is negative",
    )

    def passes_no_event(self) -> bool:
        """Every event fails."""
        return True


class Fail(Decorator[FailSettings]):
    """
    Fail the events that meet `when`, with a code and a message of your own.

    A failed event becomes a dead letter, unless `on_error` says otherwise, and counts against `error_budget`:
    `dead-letters list --code CODE` shows it, and `dead-letters replay --code CODE` runs it again. To drop events on
    purpose and acknowledge them, use `filter`.

    Source: own design; as Vector's `abort` and `assert`, Benthos's and Redpanda Connect's `throw`.
    """

    kind = "fail"
    examples = (
        Example(
            "events that meet the condition fail",
            settings="{when: \"%{amount} < 0\", code: NEGATIVE_AMOUNT, message: 'amount %{amount} is negative'}",
            attributes={"amount": "-7.50"},
            error="NEGATIVE_AMOUNT",
        ),
        Example(
            "an attribute that every event should have",
            settings="{when: 'not exists(customer)', code: NO_CUSTOMER, message: 'order %{order} has no customer'}",
            attributes={"order": "17"},
            error="NO_CUSTOMER",
        ),
    )

    def __init__(self, settings: FailSettings) -> None:
        super().__init__(settings)
        self._code = settings.code
        self._render = settings.message.render

    def decorate(self, event: Event) -> bool:
        """Raise the error."""
        message = self._render(event).decode("utf-8", "backslashreplace")
        raise DecorateError(message, code=self._code)
