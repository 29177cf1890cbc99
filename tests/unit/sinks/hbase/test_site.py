"""The options of a store that the cluster's own files give."""

import pickle

import pytest
from pydantic import ValidationError

from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.show import effective_yaml
from sinks.hbase import security
from sinks.hbase.settings import HBaseSettings

QUORUM = {"hbase.zookeeper.quorum": "zk1,zk2:2182", "hbase.zookeeper.property.clientPort": "2181"}
INSECURE = {"insecure": True}
KERBEROS = {
    "hbase.security.authentication": "kerberos",
    "hbase.regionserver.kerberos.principal": "hbase/_HOST@EXAMPLE.ORG",
    "hbase.master.kerberos.principal": "hbm/_HOST@EXAMPLE.ORG",
}
LOGIN = {"kerberos": {"principal": "ingest@EXAMPLE.ORG"}}


@pytest.fixture(autouse=True)
def _gssapi(monkeypatch):
    """The package for Kerberos is not needed to read options."""
    monkeypatch.setattr(security, "find_spec", lambda _name: object())


@pytest.fixture
def settings_of(tmp_path):
    """The settings of a store with the properties of hbase-site.xml, and of core-site.xml."""

    def made(properties, core=None, **options):
        write(tmp_path, "hbase-site.xml", properties)
        if core is not None:
            write(tmp_path, "core-site.xml", core)
        return HBaseSettings.model_validate({"site": str(tmp_path), **options})

    return made


def write(folder, name, properties):
    lines = (f"<property><name>{key}</name><value>{value}</value></property>" for key, value in properties.items())
    (folder / name).write_text("\n".join(["<configuration>", *lines, "</configuration>"]))


def refusal(settings_of, *arguments, **options):
    with pytest.raises(ValidationError) as raised:
        settings_of(*arguments, **options)
    (error,) = raised.value.errors()
    return error["msg"]


def test_quorum_and_znode(settings_of):
    found = settings_of(QUORUM | {"zookeeper.znode.parent": "/hbase-secure"}, security=INSECURE)
    assert found.addresses == (("zk1", 2181), ("zk2", 2182))
    assert (found.zookeeper.znode, found.is_native) == ("/hbase-secure", True)
    assert settings_of(QUORUM, security=INSECURE).zookeeper.znode == "/hbase"


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({"hbase.masters": "m1, m2:16001"}, "m1:16000,m2:16001"),
        ({"hbase.masters": "m1", "hbase.master.port": "60000"}, "m1:60000"),
        ({"hbase.client.bootstrap.servers": "rs1:16020", "hbase.masters": "m1"}, "rs1:16020"),
    ],
)
def test_servers_of_the_rpc_registry(settings_of, properties, expected):
    assert settings_of(QUORUM | properties, security=INSECURE).bootstrap_servers == expected
    registry = {"hbase.client.registry.impl": "org.apache.hadoop.hbase.client.ZKConnectionRegistry"}
    assert settings_of(QUORUM | properties | registry, security=INSECURE).bootstrap_servers is None


def test_kerberos(settings_of):
    found = settings_of(QUORUM | KERBEROS | {"hbase.rpc.protection": "authentication,privacy"}, security=LOGIN)
    kerberos = found.security.kerberos
    assert (kerberos.principal, kerberos.keytab) == ("ingest@EXAMPLE.ORG", None)
    assert (kerberos.server_principal, kerberos.master_principal) == (
        "hbase/_HOST@EXAMPLE.ORG",
        "hbm/_HOST@EXAMPLE.ORG",
    )
    assert kerberos.qop == "auth-conf"
    assert found.security.is_encrypted


def test_default_protection_does_not_encrypt(settings_of):
    message = refusal(settings_of, QUORUM | KERBEROS, security=LOGIN)
    assert message.startswith('server "zk1" is on another machine, and the connection is not encrypted')
    found = settings_of(QUORUM | KERBEROS, security=LOGIN | INSECURE)
    assert found.security.kerberos.qop == "auth"


def test_login_of_the_files(settings_of, tmp_path):
    keytab = tmp_path / "k"
    keytab.touch(mode=0o600)
    login = {"hbase.client.keytab.principal": "a@B", "hbase.client.keytab.file": str(keytab)}
    found = settings_of(QUORUM | KERBEROS | login, security=INSECURE).security.kerberos
    assert (found.principal, found.keytab) == ("a@B", str(keytab))
    message = refusal(settings_of, QUORUM | KERBEROS | {"hbase.client.keytab.principal": "a/_HOST@B"})
    assert message == ("the cluster of `site` requires Kerberos; write security: {kerberos: {principal: …, keytab: …}}")


