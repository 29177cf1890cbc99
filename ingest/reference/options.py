"""Documentation of options: the rows of `describe` and the reference, and the page of the configuration."""

import inspect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from ingest.api import Model, SmallFile
from ingest.api.settings import ByteSize, Duration
from ingest.catalog import table_features
from ingest.config.keys import TOP_KEYS
from ingest.config.options import (
    DEAD_LETTERS,
    DumpOptions,
    PipelineOptions,
    SecretsOptions,
    ServiceOptions,
    Share,
    SparkOptions,
)
from ingest.config.tables import table_options
from ingest.config.test_cases import CaseOptions
from ingest.config.translate import model_at
from ingest.config.writing import flow
from ingest.registry.options import RegistryOptions

_WORDS: dict[Any, str] = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    SecretStr: "secret",
    SmallFile: "path of a file",
    object: "any",
}
_UNITS = [
    (get_args(kind)[1:], word) for kind, word in ((Duration, "duration"), (ByteSize, "size"), (Share, "percentage"))
]


@dataclass(frozen=True, slots=True)
class OptionRow:
    """
    One option.

    Attributes:
        name: with dots for nested options.
        default: as YAML; "required" if it has none.
    """

    name: str
    type: str
    default: str
    doc: str
    example: str


def option_rows(model: type[BaseModel], before: str = "") -> Iterator[OptionRow]:
    """Every option of a model, with nested ones."""
    for name, field in model.model_fields.items():
        inner = model_at(field.annotation, ())
        is_nested = inner is not None and issubclass(inner, Model)
        yield _row(f"{before}{name}", field, is_nested=is_nested)
        listed = model_at(field.annotation, (0,))
        if inner is not None and is_nested:
            yield from option_rows(inner, f"{before}{name}.")
        elif listed is not None:
            yield from option_rows(listed, f"{before}{name}.*.")


def _row(name: str, field: FieldInfo, *, is_nested: bool) -> OptionRow:
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    default = "required" if field.default is PydanticUndefined else _yaml(field.default)
    example = _yaml(extra["example"]) if "example" in extra else ""
    return OptionRow(name, "mapping" if is_nested else _type(field), default, field.description or "", example)


def _yaml(value: object) -> str:
    """A value in one line of YAML."""
    return "none" if value is None else flow(value)


def _type(field: FieldInfo) -> str:
    """The type of a field; pydantic stores the outermost annotations in its metadata."""
    for annotated, word in _UNITS:
        if any(mark is own for mark in annotated for own in field.metadata):
            return word
    return _word(field.annotation)


def _word(annotation: Any) -> str:
    """A type in words."""
    arguments = get_args(annotation)
    match get_origin(annotation):
        case origin if hasattr(annotation, "__metadata__"):
            known = [word for marks, word in _UNITS if marks == annotation.__metadata__]
            return known[0] if known else _word(arguments[0])
        case origin if origin in (Union, UnionType):
            return " or ".join(dict.fromkeys(_word(part) for part in arguments if part is not type(None)))
        case origin if origin is Literal:
            return ", ".join(str(choice) for choice in arguments)
        case origin if origin is list:
            return f"list of {_word(arguments[0])}"
        case origin if origin is dict:
            return f"mapping to {_word(arguments[1])}"
        case _:
            return _word_of_class(annotation)


def _word_of_class(annotation: Any) -> str:
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return ", ".join(str(choice.value) for choice in annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "mapping"
    return _WORDS.get(annotation) or str(getattr(annotation, "__name__", annotation)).lower()


def options_table(options: Iterable[OptionRow]) -> str:
    """The options as a Markdown table."""
    rows = [
        f"| `{row.name}` | {cell(row.type)} | {_code(row.default)} | {cell(row.doc)}{_such_as(row)} |"
        for row in options
    ]
    if not rows:
        return "No options."
    return "\n".join(["| option | type | default | |", "|---|---|---|---|", *rows])


def _such_as(row: OptionRow) -> str:
    return f" Example: {_code(row.example)}." if row.example else ""


def _code(text: str) -> str:
    return f"`{cell(text)}`" if text not in {"required", "none", ""} else text


def cell(text: str) -> str:
    """Text in one cell of a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|")


@dataclass(frozen=True, slots=True)
class ConfigurationSection:
    """
    The options of one part of a file that is no component.

    Attributes:
        key: the top-level key, or the option of a pipeline, under which they are.
        title: heading of the section.
    """

    key: str
    title: str
    text: str
    options: tuple[OptionRow, ...]


def configuration_sections() -> list[ConfigurationSection]:
    """All options that do not belong to components, in the order of the reference."""
    sections: list[tuple[str, str, type[Model]]] = [
        ("secrets", "`secrets`", SecretsOptions),
        ("service", "`service`", ServiceOptions),
        ("registry", "`registry`", RegistryOptions),
        ("dump", "`dump`", DumpOptions),
        ("spark", "`spark`", SparkOptions),
        ("tables", "`tables`: each table", table_options(table_features())),
        ("pipelines", "`pipelines`: each pipeline, besides `source`, `decorators` and `sinks`", PipelineOptions),
        *(("dead_letters", f"`dead_letters: {{{kind}: …}}`", model) for kind, model in DEAD_LETTERS.items()),
        ("tests", "`tests`: each test", CaseOptions),
    ]
    return [
        ConfigurationSection(key, title, inspect.cleandoc(model.__doc__ or ""), tuple(option_rows(model)))
        for key, title, model in sections
    ]


def configuration_page() -> str:
    """The page of all options that do not belong to components."""
    parts = ["# Configuration", "Top-level keys of a file:"]
    parts.append(
        "\n".join(["| key | |", "|---|---|", *(f"| `{key}` | {cell(doc)} |" for key, doc in TOP_KEYS.items())])
    )
    for section in configuration_sections():
        parts += [f"## {section.title}", section.text, options_table(section.options)]
    return "\n\n".join(parts) + "\n"
