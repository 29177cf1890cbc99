"""Options of secure connections."""

import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from ingest.api import CatalogError
from sinks.hbase.rpc.store import RpcStore
from sinks.hbase.security import HBaseKerberos, Qop
from sinks.hbase.settings import HBaseSettings

LOGIN = {"principal": "ingest@EXAMPLE.ORG"}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that is found, and fails when it is imported, as without the library of MIT Kerberos."""
    file = tmp_path / "packages" / "gssapi" / "__init__.py"
    file.parent.mkdir(parents=True)
    file.write_text("raise ImportError('libgssapi_krb5.so.2: cannot open shared object file')")
    monkeypatch.syspath_prepend(str(file.parent.parent))
    for module in ("gssapi", "sinks.hbase.rpc.kerberos"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    return file


def settings_of(login: dict[str, object], **security: object) -> HBaseSettings:
    options = {"bootstrap_servers": "localhost:16000", "security": {"kerberos": login, **security}}
    return HBaseSettings.model_validate(options)


@pytest.mark.usefixtures("package")
def test_principals_of_servers() -> None:
    login = HBaseKerberos.model_validate(LOGIN)
    assert login.qop is Qop.AUTH_CONF
    assert login.principal_of_region_server("RS1.example.org") == "hbase/rs1.example.org@EXAMPLE.ORG"
    assert login.principal_of_master("m1") == "hbase/m1@EXAMPLE.ORG"
    patterns = {"server_principal": "rs/_HOST@SERVERS.ORG", "master_principal": "master/fixed.example.org"}
    login = HBaseKerberos.model_validate(LOGIN | patterns)
    assert login.principal_of_region_server("rs1") == "rs/rs1@SERVERS.ORG"
    assert login.principal_of_master("m1") == "master/fixed.example.org@EXAMPLE.ORG"


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"principal": "ingest"},
        {"principal": "ingest@"},
        {"principal": "in gest@EXAMPLE.ORG"},
        {**LOGIN, "server_principal": "hbase@EXAMPLE.ORG"},
        {**LOGIN, "master_principal": "_HOST"},
        {**LOGIN, "qop": "privacy"},
    ],
)
def test_invalid_options_are_rejected(options: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        settings_of(options)


@pytest.mark.usefixtures("package")
def test_keytab_that_others_can_read_is_rejected(tmp_path: Path) -> None:
    keytab = tmp_path / "ingest.keytab"
    keytab.write_bytes(b"keys")
    keytab.chmod(0o644)
    with pytest.raises(ValidationError, match="others can read the keys in"):
        settings_of({**LOGIN, "keytab": str(keytab)})
    keytab.chmod(0o400)
    assert settings_of({**LOGIN, "keytab": str(keytab)}).security.kerberos is not None


@pytest.mark.usefixtures("package")
def test_thrift_server_has_no_kerberos() -> None:
    with pytest.raises(ValidationError, match="a Thrift server has no Kerberos"):
        HBaseSettings.model_validate({"security": {"kerberos": LOGIN}})


@pytest.mark.usefixtures("package")
def test_only_encryption_allows_servers_on_other_machines() -> None:
    def on_another_machine(qop: str, **security: object) -> HBaseSettings:
        options = {"kerberos": {**LOGIN, "qop": qop}, **security}
        return HBaseSettings.model_validate({"bootstrap_servers": "hbase1:16000", "security": options})

    assert on_another_machine("auth-conf").security.is_encrypted
    for qop in ("auth", "auth-int"):
        with pytest.raises(ValidationError, match="is not encrypted; write `qop: auth-conf`, add security"):
            on_another_machine(qop)
        assert on_another_machine(qop, tls={}).security.is_encrypted
        assert not on_another_machine(qop, insecure=True).security.is_encrypted


@pytest.mark.usefixtures("package")
def test_keytab_is_found_from_another_folder() -> None:
    moved = settings_of({**LOGIN, "keytab": "ingest.keytab"}, tls={"ca_file": "ca.pem"}).in_folder(Path("/srv"))
    assert moved.security.kerberos is not None
    assert moved.security.tls is not None
    assert (moved.security.kerberos.keytab, moved.security.tls.ca_file) == ("/srv/ingest.keytab", "/srv/ca.pem")
    assert settings_of(LOGIN).in_folder(Path("/srv")).security.kerberos == HBaseKerberos.model_validate(LOGIN)


def test_missing_package_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", None)  # as if it were not installed
    with pytest.raises(ValidationError, match='the Python package "gssapi" is not installed') as caught:
        settings_of(LOGIN)
    assert "pip install 'attr2hbase[kerberos]'" in caught.value.errors()[0]["ctx"]["hint"]
    with pytest.raises(ValidationError, match="a Thrift server has no Kerberos"):
        HBaseSettings.model_validate({"security": {"kerberos": LOGIN}})


@pytest.mark.usefixtures("package")
def test_missing_library_is_reported_at_the_start() -> None:
    with pytest.raises(CatalogError, match=r"libgssapi_krb5\.so\.2: cannot open") as caught:
        RpcStore(settings_of(LOGIN))
    assert caught.value.code == "package_missing"
    assert "libkrb5-dev" in str(caught.value.hint)
