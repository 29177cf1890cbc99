"""Makes templates, conditions, patterns and time zones types of pydantic fields, written as text in YAML."""

from collections.abc import Callable, Iterable
from typing import Annotated, LiteralString, Protocol, TypeVar

from pydantic import AfterValidator, ValidationInfo, ValidatorFunctionWrapHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from ingest.expressions.dates import zone_of
from ingest.expressions.grammar import ExpressionSyntaxError

DEFAULT_ZONE = "UTC"


class _Written(Protocol):
    @property
    def text(self) -> str: ...


T = TypeVar("T", bound=_Written)

Further = Callable[[str, ExpressionSyntaxError, Callable[[str], object]], Iterable[ExpressionSyntaxError]]
"""Finds the syntax errors of a text after the first one; takes the text, the first error and a parser."""


def option_schema(
    kind: type[T], parse: Callable[[str, str], T], error: LiteralString, further: Further | None = None
) -> CoreSchema:
    """
    The schema of a field that is text in YAML and parsed in Python.

    Args:
        kind: the Python type; a value of this type is accepted unchanged.
        parse: parses a text, in the pipeline's time zone.
        error: type of pydantic's error for invalid text; its context has the column, and under `further` the columns
            and messages of further errors.
        further: finds the further errors.
    """

    def validate(value: object, text_of: ValidatorFunctionWrapHandler, info: ValidationInfo) -> T:
        if isinstance(value, kind):
            return value
        text = text_of(value)
        zone = _zone_of_pipeline(info)
        try:
            return parse(text, zone)
        except ExpressionSyntaxError as problem:
            others = () if further is None else further(text, problem, lambda other: parse(other, zone))
            found = [(other.column, other.message) for other in others]
            raise PydanticCustomError(
                error,
                "{problem}",
                {"column": problem.column, "problem": problem.message, "caret": problem.caret, "further": found},
            ) from problem

    return core_schema.with_info_wrap_validator_function(
        validate,
        core_schema.str_schema(strict=True),
        serialization=core_schema.plain_serializer_function_ser_schema(
            _text_of, return_schema=core_schema.str_schema(), when_used="always"
        ),
    )


def _zone_of_pipeline(info: ValidationInfo) -> str:
    context = info.context
    return context.get("timezone", DEFAULT_ZONE) if isinstance(context, dict) else DEFAULT_ZONE


def known_zone(zone: str | None, info: ValidationInfo) -> str:
    """
    The name of a time zone, or that of the pipeline for None; for validators of options.

    Raises:
        PydanticCustomError: there is no such zone.
    """
    name = _zone_of_pipeline(info) if zone is None else zone
    try:
        zone_of(name)
    except ValueError as error:
        raise PydanticCustomError("not_one_of", "{error}", {"error": str(error)}) from error
    return name


ZoneName = Annotated[str | None, AfterValidator(known_zone)]
"""Name of a time zone; with `default=None` it is the pipeline's `timezone` if left out."""


def _text_of(value: _Written) -> str:
    return value.text
