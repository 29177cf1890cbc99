"""Checks of this machine: versions, open files, memory, disks."""

import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from ingest.amounts import size
from ingest.api import ConflictError, NotFoundError
from ingest.api.source import DEFAULT_EVENT_BYTES
from ingest.doctor.examination import Finding, Found, Severity
from ingest.doctor.pipelines.guide import docs_of
from ingest.doctor.versions import Version, numbers_of, rated

MIN_OPEN_FILES = 1_024
ROCKSDB_OPEN_FILES = 16_384
"""With this limit a store keeps as many files open as it ever does."""

_GIB = 1 << 30
_MIB = 1 << 20
_LITTLE_DISK, _NO_DISK = 10 * _GIB, 1 * _GIB
_DRIVER_HEAP = 1 * _GIB  # Spark's default
_JVM_OVERHEAD = 384 * _MIB  # Spark's minimum for everything besides the heap
_JVM_OVERHEAD_FRACTION = 0.1
_PYTHON = 256 * _MIB  # of the driver, and of each worker at full rate
_EVENT_COPIES = 4  # of a large event in a worker: the record, its body, its cell, and what is written
_FULL = 0.8  # of the machine
_JAVA_TIMEOUT_S = 20.0
_JAVA_VERSION = re.compile(r'version "(?:1\.)?(\d+)(?:\.(\d+)\.(\d+))?')
_SPARK_SIZE = re.compile(r"(\d+)\s*([kmgt]?)b?", re.IGNORECASE)
_SPARK_UNITS = {"k": 1 << 10, "": _MIB, "m": _MIB, "g": _GIB, "t": 1 << 40}
_CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def python() -> Found:
    """The version of Python."""
    return rated("python", "python", sys.version_info[:3], docs=docs_of("python"))


def spark() -> Found:
    """The version of PySpark."""
    return rated("spark", "spark", numbers_of(version("pyspark")), docs=docs_of("spark"))


def java() -> Found:
    """
    The version of the Java that Spark starts.

    Raises:
        NotFoundError: there is none.
    """
    return rated("java", "java", java_version(_java_output()), docs=docs_of("java"))


def java_version(output: str) -> Version:
    """
    The version in what `java -version` prints; 1.8 is 8.

    Raises:
        NotFoundError: it prints none.
    """
    found = _JAVA_VERSION.search(output)
    if found is None:
        raise NotFoundError(f"java -version prints no version: {output.strip()[:200]}")
    return tuple(int(part) for part in found.groups() if part is not None)


class OpenFiles(NamedTuple):
    """Limits of this process."""

    soft: int
    hard: int


def open_files(limits: OpenFiles, *, has_rocksdb: bool) -> Found:
    """
    The limit of open files.

    A store of RocksDB raises the soft limit to the hard one.
    """
    limit = limits.hard if has_rocksdb else limits.soft
    if limit < 0:
        return Found("no limit of open files")
    text = f"at most {limit:,} open files"
    needed = ROCKSDB_OPEN_FILES if has_rocksdb else MIN_OPEN_FILES
    if limit >= needed:
        return Found(text)
    finding = Finding(
        "open_files",
        Severity.ERROR if limit < MIN_OPEN_FILES else Severity.WARNING,
        f"{text}, and {needed:,} are advised",
        numbers={"limit": limit, "advised": needed},
        property="LimitNOFILE",
        value=str(needed),
        hint="of the systemd unit, or nofile in /etc/security/limits.conf",
        why="RocksDB opens files again and again" if has_rocksdb else "connections fail when the limit is reached",
        docs=docs_of("open_files"),
    )
    return Found(text, (finding,))


