"""
The Python packages and jars of this environment, packed into one archive for a cluster.

The archive has no path of the machine that packed it. It has no interpreter: `bin/python` runs the machine's Python of
the same minor version, and Spark provides its own package `pyspark`.

::

    attr2hbase.json      the manifest
    bin/python           for executors: `spark.pyspark.python`
    bin/attr2hbase           for a machine that submits; SPARK_HOME names its Spark
    lib/                 the packages
    jars/spark/          the connector jars
    share/attr2hbase/    the script for spark-submit
"""

import gzip
import hashlib
import io
import json
import os
import re
import sys
import sysconfig
import tarfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

from ingest.api import ConfigError, ConflictError
from ingest.durable import file_errors

FOLDER = "environment"  # where Spark unpacks the archive, in the working directory of an executor
INTERPRETER = f"./{FOLDER}/bin/python"

_MANIFEST = "attr2hbase.json"
_OWN = "attr2hbase"
_OWN_PACKAGES = ("ingest", "decorators", "sinks", "pyspark_attr2hbase")
_LEFT_OUT = frozenset({"pyspark", "py4j", "pip", "setuptools", "wheel"})  # Spark's own, and installers
_MACHINE_FILES = frozenset({"direct_url.json"})  # they name the path that a package was installed from
_COMPRESSION = 1  # level 6 takes three times as long and saves a tenth

_PYTHON = """\
#!/bin/sh
# Runs Python {version} of this machine with the packages of this folder, and not with those of the machine (-S).
root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd) || exit 1
python=${{ATTR2HBASE_PYTHON:-python{version}}}
if ! command -v "$python" >/dev/null; then
    echo "attr2hbase: there is no $python; install Python {version}, or set ATTR2HBASE_PYTHON to its path" >&2
    exit 127
fi
PYTHONPATH=${{PYTHONPATH:+$PYTHONPATH:}}$root/lib
PYTHONNOUSERSITE=1
export PYTHONPATH PYTHONNOUSERSITE
exec "$python" -S "$@"
"""

_INGEST = """\
#!/bin/sh
# Runs attr2hbase with the Spark of SPARK_HOME.
root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd) || exit 1
for packages in "$SPARK_HOME"/python/lib/*.zip; do
    PYTHONPATH=${PYTHONPATH:+$PYTHONPATH:}$packages
done
ATTR2HBASE_CACHE=${ATTR2HBASE_CACHE:-$root}
export PYTHONPATH ATTR2HBASE_CACHE
exec "$root/bin/python" -m ingest "$@"
"""


@dataclass(frozen=True, slots=True)
class Environment:
    """
    What an archive contains.

    Attributes:
        manifest: versions of Python and of all packages, platform, and checksums of the product and of the jars; two
            archives with the same manifest have the same content.
        files: path in the archive -> file.
    """

    manifest: Mapping[str, object]
    files: Mapping[str, Path]


def environment(jars: Iterable[Path], script: Path, *, search: Sequence[str] | None = None) -> Environment:
    """
    The environment of this process.

    Args:
        jars: connector jars.
        script: for spark-submit.
        search: folders of packages; by default this process's.

    Raises:
        ConfigError: a package is installed in editable mode, or has no list of its files.
    """
    versions: dict[str, str] = {}
    files: dict[str, Path] = {}
    for distribution in distributions(path=list(sys.path if search is None else search)):
        name = re.sub(r"[-_.]+", "-", distribution.metadata["Name"]).lower()
        if name in _LEFT_OUT or name in versions:
            continue
        versions[name] = distribution.version
        files |= {f"lib/{path}": file for path, file in _files_of(distribution, name)}
    own = {f"lib/{path}": file for path, file in _own_files()}
    own[f"share/attr2hbase/{script.name}"] = script
    files |= own
    found = {jar.name: jar for jar in jars}
    files |= {f"jars/spark/{name}": jar for name, jar in found.items()}
    manifest = {
        "python": _python_version(),
        "platform": sysconfig.get_platform(),
        "packages": dict(sorted(versions.items())),
        "product": _checksum(own),
        "jars": {name: _checksum({name: jar}) for name, jar in sorted(found.items())},
    }
    return Environment(manifest, files)


