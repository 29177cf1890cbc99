"""HBase with Kerberos fulfils the contract of stores, and failed logins are reported with their reason."""

import asyncio
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ingest.api import FamilySpec, Put, StoreError, StoreRefusedError, StoreUnavailableError, TableSpec
from ingest.testing.stores import StoreContract, StoreFixture
from sinks.hbase.security import Qop
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from tests.support.authority import Authority
from tests.support.hbase_stores import HBaseStores
from tests.support.kdc import REALM
from tests.support.names import unique
from tests.support.proxy import Direction, Proxy
from tests.support.secured_hbase import SecuredHBase

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def secured(servers_folder: Path) -> Iterator[SecuredHBase]:
    """A KDC, and HBase that requires a login and allows each protection."""
    with SecuredHBase(servers_folder / "kerberos").running() as running:
        yield running


@pytest.fixture
def keytab(secured: SecuredHBase, tmp_path: Path) -> Path:
    """A copy of the client's keytab: there is no ticket in memory for it."""
    return Path(shutil.copy(secured.keytab, tmp_path / "own.keytab"))


@contextmanager
def opened(settings: HBaseSettings) -> Iterator[HBaseStore]:
    store = HBaseStore.of(settings)
    try:
        store.open()
        yield store
    finally:
        store.close()


def failure(settings: HBaseSettings) -> StoreError:
    with pytest.raises(StoreError) as caught, opened(settings):
        pass
    return caught.value


def writes_and_reads(store: HBaseStore) -> None:
    table = unique("kerberos")
    store.ensure_table(TableSpec(table, (FamilySpec(b"f"),)))
    value = bytes(range(256)) * 4_000  # in several wrapped messages
    store.apply(table, [Put(b"row %d" % number, {b"f:q": value}, 1) for number in range(3)])
    for number in range(3):
        row = store.get(table, b"row %d" % number)
        assert row is not None
        assert [cell.value for cell in row.cells] == [value]


class TestHBaseWithKerberos(StoreContract):
    """Once, with encryption: what a store does with an answer does not depend on how the answer was protected."""

    @pytest.fixture
    def kit(self, secured: SecuredHBase) -> StoreFixture:
        return HBaseStores(secured.settings(qop=Qop.AUTH_CONF))


class Recorded(Proxy):
    """A proxy that records what the server answers."""

    answers = b""

    async def _read(self, direction: Direction, reader: asyncio.StreamReader) -> bytes:
        data = await super()._read(direction, reader)
        if direction is Direction.DOWN:
            self.answers += data
        return data


@pytest.mark.parametrize("qop", Qop)
def test_login_and_protection(secured: SecuredHBase, qop: Qop) -> None:
    """The tokens of protected messages are those of RFC 4121, section 4.2.6.2; the login itself ends with one."""
    settings = secured.settings(qop=qop)
    with Recorded(("localhost", secured.server.master_port)) as proxy:
        through = settings.model_copy(update={"bootstrap_servers": f"localhost:{proxy.port}"})
        with opened(through) as store:
            writes_and_reads(store)
    sealed = [bool(flags[0] & 2) for flags in re.findall(rb"\x05\x04([\x00-\x07])\xff", proxy.answers)]
    _offered, *messages = sealed
    is_readable = b"localhost" in proxy.answers  # in the addresses of region servers
    assert set(messages) == {Qop.AUTH: set(), Qop.AUTH_INT: {False}, Qop.AUTH_CONF: {True}}[qop]
    assert is_readable == (qop is not Qop.AUTH_CONF)


def test_files_of_the_cluster_and_a_keytab(secured: SecuredHBase) -> None:
    """They name ZooKeeper, the principals and the protections; the strongest one is used."""
    login = {"principal": secured.principal, "keytab": str(secured.keytab)}
    settings = HBaseSettings.model_validate(
        {"site": str(secured.server.folder / "conf"), "timeout": "60s", "security": {"kerberos": login}}
    )
    kerberos = settings.security.kerberos
    assert kerberos is not None
    assert (settings.bootstrap_servers, kerberos.qop) == (None, Qop.AUTH_CONF)
    assert kerberos.server_principal.startswith("hbase/localhost@")
    with opened(settings) as store:
        writes_and_reads(store)


