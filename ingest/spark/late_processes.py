"""
Python processes of Spark that the JVM has given up before they connected or answered, as on a busy machine.

The JVM reports that (`worker_late`, see `ingest.spark.errors`). The traceback of such a process says nothing more. The
process from which the processes of data sources fork is Spark's own, not `ingest.spark.worker_daemon`.
"""

_CONNECT = b", in local_connect_and_auth\n"
_DAEMON = b"/pyspark/daemon.py"
_CLOSED = (b"BrokenPipeError: ", b"ConnectionResetError: ")
_FIRST = b"Traceback (most recent call last):"
_BETWEEN = (b"\n", b"During handling of the above exception, another exception occurred:\n")


class WithoutLateProcesses:
    """The stderr of Spark's JVM without the tracebacks of such processes, in pieces of whole lines."""

    def __init__(self) -> None:
        self._traceback: list[bytes] = []  # that has begun
        self._was_dropped = False  # the one before

    def __call__(self, lines: bytes) -> bytes:
        """What is left of some lines, and of a traceback before them; one that has begun waits for its end."""
        return b"".join(map(self._after, lines.splitlines(keepends=True)))

    def rest(self) -> bytes:
        """A traceback without an end."""
        rest, self._traceback = self._traceback, []
        return b"".join(rest)

    def _after(self, line: bytes) -> bytes:
        if line.startswith(_FIRST):
            rest, self._traceback = self.rest(), [line]
            return rest
        if not self._traceback:
            self._was_dropped &= line in _BETWEEN
            return b"" if self._was_dropped else line
        self._traceback.append(line)
        if line.startswith(b" "):
            return b""
        whole = self.rest()
        self._was_dropped = _CONNECT in whole or (_DAEMON in whole and line.startswith(_CLOSED))
        return b"" if self._was_dropped else whole
