"""A jar by its Maven coordinates, and the places it can be copied from: Maven, a folder, a server."""

import http.client
import shutil
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ingest.api import ConfigError, IngestError, NotFoundError
from ingest.formats.addresses import is_this_machine

_MAVEN_TIMEOUT_S = 600  # for one jar of some megabytes, over a slow network
_HTTP_TIMEOUT_S = 60.0  # of a connection and of each read
_MAX_BYTES = 256 << 20  # of one jar; the largest connector jar has 6 MB
_BLOCK_BYTES = 1 << 20
_NO_SUCH_PAGE = (404, 410)


class JarsNotFetchedError(IngestError):
    """Maven, or the server after `--from`, did not provide a jar."""

    code = "jars_fetch"
    remedy = "Check the network, Maven's settings, or the server after `--from`; then fetch the jars again."


@dataclass(frozen=True, slots=True)
class Jar:
    """
    A jar and its checksum.

    Attributes:
        coordinates: GROUP:ARTIFACT:VERSION.
        sha256: in lower-case hexadecimal digits.
    """

    coordinates: str
    sha256: str

    @property
    def file_name(self) -> str:
        """ARTIFACT-VERSION.jar, as Maven names it."""
        _, artifact, version = self.coordinates.split(":")
        return f"{artifact}-{version}.jar"

    @property
    def repository_path(self) -> str:
        """Path of the jar in a Maven repository: the group as folders, ARTIFACT/VERSION and the file name."""
        group, artifact, version = self.coordinates.split(":")
        return f"{group.replace('.', '/')}/{artifact}/{version}/{self.file_name}"


Origin = Callable[[Jar, Path], None]
"""Copies a jar into a folder, under its file name; does not verify it."""


def origin_at(place: str) -> Origin:
    """
    The origin at a place: a folder, or the http or https URL of a folder or a Maven repository.

    A jar is looked for under its file name and under its path in a Maven repository. Plain http is accepted only from
    this machine, also after a redirect.

    Raises:
        NotFoundError: there is no such folder.
        ConfigError: the URL cannot be used: its scheme, a user in it, or http to another machine.
    """
    if "://" not in place:
        return _from_folder(Path(place))
    reason = _refusal(place)
    if reason:
        raise ConfigError(f"jars cannot be fetched from this URL: {reason}", hint="use https, or a folder")
    return _from_url(place.rstrip("/"))


def from_maven(jar: Jar, folder: Path) -> None:
    """
    Copy a jar from the repositories in Maven's settings.

    Raises:
        NotFoundError: Maven is not installed.
        IngestError: Maven failed, code `jars_fetch`.
    """
    maven = shutil.which("mvn")
    if maven is None:
        raise NotFoundError(
            "Maven is not installed; it downloads the jars",
            hint="run 'apt-get install maven', or name a folder or a server that has them: --from",
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
        raise _maven_failed(jar, f"timed out after {_MAVEN_TIMEOUT_S} s") from error
    if done.returncode != 0:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line]
        raise _maven_failed(jar, lines[0] if lines else f"exit code {done.returncode}")


def _maven_failed(jar: Jar, reason: str) -> IngestError:
    return JarsNotFetchedError(
        f'Maven could not fetch "{jar.coordinates}": {reason}',
        hint="check the network and the mirrors in ~/.m2/settings.xml, or name a folder or a server: --from",
    )


def _from_folder(origin: Path) -> Origin:
    if not origin.is_dir():
        raise NotFoundError(f'there is no folder "{origin}"', hint="name a folder with the jars, or an https URL")

    def copy(jar: Jar, folder: Path) -> None:
        for path in (jar.file_name, jar.repository_path):
            if (origin / path).is_file():
                shutil.copyfile(origin / path, folder / jar.file_name)
                return
        raise NotFoundError(
            f'"{origin}" has neither "{jar.file_name}" nor "{jar.repository_path}"',
            hint=f"copy {jar.coordinates} from a Maven repository to it",
        )

    return copy


def _from_url(base: str) -> Origin:
    opener = urllib.request.build_opener(
        urllib.request.HTTPSHandler(context=ssl.create_default_context()), _CheckedRedirects
    )

    def copy(jar: Jar, folder: Path) -> None:
        for path in (jar.file_name, jar.repository_path):
            if _downloaded(opener, f"{base}/{path}", folder / jar.file_name):
                return
        raise NotFoundError(
            f'"{base}" has neither "{jar.file_name}" nor "{jar.repository_path}"',
            hint="check the URL: a folder with the jars, or a Maven repository",
        )

    return copy


def _downloaded(opener: urllib.request.OpenerDirector, url: str, target: Path) -> bool:
    """Write a page to a file; False if the server has no such page."""
    size = 0
    try:
        with target.open("wb") as file:
            for block in _blocks(opener, url):
                size += len(block)
                if size > _MAX_BYTES:
                    raise _fetch_failed(url, f"the file is larger than {_MAX_BYTES >> 20} MiB")
                file.write(block)
    except _NoSuchPageError:
        return False
    return True


def _blocks(opener: urllib.request.OpenerDirector, url: str) -> Iterator[bytes]:
    try:
        with opener.open(url, timeout=_HTTP_TIMEOUT_S) as answer:
            while block := answer.read(_BLOCK_BYTES):
                yield block
            missing = answer.length or 0
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in _NO_SUCH_PAGE:
            raise _NoSuchPageError from error
        raise _fetch_failed(url, f"{error.code} {error.reason}") from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise _fetch_failed(url, str(getattr(error, "reason", None) or error)) from error
    if missing:
        raise _fetch_failed(url, f"the connection was closed {missing} bytes before the end")


class _NoSuchPageError(Exception):
    """The server answers, but has no such page."""


def _fetch_failed(url: str, reason: str) -> IngestError:
    return JarsNotFetchedError(f'"{url}" could not be fetched: {reason}', hint="check the server and the URL")


def _refusal(url: str) -> str:
    """Why a URL is not used; "" if it is."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        return str(error)
    if parts.scheme not in ("http", "https") or not host:
        return "it is no http or https URL"
    if parts.username or parts.password:
        return "it contains a user or a password, which would appear in logs"
    if parts.query or parts.fragment:
        return "it has a part after the path"
    if parts.scheme == "http" and not is_this_machine(host):
        return f'http is not protected on the way from "{host}"'
    return ""


class _CheckedRedirects(urllib.request.HTTPRedirectHandler):
    """Follows a redirect only to a URL that may itself be given."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        """The request of the redirect; fails if its URL is refused."""
        reason = _refusal(newurl.partition("?")[0])  # stores of repositories redirect to signed URLs
        if reason:
            fp.close()
            raise urllib.error.URLError(f"redirected to a URL that is refused: {reason}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)
