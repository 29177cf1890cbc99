"""Templates, conditions and patterns as types of option fields."""

import pickle

import pytest
from pydantic import ValidationError

from ingest.api import Event, Settings, option
from ingest.expressions import Condition, Pattern, Template


class Options(Settings):
    """One field of each kind."""

    value: Template = option("A template.", default="%H")
    condition: Condition | None = option("A condition.", default=None)
    pattern: Pattern = option("A pattern.", default=":")
    several: list[Template] = option("Templates.", default=[])


def test_text_is_compiled_in_the_zone_of_the_context() -> None:
    options = Options.model_validate({"value": "%H", "several": ["a", "%{x}"]}, context={"timezone": "Asia/Tokyo"})
    assert options.value.zone == "Asia/Tokyo"
    assert options.value.render(Event(b"")) == b"09"
    assert [template.text for template in options.several] == ["a", "%{x}"]


def test_default_is_text_and_the_default_zone_is_utc() -> None:
    assert Options().value == Template.parse("%H", "UTC")
    assert Options().pattern.split(b"a:b") == [b"a", b"b"]


def test_compiled_value_is_accepted_unchanged() -> None:
    template = Template.parse("%{x}")
    assert Options(value=template).value is template


@pytest.mark.parametrize(
    ("values", "kind", "column"),
    [
        ({"value": "ab%{a:b}"}, "bad_expression", 3),
        ({"condition": "%{a} = 1"}, "bad_expression", 6),
        ({"pattern": "ab("}, "bad_pattern", 3),
        ({"several": ["ok", "%"]}, "bad_expression", 1),
    ],
)
def test_invalid_text_is_an_error_with_the_column(values: dict[str, object], kind: str, column: int) -> None:
    with pytest.raises(ValidationError) as raised:
        Options.model_validate(values)
    (error,) = raised.value.errors()
    assert (error["type"], error["ctx"]["column"]) == (kind, column)
    assert error["msg"] == error["ctx"]["problem"]


def test_braces_in_a_message_are_kept() -> None:
    with pytest.raises(ValidationError) as raised:
        Options.model_validate({"value": "%{column x}"})
    assert "%{'column x'}" in raised.value.errors()[0]["msg"]


@pytest.mark.parametrize("value", [5, 1.5, True, None, ["x"], b"x"])
def test_value_that_is_not_text_is_rejected(value: object) -> None:
    with pytest.raises(ValidationError) as raised:
        Options.model_validate({"value": value})
    assert [error["type"] for error in raised.value.errors()] == ["string_type"]


def test_value_is_serialized_as_text() -> None:
    options = Options(value=Template.parse("%{x}"), condition=Condition.parse("exists(x)"))
    plain = options.model_dump(mode="json", exclude_none=True)
    assert plain == {"value": "%{x}", "condition": "exists(x)", "pattern": ":", "several": []}


def test_schema_has_the_format() -> None:
    properties = Options.model_json_schema()["properties"]
    assert {name: properties[name].get("format") for name in ("value", "pattern")} == {
        "value": "template",
        "pattern": "pattern",
    }
    assert {"type": "string", "format": "condition"} in properties["condition"]["anyOf"]


def test_settings_with_expressions_can_be_pickled() -> None:
    options = Options(condition=Condition.parse("exists(x)"))
    assert pickle.loads(pickle.dumps(options)) == options  # noqa: S301 - our own bytes
