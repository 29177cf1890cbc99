"""
Compares two versions of a pipeline in a process of its own.

A service does so before it takes a new file: a chain that nobody has run yet may use the CPU for ever or end the
process, and in the driver it would hold up the running pipelines.
"""

import os
import pickle
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import IO, Any

import orjson

from ingest.api import IngestError
from ingest.config.model import Table, column_types_in
from ingest.config.test_cases import Given
from ingest.dry_run.diff import Diff, Results
from ingest.dry_run.matching import new_names
from ingest.dry_run.pipeline import DryRun
from ingest.dry_run.shortened import Limit, limited
from ingest.masks import Masks
from ingest.plan.codec import packed, unpacked
from ingest.plan.plan import Plan
from ingest.plugins.guard import OutOfMemoryError

CPU_S = 60
"""CPU time of the process; ten thousand events take a few seconds."""
MEMORY_BYTES = 2 << 30
"""Of the process; it has both chains, such as their tables of `lookup`, and what they write for the events."""
_TOO_LARGE = {"error": f"they need more than {MEMORY_BYTES >> 20} MiB", "hint": "compare them with fewer records"}
_WALL_S = 2.0 * CPU_S  # on a busy machine
_POLL_S = 0.2
_LAST_LINES = 3  # of what the process prints, in the error
_LAST_BYTES = 4_096
_STDOUT, _STDERR = 1, 2


class ComparisonFailedError(IngestError):
    """Two versions of a pipeline could not be compared: a component is unavailable, takes too long, or ends Python."""

    code = "comparison_failed"
    remedy = "Run `attr2hbase diff` or `explain` with the new file to see which decorator is slow or fails."


@dataclass(frozen=True, slots=True)
class Version:
    """
    A version of a pipeline.

    Attributes:
        plan: of the pipeline.
        tables: that its file declares, by name.
    """

    plan: Plan
    tables: Mapping[str, Table]


def diff_apart(
    old: Version, new: Version, given: Sequence[Given], limit: Limit, *, is_stopping: Callable[[], bool]
) -> dict[str, Any]:
    """
    The difference between two versions of a pipeline, as `limited`; secrets are masked only in values that are cut.

    Args:
        old: the version that runs.
        new: the version that shall run.
        given: the events.
        limit: of the answer.
        is_stopping: asked a few times a second; the process is killed if it returns True.

    Raises:
        ComparisonFailedError: the process has failed, was killed, has not answered, or needs more than a minute of CPU
            time or `MEMORY_BYTES`.
    """
    # a plan brings its files of plugins, which must be loaded before its tables are read
    versions = [(packed(each.plan), pickle.dumps(dict(each.tables))) for each in (old, new)]
    content = pickle.dumps((versions, list(given), limit))
    paths = os.pathsep.join(path for path in sys.path if path)
    process = subprocess.Popen(  # noqa: S603 - this file
        [sys.executable, "-P", "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": paths},
    )
    with process:
        assert process.stderr is not None  # noqa: S101 - for mypy: it is a pipe
        printed = _Printed(process.stderr)
        process.stderr = None  # else `communicate` keeps all of it
        deadline = time.monotonic() + _WALL_S
        sent: bytes | None = content
        while True:
            try:
                out, _ = process.communicate(sent, timeout=_POLL_S)
                break
            except subprocess.TimeoutExpired:
                sent = None
                if is_stopping() or time.monotonic() > deadline:
                    process.kill()
    return _answer(process.returncode, out, printed.last())


class _Printed:
    """
    What a process prints, of which the end is kept: a loop that prints would fill the memory.

    Args:
        stream: closed at its end.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._kept = b""
        self._thread = threading.Thread(target=self._read, args=(stream,), name="reload-check", daemon=True)
        self._thread.start()

    def _read(self, stream: IO[bytes]) -> None:
        with stream:
            while some := os.read(stream.fileno(), _LAST_BYTES):
                self._kept = (self._kept + some)[-_LAST_BYTES:]

    def last(self) -> str:
        """Its last lines, after its end; a process that it has left behind is not waited for."""
        self._thread.join(_POLL_S)
        return " ".join(self._kept.decode(errors="replace").splitlines()[-_LAST_LINES:])


def _answer(code: int, out: bytes, printed: str) -> dict[str, Any]:
    if code < 0:
        raise ComparisonFailedError(
            f"the comparison of the versions did not end within {CPU_S} s, or was killed (signal {-code})",
            hint="compare them with fewer records, or look for a slow decorator with 'attr2hbase explain'",
        )
    try:
        answer: dict[str, Any] = orjson.loads(out)
    except orjson.JSONDecodeError as error:
        raise ComparisonFailedError(
            f"the process that compares the versions ended with exit code {code} and without an answer; "
            f"it printed: {printed or 'nothing'}"
        ) from error
    if "error" in answer:
        raise ComparisonFailedError(f"the versions could not be compared: {answer['error']}", hint=answer.get("hint"))
    return answer


def _compared(content: bytes) -> dict[str, Any]:
    """In the process: what `diff_apart` returns, or the error."""
    try:
        return _difference(content)
    except MemoryError:
        return _TOO_LARGE
    except IngestError as error:
        return _TOO_LARGE if error.code == OutOfMemoryError.code else {"error": error.message, "hint": error.hint}


def _difference(content: bytes) -> dict[str, Any]:
    limit: Limit
    versions, given, limit = pickle.loads(content)  # noqa: S301 - from our own service
    masks = Masks()
    plans, tables = [], []
    for packed_plan, packed_tables in versions:
        plans.append(unpacked(packed_plan))
        masks.include(plans[-1].masks)
        declared: dict[str, Table] = pickle.loads(packed_tables)  # noqa: S301 - as above
        tables.append(declared)
    before, after = (DryRun(plan, declared.values()).run(given) for plan, declared in zip(plans, tables, strict=True))
    diff = Diff(tuple(given), Results.of(before, new_names(*plans)), Results.of(after))
    types = [partial(column_types_in, declared) for declared in tables]
    return limited(lambda rows: diff.to_json(rows, *types), limit, masks)


def _main() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S + 1))
    # not the address space, which has the files of libraries and reserves for each thread
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    # what a plugin prints is no part of the answer
    with os.fdopen(os.dup(_STDOUT), "wb") as answer:
        os.dup2(_STDERR, _STDOUT)
        answer.write(orjson.dumps(_compared(sys.stdin.buffer.read())))


if __name__ == "__main__":
    _main()
