"""The jars of a server, resolved by Maven once and then cached."""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from local_servers.errors import ServerError

_HERE = Path(__file__).resolve().parent
OLDEST_JAVA = 17  # required by Spark 4 and Kafka 4
_VERSION = re.compile(r"<version>\d+\.\d+\.\d+</version>")  # of the server; that of the pom itself is 1


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
        version: of the server; None for that of the pom.

    Raises:
        ServerError: Maven is missing or failed.
    """
    pom = (poms / f"{server}.pom.xml").read_text("utf-8")
    if version is not None:
        pom = _VERSION.sub(f"<version>{version}</version>", pom)
    # the name depends on the content of the pom, so a new version never uses old jars
    folder = cache_folder() / "jars" / f"{server}-{hashlib.sha256(pom.encode()).hexdigest()[:12]}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _lock(folder.parent / f"{folder.name}.lock"):
            if not folder.is_dir():
                _resolve(server, pom, folder)
    # no wildcard: a shared class archive needs a fixed order
    return os.pathsep.join(str(jar) for jar in sorted(folder.glob("*.jar")))


def _resolve(server: str, pom: str, folder: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise ServerError("Maven is needed to fetch the servers' jars; apt-get install maven")
    print(f"fetching the jars of {server} with Maven into {folder}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        jars, file = Path(temporary) / "jars", Path(temporary) / "pom.xml"
        file.write_text(pom, "utf-8")
        done = subprocess.run(
            [
                maven, "--batch-mode", "--quiet", "--file", str(file), "dependency:copy-dependencies",
                "-DincludeScope=runtime", f"-DoutputDirectory={jars}",
            ],
            capture_output=True,
            text=True,
            check=False,
        )  # fmt: skip
        if done.returncode != 0:
            lines = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line]
            raise ServerError(f"Maven could not fetch the jars of {server}: {lines[0] if lines else 'no reason given'}")
        jars.rename(folder)


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
