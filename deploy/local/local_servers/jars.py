"""The jars of a server, resolved by Maven once and then cached."""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from local_servers.errors import ServerError

_HERE = Path(__file__).resolve().parent
OLDEST_JAVA = 17  # required by Spark 4 and Kafka 4
_THRIFT_SERVERS = ("3.0.0-alpha-3", "2.6.1", "2.5.8", "2.4.17")
"""Versions of hbase-thrift for those of HBase without one: a repository may lack the Thrift server of a version."""
_NO_THRIFT_SERVER = re.compile(r"org\.apache\.hbase:hbase-thrift:jar:")
_MISSING = re.compile(r"Could not find artifact (\S+)|(\S+:jar:\S+) was not found")

SHORT_LIVED = ("-XX:TieredStopAtLevel=1",)
"""JVM options for a server that runs for minutes: it starts with half the CPU, but its peak rate is lower."""


def cache_folder() -> Path:
    """Folder of the cache: `ATTR2HBASE_CACHE`, or `attr2hbase` in the user's cache folder."""
    own = os.environ.get("ATTR2HBASE_CACHE")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "attr2hbase"


def java() -> str:
    """
    Path of the `java` command.

    Raises:
        ServerError: Java is missing or too old.
    """
    home = os.environ.get("JAVA_HOME")
    command = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if not command or not os.access(command, os.X_OK):
        raise ServerError(f"Java {OLDEST_JAVA} is needed; apt-get install openjdk-17-jre-headless")
    answer = subprocess.run([command, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', answer)
    if version is None or int(version[1]) < OLDEST_JAVA:
        raise ServerError(
            f'Java {OLDEST_JAVA} is needed, "{command}" is older; apt-get install openjdk-17-jre-headless'
        )
    return command


def class_path(server: str, poms: Path = _HERE, *, version: str | None = None) -> str:
    """
    Class path of a server; fetches its jars if they are not in the cache.

    Args:
        server: `kafka` or `hbase`, the name of a pom.
        poms: folder of the pom.
        version: of the server, for a pom with a property for it; None for that of the pom.

    Raises:
        ServerError: Maven is missing or failed, or there is no such version.
    """
    pom = (poms / f"{server}.pom.xml").read_text("utf-8")
    # the name depends on the content of the pom and the version, so a new version never uses old jars
    content = pom if version is None else f"{pom}{version}"
    folder = cache_folder() / "jars" / f"{server}-{hashlib.sha256(content.encode()).hexdigest()[:12]}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _lock(folder.parent / f"{folder.name}.lock"):
            if not folder.is_dir():
                _resolve(server, pom, folder, version)
    # no wildcard: a shared class archive needs a fixed order
    return os.pathsep.join(str(jar) for jar in sorted(folder.glob("*.jar")))


def _resolve(server: str, pom: str, folder: Path, version: str | None) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise ServerError("Maven is needed to fetch the servers' jars; apt-get install maven")
    name = server if version is None else f"{server} {version}"
    print(f"fetching the jars of {name} with Maven into {folder}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        jars, file = Path(temporary) / "jars", Path(temporary) / "pom.xml"
        file.write_text(pom, "utf-8")
        command = [
            maven, "--batch-mode", "--quiet", "--file", str(file), "dependency:copy-dependencies",
            "-DincludeScope=runtime", f"-DoutputDirectory={jars}",
        ]  # fmt: skip
        if version is not None:
            command.append(f"-D{server}.version={version}")
        reason = _reason_of(command)
        line = (version or "").rpartition(".")[0]
        thrift = next((each for each in _THRIFT_SERVERS if line and each.startswith(line)), None)
        if reason is not None and thrift is not None and _NO_THRIFT_SERVER.search(reason):
            print(f"no Thrift server of {name} is served; taking that of {thrift}", file=sys.stderr, flush=True)
            reason = _reason_of([*command, f"-Dthrift.version={thrift}"])
        if reason is not None:
            missing = _MISSING.search(reason)
            what = f"there is no {missing[1] or missing[2]}" if missing else reason
            raise ServerError(
                f"the jars of {name} cannot be had: {what}"
                + ("" if version is None else f"; set {server.upper()}_VERSION to a version that Maven finds whole")
            )
        jars.rename(folder)


def _reason_of(command: Sequence[str]) -> str | None:
    """Why a command of Maven failed; None if it did not."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    return next((line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line), "no reason given")


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
