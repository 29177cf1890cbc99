"""Updates the `expect` of tests in a file with the actual outputs, and changes nothing else in the file."""

import re
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ingest.api import ConfigError
from ingest.config.nodes import BadYamlError, NodePath, compose, plain
from ingest.config.spans import Span, span_of
from ingest.config.writing import flow, literal, plain_or_quoted, quoted, single_quoted
from ingest.dry_run.expected import Difference, puts_of, writes_of
from ingest.dry_run.pipeline import CaseResult
from ingest.formats.event_json import Line

_VARIABLE = re.compile(r"(?<!\$)\$\{")
_USUAL_KEYS = {"puts": ("table", "row", "key", "cells"), "events": ("body", "attributes")}


class NotUpdatedError(ConfigError):
    """A test cannot be updated because of the layout of its file; the file is unchanged."""

    code = "not_updated"
    hint = "edit `expect` by hand"


class Change(NamedTuple):
    """One expectation that was replaced; None for one that was added or removed."""

    path: NodePath
    before: object
    after: object


@dataclass(slots=True)
class Updated:
    """
    The updated text of a file.

    Attributes:
        changes: by index of the test.
        refused: by index of the test: paths that cannot be updated, with the reasons.
    """

    text: str
    changes: dict[int, list[Change]] = field(default_factory=dict)
    refused: dict[int, list[tuple[NodePath, str]]] = field(default_factory=dict)


class _Edit(NamedTuple):
    start: int
    end: int
    text: str


def has_no_expectation(result: CaseResult) -> bool:
    """Whether a test has `expect: {}`."""
    return not result.case.expect.model_fields_set


def updated(text: str, results: Iterable[tuple[int, CaseResult]], hide: Callable[[str], str]) -> Updated:
    """
    The text of a file, with the actual outputs as expectations.

    Args:
        text: of the file that contains the tests.
        results: tests that failed or have no expectation, each with its index in the list `tests`.
        hide: masks secrets in a text; a value with a secret is not written.

    Raises:
        NotUpdatedError: the updated text would have another meaning; the file must be edited by hand.
    """
    writer = _Writer(text, hide)
    for number, result in results:
        if has_no_expectation(result):
            writer.fill(number, result)
        else:
            writer.update(number, result.differences)
    return writer.result()


class _Writer:
    def __init__(self, text: str, hide: Callable[[str], str]) -> None:
        self._text = text
        self._hide = hide
        self._newline = "\r\n" if "\r\n" in text else "\n"
        self._root = span_of(text)
        root = compose(text, "file", [])
        self._wanted: Any = None if root is None else plain(root)
        self._edits: list[_Edit] = []
        self._updated = Updated(text)

    def fill(self, number: int, result: CaseResult) -> None:
        """Write all outputs as the expectation of a test that has none."""
        content = _all_of(result)
        *_, case, span = self._root.along(("tests", number, "expect"))
        escaped = {key: literal(value) for key, value in content.items()}
        if why := self._refusal(("tests", number, "expect"), escaped):
            self._updated.refused.setdefault(number, []).append(((), why))
            return
        if case.style == "flow":
            self._edits.append(_Edit(span.start, span.end, _flow(escaped)))
        else:
            indent = self._newline + " " * (case.keys["expect"] + 2)
            start = len(self._text[: span.start].rstrip(" "))
            self._edits.append(_Edit(start, span.end, "".join(f"{indent}{line}" for line in _block(escaped))))
        self._wanted["tests"][number]["expect"] = escaped
        self._updated.changes[number] = [Change((key,), None, value) for key, value in content.items()]

    def update(self, number: int, differences: Sequence[Difference]) -> None:
        """Replace each value that differs, in its place."""
        for name in ("puts", "writes", "events"):
            self._resize(number, name, [each for each in differences if each.path[0] == name and _is_item(each)])
        for each in differences:
            if not _is_item(each):
                self._replace(number, each)

    def result(self) -> Updated:
        """The new text, checked."""
        text = self._text
        for edit in sorted(self._edits, reverse=True):
            text = text[: edit.start] + edit.text + text[edit.end :]
        try:
            root = compose(text, "file", [])
        except BadYamlError:
            root = None
        if root is None or plain(root) != self._wanted:
            raise NotUpdatedError("the tests in this file cannot be updated")
        self._updated.text = text
        return self._updated

    def _replace(self, number: int, difference: Difference) -> None:
        path = ("tests", number, "expect", *difference.path)
        value = literal(difference.actual)
        if not self._allowed(number, difference, value):
            return
        *_, span = self._root.along(path)
        written = _scalar_like(span, value) if isinstance(value, str) else _flow(value)
        if span.start == span.end:  # no value after the colon
            written = f" {written}"
        self._edits.append(_Edit(span.start, span.end, written))
        _set(self._wanted, path, value)

    def _resize(self, number: int, name: str, differences: Sequence[Difference]) -> None:
        """Add items at the end of a list, or remove items from its end."""
        if not differences:
            return
        path = ("tests", number, "expect", name)
        span = list(self._root.along(path))[-1]
        known = {key for item in span.items for key in item.entries} or set(_USUAL_KEYS.get(name, ()))
        added = [
            (each, literal(_parts(each.actual, known or set(each.actual))))
            for each in differences
            if isinstance(each.actual, dict)
        ]
        added = [(each, value) for each, value in added if self._allowed(number, each, value)]
        removed = [each for each in differences if each.actual is None and self._allowed(number, each, None)]
        if added:
            self._append(span, [value for _, value in added])
        if removed:
            self._cut(span, len(removed))
        items = list(plain_at(self._wanted, path))
        _set(self._wanted, path, items[: len(items) - len(removed)] + [value for _, value in added])

    def _append(self, span: Span, values: list[object]) -> None:
        written = [_flow(value) for value in values]
        if not span.items:
            self._edits.append(_Edit(span.start, span.end, f"[{', '.join(written)}]"))
        elif span.style == "flow":
            end = span.items[-1].end
            self._edits.append(_Edit(end, end, "".join(f", {item}" for item in written)))
        else:
            end = self._line_end(span.end)
            lead = f"{self._newline}{' ' * span.column}- "
            self._edits.append(_Edit(end, end, "".join(lead + item for item in written)))

    def _cut(self, span: Span, count: int) -> None:
        remaining = len(span.items) - count
        if remaining == 0:
            # a block list may be on the level of its key, a flow list may not
            self._edits.append(_Edit(span.start, span.end, "[]" if span.style == "flow" else " []"))
        elif span.style == "flow":
            self._edits.append(_Edit(span.items[remaining - 1].end, span.items[-1].end, ""))
        else:
            for item in span.items[remaining:]:
                dash = self._text.rfind("-", 0, item.start)
                start, end = self._text.rfind("\n", 0, dash) + 1, item.end
                line_end = self._line_end(end)
                if not self._text[end:line_end].strip():
                    end = self._text.find("\n", line_end) + 1 or len(self._text)
                self._edits.append(_Edit(start, end, ""))

    def _line_end(self, position: int) -> int:
        end = self._text.find("\n", position)
        end = len(self._text) if end < 0 else end
        return end - 1 if self._text[end - 1 : end] == "\r" else end

    def _allowed(self, number: int, difference: Difference, value: object) -> bool:
        """Whether a difference may be written; records the change or the refusal."""
        path = ("tests", number, "expect", *difference.path)
        if why := self._refusal(path, value):
            self._updated.refused.setdefault(number, []).append((difference.path, why))
            return False
        change = Change(difference.path, difference.expected, difference.actual)
        self._updated.changes.setdefault(number, []).append(change)
        return True

    def _refusal(self, path: NodePath, value: object) -> str:
        """Why a value cannot be written here; "" if it can."""
        spans = list(self._root.along(path))
        *around, span = spans
        if len(spans) <= len(path):  # a new value: the last span is that of its parent
            around, span = spans, Span(0, 0, 0, "")
            if len(spans) < len(path):
                return "it is not in this place of the file"
        if any(each.shared for each in around) or span.any_shared():
            return "it is written with an anchor, an alias or a tag"
        if _VARIABLE.search(self._text[span.start : span.end]):
            return "it is written with a variable"
        if self._hide(_flow(value)) != _flow(value):
            return "a secret would be written into the file"
        return ""


