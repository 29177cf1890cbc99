"""Imported interceptors and serializers do what those of Flume 1.11 do."""

from collections import defaultdict
from pathlib import Path

import pytest

from ingest.catalog import Catalog
from ingest.dry_run import DryRun
from ingest.plan.assemble import plan_of
from tests.support.flume_agent import BASE
from tests.support.java_text import escaped, unescaped

GOLDEN = Path(__file__).parent / "golden" / "flume-ng-1.11.0.tsv"
HEADERS = {"topic": "web", "head1": "1"}
SERIALIZER = "org.apache.flume.sink.hbase2.RegexHBase2EventSerializer"


def grouped():
    """Kind and options -> the bodies and results of Flume."""
    found = defaultdict(list)
    for line in GOLDEN.read_text("utf-8").split("\n")[:-1]:
        if not line.startswith("#"):
            kind, options, body, result = line.split("\t")
            found[kind, options].append((unescaped(body), result))
    return found


GROUPED = grouped()


def agent(kind, options):
    """The agent of Flume with this part."""
    pairs = [option.split("=", 1) for option in options.split("\x01")]
    if kind == "serializer":
        prefix, pairs = (
            "a.sinks.k.",
            [("serializer", SERIALIZER), *((f"serializer.{name}", each) for name, each in pairs)],
        )
    else:
        prefix, pairs = "a.sources.r.interceptors.i.", [("type", kind), *pairs]
    written = {name: each.replace("\\", "\\\\") for name, each in pairs}  # as properties files escape it
    lines = [f"{prefix}{name} = {each}\n" for name, each in written.items()]
    return BASE + "a.sources.r.interceptors = i\n" * (kind != "serializer") + "".join(lines)


def shown(kind, line):
    """The outcome of an event in the form of the table."""
    if line["error"]:
        return "error"
    if line["outcome"] == "dropped":
        return "dropped"
    if kind == "serializer":
        (put,) = line["puts"]
        return " | ".join([escaped(put["row"]), *sorted(f"{name}={escaped(each)}" for _, name, each in put["cells"])])
    attributes = line["event"]["attributes"]
    kept = {name: each for name, each in attributes.items() if name in HEADERS or name in ("one", "two", "at")}
    return " | ".join([escaped(line["event"]["body"]), *(f"{name}={escaped(kept[name])}" for name in sorted(kept))])


def wanted(kind, result):
    if result.startswith("error"):
        return "error"
    parts = result.split(" | ")
    return " | ".join(part for part in parts if not part.endswith("=~null"))  # a header without a value is none


@pytest.mark.parametrize(("kind", "options"), GROUPED)
def test_results_are_those_of_flume(kind, options, configuration):
    found = GROUPED[kind, options]
    bound = configuration(agent(kind, options))
    plan = plan_of(bound, next(iter(bound.pipelines.values())), Catalog())
    events = [{"body": body, "topic": "web", "attributes": HEADERS} for body, _ in found]
    outputs = [next(iter(DryRun(plan).run([event]))) for event in events]
    ours = {body: shown(kind, output.line) for (body, _), output in zip(found, outputs, strict=True)}
    assert {body: wanted(kind, result) for body, result in found} == ours
