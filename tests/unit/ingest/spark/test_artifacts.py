"""Places that jars are copied from: folders and servers."""

import pytest

from ingest.api import ConfigError, IngestError, NotFoundError
from ingest.spark import artifacts
from ingest.spark.artifacts import Jar, origin_at
from tests.support.pages import serving

JAR = Jar("org.example:connector_2.13:4.2.0", "0" * 64)
NAME = "connector_2.13-4.2.0.jar"
IN_REPOSITORY = f"org/example/connector_2.13/4.2.0/{NAME}"


def copied(origin, folder):
    folder.mkdir()
    origin_at(str(origin))(JAR, folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_path_in_a_repository():
    assert (JAR.file_name, JAR.repository_path) == (NAME, IN_REPOSITORY)


@pytest.mark.parametrize("path", [NAME, IN_REPOSITORY])
def test_folder_holds_jars_or_is_a_repository(tmp_path, path):
    file = tmp_path / "from" / path
    file.parent.mkdir(parents=True)
    file.write_bytes(b"jar")
    assert copied(tmp_path / "from", tmp_path / "to") == {NAME: b"jar"}


def test_error_names_a_jar_that_a_folder_lacks(tmp_path):
    (tmp_path / "from").mkdir()
    with pytest.raises(NotFoundError) as caught:
        copied(tmp_path / "from", tmp_path / "to")
    assert caught.value.message == f'"{tmp_path / "from"}" has neither "{NAME}" nor "{IN_REPOSITORY}"'
    assert caught.value.hint == "copy org.example:connector_2.13:4.2.0 from a Maven repository to it"


def test_error_names_a_missing_folder(tmp_path):
    with pytest.raises(NotFoundError, match="there is no folder"):
        origin_at(str(tmp_path / "none"))


@pytest.mark.parametrize("path", [NAME, IN_REPOSITORY])
def test_server_has_jars_or_is_a_repository(tmp_path, path):
    with serving({f"/jars/{path}": b"jar"}) as url:
        assert copied(f"{url}/jars/", tmp_path / "to") == {NAME: b"jar"}


def test_error_names_a_jar_that_a_server_lacks(tmp_path):
    with serving({}) as url, pytest.raises(NotFoundError, match=f'has neither "{NAME}" nor "{IN_REPOSITORY}"'):
        copied(url, tmp_path / "to")


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://repo.example/maven2", 'http is not protected on the way from "repo.example"'),
        ("http://localhost.example/", 'http is not protected on the way from "localhost.example"'),
        ("ftp://repo.example/", "it is no http or https URL"),
        ("file:///srv/jars", "it is no http or https URL"),
        ("https:///maven2", "it is no http or https URL"),
        ("https://user:secret@repo.example/", "it contains a user or a password, which would appear in logs"),
        ("https://repo.example/?token=secret", "it has a part after the path"),
        ("https://repo.example:port/", "Port could not be cast to integer value as 'port'"),
    ],
)
def test_url_is_refused(url, reason):
    with pytest.raises(ConfigError) as caught:
        origin_at(url)
    assert caught.value.message == f"jars cannot be fetched from this URL: {reason}"
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["https://repo.example/maven2", "http://localhost:8081/repository", "http://[::1]/"])
def test_url_is_accepted_without_a_request(url):
    origin_at(url)


def test_redirect_to_this_machine_is_followed(tmp_path):
    with serving({"/store": b"jar"}) as store, serving({f"/{NAME}": (302, f"{store}/store?signed=1".encode())}) as url:
        assert copied(url, tmp_path / "to") == {NAME: b"jar"}


def test_redirect_to_http_elsewhere_is_refused(tmp_path):
    with serving({f"/{NAME}": (302, b"http://repo.example/x.jar")}) as url, pytest.raises(IngestError) as caught:
        copied(url, tmp_path / "to")
    assert caught.value.code == "jars_fetch"
    assert 'redirected to a URL that is refused: http is not protected on the way from "repo.example"' in str(
        caught.value
    )


def test_answer_of_a_server_that_fails_is_reported(tmp_path):
    with serving({f"/{NAME}": (503, b"busy")}) as url, pytest.raises(IngestError, match="503 Service Unavailable"):
        copied(url, tmp_path / "to")


def test_server_that_does_not_answer_is_reported(tmp_path):
    with serving({}) as url:
        pass
    with pytest.raises(IngestError, match="Connection refused"):
        copied(url, tmp_path / "to")


def test_size_of_an_answer_is_limited(tmp_path, monkeypatch):
    monkeypatch.setattr(artifacts, "_MAX_BYTES", 1 << 20)
    content = b"x" * (1 << 20)
    with serving({f"/{NAME}": content}) as url:
        assert copied(url, tmp_path / "to") == {NAME: content}
    with serving({f"/{NAME}": content + b"x"}) as url, pytest.raises(IngestError, match="larger than 1 MiB"):
        copied(url, tmp_path / "again")
