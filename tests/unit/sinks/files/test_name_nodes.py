"""The HTTP addresses of NameNodes, and requests to the active one."""

import getpass
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ingest.api import ConfigError, StoreUnavailableError
from ingest.durable import file_errors
from sinks.files.name_nodes import NameNodes, name_nodes
from sinks.files.opening import open_root
from sinks.files.remote_root import RemoteRoot

ME = getpass.getuser()
HA = {
    "dfs.nameservices": "Cluster",
    "dfs.ha.namenodes.Cluster": "one, two",
    "dfs.namenode.http-address.Cluster.one": "a:50070",
    "dfs.namenode.rpc-address.Cluster.two": "b:8020",
}
ANY_HOST = {"dfs.namenode.http-address.ns": "0.0.0.0:50070", "dfs.namenode.rpc-address.ns": "a:8020"}


def conf_dir(folder: Path, properties: dict[str, str]) -> dict[str, str]:
    rows = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>" for name, value in properties.items()
    )
    (folder / "hdfs-site.xml").write_text(f"<configuration>{rows}</configuration>")
    return {"HADOOP_CONF_DIR": str(folder)}


@pytest.mark.parametrize(
    ("url", "properties", "addresses", "is_https", "user"),
    [
        ("hdfs://nn:8020/d", {}, ["nn:9870"], False, ME),
        ("hdfs://ann@nn/d", {}, ["nn:9870"], False, "ann"),
        ("hdfs://nn:8020/d", {"dfs.namenode.http-address": "0.0.0.0:50070"}, ["nn:50070"], False, ME),
        ("hdfs://nn/d", {"dfs.http.policy": "HTTPS_ONLY"}, ["nn:9871"], True, ME),
        ("hdfs://Cluster/d", HA, ["a:50070", "b:9870"], False, ME),
        ("hdfs://other:8020/d", HA, ["other:9870"], False, ME),
        ("hdfs://[::1]:8020/d", {}, ["[::1]:9870"], False, ME),
        ("hdfs://[::1]/d", {"dfs.namenode.http-address": "[::]:50070"}, ["[::1]:50070"], False, ME),
        ("hdfs://ns/d", {"dfs.namenode.http-address.ns": "a:50070"}, ["a:50070"], False, ME),
        ("hdfs://ns/d", {"dfs.namenode.rpc-address.ns": "a:8020"}, ["a:9870"], False, ME),
        ("hdfs://ns/d", ANY_HOST, ["a:50070"], False, ME),
        ("hdfs://a:8020/d", ANY_HOST, ["a:50070"], False, ME),
        ("hdfs://ann@nn/d", {"hadoop.security.authentication": "kerberos"}, ["nn:9870"], False, None),
    ],
)
def test_addresses_follow_from_hadoops_configuration(
    url: str, properties: dict[str, str], addresses: list[str], is_https: bool, user: str | None, tmp_path: Path
) -> None:
    environment = conf_dir(tmp_path, properties) if properties else {}
    assert name_nodes(url, environment) == NameNodes(tuple(addresses), is_https, user)


def test_variables_of_the_configuration_are_expanded(tmp_path: Path) -> None:
    (tmp_path / "core-site.xml").write_text(
        '<configuration><property name="http" value="${port}"/><property name="port" value="50070"/></configuration>'
    )
    environment = conf_dir(tmp_path, HA | {"dfs.namenode.http-address.Cluster.one": "a:${http}"})
    assert name_nodes("hdfs://Cluster/d", environment).addresses == ("a:50070", "b:9870")


@pytest.mark.parametrize("address", [{}, {"dfs.namenode.http-address.Cluster.three": "${host}:50070"}])
def test_name_node_without_an_address_is_refused(address: dict[str, str], tmp_path: Path) -> None:
    environment = conf_dir(tmp_path, HA | {"dfs.ha.namenodes.Cluster": "one,three"} | address)
    with pytest.raises(ConfigError, match=r'"Cluster\.three" has no address') as caught:
        name_nodes("hdfs://Cluster/d", environment)
    assert (caught.value.hint or "").startswith(
        "set dfs.namenode.http-address.Cluster.three to HOST:PORT in hdfs-site.xml"
    )


@pytest.mark.parametrize("url", ["hdfs://nn/dumps?x", "hdfs://nn/dumps#x"])
def test_url_with_a_query_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match=r'has a "[?]" or a "#"'):
        open_root(url)


def test_user_id_without_an_entry_has_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 2**31 - 7)
    assert name_nodes("hdfs://nn/d", {}).user == "attr2hbase"


def test_user_of_hadoop_writes_the_files() -> None:
    assert name_nodes("hdfs://nn/d", {"HADOOP_USER_NAME": "etl"}).user == "etl"


def test_url_without_a_name_node_is_refused() -> None:
    with pytest.raises(ConfigError, match="names no NameNode"):
        name_nodes("hdfs:///d", {})


def test_folder_without_a_configuration_counts_as_none(tmp_path: Path) -> None:
    assert name_nodes("hdfs://nn/d", {"HADOOP_CONF_DIR": str(tmp_path)}).addresses == ("nn:9870",)


def test_configuration_that_is_damaged_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "core-site.xml").write_text("<configuration>")
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    with pytest.raises(ConfigError, match=r"core-site\.xml") as caught:
        open_root("hdfs://nn/d")
    assert caught.value.hint == (
        "HADOOP_CONF_DIR names a folder with core-site.xml and hdfs-site.xml; webhdfs://HOST:PORT/FOLDER needs neither"
    )


@contextmanager
def name_node(answer: bytes, status: int) -> Iterator[tuple[str, list[str]]]:
    """A server that gives each request one answer; its address, and the paths of the requests."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}", asked
        finally:
            server.shutdown()
            thread.join()


STANDBY = b'{"RemoteException": {"exception": "StandbyException", "message": "StandbyException: not in state standby"}}'
EMPTY = b'{"FileStatuses": {"FileStatus": []}}'


def test_request_goes_to_the_active_name_node() -> None:
    pytest.importorskip("fsspec")
    with name_node(STANDBY, 403) as (standby, asked_standby), name_node(EMPTY, 200) as (active, asked):
        root = RemoteRoot("hdfs://Cluster/dumps", {}, NameNodes(("127.0.0.1:1", standby, active), False, "ann"))
        assert root.entries("") == []
        assert root.entries("t") == []
    assert asked == [f"/webhdfs/v1/dumps{name}?user.name=ann&op=LISTSTATUS" for name in ("", "/t")]
    assert asked_standby == asked[:1]  # the second request goes to the active one at once


def test_without_an_active_name_node_the_root_is_unavailable() -> None:
    pytest.importorskip("fsspec")
    with name_node(STANDBY, 403) as (standby, _):
        root = RemoteRoot("hdfs://Cluster/dumps", {}, NameNodes((standby, standby), False, "ann"))
        with pytest.raises(StoreUnavailableError, match="standby"), file_errors(root):
            root.entries("")


def test_settings_of_fsspec_count_more(monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec = pytest.importorskip("fsspec")
    with name_node(EMPTY, 200) as (address, asked):
        monkeypatch.setitem(fsspec.config.conf, "webhdfs", {"port": address.rpartition(":")[2]})
        monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
        assert open_root("hdfs://ann@127.0.0.1:8020/dumps").entries("") == []
    assert asked == ["/webhdfs/v1/dumps?user.name=ann&op=LISTSTATUS"]