def read_open_files() -> OpenFiles:
    """The limits of this process."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    # RLIM_INFINITY is -1
    return OpenFiles(*limits)


def memory(machine: int, heap: int, slots: int, event_bytes: int = DEFAULT_EVENT_BYTES) -> Found:
    """
    The memory that the driver and the workers of one machine need, compared with the machine's.

    Args:
        machine: bytes of memory.
        heap: of the driver's JVM.
        slots: tasks that run at a time on this machine; 0 if they run elsewhere.
        event_bytes: size of the largest event.
    """
    jvm = heap + max(_JVM_OVERHEAD, int(_JVM_OVERHEAD_FRACTION * heap))
    needed = jvm + _PYTHON * (1 + slots) + slots * _EVENT_COPIES * max(0, event_bytes - DEFAULT_EVENT_BYTES)
    text = f"about {size(needed)} of {size(machine)} needed"
    if needed <= _FULL * machine:
        return Found(text)
    fitting = int(_FULL * machine) - (needed - jvm) - _JVM_OVERHEAD
    finding = Finding(
        "memory",
        Severity.ERROR if needed > machine else Severity.WARNING,
        f"{text}: a heap of {size(heap)}, and {slots + 1} Python processes",
        numbers={"needed_bytes": needed, "machine_bytes": machine, "heap_bytes": heap, "processes": slots + 1},
        property="spark.driver_memory",
        value=f"{fitting // _MIB}MiB" if fitting >= _DRIVER_HEAP // 2 else "",
        hint="or run fewer tasks at a time, as in spark: {master: 'local[2,4]'}",
        why="the kernel kills a process of the service when the memory is full",
        docs=docs_of("memory"),
    )
    return Found(text, (finding,))


def machine_memory() -> int:
    """Bytes of memory that this process and its children may use: of the machine, or of its control group."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in _CGROUP_LIMITS:
        try:
            limits.append(int(path.read_text()))
        except (OSError, ValueError):  # no such version of control groups, or "max"
            continue
    return min(limits)


def driver_heap(driver_memory: int | None, conf: Mapping[str, str]) -> int:
    """Bytes of heap of the driver's JVM, from `spark.driver_memory` or Spark's own property."""
    if driver_memory is not None:
        return driver_memory
    found = _SPARK_SIZE.fullmatch(conf.get("spark.driver.memory", "").strip())
    return int(found[1]) * _SPARK_UNITS[found[2].lower()] if found else _DRIVER_HEAP


def task_slots(master: str, cores: int) -> int:
    """Tasks that run at a time on this machine; 0 for a cluster."""
    local = re.fullmatch(r"local(?:\[(\*|\d+)(?:\s*,\s*\d+)?\])?", master)
    if local is None:
        return 0
    if local[1] is None:
        return 1
    return cores if local[1] == "*" else int(local[1])


def disk(folder: Path, *, stored: int = 0) -> Found:
    """
    The space for a folder, which may not exist yet, and the right to write to it.

    Args:
        folder: to be written.
        stored: bytes that it contains, if compactions may need as much again.
    """
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise ConflictError(
            f'"{existing}" is a file, so the folder "{folder}" cannot be created',
            hint="choose another folder, or move the file away",
        )
    if not os.access(existing, os.W_OK):
        raise NotFoundError(f'no permission to write to "{existing}"', hint="the service creates files there")
    free = shutil.disk_usage(existing).free
    return rated_disk(free, str(folder), stored=stored)


def rated_disk(free: int, folder: str, *, stored: int = 0) -> Found:
    """The free bytes of a disk, with the bytes that a store in this folder has."""
    text = f"{size(free)} free"
    if free >= max(_LITTLE_DISK, stored):
        return Found(text)
    is_full = free < _NO_DISK
    about_store = f", and the store has {size(stored)}" if stored > free else ""
    finding = Finding(
        "disk",
        Severity.ERROR if is_full else Severity.WARNING,
        f"only {text}{about_store}",
        folder,
        numbers={"free_bytes": free, "stored_bytes": stored},
        hint="make room, or use a larger disk",
        why="a compaction may need as much space again as the store has"
        if about_store and not is_full
        else "a pipeline is blocked while its disk is full",
        docs=docs_of("disk"),
    )
    return Found(text, (finding,))


def stored_in(folder: Path) -> int:
    """Bytes of the files in a folder; 0 if it does not exist."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _java_output() -> str:
    home = os.environ.get("JAVA_HOME")
    command = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if command is None or not os.access(command, os.X_OK):
        where = f'"{command}" of JAVA_HOME cannot be run' if command else "there is no java in PATH"
        raise NotFoundError(where, hint="install Java 17 (`apt-get install openjdk-17-jre-headless`)")
    try:
        done = subprocess.run(  # noqa: S603 - the command that Spark runs, too
            [command, "-version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_JAVA_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotFoundError(f'"{command} -version" failed: {error}') from error
    return done.stderr + done.stdout
