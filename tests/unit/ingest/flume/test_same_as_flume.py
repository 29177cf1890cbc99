"""Random chains and events: imported pipelines agree with a small model of Flume."""

import re
from dataclasses import dataclass, field

from hypothesis import example, given
from hypothesis import strategies as st

from ingest.api import Priority
from ingest.api.notation import to_notation
from ingest.catalog import Catalog
from ingest.config import bind, read_text
from ingest.dry_run import DryRun
from ingest.flume import import_flume
from ingest.flume.og.tree import Call, Chain, Text
from ingest.plan.assemble import plan_of

NAMES = ["a", "b", "2hb_", "2hb_f:q", "2hb_f:r", "2hb_x", "f:q", ""]
BODIES = ["", "a:b", "a:b::", "12:3", ":x", "ab"]


class EventError(Exception):
    """The error that stopped Flume's node."""


@dataclass
class Event:
    """The parts of Flume's event that the decorators here use."""

    body: str
    attributes: dict[str, str] = field(default_factory=dict)
    host: str = "h1"
    timestamp_ms: int = 1_309_275_728_123

    def set(self, name, value):
        if name in self.attributes or value is None:
            raise EventError(name)
        self.attributes[name] = value

    def expanded(self, pattern):
        own = {"host": self.host, "body": self.body, "timestamp": str(self.timestamp_ms)}

        def tag(match):
            if match[1] == "%":
                return "%"
            return own.get(match[2], self.attributes.get(match[2], ""))

        return re.sub(r"%(?:(%)|\{([A-Za-z0-9_.-]+)\})", tag, pattern)


def value(event, name, text, **keywords):
    event.set(name, event.expanded(text) if keywords.get("escape") == "true" else text)


def select(event, *names):
    event.attributes = {name: event.attributes[name] for name in names if name in event.attributes}


def mask(event, *names):
    event.attributes = {name: each for name, each in event.attributes.items() if name not in names}


def format_(event, pattern):
    event.body = event.expanded(pattern)


def split(event, separator, index, name):
    pieces = event.body.split(separator)
    while pieces and not pieces[-1]:
        pieces.pop()
    event.set(name, pieces[int(index)] if int(index) < len(pieces) else "")


def regex(event, pattern, index, name):
    match = re.search(pattern, event.body)
    found = "" if match is None or int(index) > match.re.groups else match[int(index)]
    event.set(name, found)


def regex_all(event, pattern, *names):
    match = re.search(pattern, event.body)
    if match is not None:
        for name, found in zip(names, match.groups(), strict=False):
            if name:
                event.set(name, found)


def attr2hbase(event, _table, family="", body="", prefix="2hb_"):
    """Row and cells, or None for an event that is skipped."""
    row = event.attributes.get(prefix)
    if row is None:
        return None
    if not row:
        raise EventError("empty row key")
    cells = {}
    if family:
        cells = {f"{family}:timestamp": to_notation(event.timestamp_ms.to_bytes(8, "big"))}
        cells |= {f"{family}:host": event.host, f"{family}:priority": Priority.INFO.value}
        if body and event.body:
            cells[body] = event.body
    for name, each in event.attributes.items():
        if name.startswith(prefix) and name != prefix:
            rest = name.removeprefix(prefix)
            first, _, second = rest.partition(":")
            if first and second:
                cells[rest] = each
            elif family:
                cells[f"{family}:{rest}"] = each
    return (row, cells) if cells else None


MODEL = {
    "value": value,
    "select": select,
    "mask": mask,
    "format": format_,
    "split": split,
    "regex": regex,
    "regexAll": regex_all,
}

names = st.sampled_from(NAMES)
patterns = st.sampled_from(["%{host}-%{a}", "100%", "%%{a}", "%{body}", "%{2hb_}:%{b}", "x"])
regexes = st.sampled_from([r"(\d+):(\d)", r"(a)|(b)", r"\w", "(x)?", "^$"])


def call(name, *arguments, keywords=None):
    made = st.tuples(*arguments).map(lambda texts: tuple(map(Text, texts)))
    return st.builds(Call, st.just(name), made, st.just({}) if keywords is None else keywords)


def several(name, least):
    lists = st.lists(names, min_size=least, max_size=3, unique=True)
    return st.builds(Call, st.just(name), lists.map(lambda texts: tuple(map(Text, texts))))


escapes = st.sampled_from([{}, {"escape": Text("true")}, {"escape": Text("no")}])
indexes = st.sampled_from(["0", "1", "2"])
decorators = st.one_of(
    call("value", names, patterns, keywords=escapes),
    several("select", 1),
    several("mask", 1),
    call("format", patterns),
    call("split", st.just(":"), indexes, names),
    call("regex", regexes, indexes, names),
    st.builds(
        lambda pattern, some: Call("regexAll", tuple(map(Text, (pattern, *some)))),
        regexes,
        st.lists(names, min_size=1, max_size=2, unique=True),
    ),
)
sinks = st.one_of(
    call("attr2hbase", st.just("t")),
    call("attr2hbase", st.just("t"), st.sampled_from(["", "sys"]), st.sampled_from(["", "f:body"])),
    call("attr2hbase", st.just("t"), st.sampled_from(["", "sys"]), st.just(""), st.sampled_from(["", "a", "2hb_"])),
)


def by_flume(steps, sink, event):
    try:
        for step in steps:
            keywords = {name: each.text for name, each in step.kwargs.items()}
            MODEL[step.name](event, *(arg.text for arg in step.args), **keywords)
        return attr2hbase(event, *(arg.text for arg in sink.args))
    except EventError:
        return "failed"


def by_us(text, event):
    bound = bind(read_text(import_flume(text, "old", zone="UTC", lookup=Catalog()).yaml, "new", {}), Catalog())
    (pipeline,) = bound.pipelines.values()
    given_event = {
        "body": event.body,
        "attributes": event.attributes,
        "host": event.host,
        "timestamp_ms": event.timestamp_ms,
    }
    (output,) = DryRun(plan_of(bound, pipeline, Catalog())).run([given_event])
    if output.line["outcome"] == "failed":
        return "failed"
    if not output.line["puts"]:
        return None
    (put,) = output.line["puts"]
    return put["row"], {f"{family}:{qualifier}": each for family, qualifier, each in put["cells"]}


@given(
    st.lists(decorators, min_size=1, max_size=5),
    sinks,
    st.sampled_from(BODIES),
    st.dictionaries(names, st.sampled_from(["", "1", "%{host}"]), max_size=4),
)
@example([Call("split", (Text(":"), Text("0"), Text("2hb_")))], Call("attr2hbase", (Text("t"), Text("sys"))), "r:x", {})
def test_imported_pipelines_do_what_flume_did(steps, sink, body, attributes):
    text = Chain(tuple(steps), sink).written()
    assert by_us(text, Event(body, dict(attributes))) == by_flume(steps, sink, Event(body, dict(attributes)))
