"""
Places where a test ends or holds this program, to see what a restart makes of what is left behind.

`INGEST_FAILPOINT=name:hit:action`, several separated by commas. Off when the variable is not set: then a point is a
call that does nothing, once a chunk at the most, and none at all for each event. `hit` counts from 1, in each process
for itself. Each point acts once: it leaves a file of its name in INGEST_FAILPOINT_FOLDER, which tells the test that it
was reached.
"""

import contextlib
import itertools
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import ParamSpec, TypeVar

from ingest.api import ConfigError

VARIABLE = "INGEST_FAILPOINT"
FOLDER_VARIABLE = "INGEST_FAILPOINT_FOLDER"
DRIVER_VARIABLE = "INGEST_FAILPOINT_DRIVER"
POLL_S = 0.02

POINTS = {
    "after_poll": "the first record of a partition has come to its task",
    "mid_decorate": "an event came out of the chain and went to no sink yet",
    "before_send": "rows are about to be sent to a store",
    "between_sends": "rows were sent and answered, the next ones of the same round are about to be sent",
    "after_last_send": "all of a partition is stored, or handed over to the driver, and its task has not ended",
    "before_commit": "a micro-batch is durable with its dead letters, and is not acknowledged",
    "dead_letters_sent": "dead letters were sent, and nobody has waited for their acknowledgement",
    "drain": "the service was told to stop, and lets the running batches finish",
    "recovery": "a start: hit 1 has read the checkpoints, hit 2 has opened the stores, hit 3 is about to start queries",
}
"""Name -> what has happened when it is reached."""

P = ParamSpec("P")
T = TypeVar("T")


class Action(Enum):
    """What is done at a point."""

    KILL = "kill"
    """SIGKILL to the driver and all that descends from it, as when a machine goes down."""
    DIE = "die"
    """SIGKILL to this process alone."""
    HOLD = "hold"
    """Wait until the file of the point is removed."""


class Armed:
    """
    A point where something is to be done.

    Args:
        hit: which call acts, from 1.
        folder: where its file goes.
    """

    def __init__(self, name: str, hit: int, action: Action, folder: Path) -> None:
        self._hit = hit
        self._action = action
        self._file = folder / name
        self._calls = itertools.count(1)

    def __call__(self) -> None:
        """Act if this is the call that was asked for."""
        if next(self._calls) != self._hit:
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        try:
            # made by whoever comes first: other processes count for themselves, and a restart must not act again
            with self._file.open("x") as file:
                file.write(f"{os.getpid()} {self._action.value}\n")
        except FileExistsError:
            return
        print(f"failpoint {self._file.name}: {self._action.value}", file=sys.stderr, flush=True)  # noqa: T201 - not a log line: nothing may be set up here
        match self._action:
            case Action.KILL:
                _kill(int(os.environ[DRIVER_VARIABLE]))
            case Action.DIE:
                os.kill(os.getpid(), signal.SIGKILL)
            case Action.HOLD:
                while self._file.exists():
                    time.sleep(POLL_S)


def parsed(environment: Mapping[str, str]) -> dict[str, Armed]:
    """
    What the variable asks for, by name of the point.

    Raises:
        ConfigError: there is no such point or action, or the hit is no number.
    """
    text = environment.get(VARIABLE, "")
    default = Path(tempfile.gettempdir()) / f"ingest-failpoints-{environment.get(DRIVER_VARIABLE, os.getpid())}"
    folder = Path(environment.get(FOLDER_VARIABLE, default))
    armed = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, rest = part.partition(":")
        hit, _, action = rest.partition(":")
        if name not in POINTS:
            raise ConfigError(
                f'{VARIABLE} names "{name}", which is no failpoint', hint=f"there are {', '.join(sorted(POINTS))}"
            )
        if not (hit.isascii() and hit.isdecimal() and int(hit) > 0) or action not in {each.value for each in Action}:
            actions = ", ".join(each.value for each in Action)
            raise ConfigError(
                f'{VARIABLE} says "{part}"', hint=f"write name:hit:action; hits count from 1, actions are {actions}"
            )
        armed[name] = Armed(name, int(hit), Action(action), folder)
    return armed


_armed: dict[str, Armed] = {}
_wrong: ConfigError | None = None
if VARIABLE in os.environ:
    # the first process that comes here is the driver; its JVM and workers inherit its environment
    os.environ.setdefault(DRIVER_VARIABLE, str(os.getpid()))
    try:
        _armed = parsed(os.environ)
    except ConfigError as error:
        _wrong = error


def check() -> list[str]:
    """
    The points that are armed; a service says so when it starts.

    Raises:
        ConfigError: the variable is wrong.
    """
    if _wrong is not None:
        raise _wrong
    return sorted(_armed)


def point(name: str) -> Callable[[], None]:
    """What to call at a point; made once, where its user is made."""
    return _armed.get(name, _nothing)


def after(name: str, function: Callable[P, T]) -> Callable[P, T]:
    """The function itself, or one that reaches the point after each call."""
    if name not in _armed:
        return function
    reach = point(name)

    def reaching(*arguments: P.args, **named: P.kwargs) -> T:
        result = function(*arguments, **named)
        reach()
        return result

    return reaching


def sends() -> Callable[[], None]:
    """What to call before each send of one round: the first reaches one point, the others another."""
    if _armed.keys().isdisjoint({"before_send", "between_sends"}):
        return _nothing
    points = itertools.chain([point("before_send")], itertools.repeat(point("between_sends")))

    def before_each() -> None:
        next(points)()

    return before_each


def at_first(name: str, items: Iterable[T]) -> Iterable[T]:
    """The items themselves, or a walk over them that reaches the point when the first has come."""
    return _reaching_at_first(point(name), items) if name in _armed else items


def _reaching_at_first(reach: Callable[[], None], items: Iterable[T]) -> Iterator[T]:
    for number, item in enumerate(items):
        if number == 0:
            reach()
        yield item


def _nothing() -> None:
    """The point nobody asked for."""


def _kill(driver: int) -> None:
    """The driver first, so that nobody is left who could tidy up; this process last."""
    tree = [driver, *_descendants(driver)]
    for pid in [*(pid for pid in tree if pid != os.getpid()), os.getpid()]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _descendants(pid: int) -> list[int]:
    """Source: proc(5); the parent's pid is the second field after the command's closing bracket."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found, waiting = [], [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found
