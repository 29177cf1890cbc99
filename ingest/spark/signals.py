"""Signals that reach Spark's JVM, which must not end it while it starts or a micro-batch runs."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, ClassVar

from pyspark import SparkContext
from pyspark.java_gateway import ensure_callback_server_started

from ingest.spark.errors import JVM_GONE, JvmLostError

_FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_IGNORED = (signal.SIGTERM, signal.SIGHUP)
_starting = threading.local()


def _ignore_in_child() -> None:
    if getattr(_starting, "is_java", False):
        for number in _IGNORED:
            signal.signal(number, signal.SIG_IGN)


# not in this process, which would lose the signals; `subprocess` calls it because PySpark gives a `preexec_fn`
os.register_at_fork(after_in_child=_ignore_in_child)


@contextmanager
def interrupt_held() -> Iterator[None]:
    """
    Hold the first SIGINT until the end of the block. A second one interrupts the block.

    PySpark removes the folder in which a JVM that starts says its port if it is interrupted meanwhile. That JVM prints
    a stack trace and never ends. The second one is not held because PySpark waits for a JVM that hangs without a limit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    earlier = signal.getsignal(signal.SIGINT)
    is_held = False

    def hold(number: int, _frame: FrameType | None) -> None:
        nonlocal is_held
        is_held = True
        signal.signal(number, earlier)

    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, earlier)
        if is_held:
            signal.raise_signal(signal.SIGINT)


@contextmanager
def stop_signals_ignored_by_children() -> Iterator[None]:
    """
    Make the JVM that this thread starts in the block ignore SIGTERM and SIGHUP from its first moment.

    systemd, `timeout` and a terminal send them to the whole process group, and the start and the running batch need the
    JVM. A program that is started with an ignored signal keeps it ignored, as under `nohup`. The JVM ends when its
    standard input is closed, at the latest when this process ends. PySpark has it ignore SIGINT.
    """
    _starting.is_java = True
    try:
        yield
    finally:
        _starting.is_java = False


def forward_signals(receive: Callable[[int], None]) -> None:
    """
    Make the JVM of spark-submit, which is the parent of this process, forward its stop signals to this process.

    By default they end the JVM. Instead, the JVM ends after this process, with the same exit code.

    Args:
        receive: called in a thread with the number of a signal that the JVM received.

    Raises:
        IngestError: the JVM has ended, or its options forbid signal handlers.
    """
    try:
        SparkContext._ensure_initialized()  # noqa: SLF001 - connects to the JVM; there is no public way
        gateway = SparkContext._gateway  # noqa: SLF001 - as PySpark does for `foreachBatch`
        ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
        java: Any = SparkContext._jvm.sun.misc  # type: ignore[union-attr]  # noqa: SLF001 - PySpark has no public API
        for number in _FORWARDED:
            java.Signal.handle(java.Signal(number.name.removeprefix("SIG")), _Handler(number, receive))
    except JVM_GONE as error:
        raise JvmLostError(
            f"cannot set signal handlers in the Java process of spark-submit: {error}",
            hint="if it has ended, start it again; if its options contain -Xrs, remove that",
        ) from error


class _Handler:
    """A `sun.misc.SignalHandler` in Python, which the JVM calls through Py4J."""

    def __init__(self, number: int, receive: Callable[[int], None]) -> None:
        self._number = number
        self._receive = receive

    def handle(self, _signal: object) -> None:
        self._receive(self._number)

    class Java:
        implements: ClassVar[list[str]] = ["sun.misc.SignalHandler"]
