"""The packages of requirements.lock: versions, hashes, and which of them a user installs."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

PROJECT = "attr2hbase"
_ENTRY = re.compile(r"(?P<name>[a-z0-9][a-z0-9._-]*)==(?P<version>\S+)(?: ; (?P<marker>.+?))? \\\n")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_VIA = re.compile(r"^ +# (?:via |  )(.+)$", re.MULTILINE)
_OF_PROJECT = f"{PROJECT} (pyproject.toml)"  # not of a dependency group, as in "(pyproject.toml:dev)"


@dataclass(frozen=True, slots=True)
class Package:
    """
    A package of the lock.

    Attributes:
        marker: environments that need this version, as in `sys_platform == 'win32'`; "" for all.
        hashes: SHA-256 of its wheels and source archive; pip accepts no other file.
        required_by: names of packages, and PROJECT if attr2hbase itself requires it.
        text: the entry in the lock.
    """

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]
    required_by: frozenset[str]
    text: str

    @property
    def purl(self) -> str:
        """Its package URL, the identity that vulnerability databases use."""
        return f"pkg:pypi/{self.name}@{self.version}"


def packages_of(lock: str) -> list[Package]:
    """
    All packages of a lock, in its order.

    Raises:
        ValueError: an entry cannot be read, or has no hash.
    """
    return [_package(entry) for entry in re.split(r"\n(?=[a-z0-9])", lock.rstrip("\n"))]


def _package(entry: str) -> Package:
    head, hashes = _ENTRY.match(entry), tuple(_HASH.findall(entry))
    if head is None or not hashes:
        raise ValueError(f"requirements.lock: no version or no hash: {entry.splitlines()[0]}")
    via = frozenset(PROJECT if name == _OF_PROJECT else name for name in _VIA.findall(entry))
    return Package(head["name"], head["version"], head["marker"] or "", hashes, via, f"{entry}\n")


def installed_by_users(packages: Sequence[Package]) -> list[Package]:
    """The packages that attr2hbase requires, directly or not; the others are for its development."""
    names = {PROJECT}
    while found := {package.name for package in packages if package.required_by & names} - names:
        names |= found
    return [package for package in packages if package.name in names]


def requirements_of(packages: Iterable[Package]) -> str:
    """A requirements file with hashes, for `pip install --require-hashes`."""
    return "".join(package.text for package in packages)
