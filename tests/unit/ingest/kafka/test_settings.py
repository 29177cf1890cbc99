"""Settings of Kafka connections: which are rejected, and the options of the two clients."""

from base64 import b64encode

import pytest
from pydantic import ValidationError

from ingest.kafka.settings import KafkaConnection, has_common_broker

SASL = {"mechanism": "scram_sha_512", "username": 'u"x', "password": "p\\w"}


def connection(**options):
    return KafkaConnection.model_validate({"brokers": "localhost:9092"} | options)


@pytest.mark.parametrize("security", [{}, {"sasl": SASL}])
@pytest.mark.parametrize("brokers", ["kafka:9092", "localhost:9092,kafka:9092", ["localhost:1", "10.0.0.1:2"]])
def test_remote_broker_without_tls_is_rejected(brokers, security):
    with pytest.raises(ValidationError, match="on another machine and there is no TLS"):
        connection(brokers=brokers, security=security)


@pytest.mark.parametrize("security", [{"tls": {}}, {"insecure": True}, {"insecure": True, "sasl": SASL}])
def test_remote_broker_is_allowed_with_tls_or_insecure(security):
    assert connection(brokers="kafka:9092", security=security).broker_list == ["kafka:9092"]


@pytest.mark.parametrize(
    "brokers", ["", "a", "a:", ":1", "a:0", "a:65536", "a:1,,b:2", "a b:1", "a:1;b:2", "-a:1", 5, []]
)
def test_invalid_brokers_are_rejected(brokers):
    with pytest.raises(ValidationError):
        connection(brokers=brokers, security={"insecure": True})


def test_settings_become_java_options():
    security = {"tls": {"ca_file": "/ca.pem", "key_file": "/no/such.pem", "key_password": "k"}, "sasl": SASL}
    assert connection(security=security, options={"fetch.max.bytes": 5, "check.crcs": True}).java_options() == {
        "bootstrap.servers": "localhost:9092",
        "fetch.max.bytes": "5",
        "check.crcs": "true",
        "security.protocol": "SASL_SSL",
        "ssl.endpoint.identification.algorithm": "https",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": "/ca.pem",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": "/no/such.pem",
        "ssl.key.password": "k",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": (
            'org.apache.kafka.common.security.scram.ScramLoginModule required username="u\\"x" password="p\\\\w";'
        ),
    }


def test_settings_become_python_options():
    assert connection(security={"tls": {"ca_file": "/ca.pem"}, "sasl": SASL}).python_options() == {
        "bootstrap_servers": ["localhost:9092"],
        "security_protocol": "SASL_SSL",
        "ssl_check_hostname": True,
        "ssl_cafile": "/ca.pem",
        "ssl_certfile": None,
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": 'u"x',
        "sasl_plain_password": "p\\w",
    }


def test_kerberos_login_is_set_in_both_clients():
    sasl = {"mechanism": "gssapi", "principal": "i@E", "keytab": "/k"}
    found = connection(security={"sasl": sasl})
    assert found.java_options()["sasl.jaas.config"] == (
        "com.sun.security.auth.module.Krb5LoginModule required "
        'keyTab="/k" principal="i@E" useKeyTab="true" storeKey="true";'
    )
    assert found.java_options()["sasl.kerberos.service.name"] == "kafka"
    assert found.python_options()["sasl_kerberos_name"] == "i@E"


def oauth(url, **security):
    sasl = {"mechanism": "oauthbearer", "token_url": url, "client_id": "c", "client_secret": "s"}
    return connection(security={"sasl": sasl} | security)


@pytest.mark.parametrize("security", [{}, {"tls": {}}])
def test_client_secret_in_the_clear_is_rejected(security):
    with pytest.raises(ValidationError, match="the client secret is sent in the clear"):
        oauth("http://login.example.org/token", **security)


@pytest.mark.parametrize("url", ["login.example.org/token", "file:///token", "ftp://h/t", "https:///t"])
def test_invalid_token_url_is_rejected(url):
    with pytest.raises(ValidationError, match="is not a URL"):
        oauth(url)


@pytest.mark.parametrize("url", ["http://localhost:8080/t", "HTTP://127.0.0.1/t", "http://[::1]/t", "https://h/t"])
def test_local_or_https_token_url_is_allowed(url):
    assert oauth(url).security.sasl.token_url == url


