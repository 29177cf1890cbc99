"""Options of the hbase store."""

import pytest
from pydantic import ValidationError

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
    ],
)
def test_invalid_options_are_rejected(options: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        HBaseSettings.model_validate(options)


def test_families_are_created_only_with_thrift2() -> None:
    able = HBaseSettings.model_validate({"thrift2": {"host": "localhost", "port": 9091}})
    assert HBaseStore(able).capabilities.creates_families
    assert not HBaseStore(HBaseSettings()).capabilities.creates_families


@pytest.mark.parametrize("options", [{"host": "hbase1"}, {"thrift2": {"host": "hbase1", "port": 9091}}])
def test_thrift_server_on_another_machine_must_be_allowed(options: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match='"hbase1" is on another machine and there is no TLS'):
        HBaseSettings.model_validate(options)
    assert HBaseSettings.model_validate({**options, "security": {"insecure": True}}).security.insecure


def test_addresses_are_those_of_both_servers() -> None:
    assert HBaseSettings().addresses == (("localhost", 9090),)
    settings = HBaseSettings.model_validate({"port": 1, "thrift2": {"host": "127.0.0.1", "port": 9091}})
    assert settings.addresses == (("localhost", 1), ("127.0.0.1", 9091))
