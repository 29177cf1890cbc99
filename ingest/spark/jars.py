"""The jars of Spark's Kafka connector: their coordinates, their checksums and their download."""

import hashlib
import os
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from ingest.api import IngestError, IntegrityError, NotFoundError
from ingest.durable import sync_folder

_MAVEN_TIMEOUT_S = 600  # for one jar of some megabytes, over a slow network
_FETCH = "run `ingest jars fetch`"


@dataclass(frozen=True, slots=True)
class Jar:
    """
    A jar that jars.toml lists.

    Attributes:
        coordinates: GROUP:ARTIFACT:VERSION.
    """

    coordinates: str
    sha256: str

    @property
    def file_name(self) -> str:
        """ARTIFACT-VERSION.jar, as Maven names it."""
        _, artifact, version = self.coordinates.split(":")
        return f"{artifact}-{version}.jar"


def required() -> tuple[Jar, ...]:
    """All jars of the connector."""
    content = resources.files("ingest.spark").joinpath("jars.toml").read_text(encoding="utf-8")
    return tuple(Jar(jar["coordinates"], jar["sha256"]) for jar in tomllib.loads(content)["jar"])


def cache_folder() -> Path:
    """`jars/spark` under ATTR2HBASE_CACHE, else under `attr2hbase` in the user's cache folder."""
    own = os.environ.get("ATTR2HBASE_CACHE")
    root = Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "attr2hbase"
    return root.absolute() / "jars" / "spark"


def connector_jars(cache: Path | None = None) -> list[Path]:
    """
    The jars in the cache, with their checksums verified.

    Raises:
        NotFoundError: one is missing.
        IntegrityError: one has another checksum than jars.toml lists.
    """
    folder = cache or cache_folder()
    return [_checked(folder / jar.file_name, jar, hint=_FETCH) for jar in required()]


def fetch(cache: Path | None = None, progress: Callable[[str], None] = lambda _line: None) -> list[Path]:
    """
    Download jars that are missing or damaged with Maven, from the repositories in Maven's settings.

    A jar is moved to the folder only when it is complete and its checksum is verified.

    Args:
        cache: folder of the jars.
        progress: called with one line for each jar.

    Raises:
        NotFoundError: Maven is not installed.
        IngestError: Maven failed, code `jars_fetch`.
        IntegrityError: a downloaded jar has another checksum than jars.toml lists.
    """
    folder = cache or cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    return [_fetch_one(jar, folder, progress) for jar in required()]


def _fetch_one(jar: Jar, folder: Path, progress: Callable[[str], None]) -> Path:
    path = folder / jar.file_name
    if path.is_file() and _sha256(path) == jar.sha256:
        progress(f"{jar.file_name} is up to date")
        return path
    progress(f"fetching {jar.coordinates}")
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fetching-") as temporary:
        _copy_with_maven(jar, Path(temporary))
        downloaded = _checked(Path(temporary) / jar.file_name, jar, hint="check the repository that Maven uses")
        downloaded.replace(path)
    sync_folder(folder)
    return path


def _copy_with_maven(jar: Jar, folder: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise NotFoundError(
            "Maven is not installed; it downloads the jars",
            hint=f"run 'apt-get install maven', or copy {jar.file_name} and the other jars to the cache",
        )
    # run in a folder without a project; `copy` gets one artifact without its dependencies
    command = [maven, "--batch-mode", "--quiet", "dependency:copy", f"-Dartifact={jar.coordinates}"]
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command, with coordinates from our own jars.toml
            [*command, f"-DoutputDirectory={folder}"],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_MAVEN_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired as error:
        raise _failed(jar, f"timed out after {_MAVEN_TIMEOUT_S} s") from error
    if done.returncode != 0:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line]
        raise _failed(jar, lines[0] if lines else f"exit code {done.returncode}")


def _failed(jar: Jar, reason: str) -> IngestError:
    return IngestError(
        f'Maven could not fetch "{jar.coordinates}": {reason}',
        code="jars_fetch",
        hint="check the network and the mirrors in ~/.m2/settings.xml",
    )


def _checked(path: Path, jar: Jar, *, hint: str) -> Path:
    if not path.is_file():
        raise NotFoundError(f'connector jar "{path}" is missing', hint=hint)
    found = _sha256(path)
    if found != jar.sha256:
        raise IntegrityError(f'"{path}" has SHA-256 {found}, expected {jar.sha256}', hint=hint)
    return path


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
