"""Calls of a function in a thread of their own, with the same time between two of them."""

import threading
from collections.abc import Callable
from typing import Self

from ingest.observe.logs import logger

_log = logger(__name__)


class Periodic:
    """
    Calls a function again and again in a block, in a thread of its own; the first time after one interval.

    Args:
        name: of the thread.
        interval_s: from the end of a call to the start of the next one.
        call: the function; an exception of it is logged, and does not end the calls.
        join_s: how long the end of the block waits for a call that runs; None until it ends.
    """

    def __init__(self, name: str, interval_s: float, call: Callable[[], None], *, join_s: float | None = None) -> None:
        self._interval_s = interval_s
        self._call = call
        self._join_s = join_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._ended.set()
        self._thread.join(self._join_s)

    def _run(self) -> None:
        while not self._ended.wait(self._interval_s):
            try:
                self._call()
            except Exception:  # noqa: BLE001 - a thread that ends would end all later calls
                _log.exception("a periodic call failed; the next one follows", name=self._thread.name)
