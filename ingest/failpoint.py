"""
Failpoints: places in the code where a test kills or pauses this program, to test recovery.

Set `INGEST_FAILPOINT=name:hit:action`, several separated by commas. `hit` counts from 1, in each process separately.
Each point acts once and creates a file of its name in INGEST_FAILPOINT_FOLDER, so the test sees that it was reached.
Without the variable a point is an empty call, at most one for each chunk and never one for each event.
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
    "after_poll": "a task has read the first record of its partition",
    "mid_decorate": "an event has left the chain and has not reached a sink",
    "before_send": "rows are about to be sent to a store",
    "between_sends": "the store has answered a send, and the next one of the same flush cycle is about to start",
    "after_last_send": "all rows of a partition are stored, or staged for the driver, and the task has not ended",
    "before_commit": "a micro-batch and its dead letters are durable and not yet acknowledged",
    "dead_letters_sent": "dead letters were sent and are not yet acknowledged",
    "replay_stored": "replay: rows of a micro-batch are durable, and neither its progress nor marks of its letters",
    "replay_noted": "replay: progress of a micro-batch, or marks of its letters, are durable, and it has not ended",
    "replay_published": "replay of a place: dead letters of its records are durable, and it has no mark yet",
    "replay_begun": "replay into updates or a feed: its time is stored, and nothing is written",
    "replay_written": "replay into updates or a feed: its rows are durable, and the committed positions have not moved",
    "replay_moved": "replay into updates or a feed: the committed positions have moved, and its outcome is not stored",
    "before_exchange": "offsets reset: the new checkpoint is complete, and the old one is still in its place",
    "after_exchange": "offsets reset: the new checkpoint is in its place, and the group has the old offsets",
    "dump_renamed": "dump: the folder has its final name, and no _SUCCESS",
    "archive_written": "archive: all files of a new version are written, and it has no _SUCCESS",
    "archive_completed": "archive: a new version has _SUCCESS, and the current one no _SUPERSEDED",
    "archive_superseded": "archive: _SUPERSEDED of the current version is written, and _CURRENT is unchanged",
    "archive_switched": "archive: _CURRENT names the new version, and the SQL location the old one",
    "archive_hidden": "cleanup of an archive: _SUCCESS of a version is removed, and no other file of it",
    "dump_hidden": "expiry of dumps: _SUCCESS of a dump is removed, and no other file of it",
    "merged_rows_written": "compaction: merged rows are durable, and the rows that they cover are not deleted",
    "covered_rows_deleted": "compaction: the rows that merged rows cover are deleted; one hit for each call",
    "rollback_deleted": "rollback: some update rows are deleted; one hit for each call",
    "dump_recorded": "dump: a complete file is recorded durably; one hit for each file, and for the end of each range",
    "bootstrap_written": "bootstrap: rows or changes are durable, and the progress is not saved; one hit for each save",
    "bootstrap_saved": "bootstrap: the progress is saved; one hit for each save",
    "put_begun": "storing a blob: its status is STORING, and this writer has written no block",
    "put_block_written": "storing a blob: a block is durable, and the status is STORING; one hit for each block",
    "put_unpinned": "storing a blob: its status is STORED, and it has not its references",
    "pin_written": "pin of a blob: the reference is durable, and the status of the blob was not looked at",
    "unpin_begun": "unpin of a blob: its time without references has begun, and the reference is there",
    "sweep_dropping": "sweep: the status of a blob says what refers to it now, and references of cells are not removed",
    "sweep_deleting": "sweep: the status of a blob is DELETING, and its references were not read once more",
    "sweep_purging": "sweep: the status of a blob is PURGING, and its blocks are there",
    "sweep_emptied": "sweep: the blocks of a blob are deleted, and its status is PURGING",
    "check_repaired": "check of blobs: an orphaned or unneeded finding is removed; one hit for each",
    "changes_delivered": "feed consume: changes are written to their destination, and are not checkpointed",
    "changes_checkpointed": "feed consume: changes are checkpointed; one hit for each page",
    "drain": "the service was asked to stop, and running batches finish",
    "reload": "a reload: one hit when the file is checked and nothing has ended, one when the pipelines that leave are "
    "closed, one for each pipeline that is built, and one when all are, before they start",
    "recovery": "startup: for each pipeline one hit after its checkpoint was read, one after its stores were opened; "
    "then one hit before the queries start",
}
"""Name -> the state of the program when the point is reached."""

P = ParamSpec("P")
T = TypeVar("T")


class Action(Enum):
    """The effect of a failpoint."""

    KILL = "kill"
    """SIGKILL to the driver and all its descendants, as in a crash of the machine."""
    DIE = "die"
    """SIGKILL to this process only."""
    HOLD = "hold"
    """Wait until the file of the point is removed."""


class Armed:
    """
    A failpoint that is enabled.

    Args:
        hit: number of the call that acts, from 1.
        folder: folder in which it creates its file.
    """

    def __init__(self, name: str, hit: int, action: Action, folder: Path) -> None:
        self._hit = hit
        self._action = action
        self._file = folder / name
        self._calls = itertools.count(1)

    def __call__(self) -> None:
        """Act if this is call number `hit`."""
        if next(self._calls) != self._hit:
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        try:
            # exclusive creation: the point acts in one process only, and not again after a restart
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
    The points that the variable enables, by name.

    Raises:
        ConfigError: a point or an action is unknown, or a hit is not a number.
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
                f'{VARIABLE}: "{name}" is not a failpoint', hint=f"failpoints are {', '.join(sorted(POINTS))}"
            )
        if not (hit.isascii() and hit.isdecimal() and int(hit) > 0) or action not in {each.value for each in Action}:
            actions = ", ".join(each.value for each in Action)
            raise ConfigError(
                f'{VARIABLE}: "{part}" is not name:hit:action', hint=f"hits count from 1; actions are {actions}"
            )
        armed[name] = Armed(name, int(hit), Action(action), folder)
    return armed


_armed: dict[str, Armed] = {}
_parse_error: ConfigError | None = None
if VARIABLE in os.environ:
    # the driver imports this first; its JVM and workers inherit the variable
    os.environ.setdefault(DRIVER_VARIABLE, str(os.getpid()))
    try:
        _armed = parsed(os.environ)
    except ConfigError as error:
        _parse_error = error


def check() -> list[str]:
    """
    The enabled points, for the log of a starting service.

    Raises:
        ConfigError: the variable is invalid.
    """
    if _parse_error is not None:
        raise _parse_error
    return sorted(_armed)


def point(name: str) -> Callable[[], None]:
    """The function to call at a point; get it once, when the caller is created."""
    return _armed.get(name, _nothing)


def after(name: str, function: Callable[P, T]) -> Callable[P, T]:
    """The function itself or, if the point is enabled, a wrapper that reaches it after each call."""
    if name not in _armed:
        return function
    reach = point(name)

    def reaching(*arguments: P.args, **named: P.kwargs) -> T:
        result = function(*arguments, **named)
        reach()
        return result

    return reaching


def sends() -> Callable[[], None]:
    """The function to call before each send of a flush cycle: the first reaches one point, the others another."""
    if _armed.keys().isdisjoint({"before_send", "between_sends"}):
        return _nothing
    points = itertools.chain([point("before_send")], itertools.repeat(point("between_sends")))

    def before_each() -> None:
        next(points)()

    return before_each


def at_first(name: str, items: Iterable[T]) -> Iterable[T]:
    """The items themselves or, if the point is enabled, an iterator that reaches it at the first item."""
    return _reaching_at_first(point(name), items) if name in _armed else items


def _reaching_at_first(reach: Callable[[], None], items: Iterable[T]) -> Iterator[T]:
    for number, item in enumerate(items):
        if number == 0:
            reach()
        yield item


def _nothing() -> None:
    """A point that is not enabled."""


def _kill(driver: int) -> None:
    """Kill the driver first, so that no process can clean up, and this process last."""
    tree = [driver, *_descendants(driver)]
    for pid in [*(pid for pid in tree if pid != os.getpid()), os.getpid()]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _descendants(pid: int) -> list[int]:
    """
    The pids of all descendants.

    Source: proc(5); the ppid is the second field after the closing bracket of the command.
    """
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found, queue = [], [pid]
    while queue:
        direct = children.get(queue.pop(), [])
        found += direct
        queue += direct
    return found
