"""The jars of a server: resolved by Maven once, then taken from a folder in the cache."""

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
OLDEST_JAVA = 17  # what Spark 4 and Kafka 4 need


SHORT_LIVED = ("-XX:TieredStopAtLevel=1",)
"""For a server that lives for minutes: it starts with half the CPU, and never becomes as fast as it could."""


def cache_folder() -> Path:
    """Where jars are kept: `ATTR2HBASE_CACHE`, else `attr2hbase` in the user's cache folder."""
    own = os.environ.get("ATTR2HBASE_CACHE")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "attr2hbase"


def java() -> str:
    """
    Path of a Java that is new enough.

    Raises:
        ServerError: there is none.
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


def class_path(server: str, poms: Path = _HERE) -> str:
    """
    Class path of a server, after its jars were fetched if they were not there.

    Args:
        server: `kafka` or `hbase`, the name of a pom.
        poms: the folder it stands in; else beside this file.

    Raises:
        ServerError: Maven is missing or failed.
    """
    pom = poms / f"{server}.pom.xml"
    # the name changes with the pom, so a new version never meets old jars
    folder = cache_folder() / "jars" / f"{server}-{hashlib.sha256(pom.read_bytes()).hexdigest()[:12]}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _lock(folder.parent / f"{folder.name}.lock"):
            if not folder.is_dir():
                _resolve(pom, folder)
    # named one by one: the order of a wildcard is the file system's, and a shared class archive needs it fixed
    return os.pathsep.join(str(jar) for jar in sorted(folder.glob("*.jar")))


def _resolve(pom: Path, folder: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise ServerError("Maven is needed to fetch the servers' jars; apt-get install maven")
    print(f"fetching the jars of {pom.name.partition('.')[0]} with Maven into {folder}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        jars = Path(temporary) / "jars"
        done = subprocess.run(
            [
                maven, "--batch-mode", "--quiet", "--file", str(pom), "dependency:copy-dependencies",
                "-DincludeScope=runtime", f"-DoutputDirectory={jars}",
            ],
            capture_output=True,
            text=True,
            check=False,
        )  # fmt: skip
        if done.returncode != 0:
            lines = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line]
            raise ServerError(
                f"Maven could not fetch the jars of {pom.name}: {lines[0] if lines else 'no reason given'}"
            )
        jars.rename(folder)


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    with path.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
