"""Whether a call depends only on its arguments: no clock, no randomness, the same result in every process."""

import gc
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from types import FrameType

from ingest.api import Event, EventError, NotMergeableError, Processor
from ingest.plugins.loader import class_at
from ingest.testing.events import event_before, fields_of, files_of, random_events
from ingest.testing.merges import AnyProcessor, merge_uses
from ingest.testing.splits import AnyDecorator, constructed, outcomes_of_split

# names of builtin functions; Python code calls one of them in the end
CLOCKS_AND_RANDOMNESS = {
    *(f"time.{name}" for name in ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "clock_gettime")),
    *(f"datetime.{name}" for name in ("now", "utcnow", "today")),
    *("date.today", "posix.urandom", "posix.getpid", "posix.getrandom", "_random.random", "_random.getrandbits"),
    *("Random.random", "Random.getrandbits", "_uuid.generate_time_safe"),
}
_OTHER_ENVIRONMENT = {"PYTHONHASHSEED": "20110603", "TZ": "Asia/Tokyo", "LC_ALL": "C"}
"""Environment that must not change a result: order of sets, time zone and language."""


def impurities_of(call: Callable[[], object]) -> set[str]:
    """The clocks and random generators that a call uses, at any depth."""
    found = set()

    def profile(_frame: FrameType, event: str, function: object) -> None:
        if event == "c_call":
            name = getattr(function, "__qualname__", "")
            module = getattr(function, "__module__", None)
            found.update({name, f"{module}.{name}"} & CLOCKS_AND_RANDOMNESS)

    # callbacks that other libraries register with the garbage collector would be counted as calls
    gc.disable()
    sys.setprofile(profile)
    try:
        outcome(call)
    finally:
        sys.setprofile(None)
        gc.enable()
    return found


def outcome(call: Callable[[], object]) -> object:
    """The result of a call, or the error of its event or updates."""
    try:
        return call()
    except EventError as error:
        return error.code, str(error)
    except NotMergeableError as error:
        return str(error)


def decorated(decorator: AnyDecorator, event: Event) -> object:
    """The output events of a split of one event, as plain values."""
    (found,) = outcomes_of_split(decorator, [event])
    if isinstance(found, EventError):
        raise found
    return [(*fields_of(each), list(each.attributes)) for each in found]


def uses(kind: type[AnyDecorator | AnyProcessor]) -> Iterator[Callable[[], object]]:
    """
    A call for each example's options and each of many unusual events, or of its values; valid until the next one is
    yielded.
    """
    if issubclass(kind, Processor):
        yield from merge_uses(kind)
        return
    with files_of(kind.examples):
        for example in kind.examples:
            decorator = constructed(kind, example)
            for event in (event_before(example), *random_events()):
                yield lambda decorator=decorator, event=event: decorated(decorator, event.copy())  # type: ignore[misc]


def digest(kind: type[AnyDecorator | AnyProcessor]) -> str:
    """A digest of all outcomes of a decorator or processor for its examples, and for unusual events."""
    return hashlib.sha256(repr([outcome(use) for use in uses(kind)]).encode()).hexdigest()


def digest_elsewhere(kind: type[AnyDecorator | AnyProcessor]) -> str:
    """
    The digest that another process computes, with another hash seed, zone and language.

    The class must be importable by the name of its module.
    """
    environment = os.environ | _OTHER_ENVIRONMENT | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-m", __name__, f"{kind.__module__}:{kind.__qualname__}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603 - this module
    if done.returncode:
        raise AssertionError(f"another process cannot use {command[-1]}: {done.stderr}")
    return done.stdout


if __name__ == "__main__":
    sys.stdout.write(digest(class_at(sys.argv[1])))