def test_ticket_of_kinit(secured: SecuredHBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    secured.kdc.kinit(secured.principal, secured.keytab, cache)
    monkeypatch.setenv("KRB5CCNAME", str(cache))
    with opened(secured.settings(keytab=None)) as store:
        writes_and_reads(store)


def test_expired_and_missing_tickets(secured: SecuredHBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KRB5CCNAME", str(tmp_path / "missing"))
    missing = failure(secured.settings(keytab=None))
    secured.kdc.kinit(secured.principal, secured.keytab, tmp_path / "cache", life_s=1)
    monkeypatch.setenv("KRB5CCNAME", str(tmp_path / "cache"))
    time.sleep(2)
    expired = failure(secured.settings(keytab=None))
    other = failure(secured.settings(keytab=None, principal=f"other@{REALM}"))
    for error in (missing, expired, other):
        assert isinstance(error, StoreRefusedError)
        assert error.code == "kerberos_failed"
        assert error.message.startswith("there is no Kerberos ticket for ")
        assert "run kinit" in str(error.hint)


def test_wrong_keytabs(secured: SecuredHBase, keytab: Path, tmp_path: Path) -> None:
    kdc = secured.kdc
    absent = failure(secured.settings(keytab=str(tmp_path / "absent.keytab")))
    assert absent.message.endswith('absent.keytab" cannot be read: No such file or directory')
    other = failure(secured.settings(keytab=str(keytab), principal=kdc.add(unique("other"))))
    assert "klist -k" in str(other.hint)
    principal = kdc.add(unique("changed"))
    old = kdc.keytab(unique("old"), [principal])
    kdc.change_keys(principal)
    assert "current keys" in str(failure(secured.settings(keytab=str(old), principal=principal)).hint)
    unknown = f"{unique('unknown')}@{REALM}"
    assert failure(secured.settings(keytab=str(keytab), principal=unknown)).code == "kerberos_failed"


def test_wrong_principal_of_the_server(secured: SecuredHBase) -> None:
    unknown = failure(secured.settings(server_principal="unknown/_HOST"))
    assert (unknown.code, "hbase.regionserver.kerberos.principal" in str(unknown.hint)) == ("kerberos_failed", True)
    other = secured.kdc.add(f"{unique('web')}/localhost")
    refused = failure(secured.settings(server_principal=other))
    assert refused.code == "kerberos_failed"
    assert f"refuses the login as {other}" in refused.message


def test_master_may_have_another_principal_than_region_servers(secured: SecuredHBase) -> None:
    with opened(secured.settings(server_principal="hbase/_HOST", master_principal="hbase/localhost")) as store:
        writes_and_reads(store)
    failing = secured.settings(server_principal="hbase/_HOST", master_principal="unknown/_HOST")
    with pytest.raises(StoreRefusedError, match="unknown/localhost"), opened(failing) as store:
        store.tables()  # of the master; the registry accepts the other principal


def test_client_without_a_login(secured: SecuredHBase) -> None:
    error = failure(HBaseSettings(bootstrap_servers=secured.server.bootstrap_servers))
    assert "Authentication is required" in error.message
    assert "Kerberos" in str(error.hint)


def test_kdc_that_is_away(secured: SecuredHBase, keytab: Path) -> None:
    settings = secured.settings(keytab=str(keytab))
    secured.kdc.stop()
    try:
        away = failure(settings)
    finally:
        secured.kdc.start()
    assert isinstance(away, StoreUnavailableError)
    assert away.code == "kdc_unavailable"
    with opened(settings) as store:
        secured.kdc.stop()
        try:
            writes_and_reads(store)  # with the tickets that it has
            with opened(settings) as another:
                writes_and_reads(another)
        finally:
            secured.kdc.start()


def test_kdc_that_is_away_until_the_ticket_has_expired(secured: SecuredHBase) -> None:
    principal = secured.kdc.add(unique("short"), max_life_s=5)
    settings = secured.settings(principal=principal, keytab=str(secured.kdc.keytab(unique("short"), [principal])))
    with opened(settings):
        pass
    secured.kdc.stop()
    try:
        time.sleep(6)
        assert failure(settings).code == "kdc_unavailable"
    finally:
        secured.kdc.start()
    with opened(settings) as store:
        writes_and_reads(store)


@pytest.mark.parametrize("version", ["2.4.17", "2.5.8"])
def test_older_hbase(servers_folder: Path, version: str) -> None:
    with SecuredHBase(servers_folder / f"kerberos-{version}", version=version).running() as older:
        for qop in Qop:
            with opened(older.settings(qop=qop)) as store:
                writes_and_reads(store)


def test_tls_and_kerberos(servers_folder: Path) -> None:
    folder = servers_folder / "kerberos-tls"
    authority = Authority(folder / "authority")
    files = {"keystore": authority.issue("hbase"), "truststore": authority.certificate}
    properties = {f"hbase.rpc.tls.{kind}.location": str(file) for kind, file in files.items()}
    properties |= {f"hbase.rpc.tls.{kind}.type": "PEM" for kind in files}
    properties |= {f"hbase.{side}.netty.tls.enabled": "true" for side in ("server", "client")}
    properties |= {"hbase.server.netty.tls.supportplaintext": "false"}
    tls = {"tls": {"ca_file": str(authority.certificate), "key_file": str(authority.issue("client"))}}
    with SecuredHBase(folder, properties=properties).running(security=tls) as both:
        for qop in Qop:
            with opened(both.settings(security=tls, qop=qop)) as store:
                writes_and_reads(store)
