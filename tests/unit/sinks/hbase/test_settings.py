"""Options of the hbase store."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from ingest.api import Durability
from sinks.hbase.settings import HBaseSettings, ThriftProtocol, Transport
from sinks.hbase.store import HBaseStore


def test_no_option_is_required() -> None:
    settings = HBaseSettings()
    assert (settings.host, settings.port, settings.timeout, settings.connections) == ("localhost", 9090, 180.0, 1)
    assert (settings.worker_connections, settings.max_put_bytes) == (1, 1 << 20)
    assert (settings.transport, settings.protocol) == (Transport.BUFFERED, ThriftProtocol.BINARY)
    assert settings.thrift2 is None


@pytest.mark.parametrize(
    "options",
    [
        {"port": 0},
        {"timeout": "0s"},
        {"timeout": 5},
        {"connections": 0},
        {"transport": "http"},
        {"thrift2": {"host": "localhost"}},
        {"security": {"tls": {}}},
        {"bootstrap_servers": ""},
        {"bootstrap_servers": "localhost"},
        {"bootstrap_servers": "localhost:0"},
        {"bootstrap_servers": "localhost:16000,"},
        {"bootstrap_servers": "localhost:16000;localhost:16020"},
        {"bootstrap_servers": "hbase://localhost:16000"},
        {"bootstrap_servers": "::1:16000"},
        {"bootstrap_servers": "localhost:16000", "host": "localhost"},
        {"bootstrap_servers": "localhost:16000", "transport": "buffered"},
        {"bootstrap_servers": "localhost:16000", "thrift2": {"host": "localhost", "port": 9091}},
    ],
)
def test_invalid_options_are_rejected(options: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        HBaseSettings.model_validate(options)


@pytest.mark.parametrize(
    ("staging", "reason"),
    [
        ("file:///tmp/x", "is a URL; a local folder is written as its path alone"),
        ("tmp/x", "is no folder for files"),
        ("hdfs://namenode:8020", "is no folder for files"),
    ],
)
def test_staging_that_is_no_folder_is_refused_with_its_forms(staging: str, reason: str) -> None:
    with pytest.raises(ValidationError) as caught:
        HBaseSettings.model_validate({"bootstrap_servers": "localhost:16000", "staging": staging})
    (found,) = caught.value.errors()
    assert found["msg"] == f'staging "{staging}" {reason}'
    assert found["ctx"]["hint"] == "write an absolute path, as in /mnt/staging, or hdfs://NAMENODE:PORT/PATH"


@pytest.mark.parametrize("staging", ["/mnt/x", "hdfs://namenode:8020/x", "hdfs://nameservice/x"])
def test_staging_may_be_in_hdfs_whose_nameservice_has_no_port(staging: str) -> None:
    settings = HBaseSettings.model_validate({"bootstrap_servers": "localhost:16000", "staging": staging})
    assert settings.staging == staging


def test_families_are_created_only_with_thrift2() -> None:
    able = HBaseSettings.model_validate({"thrift2": {"host": "localhost", "port": 9091}})
    assert HBaseStore.of(able).capabilities.creates_families
    assert not HBaseStore.of(HBaseSettings()).capabilities.creates_families
    assert not HBaseStore.of(able).capabilities.deletes_versions


@pytest.mark.parametrize("options", [{"host": "hbase1"}, {"thrift2": {"host": "hbase1", "port": 9091}}])
def test_thrift_server_on_another_machine_must_be_allowed(options: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match='"hbase1" is on another machine and there is no TLS'):
        HBaseSettings.model_validate(options)
    assert HBaseSettings.model_validate({**options, "security": {"insecure": True}}).security.insecure


def test_addresses_are_those_of_both_servers() -> None:
    assert HBaseSettings().addresses == (("localhost", 9090),)
    settings = HBaseSettings.model_validate({"port": 1, "thrift2": {"host": "127.0.0.1", "port": 9091}})
    assert settings.addresses == (("localhost", 1), ("127.0.0.1", 9091))


def test_bootstrap_servers_replace_the_thrift_servers() -> None:
    settings = HBaseSettings(bootstrap_servers="localhost:16000, [::1]:16020")
    assert settings.addresses == (("localhost", 16000), ("::1", 16020))
    assert HBaseStore.of(settings).capabilities.creates_families
    assert HBaseStore.of(settings).capabilities.deletes_versions


def test_bootstrap_server_on_another_machine_must_be_allowed() -> None:
    options = {"bootstrap_servers": "localhost:16000,hbase1:16000"}
    with pytest.raises(
        ValidationError, match=r'"hbase1" is on another machine.*add security: {tls: {}}, or {insecure: true}'
    ):
        HBaseSettings.model_validate(options)
    for security in ({"insecure": True}, {"tls": {}}):
        assert HBaseSettings.model_validate({**options, "security": security}).addresses[1] == ("hbase1", 16000)


def test_thrift_server_has_no_tls() -> None:
    with pytest.raises(ValidationError, match="a Thrift server has no TLS"):
        HBaseSettings.model_validate({"security": {"tls": {}}})


def test_key_that_others_can_read_is_rejected(tmp_path: Path) -> None:
    key = tmp_path / "client.pem"
    key.write_text("key")
    key.chmod(0o644)
    options = {"bootstrap_servers": "hbase1:16000", "security": {"tls": {"key_file": str(key)}}}
    with pytest.raises(ValidationError, match="others can read the private key"):
        HBaseSettings.model_validate(options)
    key.chmod(0o600)
    assert HBaseSettings.model_validate(options).security.tls is not None


def test_durabilities_of_each_protocol() -> None:
    had = {
        name: [one.value for one in Durability if settings.durability_refusal(one) is None]
        for name, settings in {
            "thrift": HBaseSettings(),
            "rpc": HBaseSettings(bootstrap_servers="localhost:16000"),
        }.items()
    }
    assert had == {"thrift": ["skip", "sync"], "rpc": ["skip", "async", "sync", "fsync"]}
    refusal = HBaseSettings().durability_refusal(Durability.FSYNC)
    assert refusal is not None
    assert "`bootstrap_servers`" in refusal[1]


def test_files_for_tls_are_found_from_another_folder() -> None:
    tls = {"ca_file": "ca.pem", "key_file": "/etc/client.pem"}
    settings = HBaseSettings.model_validate({"bootstrap_servers": "h:1", "security": {"tls": tls}})
    moved = settings.in_folder(Path("/srv")).security.tls
    assert moved is not None
    assert (moved.ca_file, moved.key_file) == ("/srv/ca.pem", "/etc/client.pem")
    assert HBaseSettings().in_folder(Path("/srv")) == HBaseSettings()
