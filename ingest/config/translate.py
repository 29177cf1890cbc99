"""Translates pydantic's validation errors into problems with places."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr, ValidationError
from pydantic_core import ErrorDetails

from ingest.amounts import counted
from ingest.api import Model
from ingest.config.nodes import BadYamlError, MappingNode, Node, NodePath, ScalarNode, SequenceNode, compose
from ingest.config.problems import Kind, Place, Problem, listed
from ingest.config.writing import flow
from ingest.suggest import DISTRIBUTE, did_you_mean, did_you_mean_ours

_WANTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "none_required": "nothing",
}
_RANGES = re.compile(r"greater_|less_|too_short|too_long|string_too|string_pattern|multiple_of|finite")
_ELSEWHERE = {
    ("row_key", "buckets"): DISTRIBUTE,
    ("row_key", "bucket_parts"): DISTRIBUTE,
    ("files", "envelope"): "dead letters in a topic have it: `dead_letters: {kafka: {topic: …, envelope: headers}}`",
    ("mask", "find"): "`mask` removes attributes; `redact` replaces matches inside values",
}
_LIMITS = {
    "greater_than": ("must be more than {}", "gt"),
    "greater_than_equal": ("must be at least {}", "ge"),
    "less_than": ("must be less than {}", "lt"),
    "less_than_equal": ("must be at most {}", "le"),
}
_UNITS = ((re.compile(r"[0-9.]+ ?(ms|[smhd])"), " s"), (re.compile(r"[0-9.]+ ?([KMG]i?)?B"), " B"))
"""Of the limits of durations and sizes, by how the values are written."""
_LENGTHS = {
    "too_short": ("must have at least {}", "min_length"),
    "string_too_short": ("must have at least {}", "min_length"),
    "too_long": ("must have at most {}", "max_length"),
    "string_too_long": ("must have at most {}", "max_length"),
}
_PERCENTAGE = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,9})?) ?%")
_CHOICE = re.compile(r"'((?:[^'\\]|\\.)*)'")
_KINDS = {kind.value.replace("-", "_"): kind for kind in Kind} | {"missing": Kind.MISSING_FIELD}


class LocatedNode:
    """
    The node of some options.

    Args:
        owner: the name of the component or section, for messages.
        location: the place of that name, used for missing options.
        model: the class of the options.
        elsewhere: a hint to where an unknown option belongs; "" if it belongs nowhere.
    """

    def __init__(
        self,
        node: Node,
        owner: str,
        location: Place,
        model: type[BaseModel],
        elsewhere: Callable[[str], str] = lambda _name: "",
    ) -> None:
        self.node = node
        self.owner = owner
        self.location = location
        self.model = model
        self.elsewhere = elsewhere

    def follow(self, path: Sequence[str | int]) -> tuple[Node, NodePath, Place]:
        """The deepest node on a path of pydantic, its own path, and the place of its key; union tags are skipped."""
        node, key = self.node, self.location
        found: list[str | int] = []
        for part in path:
            if isinstance(node, MappingNode) and part in node.entries:
                key = node.keys[str(part)]
                node = node.entries[str(part)]
                found.append(part)
            elif isinstance(node, SequenceNode) and isinstance(part, int) and part < len(node.items):
                node = node.items[part]
                key = node.place
                found.append(part)
        return node, tuple(found), key


def problems_of(error: ValidationError, located: LocatedNode) -> Iterator[Problem]:
    """One problem for each place with errors; for a union, that of the branch that matched deepest."""
    errors = error.errors(include_url=False, include_input=False)
    by_place: dict[NodePath, list[ErrorDetails]] = {}
    for details in errors:
        key = (*located.follow(details["loc"])[1], details["loc"][-1]) if _names_a_key(details) else None
        by_place.setdefault(key or located.follow(details["loc"])[1], []).append(details)
    for path, group in by_place.items():
        branches = {_wanted(details) for details in group}
        if len(group) > 1 and None not in branches:
            yield _wrong_type(located, path, " or ".join(sorted(branch for branch in branches if branch)))
        elif len(group) > 1 and (chosen := [details for details in group if _wanted(details) is None]):
            yield _problem(chosen[0], located, sorted(branch for branch in branches if branch))
        elif not _is_beaten(path, by_place, group):
            yield _problem(group[0], located)
            yield from _further(group[0], located)


def problems_in_line(
    error: ValidationError, text: str, location: Place, owner: str, model: type[BaseModel]
) -> list[Problem]:
    """The problems of options in one line of JSON; `location` is the start of that line."""
    try:
        node = compose(text, location.file, [])
    except BadYamlError:
        node = None  # JSON that is not valid YAML, such as a lone surrogate
    if node is None:
        return [Problem(Kind.WRONG_TYPE, location, details["msg"]) for details in error.errors(include_url=False)]
    return [
        replace(problem, location=replace(problem.location, line=location.line))
        for problem in problems_of(error, LocatedNode(node, owner, location, model))
    ]


def _names_a_key(details: ErrorDetails) -> bool:
    return details["type"] in {"missing", "extra_forbidden"} and bool(details["loc"])


def _is_beaten(path: NodePath, by_place: Mapping[NodePath, object], group: list[ErrorDetails]) -> bool:
    """Whether another branch of the same union matched deeper inside this value."""
    in_union = _wanted(group[0]) is not None
    return in_union and any(len(other) > len(path) and other[: len(path)] == path for other in by_place)


def _wanted(details: ErrorDetails) -> str | None:
    return _WANTED.get(details["type"])


def _problem(details: ErrorDetails, located: LocatedNode, others: Sequence[str] = ()) -> Problem:
    """The problem of an error; `others` are the types that the other branches of a union take."""
    kind, location = details["type"], details["loc"]
    context = details.get("ctx", {})
    node, path, key = located.follow(location)
    name = next((part for part in reversed(path) if isinstance(part, str)), located.owner)
    if kind == "missing" and details["msg"] == "Field required":
        return Problem(Kind.MISSING_FIELD, key, f'{name} needs "{location[-1]}"')
    if kind == "extra_forbidden":
        return _unknown_field(located, location, path)
    if location and location[-1] == "[key]":
        return _unknown_key(str(location[-2]), context, key)
    if kind in _WANTED:
        return _wrong_type(located, path, _WANTED[kind])
    if kind in {"literal_error", "enum"}:
        choices = _CHOICE.findall(str(context.get("expected", "")))
        value = node.text if isinstance(node, ScalarNode) else "this"
        hint = did_you_mean(value, choices) or " or ".join([f"one of {listed(choices, len(choices))}", *others])
        return Problem(Kind.NOT_ONE_OF, node.place, f'{name} cannot be "{value}"', hint)
    return _with_own_message(details, located, node, name)


def _with_own_message(details: ErrorDetails, located: LocatedNode, node: Node, name: str) -> Problem:
    context = details.get("ctx", {})
    kind = _KINDS.get(details["type"])
    message = details["msg"].replace("{owner}", located.owner)  # for options classes that several components share
    if kind is Kind.BAD_PATTERN:
        message = message.removeprefix("bad pattern: ")  # the kind says it
    text = node.text if isinstance(node, ScalarNode) else ""
    if kind is None and (beyond := limit_message(details, text)) is not None:
        message, kind = f"{name} {beyond}", Kind.OUT_OF_RANGE
    elif kind is None and details["type"] in _LENGTHS and isinstance(node, ScalarNode):
        # pydantic counts the items of a secret, and prints how many it has
        form, limit = _LENGTHS[details["type"]]
        message, kind = f"{name} {form.format(counted(context[limit], 'character'))}", Kind.OUT_OF_RANGE
    elif kind is None:
        kind = Kind.OUT_OF_RANGE if _RANGES.search(details["type"]) else Kind.WRONG_TYPE
        message = message.removeprefix("Value error, ").removeprefix("Assertion failed, ")
        message = f"{name}: {message[:1].lower()}{message[1:]}"
    location = node.place
    _, path, key = located.follow(details["loc"])
    if not path or not isinstance(node, ScalarNode):
        location = key
        option = context.get("option")
        if isinstance(option, str) and isinstance(node, MappingNode) and option in node.entries:
            location = node.entries[option].place
    column = context.get("column")
    if isinstance(column, int) and isinstance(node, ScalarNode):
        location = node.at(column)
    return Problem(kind, location, message, str(context.get("hint", "")))


def limit_message(details: ErrorDetails, text: str) -> str | None:
    """
    The message for a number beyond a limit, as in "must be at least 1 s, not 0s"; None for another error.

    Args:
        details: of the error.
        text: as the number is written.
    """
    if details["type"] not in _LIMITS:
        return None
    form, limit = _LIMITS[details["type"]]
    wanted = details.get("ctx", {})[limit]
    wanted = int(wanted) if isinstance(wanted, float) and wanted.is_integer() else wanted
    unit = next((unit for written, unit in _UNITS if written.fullmatch(text)), "")
    return f"{form.format(f'{wanted}{unit}')}{f', not {text}' if text else ''}"


def _further(details: ErrorDetails, located: LocatedNode) -> Iterator[Problem]:
    """The problems of an expression after the first."""
    node, _, _ = located.follow(details["loc"])
    for column, message in details.get("ctx", {}).get("further", ()):
        yield Problem(_KINDS[details["type"]], node.at(column) if isinstance(node, ScalarNode) else node.place, message)


def _wrong_type(located: LocatedNode, path: NodePath, wanted: str) -> Problem:
    node, _, _ = located.follow(path)
    name = str(path[-1]) if path and isinstance(path[-1], str) else located.owner
    if path and isinstance(path[-1], int):
        names = [part for part in path if isinstance(part, str)]
        name = f"an item of {names[-1]}" if names else f"an item of {located.owner}"
    match node:
        case ScalarNode(value=None):
            found, hint = "nothing", ""
        case ScalarNode(value=bool()):
            found, hint = f"the boolean {node.text}", f'quote it: "{node.text}"' if "text" in wanted else ""
        case ScalarNode(value=int() | float()):
            found, hint = f"the number {node.text}", f'quote it: "{node.text}"' if "text" in wanted else ""
        case ScalarNode():
            found = f'the text "{node.text}"'
            hint = _hint_for_text(node, wanted) or _hint_for_options(model_at(located.model, path), node)
        case SequenceNode():
            found, hint = "a list", ""
        case MappingNode():
            found, hint = "a mapping", ""
    return Problem(Kind.WRONG_TYPE, node.place, f"{name} must be {wanted}, not {found}", hint)


def _hint_for_text(node: ScalarNode, wanted: str) -> str:
    if "number" in wanted and node.quoted and not node.expanded and node.text.isdecimal():
        return "remove the quotes"
    if wanted == "a number" and (percentage := _PERCENTAGE.fullmatch(node.text)):
        return f"write {float(percentage[1]) / 100:g}"
    if "list" in wanted.split() and not node.expanded:
        return f"write {flow([node.text])}"
    return ""


def _hint_for_options(model: type[BaseModel] | None, node: ScalarNode) -> str:
    """The text as the only option that must be there."""
    required = [] if model is None else [name for name, field in model.model_fields.items() if field.is_required()]
    return f"write {{{required[0]}: {flow(node.text)}}}" if len(required) == 1 and not node.expanded else ""


def _unknown_field(located: LocatedNode, location: Sequence[str | int], path: NodePath) -> Problem:
    """The problem of an unknown option; the path leads to its key."""
    name = str(location[-1])
    _, _, key = located.follow(location)
    model = model_at(located.model, path[:-1])
    known = () if model is None else tuple(model.model_fields)
    owner = next((str(part) for part in reversed(path[:-1]) if isinstance(part, str)), located.owner)
    hint = _ELSEWHERE.get((owner, name)) or did_you_mean_ours(name, known) or located.elsewhere(name)
    hint = hint or (f"it has {listed(known, len(known))}" if known else "it has none")
    return Problem(Kind.UNKNOWN_FIELD, key, f'"{name}" is not an option of {owner}', hint)


def _unknown_key(name: str, context: Mapping[str, Any], key: Place) -> Problem:
    choices = _CHOICE.findall(str(context.get("expected", "")))
    hint = did_you_mean(name, choices) or f"allowed keys: {listed(choices)}"
    return Problem(Kind.UNKNOWN_FIELD, key, f'"{name}" is not allowed here', hint)


def branches(annotation: object) -> Iterator[object]:
    """The types of an annotation, with Annotated and unions resolved."""
    if get_origin(annotation) in (Union, UnionType):
        for part in get_args(annotation):
            yield from branches(part)
    elif hasattr(annotation, "__metadata__"):
        yield from branches(get_args(annotation)[0])
    else:
        yield annotation


def model_at(annotation: object, path: NodePath) -> type[BaseModel] | None:
    """The class of the options at a path; None if there is none."""
    for branch in branches(annotation):
        if isinstance(branch, type) and issubclass(branch, BaseModel):
            if not path:
                return branch
            field = branch.model_fields.get(str(path[0]))
            if field is not None and (found := model_at(field.annotation, path[1:])) is not None:
                return found
        elif path and get_origin(branch) in (list, dict) and (found := model_at(get_args(branch)[-1], path[1:])):
            return found
    return None


def typed_nodes(annotation: object, node: Node) -> Iterator[tuple[object, Node]]:
    """A node and those in it, each with every type that it may have: options models, and what their options take."""
    for branch in branches(annotation):
        yield branch, node
        if isinstance(branch, type) and issubclass(branch, Model) and isinstance(node, MappingNode):
            for name, child in node.entries.items():
                if (field := branch.model_fields.get(name)) is not None:
                    yield from typed_nodes(field.annotation, child)
        elif get_origin(branch) is dict and isinstance(node, MappingNode):
            for child in node.entries.values():
                yield from typed_nodes(get_args(branch)[1], child)
        elif get_origin(branch) is list and isinstance(node, SequenceNode):
            for child in node.items:
                yield from typed_nodes(get_args(branch)[0], child)


def secret_scalars(annotation: object, node: Node) -> Iterator[ScalarNode]:
    """The scalars of options that are secrets."""
    for kind, found in typed_nodes(annotation, node):
        if kind is SecretStr and isinstance(found, ScalarNode):
            yield found