def test_token_url_in_the_clear_is_allowed_with_insecure():
    assert oauth("http://h/t", insecure=True).security.insecure


def test_jvm_allows_only_the_token_url():
    sasl = {"mechanism": "oauthbearer", "token_url": "https://t", "client_id": "c", "client_secret": "s", "scope": "x"}
    security = connection(security={"sasl": sasl}).security
    assert security.java_options()["sasl.oauthbearer.token.endpoint.url"] == "https://t"
    assert security.java_options()["sasl.jaas.config"].endswith('required clientId="c" clientSecret="s" scope="x";')
    assert security.java_properties() == {"org.apache.kafka.sasl.oauthbearer.allowed.urls": "https://t"}


@pytest.mark.parametrize(
    "sasl",
    [
        {},
        {"mechanism": "plain"},
        {"mechanism": "plain", "username": "u"},
        {"mechanism": "gssapi", "username": "u", "password": "p"},
        {"mechanism": "oauthbearer", "client_id": "c"},
        {"mechanism": "jndi", "username": "u", "password": "p"},
        {"mechanism": "plain", "username": "u\n", "password": "p"},
        {"mechanism": "plain", "username": "u", "password": "p", "jaas": "x"},
    ],
)
def test_incomplete_or_invalid_sasl_is_rejected(sasl):
    with pytest.raises(ValidationError):
        connection(security={"sasl": sasl})


def test_keytab_that_others_can_read_is_rejected(tmp_path):
    keytab = tmp_path / "ingest.keytab"
    keytab.write_text("keys")
    sasl = {"mechanism": "gssapi", "principal": "i@E", "keytab": str(keytab)}
    keytab.chmod(0o640)
    with pytest.raises(ValidationError, match="others can read the keys"):
        connection(security={"sasl": sasl})
    keytab.chmod(0o600)
    assert connection(security={"sasl": sasl}).security.protocol == "SASL_PLAINTEXT"


def test_key_file_that_others_can_read_is_rejected(tmp_path):
    key = tmp_path / "key.pem"
    key.write_text("x")
    key.chmod(0o640)
    with pytest.raises(ValidationError, match="chmod 600"):
        connection(security={"tls": {"key_file": str(key)}})
    key.chmod(0o600)
    assert connection(security={"tls": {"key_file": str(key)}}).security.protocol == "SSL"


def test_key_that_java_cannot_decrypt_is_rejected(tmp_path):
    """`openssl pkcs8 -topk8` encrypts so by default: AES with a key from PBKDF2."""
    body = b64encode(bytes.fromhex("305706092a864886f70d01050d3000")).decode()
    key = tmp_path / "key.pem"
    key.write_text(f"-----BEGIN ENCRYPTED PRIVATE KEY-----\n{body}\n-----END ENCRYPTED PRIVATE KEY-----\n")
    key.chmod(0o600)
    with pytest.raises(ValidationError, match=r"PBES2.*-v1 PBE-SHA1-3DES"):
        connection(security={"tls": {"key_file": str(key), "key_password": "p"}})
    key.write_text(key.read_text().replace(" ENCRYPTED", ""))
    assert connection(security={"tls": {"key_file": str(key)}}).security.protocol == "SSL"


@pytest.mark.parametrize("name", ["sasl.jaas.config", "security.protocol", "bootstrap.servers", "isolation.level"])
def test_client_option_that_is_not_listed_is_rejected(name):
    with pytest.raises(ValidationError):
        connection(options={name: "x"})


def test_secrets_are_not_in_the_repr():
    found = repr(connection(security={"sasl": SASL}))
    assert "p\\\\w" not in found
    assert "**********" in found


@pytest.mark.parametrize(
    ("brokers", "others", "is_same"),
    [
        ("a:9092", "a:9092", True),
        ("a:9092,b:9092", "c:9092,B:9092", True),
        ("localhost:9092", "127.0.0.1:9092", True),
        ("[::1]:9092", "127.0.0.1:9092", True),
        ("a:9092", "a:9093", False),
        ("a:9092", "b:9092", False),
        ("127.0.0.1:9092", "127.0.0.2:9092", False),
    ],
)
def test_lists_of_brokers_that_name_one_cluster(brokers, others, is_same):
    assert has_common_broker(brokers, others) == has_common_broker(others, brokers) == is_same