def test_certificates(settings_of, tmp_path):
    tls = {
        "hbase.client.netty.tls.enabled": "true",
        "hbase.rpc.tls.truststore.location": "/etc/ca.pem",
        "hbase.rpc.tls.keystore.location": "/etc/own",
        "hbase.rpc.tls.keystore.type": "pem",
    }
    found = settings_of(QUORUM | tls).security
    assert (found.tls.ca_file, found.tls.key_file, found.is_encrypted) == ("/etc/ca.pem", "/etc/own", True)
    found = settings_of(QUORUM | {"hbase.client.netty.tls.enabled": "true"}).security
    assert found.tls.ca_file is None
    java = tls | {"hbase.rpc.tls.truststore.location": "/etc/trust.jks"}
    assert refusal(settings_of, QUORUM | java) == (
        f'{tmp_path}/hbase-site.xml:5: "/etc/trust.jks" is no PEM file, which Python needs; convert it, and write '
        "security: {tls: {ca_file: FILE.pem}}"
    )
    assert settings_of(QUORUM | java, security={"tls": {"ca_file": "/x.pem"}}).security.tls.ca_file == "/x.pem"


def test_options_of_the_file_win(settings_of):
    found = settings_of(
        QUORUM | KERBEROS | {"hbase.rpc.protection": "privacy"},
        bootstrap_servers="m1:16000",
        security={"kerberos": {"principal": "a@B", "server_principal": "x/_HOST"}},
    )
    assert (found.bootstrap_servers, found.zookeeper) == ("m1:16000", None)
    assert found.security.kerberos.server_principal == "x/_HOST"
    assert found.security.kerberos.master_principal == "hbm/_HOST@EXAMPLE.ORG"
    assert [each.path[-1] for each in found.derived] == ["master_principal", "qop"]


def test_core_site_is_below_and_variables_are_replaced(settings_of):
    found = settings_of(
        {"hbase.zookeeper.quorum": "${zk}:2181", "hbase.rpc.protection": "privacy"},
        {"zk": "zk9", "hadoop.security.authentication": "kerberos", "hbase.rpc.protection": "authentication"},
        security=LOGIN,
    )
    assert found.addresses == (("zk9", 2181),)
    assert found.security.kerberos.qop == "auth-conf"


@pytest.mark.parametrize(
    ("properties", "options", "message"),
    [
        ({}, {}, "name neither hbase.zookeeper.quorum nor masters"),
        (QUORUM, {"host": "h"}, "`host` is an option of a Thrift server; leave it out, or leave out `site`"),
        ({"hbase.zookeeper.quorum": "zk1:x:y"}, {}, "is not an address"),
        (QUORUM | {"zookeeper.znode.parent": "hbase"}, {}, '"hbase" is not the path of a znode; write /hbase'),
        (QUORUM, {}, 'server "zk1" is on another machine'),
    ],
)
def test_what_cannot_be_used(settings_of, properties, options, message):
    assert message in refusal(settings_of, properties, **options)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(ValidationError, match=r'hbase-site\.xml" cannot be read: no such file or directory'):
        HBaseSettings(site=str(tmp_path))
    (tmp_path / "hbase-site.xml").write_text("<configuration>")
    with pytest.raises(ValidationError, match=r"hbase-site\.xml:1:16: not XML"):
        HBaseSettings(site=str(tmp_path / "hbase-site.xml"))


def test_worker_needs_no_file(settings_of, tmp_path):
    found = settings_of(QUORUM, security=INSECURE)
    (tmp_path / "hbase-site.xml").unlink()
    copy = pickle.loads(pickle.dumps(found))  # noqa: S301 - our own
    assert copy == found
    assert copy.with_timeout(1.0).addresses == found.addresses


def test_shown_configuration_has_their_places(tmp_path):
    write(tmp_path, "hbase-site.xml", QUORUM | {"hbase.client.netty.tls.enabled": "true"})
    file = tmp_path / "p.yaml"
    file.write_text(f"""version: 1
stores: {{c: {{hbase: {{site: {tmp_path}}}}}}}
pipelines:
  p:
    source: {{kafka: {{brokers: "localhost:9092", topics: [t]}}}}
    sinks: [{{attr2hbase: {{table: t}}}}]
""")
    shown = effective_yaml(load(file, env={}, lookup=Catalog()))
    assert f'        quorum: "zk1:2181,zk2:2182"  # {tmp_path}/hbase-site.xml:2' in shown.splitlines()
    assert f"        tls: {{}}  # {tmp_path}/hbase-site.xml:4" in shown.splitlines()
