"""The jars of Spark's Kafka connector: which they are, whether they are there and whole, and getting them."""

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

_MAVEN_PATIENCE_S = 600  # for one jar of some megabytes, over a slow line
_FETCH = "run `ingest jars fetch`"


@dataclass(frozen=True, slots=True)
class Jar:
    """
    A jar as jars.toml names it.

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


def wanted() -> tuple[Jar, ...]:
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
    The jars on this machine, every one with the right content.

    Raises:
        NotFoundError: one is not there.
        IntegrityError: one has other content than was published.
    """
    folder = cache or cache_folder()
    return [_checked(folder / jar.file_name, jar, way_out=_FETCH) for jar in wanted()]


def fetch(cache: Path | None = None, progress: Callable[[str], None] = lambda _line: None) -> list[Path]:
    """
    Get the jars that are not there, or not whole, through Maven, which has its own settings for where they come from.

    A jar appears in the folder whole and checked, or not at all.

    Args:
        cache: folder of the jars.
        progress: told what is done, a line a jar.

    Raises:
        NotFoundError: there is no Maven on this machine.
        IngestError: Maven failed, code `jars_fetch`.
        IntegrityError: what came is not what was published.
    """
    folder = cache or cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    return [_fetched(jar, folder, progress) for jar in wanted()]


def _fetched(jar: Jar, folder: Path, progress: Callable[[str], None]) -> Path:
    path = folder / jar.file_name
    if path.is_file() and _sha256(path) == jar.sha256:
        progress(f"{jar.file_name} is there")
        return path
    progress(f"fetching {jar.coordinates}")
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fetching-") as temporary:
        _copy_with_maven(jar, Path(temporary))
        came = _checked(Path(temporary) / jar.file_name, jar, way_out="ask who runs the repository Maven uses")
        came.replace(path)
    sync_folder(folder)
    return path


def _copy_with_maven(jar: Jar, folder: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise NotFoundError(
            "Maven is not there, which fetches the jars",
            hint=f"apt-get install maven, or put {jar.file_name} and the others into the folder of the jars",
        )
    # run in a folder without a project; `copy` takes the one artifact and nothing that it depends on
    command = [maven, "--batch-mode", "--quiet", "dependency:copy", f"-Dartifact={jar.coordinates}"]
    try:
        done = subprocess.run(  # noqa: S603 - the program found above, with names from our own jars.toml
            [*command, f"-DoutputDirectory={folder}"],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_MAVEN_PATIENCE_S,
        )
    except subprocess.TimeoutExpired as error:
        raise _failed(jar, f"no end after {_MAVEN_PATIENCE_S} s") from error
    if done.returncode != 0:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line]
        raise _failed(jar, lines[0] if lines else f"exit code {done.returncode}")


def _failed(jar: Jar, reason: str) -> IngestError:
    return IngestError(
        f'Maven could not fetch "{jar.coordinates}": {reason}',
        code="jars_fetch",
        hint="check the network and the mirrors in ~/.m2/settings.xml",
    )


def _checked(path: Path, jar: Jar, *, way_out: str) -> Path:
    if not path.is_file():
        raise NotFoundError(f'connector jars are not there: no "{path}"', hint=way_out)
    found = _sha256(path)
    if found != jar.sha256:
        raise IntegrityError(f'"{path}" has sha256 {found}, {jar.sha256} was published', hint=way_out)
    return path


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
