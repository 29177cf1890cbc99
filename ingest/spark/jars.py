"""The jars of Spark's Kafka connector: which they are, their cache on this machine, and how it is filled."""

import hashlib
import os
import tempfile
import tomllib
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.api import IntegrityError, NotFoundError
from ingest.durable import sync_folder
from ingest.spark.artifacts import Jar, Origin, from_maven, origin_at

if TYPE_CHECKING:  # `attr2hbase jars` needs neither
    from ingest.catalog import Catalog
    from ingest.config.model import Configuration

_FETCH = "run `attr2hbase jars fetch`"


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
    return [_checked(folder / jar.file_name, jar) for jar in required()]


def fetch(
    cache: Path | None = None, progress: Callable[[str], None] = lambda _line: None, *, origin: str | None = None
) -> list[Path]:
    """
    Copy jars that are missing or damaged to the cache.

    A jar is moved to the folder only when it is complete and its checksum is verified.

    Args:
        cache: folder of the jars.
        progress: called with one line for each jar.
        origin: a folder or a URL (`ingest.spark.artifacts.origin_at`); None for Maven, with the repositories in its
            settings.

    Raises:
        NotFoundError: Maven is not installed, or the origin has not all jars.
        ConfigError: the URL cannot be used.
        IngestError: a download failed, code `jars_fetch`.
        IntegrityError: a jar has another checksum than jars.toml lists.
    """
    copy = from_maven if origin is None else origin_at(origin)
    place = "Maven's repository" if origin is None else f'"{origin}"'
    folder = cache or cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    return [_fetch_one(jar, folder, copy, place, progress) for jar in required()]


def _fetch_one(jar: Jar, folder: Path, copy: Origin, place: str, progress: Callable[[str], None]) -> Path:
    path = folder / jar.file_name
    if path.is_file() and _sha256(path) == jar.sha256:
        progress(f"{jar.file_name} is up to date")
        return path
    progress(f"fetching {jar.coordinates}")
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fetching-") as temporary:
        copy(jar, Path(temporary))
        fetched = Path(temporary) / jar.file_name
        if _sha256(fetched) != jar.sha256:
            raise IntegrityError(
                f'"{jar.file_name}" from {place} has SHA-256 {_sha256(fetched)}, expected {jar.sha256}',
                hint="replace it there by the file of Maven Central",
            )
        fetched.replace(path)
    sync_folder(folder)
    return path


def _checked(path: Path, jar: Jar) -> Path:
    if not path.is_file():
        raise NotFoundError(f'connector jar "{path}" is missing', hint=_FETCH)
    found = _sha256(path)
    if found != jar.sha256:
        raise IntegrityError(f'"{path}" has SHA-256 {found}, expected {jar.sha256}', hint=_FETCH)
    return path


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def source_jars(configuration: "Configuration", catalog: "Catalog") -> list[Path]:
    """
    The jars that the sources of a file need.

    Raises:
        NotFoundError: one is missing.
    """
    kinds = dict.fromkeys(pipeline.source.kind for pipeline in configuration.pipelines.values())
    return list(dict.fromkeys(jar for kind in kinds for jar in catalog.load("sources", kind).jars()))
