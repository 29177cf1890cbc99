"""
F34: what a replay gives is what the first time gave.

Every documented example of every decorator, function and sink, and many odd events, in two processes that differ in all
that must not matter: the moment, the hash seed, the time zone, the language. And no call on the way asks for a clock or
for chance.
"""

import gc
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest

import decorators
import sinks
from ingest.api import Decorator, Event, EventError
from ingest.expressions import FUNCTIONS, Template
from ingest.plugin import class_at
from ingest.testing.events import copy_of, event_before, random_events, settings_of

ROOT = Path(__file__).resolve().parents[2]
# what builtin functions say they are; code in Python ends in one of them
CLOCKS_AND_CHANCE = {
    *(f"time.{name}" for name in ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "clock_gettime")),
    *(f"datetime.{name}" for name in ("now", "utcnow", "today")),
    *("date.today", "posix.urandom", "posix.getpid", "posix.getrandom", "_random.random", "_random.getrandbits"),
    *("Random.random", "Random.getrandbits", "_uuid.generate_time_safe"),
}


def uses() -> Iterator[tuple[str, Callable[[], object]]]:
    """(name, call) of each use of each part."""
    for path in decorators.BUILTIN.values():
        kind = class_at(path)
        for example in kind.examples:
            decorator = kind(settings_of(kind.settings_class(), example.settings))
            for event in (event_before(example), *random_events()):
                yield kind.kind, lambda decorator=decorator, event=event: decorated(decorator, copy_of(event))
    for path in sinks.BUILTIN_SINKS.values():
        kind = class_at(path)
        for example in kind.examples:
            mapper = kind(settings_of(kind.settings_class(), example.settings))
            for event in (event_before(example), *random_events()):
                yield kind.kind, lambda mapper=mapper, event=event: repr(mapper.map(copy_of(event), 5_000))
    for function in FUNCTIONS.values():
        for example in function.examples:
            template = Template.parse(example.template)
            yield function.name, lambda template=template, example=example: template.render(example.input())


def decorated(decorator: Decorator, event: Event) -> object:
    made = decorator.decorate(event)
    events = [event] if isinstance(made, bool) else list(made)
    return made is not False, [
        (each.body, list(each.attributes.items()), each.timestamp_ms, each.nanos, each.host, each.key)
        for each in events
    ]


def outcome(call: Callable[[], object]) -> object:
    try:
        return call()
    except EventError as error:
        return error.code, str(error)


def digests() -> dict[str, str]:
    """Part -> what all its uses gave."""
    found: dict[str, list[object]] = {}
    for name, call in uses():
        found.setdefault(name, []).append(outcome(call))
    return {name: hashlib.sha256(repr(results).encode()).hexdigest() for name, results in found.items()}


def asked_for(call: Callable[[], object]) -> set[str]:
    """Clocks and chance that a call asks for, however deep."""
    asked = set()

    def profile(_frame: FrameType, event: str, function: object) -> None:
        if event == "c_call":
            name = getattr(function, "__qualname__", "")
            module = getattr(function, "__module__", None)
            asked.update({name, f"{module}.{name}"} & CLOCKS_AND_CHANCE)

    # what other libraries hang into the collector of garbage would be taken for the call's own
    gc.disable()
    sys.setprofile(profile)
    try:
        outcome(call)
    finally:
        sys.setprofile(None)
        gc.enable()
    return asked


def test_two_processes_give_the_same() -> None:
    found = []
    for seed, zone, language in (("1", "Asia/Tokyo", "C"), ("2", "America/New_York", "tr_TR.UTF-8")):
        env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": language}
        done = subprocess.run([sys.executable, __file__], env=env, capture_output=True, text=True, check=True)
        found.append(json.loads(done.stdout))
    assert found[0] == found[1]
    assert {*decorators.BUILTIN, *sinks.BUILTIN_SINKS, *FUNCTIONS} == found[0].keys()


def test_nothing_asks_for_a_clock_or_for_chance() -> None:
    found = {name: asked for name, call in uses() if (asked := asked_for(call))}
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
def test_one_that_asks_is_found(code: str) -> None:
    assert asked_for(lambda: exec(code, {}))  # noqa: S102 - the lines above != set()


if __name__ == "__main__":
    sys.stdout.write(json.dumps(digests()))
