"""Whether a call keeps to what it is given: no clock, no chance, and the same in every process."""

import gc
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from types import FrameType

from ingest.api import Event, EventError
from ingest.plugin import class_at
from ingest.testing.events import event_before, fields_of, files_of, random_events, settings_of
from ingest.testing.shares import AnyDecorator, share_of

# what builtin functions say they are; code in Python ends in one of them
CLOCKS_AND_CHANCE = {
    *(f"time.{name}" for name in ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "clock_gettime")),
    *(f"datetime.{name}" for name in ("now", "utcnow", "today")),
    *("date.today", "posix.urandom", "posix.getpid", "posix.getrandom", "_random.random", "_random.getrandbits"),
    *("Random.random", "Random.getrandbits", "_uuid.generate_time_safe"),
}
_OTHERWISE = {"PYTHONHASHSEED": "20110603", "TZ": "Asia/Tokyo", "LC_ALL": "C"}
"""What must not matter, in another process: the order of sets, the zone of the machine, its language."""


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


def outcome(call: Callable[[], object]) -> object:
    """What a call gave, or the error an event got of it."""
    try:
        return call()
    except EventError as error:
        return error.code, str(error)


def decorated(decorator: AnyDecorator, event: Event) -> object:
    """What came out of a share of one event, as plain values."""
    (found,) = share_of(decorator, [event])
    if isinstance(found, EventError):
        raise found
    return [(*fields_of(each), list(each.attributes)) for each in found]


def uses(kind: type[AnyDecorator]) -> Iterator[Callable[[], object]]:
    """A call for each example's options and each of many odd events; good until the next one is asked for."""
    with files_of(kind.examples):
        for example in kind.examples:
            decorator = kind(settings_of(kind.settings_class(), example.settings))
            for event in (event_before(example), *random_events()):
                yield lambda decorator=decorator, event=event: decorated(decorator, event.copy())  # type: ignore[misc]


def digest(kind: type[AnyDecorator]) -> str:
    """One text for all that a decorator does with its examples and with odd events."""
    return hashlib.sha256(repr([outcome(use) for use in uses(kind)]).encode()).hexdigest()


def digest_elsewhere(kind: type[AnyDecorator]) -> str:
    """
    The digest another process comes to, with another seed, zone and language.

    The class must be importable by the name of its module.
    """
    environment = os.environ | _OTHERWISE | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-m", __name__, f"{kind.__module__}:{kind.__qualname__}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603 - ourselves
    if done.returncode:
        raise AssertionError(f"another process can not use {command[-1]}: {done.stderr}")
    return done.stdout


if __name__ == "__main__":
    sys.stdout.write(digest(class_at(sys.argv[1])))
