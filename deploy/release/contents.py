"""What a release consists of: its version, the packages and jars it uses, and their licences."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from deploy.release.lock import Package, installed_by_users, packages_of


@dataclass(frozen=True, slots=True)
class ConnectorJar:
    """
    A jar that `attr2hbase jars fetch` copies to a user's machine.

    Attributes:
        sha256: in hexadecimal digits.
    """

    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def purl(self) -> str:
        """Its package URL, the identity that vulnerability databases use."""
        return f"pkg:maven/{self.group}/{self.artifact}@{self.version}"

    @property
    def url(self) -> str:
        """Where Maven Central has it."""
        folder = f"{self.group.replace('.', '/')}/{self.artifact}/{self.version}"
        return f"https://repo1.maven.org/maven2/{folder}/{self.artifact}-{self.version}.jar"


@dataclass(frozen=True, slots=True)
class Contents:
    """
    A release.

    Attributes:
        packages: those that a user installs.
        jars: of Spark's Kafka connector.
        licences: package URL -> SPDX expression.
        commit: of the sources.
        epoch: time of the commit, in seconds since 1970.
    """

    version: str
    packages: tuple[Package, ...]
    jars: tuple[ConnectorJar, ...]
    licences: dict[str, str]
    commit: str
    epoch: int


def contents_of(root: Path, commit: str, epoch: int) -> Contents:
    """
    The contents of a release, read from its source tree.

    Raises:
        ValueError: a package or jar has no licence in licences.toml, or an entry there belongs to none.
    """
    version = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    packages = tuple(installed_by_users(packages_of((root / "requirements.lock").read_text("utf-8"))))
    listed = tomllib.loads((root / "ingest/spark/jars.toml").read_text("utf-8"))["jar"]
    jars = tuple(ConnectorJar(*jar["coordinates"].split(":"), jar["sha256"]) for jar in listed)
    declared = tomllib.loads((root / "deploy/release/licences.toml").read_text("utf-8"))
    names = {package.purl: package.name for package in packages}
    coordinates = {jar.purl: f"{jar.group}:{jar.artifact}" for jar in jars}
    licences = _licences(names, declared["python"]) | _licences(coordinates, declared["jars"])
    return Contents(version, packages, jars, licences, commit, epoch)


def _licences(names: dict[str, str], declared: dict[str, str]) -> dict[str, str]:
    missing, extra = set(names.values()) - declared.keys(), declared.keys() - set(names.values())
    if missing or extra:
        found = [f'"{name}" has no licence' for name in sorted(missing)]
        found += [f'"{name}" is not used' for name in sorted(extra)]
        raise ValueError(f"deploy/release/licences.toml: {', '.join(found)}")
    return {purl: declared[name] for purl, name in names.items()}
