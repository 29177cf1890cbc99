"""Options, components and problems for people: the rows `describe` prints, and the generated reference pages."""

import inspect
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from ingest.api import Example, Model, SmallFile
from ingest.api.notation import to_notation
from ingest.api.settings import ByteSize, Duration
from ingest.config.binder import TOP_KEYS
from ingest.config.cases import CaseOptions
from ingest.config.options import (
    DEAD_LETTERS,
    PipelineOptions,
    SecretsOptions,
    ServiceOptions,
    Share,
    SparkOptions,
    TableOptions,
)
from ingest.config.scalars import resolve
from ingest.config.translate import model_at

_PLAIN = re.compile(r"[A-Za-z0-9_./$][A-Za-z0-9_./%()=+$ -]*")  # what surely needs no quotes
_WORDS: dict[Any, str] = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    SecretStr: "secret",
    SmallFile: "path of a file",
    object: "any",
}
_UNITS = [(get_args(kind)[1:], word) for kind, word in ((Duration, "duration"), (ByteSize, "size"), (Share, "share"))]


@dataclass(frozen=True, slots=True)
class OptionRow:
    """
    One option.

    Attributes:
        name: dotted when it stands inside another.
        default: as YAML; "required" without one.
    """

    name: str
    type: str
    default: str
    doc: str
    example: str


def option_rows(model: type[BaseModel], before: str = "") -> Iterator[OptionRow]:
    """Every option of a model, those of models inside it too."""
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
    """A value in one line of YAML; JSON is YAML, and text stands without quotes where it can."""
    if value is None:
        return "none"
    if isinstance(value, str) and _PLAIN.fullmatch(value) and isinstance(resolve(value), str):
        return str(value)
    return json.dumps(value, ensure_ascii=False)


def _type(field: FieldInfo) -> str:
    """Pydantic keeps what is annotated at the outside of a field apart from its type."""
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


def options_table(model: type[BaseModel]) -> str:
    """The options as a Markdown table."""
    rows = [
        f"| `{row.name}` | {_cell(row.type)} | {_code(row.default)} | {_cell(row.doc)}{_such_as(row)} |"
        for row in option_rows(model)
    ]
    if not rows:
        return "No options."
    return "\n".join(["| option | type | default | |", "|---|---|---|---|", *rows])


def _such_as(row: OptionRow) -> str:
    return f" Example: {_code(row.example)}." if row.example else ""


def _code(text: str) -> str:
    return f"`{_cell(text)}`" if text not in {"required", "none", ""} else text


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def component_page(name: str, component: type[Any], settings: type[Model], cost: object = None) -> str:
    """
    The page of a decorator, sink, store or source.

    Args:
        name: as in YAML.
        component: the class with docstring, stability and examples; for a store or source it may be its settings.
        settings: its options.
        cost: what an event costs in it, where that was measured.
    """
    stability = getattr(component, "stability", None)
    parts = [f"# {name}", inspect.cleandoc(component.__doc__ or "")]
    if stability is not None:
        parts.append(f"Stability: {stability.value}.")
    if cost is not None:
        parts.append(f"It takes about {cost}.")
    parts += ["## Options", options_table(settings)]
    examples: Iterable[Example] = getattr(component, "examples", ())
    shown = [_example(name, example) for example in examples]
    if shown:
        parts += ["## Examples", *shown]
    return "\n\n".join(parts) + "\n"


def _example(name: str, example: Example) -> str:
    lines = [f"### {example.title}", "", "```yaml", f"- {name}: {example.settings}", "```", ""]
    for file, content in example.files.items():
        shown = _shown(content) if isinstance(content, str) else f"{len(content)} bytes"
        lines.append(f"- file `{file}`: {shown}")
    for word, value in example.given().items():
        match word:
            case "earlier":
                lines.append(f"- bodies of events before it: {', '.join(map(_shown, example.earlier))}")
            case "offset":
                lines.append(f"- offset of its record: {example.offset}")
            case _:
                lines.append(f"- {word} before: {_shown(value)}")
    if example.dropped:
        lines.append("- the event is dropped")
    if example.error is not None:
        lines.append(f"- the event fails with `{example.error}`")
    lines += [
        f"- `{attribute}`: {'gone' if value is None else _shown(value)}" for attribute, value in example.after.items()
    ]
    if example.body_after is not None:
        lines.append(f"- body after: {_shown(example.body_after)}")
    if example.timestamp_ms_after is not None:
        lines.append(f"- time after: {example.timestamp_ms_after}")
    for number, (body, attributes) in enumerate(example.made or ()):
        lines.append(f"- event {number}: body {_shown(body)}, attributes {_shown(attributes)}")
    return "\n".join(lines).rstrip()


def _shown(value: object) -> str:
    text = repr(value) if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False, default=to_notation)
    fence = "``" if "`" in text else "`"
    return f"{fence}{text}{fence}"


def configuration_page() -> str:
    """The page of everything in a file that is no component."""
    parts = ["# Configuration", "What stands at the top of a file:"]
    parts.append(
        "\n".join(["| key | |", "|---|---|", *(f"| `{key}` | {_cell(doc)} |" for key, doc in TOP_KEYS.items())])
    )
    sections: list[tuple[str, type[Model]]] = [
        ("`secrets`", SecretsOptions),
        ("`service`", ServiceOptions),
        ("`spark`", SparkOptions),
        ("`tables`: each table", TableOptions),
        ("`pipelines`: each pipeline, besides `source`, `decorators` and `sinks`", PipelineOptions),
        *((f"`dead_letters: {{{kind}: …}}`", model) for kind, model in DEAD_LETTERS.items()),
        ("`tests`: each test", CaseOptions),
    ]
    for title, model in sections:
        parts += [f"## {title}", inspect.cleandoc(model.__doc__ or ""), options_table(model)]
    return "\n\n".join(parts) + "\n"