def pack(path: Path, content: Environment) -> bool:
    """
    Write an archive (.tar.gz), unless it exists with the same manifest; returns whether it was written.

    Raises:
        ConflictError: another file is there.
        IngestError: it cannot be written.
    """
    with file_errors(path):
        return _pack(path, content)


def _pack(path: Path, content: Environment) -> bool:
    if path.exists():
        present = _manifest_of(path)
        if present is None:
            raise ConflictError(f'"{path}" is not an archive of attr2hbase', hint="name another file")
        if present == content.manifest:
            return False
    temporary = path.with_name(f".{path.name}.{threading.get_native_id()}.tmp")
    try:
        with (
            temporary.open("wb") as file,
            gzip.GzipFile("", "wb", _COMPRESSION, file, mtime=0) as compressed,
            tarfile.open(fileobj=compressed, mode="w") as archive,
        ):
            # first, so that it is read without unpacking the rest
            _add(archive, _MANIFEST, json.dumps(content.manifest, indent=1).encode())
            _add(archive, "bin/python", _PYTHON.format(version=_python_version()).encode(), mode=0o755)
            _add(archive, "bin/attr2hbase", _INGEST.encode(), mode=0o755)
            for name, source in sorted(content.files.items()):
                _add(archive, name, source.read_bytes(), mode=0o755 if os.access(source, os.X_OK) else 0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return True


def _add(archive: tarfile.TarFile, name: str, content: bytes, *, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)  # its owner and its time are 0
    entry.size, entry.mode = len(content), mode
    archive.addfile(entry, io.BytesIO(content))


def _manifest_of(path: Path) -> object:
    """The manifest of an archive; None for any other file."""
    try:
        with tarfile.open(path, "r:gz") as archive:
            first = archive.next()
            member = archive.extractfile(first) if first is not None and first.name == _MANIFEST else None
            return None if member is None else json.load(member)
    except (OSError, EOFError, ValueError, tarfile.TarError):
        return None


def _files_of(distribution: Distribution, name: str) -> Iterator[tuple[str, Path]]:
    """Path below the folder of packages, and file."""
    if name != _OWN and _is_editable(distribution):
        raise ConfigError(
            f'the package "{name}" is installed in editable mode, so its files are unknown',
            hint="install it with `pip install` and without -e",
        )
    if distribution.files is None:
        raise ConfigError(
            f'the package "{name}" has no list of its files',
            hint="install attr2hbase into a virtual environment of its own with pip",
        )
    for path in distribution.files:
        file = Path(str(path.locate()))
        if _is_portable(path) and file.is_file():
            yield path.as_posix(), file


def _is_editable(distribution: Distribution) -> bool:
    source = distribution.read_text("direct_url.json")
    return source is not None and bool(json.loads(source).get("dir_info", {}).get("editable"))


def _is_portable(path: PurePosixPath) -> bool:
    """Whether a file belongs to a folder of packages and is the same on every machine."""
    return not (
        path.is_absolute()
        or path.parts[0] == ".."
        or "__pycache__" in path.parts
        or path.suffix in (".pyc", ".pth")
        or path.name in _MACHINE_FILES
    )


def _own_files() -> Iterator[tuple[str, Path]]:
    """The product's packages, which may be a source tree."""
    for package in _OWN_PACKAGES:
        spec = find_spec(package)
        for folder in () if spec is None else spec.submodule_search_locations or ():
            for file in sorted(Path(folder).rglob("*")):
                path = PurePosixPath(package, file.relative_to(folder).as_posix())
                if file.is_file() and _is_portable(path):
                    yield str(path), file


def _checksum(files: Mapping[str, Path]) -> str:
    digest = hashlib.sha256()
    for name, file in sorted(files.items()):
        digest.update(f"{name}\0{file.stat().st_size}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _python_version() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"
