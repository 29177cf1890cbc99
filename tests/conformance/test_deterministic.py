"""
F34: a replay gives the same result as the first run.

All examples of all decorators, functions, sinks and processors, and many unusual events, run in two processes with
different time, hash seed, time zone and language. No call uses a clock or randomness.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
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


def uses_of_sink(sink: Mapper[Any] | Archive, example: Example) -> Iterator[Callable[[], object]]:
    """The mapping of events to rows of a store, or of files."""
    row_of = row_maker(sink.settings.columns) if isinstance(sink, Archive) else partial(_mapped, sink)
    for event in (event_before(example), *random_events()):
        yield lambda event=event: repr(row_of(event.copy()))


def _mapped(mapper: Mapper[Any], event: Event) -> object:
    return mapper.map(event, 5_000)


def digests() -> dict[str, str]:
    """Name -> digest of the results of all its uses."""
    found: dict[str, list[object]] = {}
    for name, call in uses():
        found.setdefault(name, []).append(outcome(call))
    return {name: hashlib.sha256(repr(results).encode()).hexdigest() for name, results in found.items()}


def test_two_processes_give_the_same_results() -> None:
    found = []
    for seed, zone, language in (("1", "Asia/Tokyo", "C"), ("2", "America/New_York", "tr_TR.UTF-8")):
        env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": language}
        done = subprocess.run([sys.executable, __file__], env=env, capture_output=True, text=True, check=True)
        found.append(json.loads(done.stdout))
    assert found[0] == found[1]
    assert {*decorators.BUILTIN, *sinks.BUILTIN_SINKS, *sinks.BUILTIN_PROCESSORS, *FUNCTIONS} == found[0].keys()


def test_no_clock_or_randomness_is_used() -> None:
    found = {name: used for name, call in uses() if (used := impurities_of(call))}
    assert found == {}


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
    sys.stdout.write(json.dumps(digests()))
