"""
Translates interceptors of Flume 1.

Source: the package org.apache.flume.interceptor of Flume 1.11, and the UUID interceptor of its morphline module.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pydantic_core import PydanticCustomError

from ingest.api.notation import name_from_bytes, name_to_bytes
from ingest.config import Kind
from ingest.config.components import NOT_IMPORTED
from ingest.expressions import Pattern
from ingest.expressions.grammar import quoted
from ingest.flume.escapes import literal
from ingest.flume.ng.kafka import absent
from ingest.flume.ng.known import OF_INTERCEPTORS, not_needed
from ingest.flume.ng.properties import Options
from ingest.flume.patterns import UntranslatableError, each_of, in_full, pattern_of, replacement_of, separator_of
from ingest.flume.pipelines.document import Component, Verbatim, not_imported
from ingest.formats.joda import JodaPattern
from ingest.suggest import did_you_mean

Decorators = list[tuple[str, dict[str, object], str]]
"""Kind, options and a note for each decorator."""

_MILLIS = "RegexExtractorInterceptorMillisSerializer"
_PASS_THROUGH = ("", "DEFAULT", "RegexExtractorInterceptorPassThroughSerializer")
_INSTEAD = "write a custom decorator in Python that does what it did, or remove this one"
_TEXT = "flume.text."  # prefix of temporary attributes with dates as text
_OWN_TIME = "flume.time"
_SHORT_YEAR = "a year of two digits is near the time of the record; in Flume it was near the start of the agent"


def _timestamp(options: Options) -> Decorators:
    name = options.text("headerName", options.text("header", "timestamp"))
    note = "the event's timestamp, so that a replay writes the same; Flume used the agent's clock"
    keep = options.is_true("preserveExisting", default=False)
    return [("value", _value(name, "%{timestamp}", keep=keep), note)]


def _host(options: Options) -> Decorators:
    name = options.text("hostHeader", "host")
    what = "address" if options.is_true("useIP", default=True) else "name"
    note = f"Flume set the {what} of its agent: set FLUME_HOST to it"
    options.warn("type", note)
    keep = options.is_true("preserveExisting", default=False)
    return [("value", _value(name, Verbatim("${FLUME_HOST:localhost}"), keep=keep), note)]


def _static(options: Options) -> Decorators:
    name, value = options.text("key", "key"), options.open_text("value", "value")
    made: dict[str, object] = {"attributes": {name: value}}
    if options.is_true("preserveExisting", default=True):
        made["when"] = absent(name)
    return [("static", made, "")]


def _uuid(options: Options) -> Decorators:
    value = literal(options.open_text("prefix")) + "%{uuid()}"
    note = "derived from the record's offset, so that a replay writes the same; Flume's were random"
    keep = options.is_true("preserveExisting", default=True)
    return [("value", _value(options.text("headerName", "id"), value, keep=keep), note)]


def _regex_filter(options: Options) -> Decorators:
    is_excluded = options.is_true("excludeEvents", default=False)
    pattern = _pattern(options, "regex", ".*")
    if pattern is None:
        return []
    condition = f"%{{body}} matches {quoted(pattern.text)}"
    return [("filter", {"drop" if is_excluded else "keep": condition, "reason": "regex_filter"}, "")]


def _regex_extractor(options: Options) -> Decorators:
    pattern = _pattern(options, "regex", "")
    names: list[str] = []
    by_hand: Decorators = []
    dates: dict[str, _Date | None] = {}
    for each in options.words("serializers"):
        name = options.text(f"serializers.{each}.name")
        if not name:
            options.error(Kind.MISSING_FIELD, "serializers", f'the serializer "{each}" has no name')
        names.append(name)
        kind = options.text(f"serializers.{each}.type").rpartition(".")[2]
        if kind == _MILLIS:
            dates[name] = _date(options, f"serializers.{each}.pattern")
        elif kind not in _PASS_THROUGH:
            options.below(f"serializers.{each}.")
            instead = f"write a decorator that converts the attribute {name} as the serializer did"
            by_hand.append((NOT_IMPORTED, {"class": options.text(f"serializers.{each}.type"), "instead": instead}, ""))
    if not names:
        options.error(Kind.MISSING_FIELD, "type", "a regex_extractor needs serializers")
    if pattern is None or not names:
        return []
    used = names[: pattern.groups]
    note = f"the expression has {pattern.groups} groups; further names never had a value" * (used != names)
    if not used:
        return []
    found = {name: date for name, date in dates.items() if date is not None and used.count(name) == 1}
    targets = [_TEXT + name if name in found else name for name in used]
    decorators: Decorators = [("regex", {"pattern": pattern.text, "attributes": targets}, note)]
    return [*(_in_milliseconds(decorators, found) if found else decorators), *by_hand]


def _in_milliseconds(extracted: Decorators, dates: Mapping[str, "_Date"]) -> Decorators:
    """
    Decorators that parse dates from temporary attributes, which only a match sets, into headers.

    Each date is parsed into the event's timestamp, which is restored afterwards, because in Flume it is only a header.
    """
    decorators: Decorators = [("value", {"attribute": _OWN_TIME, "value": "%{timestamp}"}, ""), *extracted]
    note = "set in milliseconds by a match, else unchanged; the event keeps the timestamp of its record"
    restored: Decorators = [("timestamp", {"source": _OWN_TIME, "formats": ["epoch_ms"]}, "")]
    for name, date in dates.items():
        there = f"exists({quoted(_TEXT + name)})"
        remark = "; ".join(filter(None, (f"{name}: {note}", date.note)))
        decorators += [
            ("timestamp", {"source": _TEXT + name, "formats": [date.format], "when": there}, remark),
            ("value", {"attribute": name, "value": "%{timestamp}", "when": there}, ""),
            *restored,
        ]
    return [
        *decorators,
        ("mask", {"attributes": [*(_TEXT + name for name in dates), _OWN_TIME]}, ""),
    ]


@dataclass(frozen=True, slots=True)
class _Date:
    """
    The format of a date for our decorator.

    Attributes:
        note: what the year, month and day depend on; "" if the text has all of them.
    """

    format: str
    note: str = ""


def _date(options: Options, key: str) -> _Date | None:
    """
    A pattern of Joda-Time, checked.

    The year of a date without one is 2000 if it has a month or a day, else 1970; other missing parts are 01.
    """
    written = options.text(key)
    try:
        pattern = JodaPattern(written)
    except PydanticCustomError as error:
        message = f'"{written}" is not a date pattern that can be translated: {error.message()}'
        options.error(Kind.BAD_PATTERN, key, message)
        return None
    if not pattern.has_zone:
        options.original.zoned.append(options.at(key))
    notes = [_SHORT_YEAR] if pattern.has_short_year else []
    lacking = pattern.lacks()
    if lacking:
        year = "1970" if {"month", "day"} <= set(lacking) else "2000"
        values = "-".join(year if part == "year" else "01" for part in lacking)
        notes.append(f'"{written}" has no {", ".join(lacking)}: {values} is used, as in Flume')
        options.warn(key, notes[-1], "write complete dates, or use the record's timestamp, %{timestamp}")
    return _Date(f"joda:{written}", "; ".join(notes))


def _search_replace(options: Options) -> Decorators:
    pattern = _pattern(options, "searchPattern", "", each_of)
    if pattern is None:
        return []
    groups = re.findall(r"\(\?P<(\w+)>", pattern.text)
    written = options.text("replaceString", "", groups)
    try:
        replacement = replacement_of(written, pattern.groups)
    except UntranslatableError as error:
        options.error(Kind.BAD_PATTERN, "replaceString", str(error))
        return []
    return [("replace", {"pattern": pattern.text, "replacement": replacement}, "")]


def _remove_header(options: Options) -> Decorators:
    decorators: Decorators = []
    names = [options.text("withName")] if options.text("withName") else []
    if options.text("fromList"):
        separator = _pattern(options, "fromListSeparator", r"\s*,\s*", separator_of)
        pieces = [] if separator is None else separator.split(name_to_bytes(options.text("fromList")))
        names += [name_from_bytes(piece) for piece in pieces if piece]
    if names:
        decorators.append(("mask", {"attributes": names}, ""))
    if options.text("matching"):
        pattern = _pattern(options, "matching", "", in_full)
        if pattern is not None:
            decorators.append(("remove", {"pattern": pattern.text}, ""))
    return decorators


def _value(name: str, value: object, *, keep: bool) -> dict[str, object]:
    return {"attribute": name, "value": value} | ({"when": absent(name)} if keep else {})


def _pattern(
    options: Options, name: str, default: str, translate: Callable[[str], Pattern] = pattern_of
) -> Pattern | None:
    text = options.text(name, default)
    if not text:
        options.error(Kind.MISSING_FIELD, "type", f'"{name}" is missing')
        return None
    try:
        found = translate(text)
    except UntranslatableError as error:
        options.error(Kind.BAD_PATTERN, name, f"{error} (column {error.column} of the expression)")
        return None
    return found


_KNOWN: dict[str, Callable[[Options], Decorators]] = {
    "timestamp": _timestamp,
    "host": _host,
    "static": _static,
    "uuid": _uuid,
    "regex_filter": _regex_filter,
    "regex_extractor": _regex_extractor,
    "search_replace": _search_replace,
    "remove_header": _remove_header,
}
_CLASSES = {
    "TimestampInterceptor": "timestamp",
    "HostInterceptor": "host",
    "StaticInterceptor": "static",
    "UUIDInterceptor": "uuid",
    "RegexFilteringInterceptor": "regex_filter",
    "RegexExtractorInterceptor": "regex_extractor",
    "SearchAndReplaceInterceptor": "search_replace",
    "RemoveHeaderInterceptor": "remove_header",
}
_ORIGINS = {
    "timestamp": {"attribute": "headerName"},
    "host": {"attribute": "hostHeader"},
    "static": {"attributes": "key"},
    "uuid": {"attribute": "headerName", "value": "prefix"},
    "regex_filter": {"keep": "regex", "drop": "regex"},
    "regex_extractor": {"pattern": "regex", "attributes": "serializers"},
    "search_replace": {"pattern": "searchPattern", "replacement": "replaceString"},
    "remove_header": {"attributes": "withName", "pattern": "matching"},
}
"""Name of an interceptor -> our option -> the setting from which it is translated."""


def _name(written: str) -> str:
    return _CLASSES.get(written.rpartition(".")[2].partition("$")[0], written.lower())


def decorators_of(options: Options) -> list[Component]:
    """The decorators for an interceptor; problems are reported in the original."""
    written = options.text("type")
    name = _name(written)
    translate = _KNOWN.get(name)
    place = options.original.place(options.at("type"))
    if translate is None and "." in written:
        return [not_imported(written, _INSTEAD, options.comments(), place)]
    if translate is None:
        hint = did_you_mean(written, _KNOWN) or "write a custom decorator in Python, or remove it"
        options.error(Kind.UNKNOWN_COMPONENT, "type", f'the interceptor "{written}" is not imported', hint)
        return []
    origins = options.origins({(ours,): theirs for ours, theirs in _ORIGINS.get(name, {}).items()})
    made = [Component(kind, found, [note] if note else [], place, origins) for kind, found, note in translate(options)]
    not_needed(options, f"the interceptor {name}", OF_INTERCEPTORS.get(name, ()))
    if made:
        made[0].comments = [*options.comments(), *made[0].comments]
    return made
