"""
F34: a replay gives the same result as the first run.

All examples of all decorators, functions, sinks and processors, and many unusual events, run in this process, and in
one with another time, hash seed, time zone and language. No call uses a clock or randomness.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

import decorators
import sinks
from ingest.api import Event, Example
from ingest.expressions import FUNCTIONS, Template
from ingest.plugins.loader import class_at
from ingest.testing import purity
from ingest.testing.events import event_before, random_events, settings_of
from ingest.testing.purity import impurities_of, outcome
from sinks.archive.columns import row_maker
from sinks.archive.sink import Archive
from sinks.kafka.sink import Kafka
from sinks.mapping.mapper import Mapper

ROOT = Path(__file__).resolve().parents[2]


def uses() -> Iterator[tuple[str, Callable[[], object]]]:
    """(name, call) of each use of each component or function."""
    for path in (*decorators.BUILTIN.values(), *sinks.BUILTIN_PROCESSORS.values()):
        kind = class_at(path)
        for use in purity.uses(kind):
            yield kind.kind, use
    for path in sinks.BUILTIN_SINKS.values():
        kind = class_at(path)
        for example in kind.examples:
            sink = kind(settings_of(kind.settings_class(), example.settings))
            yield from ((kind.kind, use) for use in uses_of_sink(sink, example))
    for function in FUNCTIONS.values():
        for example in function.examples:
            template = Template.parse(example.template)
            yield function.name, lambda template=template, example=example: template.render(example.input())


def uses_of_sink(sink: Mapper[Any] | Archive | Kafka, example: Example) -> Iterator[Callable[[], object]]:
    """The mapping of events to rows of a store or of files, or to records of a topic."""
    match sink:
        case Archive():
            row_of: Callable[[Event], object] = row_maker(sink.settings.columns)
        case Kafka():
            row_of = sink.settings.record_maker()
        case _:
            row_of = partial(_mapped, sink)
    for event in (event_before(example), *random_events()):
        yield lambda event=event: repr(row_of(event.copy()))


def _mapped(mapper: Mapper[Any], event: Event) -> object:
    return mapper.map(event, 5_000)


def digests(carried_out: Callable[[str, Callable[[], object]], object]) -> dict[str, str]:
    """Name -> digest of the results of all its uses; the argument carries one out."""
    found: dict[str, list[object]] = {}
    for name, call in uses():
        found.setdefault(name, []).append(carried_out(name, call))
    return {name: hashlib.sha256(repr(results).encode()).hexdigest() for name, results in found.items()}


def plainly(_name: str, call: Callable[[], object]) -> object:
    return outcome(call)


@cache
def observed() -> tuple[dict[str, str], dict[str, set[str]]]:
    """The digests of this process; name -> the clocks and random generators that a use of it has called."""
    impure: dict[str, set[str]] = {}

    def carried_out(name: str, call: Callable[[], object]) -> object:
        results: list[object] = []
        if used := impurities_of(lambda: results.append(outcome(call))):
            impure.setdefault(name, set()).update(used)
        return results[0]

    return digests(carried_out), impure


def test_two_processes_give_the_same_results() -> None:
    other = {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "1", "TZ": "America/New_York", "LC_ALL": "tr_TR.UTF-8"}
    done = subprocess.run(
        [sys.executable, __file__], env=os.environ | other, capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    assert found == observed()[0]
    assert {*decorators.BUILTIN, *sinks.BUILTIN_SINKS, *sinks.BUILTIN_PROCESSORS, *FUNCTIONS} == found.keys()


def test_no_clock_or_randomness_is_used() -> None:
    assert observed()[1] == {}


@pytest.mark.parametrize(
    "code",
    [
        "import time; time.time()",
        "import datetime; datetime.datetime.now()",
        "import random; random.choice('ab')",
        "import uuid; uuid.uuid4()",
        "import secrets; secrets.token_hex()",
    ],
)
def test_use_of_clock_or_randomness_is_found(code: str) -> None:
    assert impurities_of(lambda: exec(code, {}))  # noqa: S102 - the lines above != set()


if __name__ == "__main__":
    sys.stdout.write(json.dumps(digests(plainly)))