def plain_at(content: Any, path: NodePath) -> Any:
    """The value at a path."""
    for key in path:
        content = content[key]
    return content


def _set(content: Any, path: NodePath, value: object) -> None:
    plain_at(content, path[:-1])[path[-1]] = deepcopy(value)


def _is_item(difference: Difference) -> bool:
    """Whether it is a whole event, put or write that is missing on one side."""
    return len(difference.path) == 2 and None in (difference.expected, difference.actual)  # noqa: PLR2004


def _all_of(result: CaseResult) -> dict[str, object]:
    lines = [output.line for output in result.outputs]
    dropped: dict[str, int] = {}
    for line in lines:
        if line["outcome"] == "dropped":
            dropped[str(line["reason"])] = dropped.get(str(line["reason"]), 0) + 1
    content: dict[str, object] = {"kept": sum(line["outcome"] == "kept" for line in lines)}
    if dropped:
        content["dropped"] = dropped
    if failed := sum(line["outcome"] == "failed" for line in lines):
        content["failed"] = failed
    if puts := puts_of(result.outputs):
        own_times = [own for output in result.outputs for own in output.own_times]
        usual = set(_USUAL_KEYS["puts"])
        content["puts"] = [
            _parts(put, usual | {"timestamp_ms"} if own else usual) for put, own in zip(puts, own_times, strict=True)
        ]
    if writes := writes_of(result.outputs):
        content["writes"] = writes
    return content


def _parts(whole: Line, keys: set[str]) -> Line:
    """The given keys of an event or a put; of a delete, `delete` and `cells` unless empty; of `row` and `key`, one."""
    if "delete" in whole:
        keys = keys | {"delete"} if whole["cells"] else (keys | {"delete"}) - {"cells"}
    if {"row", "key"} <= keys:
        keys = keys - {"row" if "key" in whole else "key"}
    elif "key" in keys and "key" not in whole and "row" in whole:
        whole = {"key": whole["row"], **whole}
    return {key: value for key, value in whole.items() if key in keys}


# YAML of values


def _block(content: dict[str, object]) -> Iterable[str]:
    for key, value in content.items():
        if isinstance(value, list):
            yield f"{key}:"
            yield from (f"  - {_flow(each)}" for each in value)
        else:
            yield f"{key}: {_flow(value)}"


def _flow(value: object) -> str:
    """YAML in flow style; text is always quoted."""
    return flow(value, quoted)


def _scalar_like(span: Span, text: str) -> str:
    """YAML of a text, in the quotes of the present value if possible."""
    if span.style == "'" and text.isprintable():
        return single_quoted(text)
    return plain_or_quoted(text) if span.style == "" and span.start < span.end else quoted(text)
