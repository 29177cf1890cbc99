"""
What the tasks of jobs get from the driver: small content with their function, large content as a broadcast.

PySpark itself broadcasts a function that takes more than 1 MiB: anew for each job, and the file of each such broadcast
stays in `spark.local.dir` until the session ends. Here a broadcast ends with its use, and that of a plan is used by all
jobs of a pipeline, so the plan travels to each executor once.
"""

import pickle
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Protocol, TypeVar

from pyspark.core.broadcast import Broadcast
from pyspark.sql import SparkSession

from ingest.api import LifecycleError
from ingest.durable.files import DiskFullError
from ingest.spark.errors import JVM_GONE

INLINE_BYTES = 256 << 10
"""Larger content is broadcast. A function has a plan and what is of one job, and must stay below PySpark's 1 MiB."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Content(Protocol):
    """Content in a task, or to be pickled for one; `Broadcast` of PySpark is one, too."""

    @property
    def value(self) -> bytes:
        """The content; a broadcast is read once in each worker process."""


class Inline:
    """Content that travels with the function of each task."""

    def __init__(self, value: bytes) -> None:
        self.value = value


class Shipment:
    """
    Content for the tasks of any number of jobs of one session.

    Thread-safe. Closed when no task needs it any more.

    Args:
        session: of the jobs; None if tasks run in this process.
        content: the bytes.
        inline_bytes: larger content is broadcast.
    """

    def __init__(self, session: SparkSession | None, content: bytes, *, inline_bytes: int = INLINE_BYTES) -> None:
        self._session = session
        self._content = content
        self._is_inline = session is None or len(content) <= inline_bytes
        self._lock = threading.Lock()
        self._broadcast: Broadcast[bytes] | None = None
        self._is_closed = False

    def content(self) -> Content:
        """
        The content, for a function that Spark pickles.

        Raises:
            LifecycleError: it is closed.
            StoreUnavailableError: the temporary folder of Spark cannot be written; the caller repeats the call.
            Py4JError: the JVM has ended.
        """
        if self._is_inline or self._session is None:
            return Inline(self._content)
        with self._lock:
            if self._is_closed:
                raise LifecycleError("content for tasks is used after it was closed")
            if self._broadcast is None:
                try:
                    self._broadcast = self._session.sparkContext.broadcast(self._content)
                except (OSError, pickle.PicklingError) as error:  # of the file
                    raise DiskFullError(
                        f"the content for tasks cannot be written to the temporary folder of Spark: {error}",
                        hint="free some space in spark.local.dir; the call is retried",
                    ) from error
            return self._broadcast

    def close(self) -> None:
        """Remove the content from driver and executors; may be called twice."""
        with self._lock:
            self._is_closed = True
            broadcast, self._broadcast = self._broadcast, None
        if broadcast is not None:
            with suppress(*JVM_GONE):  # its files end with the JVM
                broadcast.destroy()


@contextmanager
def shipped(
    session: SparkSession | None, function: _Function, *, inline_bytes: int = INLINE_BYTES
) -> Iterator[_Function | partial[Any]]:
    """
    The function for the tasks of one job, which ends with the block; a large one is broadcast.

    Args:
        session: of the job; None if tasks run in this process.
        function: called with the input of each task; it can be pickled.
        inline_bytes: a larger function is broadcast.

    Raises: as `Shipment.content`.
    """
    if session is None:
        yield function
        return
    pickled = pickle.dumps(function)
    if len(pickled) <= inline_bytes:
        yield function
        return
    shipment = Shipment(session, pickled, inline_bytes=inline_bytes)
    try:
        yield partial(call_shipped, shipment.content())
    finally:
        shipment.close()


def call_shipped(content: Content, *arguments: Any) -> Any:
    """Call a function that was broadcast, in a task."""
    # trusted: it comes from our own driver, over the same channel as this function
    return pickle.loads(content.value)(*arguments)  # noqa: S301
