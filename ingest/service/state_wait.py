"""The wait of a start for state on a cluster: until its file system answers, or a stop is requested."""

import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Generic, TypeVar

from ingest.api import IngestError
from ingest.durable import StatePath
from ingest.durable.files import StateUnavailableError
from ingest.observe.health import Health, State
from ingest.observe.logs import logger
from ingest.retry import Retry
from ingest.service.lifecycle import Stop

RETRY_S = 2.0
"""Between attempts; a NameNode that is away fails each of them within seconds."""
POLL_S = 0.1
"""How often an attempt is checked for its end and for a stop."""

T = TypeVar("T")
_log = logger(__name__)


class StartStoppedError(Exception):
    """A stop was requested before the service has started."""


class StateWait:
    """
    Runs the actions of a start that read or write the state.

    With a local state an action is only called. On a cluster it runs in a daemon thread, since a call to a NameNode may
    hang and a lease may have to expire. It is repeated while the file system does not answer; its pipelines are
    `blocked` meanwhile. A stop ends the wait, and the process ends with the thread.

    Args:
        state: root of the state.
        stop: ends the wait.
        health: of the service.
        once: also raise the error of a file system that does not answer, because a user waits for the run.
    """

    def __init__(self, state: StatePath, stop: Stop, health: Health, *, once: bool) -> None:
        self._state = state
        self._stop = stop
        self._health = health
        self._once = once

    def result(self, action: Callable[[], T], pipelines: Iterable[str]) -> T:
        """
        The result of an action, which can be repeated after an error.

        Args:
            action: reads or writes the state.
            pipelines: names of those that wait for it.

        Raises:
            StartStoppedError: a stop was requested.
            Exception: raised by the action.
        """
        if isinstance(self._state, Path):
            return action()
        names, reason = list(pipelines), ""

        def pause(error: IngestError, seconds: float) -> None:
            nonlocal reason
            if error.message != reason:
                reason = error.message
                _log.warning("the start waits for the state", state=str(self._state), reason=reason)
            for name in names:
                self._health.change(name, State.BLOCKED, f"{error.code}: {reason}")
            if self._stop.requested.wait(seconds):
                raise StartStoppedError from None

        retry = Retry(pauses_s=(RETRY_S,), is_transient=self._is_away)
        result = retry.run(lambda: _Attempt(action).result(self._stop), pause=pause)
        if reason:
            _log.warning("the state is available, and the start continues", state=str(self._state))
            for name in names:
                self._health.change(name, State.STARTING)
        return result

    def _is_away(self, error: Exception) -> bool:
        return isinstance(error, StateUnavailableError) and not self._once


class _Attempt(Generic[T]):
    """One call of an action, in a daemon thread."""

    def __init__(self, action: Callable[[], T]) -> None:
        self._action = action
        self._results: list[T] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="start-state", daemon=True)
        self._thread.start()

    def result(self, stop: Stop) -> T:
        while self._thread.is_alive():
            if stop.requested.is_set():
                raise StartStoppedError
            self._thread.join(POLL_S)
        if self._error is not None:
            raise self._error
        return self._results[0]

    def _run(self) -> None:
        try:
            self._results.append(self._action())
        except BaseException as error:  # noqa: BLE001 - raised by `result`
            self._error = error
