"""Templates, conditions and patterns are fields of settings: text in YAML, compiled in Python, written as text."""

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


def test_defaults_are_text_too_and_the_zone_is_utc() -> None:
    assert Options().value == Template.parse("%H", "UTC")
    assert Options().pattern.split(b"a:b") == [b"a", b"b"]


def test_a_value_passes_as_it_is() -> None:
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
def test_bad_text_is_an_error_with_its_column(values: dict[str, object], kind: str, column: int) -> None:
    with pytest.raises(ValidationError) as raised:
        Options.model_validate(values)
    (error,) = raised.value.errors()
    assert (error["type"], error["ctx"]["column"]) == (kind, column)
    assert error["msg"] == error["ctx"]["problem"]


def test_a_message_with_braces_is_shown_as_it_is() -> None:
    with pytest.raises(ValidationError) as raised:
        Options.model_validate({"value": "%{column x}"})
    assert "%{'column x'}" in raised.value.errors()[0]["msg"]


@pytest.mark.parametrize("value", [5, 1.5, True, None, ["x"], b"x"])
def test_what_is_no_text_is_refused_as_pydantic_does(value: object) -> None:
    with pytest.raises(ValidationError) as raised:
        Options.model_validate({"value": value})
    assert [error["type"] for error in raised.value.errors()] == ["string_type"]


def test_written_as_text() -> None:
    options = Options(value=Template.parse("%{x}"), condition=Condition.parse("exists(x)"))
    plain = options.model_dump(mode="json", exclude_none=True)
    assert plain == {"value": "%{x}", "condition": "exists(x)", "pattern": ":", "several": []}


def test_schema_names_the_format() -> None:
    properties = Options.model_json_schema()["properties"]
    assert {name: properties[name].get("format") for name in ("value", "pattern")} == {
        "value": "template",
        "pattern": "pattern",
    }
    assert {"type": "string", "format": "condition"} in properties["condition"]["anyOf"]


def test_settings_with_them_are_pickled() -> None:
    options = Options(condition=Condition.parse("exists(x)"))
    assert pickle.loads(pickle.dumps(options)) == options  # noqa: S301 - our own bytes
