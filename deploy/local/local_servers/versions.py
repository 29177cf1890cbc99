"""
The versions of Kafka and HBase to start: those of the poms, unless an argument or the environment names others.

A folder of data remembers the version that wrote it, since an older one cannot read it.
"""

import os
import re
from pathlib import Path

from local_servers.errors import ServerError

_HERE = Path(__file__).resolve().parent
_FILE = "version"
_WORD = re.compile(r"\d+\.\d+\.\d+(?:-[a-z0-9-]+)?")  # as 2.6.1, 2.6.4-hadoop3 and 3.0.0-alpha-4
_EARLY = ("alpha", "beta", "rc")


def variable(server: str) -> str:
    """Variable of the environment that names the version of a server, such as `HBASE_VERSION`."""
    return f"{server.upper()}_VERSION"


def default(server: str) -> str:
    """The version of a server's pom."""
    pom = (_HERE / f"{server}.pom.xml").read_text("utf-8")
    return pom.partition(f"<{server}.version>")[2].partition("<")[0]


def chosen(server: str, given: str | None = None) -> str:
    """
    The version of a server to start.

    Args:
        server: `kafka` or `hbase`.
        given: by the caller; None for that of the environment, or else that of the pom.

    Raises:
        ServerError: this is not a version.
    """
    name = given or os.environ.get(variable(server)) or default(server)
    if not _WORD.fullmatch(name):
        raise ServerError(f'"{name}" is not a version of {server}; write one such as {default(server)}')
    return name


def of_data(folder: Path) -> str | None:
    """The version that last wrote the data in a folder; None if it is not known."""
    file = folder / _FILE
    return file.read_text("utf-8").strip() if file.exists() else None


def remember(folder: Path, version: str, *, is_running: bool) -> None:
    """
    Store the version that is about to write the data in a folder.

    Raises:
        ServerError: the data are of a newer version, or another version runs.
    """
    before = of_data(folder)
    if before is not None and before != version:
        if is_running:
            raise ServerError(f"version {before} runs on the data in {folder}; stop it before you start {version}")
        if _order(version) < _order(before):
            raise ServerError(
                f"version {version} cannot read the data of version {before} in {folder}; remove that folder, or give "
                "another one with --dir"
            )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _FILE).write_text(f"{version}\n", "utf-8")


def _order(version: str) -> tuple[list[int], bool, str]:
    """Sorts versions; a release is later than its alphas and betas."""
    numbers, _, suffix = version.partition("-")
    return [int(number) for number in numbers.split(".")], not suffix.startswith(_EARLY), suffix
